"""Classifiers of every kind side by side, and the choice of one of them."""

from suffice.comparison.comparison import Comparison, compare
from suffice.comparison.selection import Selection, select

__all__ = ["Comparison", "Selection", "compare", "select"]
