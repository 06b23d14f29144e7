"""The 14 EDDA covariance families: volume, shape and orientation, shared or not."""

from suffice.estimation.edda.covariances import EddaFit, EddaStructure, edda_covariances
from suffice.estimation.edda.families import FAMILIES, Family, family

__all__ = ["FAMILIES", "EddaFit", "EddaStructure", "Family", "edda_covariances", "family"]
