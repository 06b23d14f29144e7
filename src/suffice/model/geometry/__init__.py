"""Boundaries between classes as values: where they are, how far a point is from them."""

from suffice.model.geometry.hyperplanes_and_quadrics import (
    Boundary,
    Hyperplane,
    Quadric,
    boundary_between,
)

__all__ = ["Boundary", "Hyperplane", "Quadric", "boundary_between"]
