"""Boundaries between classes as values: where they are, how far a point is from them."""

from suffice.model.geometry.between import Boundary, GaussianScore, boundary_between
from suffice.model.geometry.hyperplane import Hyperplane
from suffice.model.geometry.quadric import Quadric

__all__ = ["Boundary", "GaussianScore", "Hyperplane", "Quadric", "boundary_between"]
