"""Boundaries between classes as values: where they are, how far a point is from them."""
