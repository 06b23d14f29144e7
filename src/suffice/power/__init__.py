"""A monotone change of each feature that makes its distribution more nearly Gaussian."""

from suffice.power.transform import PowerTransform

__all__ = ["PowerTransform"]
