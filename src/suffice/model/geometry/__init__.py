"""Boundaries between classes as values: where they are, how far a point is from them."""

from suffice.model.geometry.between import Boundary, boundary_between
from suffice.model.geometry.hyperplane import Hyperplane
from suffice.model.geometry.quadric import Quadric

__all__ = ["Boundary", "Hyperplane", "Quadric", "boundary_between"]
