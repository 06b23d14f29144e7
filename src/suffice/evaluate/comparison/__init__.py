"""Classifiers of every kind side by side, and the choice of one of them."""

from suffice.evaluate.comparison.comparison import Comparison, compare
from suffice.evaluate.comparison.selection import Selection, select

__all__ = ["Comparison", "Selection", "compare", "select"]
