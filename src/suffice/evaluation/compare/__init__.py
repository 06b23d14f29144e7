"""Classifiers of every kind side by side, and the choice of one of them."""

from suffice.evaluation.compare.comparison import Comparison
from suffice.evaluation.compare.protocol import compare
from suffice.evaluation.compare.selection import Selection, select

__all__ = ["Comparison", "Selection", "compare", "select"]
