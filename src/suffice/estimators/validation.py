"""Checks of rows and labels at the edge, in scikit-learn's words; no extra pass over the data.

NaN and infinity are not looked for here: they surface in the sums or scores of the one pass that
is made anyway, and the error raised there names the row and the column.
"""

from __future__ import annotations

from typing import Any

from sklearn.utils.validation import (
    _check_y,
    check_consistent_length,
    check_is_fitted,
    validate_data,
)


def checked_table(estimator: Any, X: Any, y: Any, *, reset: bool) -> tuple[Any, Any]:
    """Return rows and labels to learn from."""
    if y is None:
        msg = (
            f"{type(estimator).__name__} requires y to be passed, but the target y is None: "
            "pass one label per row"
        )
        raise ValueError(msg)
    x = _validated(estimator, X, reset=reset)
    labels = _check_y(y, multi_output=False, y_numeric=False, estimator=estimator)
    check_consistent_length(x, labels)
    return x, labels


def checked_rows(estimator: Any, X: Any) -> Any:
    """Return rows to predict, with the features seen in fit."""
    check_is_fitted(estimator)
    return _validated(estimator, X, reset=False)


def _validated(estimator: Any, X: Any, *, reset: bool) -> Any:
    return validate_data(estimator, X, reset=reset, dtype="numeric", ensure_all_finite=False)
