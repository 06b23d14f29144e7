"""Classifiers of every kind compared on the same folds, and the choice of one of them.

The package may import ``core``, ``selection``, ``estimators`` and ``evaluate.curves``.
"""

from suffice.evaluate.comparison.comparison import Comparison, compare
from suffice.evaluate.comparison.selection import Selection, select

__all__ = ["Comparison", "Selection", "compare", "select"]
