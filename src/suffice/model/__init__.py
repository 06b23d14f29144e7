"""The fitted object: densities, posteriors, samples, boundaries."""

from suffice.model.class_model import ClassModel
from suffice.model.covariance import Covariance, DiagonalCovariance, FullCovariance
from suffice.model.gaussian import DebiasedModel, GaussianModel
from suffice.model.student import StudentModel
from suffice.model.transformed import TransformedModel

__all__ = [
    "ClassModel", "Covariance", "DebiasedModel", "DiagonalCovariance", "FullCovariance",
    "GaussianModel", "StudentModel", "TransformedModel",
]  # fmt: skip
