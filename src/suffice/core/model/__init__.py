"""Fitted models of classes: densities, posteriors, samples and boundaries.

The package imports NumPy, SciPy, Numba, ``core.moments``, ``core.power_transform``, ``core.table``,
and modules that these import.
"""

from suffice.core.model.class_model import ClassModel
from suffice.core.model.covariance import Covariance, DiagonalCovariance, FullCovariance
from suffice.core.model.gaussian import GaussianModel
from suffice.core.model.student import StudentModel
from suffice.core.model.transformed import TransformedModel

__all__ = [
    "ClassModel",
    "Covariance",
    "DiagonalCovariance",
    "FullCovariance",
    "GaussianModel",
    "StudentModel",
    "TransformedModel",
]
