"""Compare classifiers of every kind on the same folds, and recommend one of them.

The package may import ``core``, ``selection``, ``estimators`` and ``evaluate.curves``.
"""

from suffice.evaluate.comparison.comparison import Comparison, compare
from suffice.evaluate.comparison.selection import Selection, select

__all__ = ["Comparison", "Selection", "compare", "select"]
