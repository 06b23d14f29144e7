"""Rows with missing values: left out for all members alike, so that all are judged by the same."""

from __future__ import annotations

from typing import Any

import numpy as np

from suffice.errors import InvalidParameterError

WISHES = ("drop", "keep")


def checked_wish(missing: Any) -> str:
    """Return what is to be done with rows that have missing values."""
    if missing not in WISHES:
        msg = f"missing must be 'drop' or 'keep', got {missing!r}"
        raise InvalidParameterError(msg)
    return str(missing)


def is_complete(table: Any) -> Any:
    """Return which rows of an array or frame have no missing value, (n,) bool.

    Examples
    --------
    >>> import numpy as np
    >>> is_complete(np.array([[1.0, 2.0], [np.nan, 3.0]])).tolist()
    [True, False]
    """
    import narwhals.stable.v2 as nw

    frame = nw.from_native(table, eager_only=True, pass_through=True)
    if isinstance(frame, nw.DataFrame):
        columns = [_known(column) for column in frame.iter_columns()]
        return np.logical_and.reduce(columns) if columns else np.ones(len(frame), bool)
    if hasattr(table, "toarray"):
        return np.ones(table.shape[0], bool)
    values = np.asarray(table)
    if values.dtype.kind != "f":
        return np.ones(len(values), bool)
    return ~np.isnan(values).reshape(len(values), -1).any(1)


def _known(column: Any) -> Any:
    """Return where a column of a frame has a value, (n,) bool."""
    known = ~column.is_null().to_numpy()
    if column.dtype.is_float():
        known &= ~column.fill_null(0.0).is_nan().to_numpy()
    return known
