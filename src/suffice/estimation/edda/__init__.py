"""The 14 EDDA covariance families: volume, shape and orientation, shared or not."""

from suffice.estimation.edda.families import FAMILIES, EddaStructure, edda_covariances

__all__ = ["FAMILIES", "EddaStructure", "edda_covariances"]
