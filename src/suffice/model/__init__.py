"""The fitted object: densities, posteriors, samples, boundaries."""

from suffice.model.covariance import Covariance, DiagonalCovariance, FullCovariance
from suffice.model.gaussian import GaussianModel

__all__ = ["Covariance", "DiagonalCovariance", "FullCovariance", "GaussianModel"]
