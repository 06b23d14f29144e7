"""The 14 EDDA covariance families: volume, shape and orientation, shared or not."""

from suffice.estimation.edda.estimate import EddaFit, bic, edda_covariances
from suffice.estimation.edda.families import FAMILIES, Family, family

__all__ = ["FAMILIES", "EddaFit", "Family", "bic", "edda_covariances", "family"]
