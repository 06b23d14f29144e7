"""Rows by class, at most so many of each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from suffice.errors import InvalidInputError, InvalidParameterError
from suffice.moments.labels import as_labels, encode
from suffice.moments.rows import as_matrix, refuse_unusable

if TYPE_CHECKING:
    from suffice.typing import Codes, Floats, Labels


def labelled_rows(X: Any, y: Any) -> tuple[Any, Labels, Codes, tuple[str, ...] | None]:
    """Return rows (n, d), classes (K,), codes (n,) and feature names, checked."""
    x, names = as_matrix(X)
    classes, codes = encode(as_labels(y))
    if len(codes) != len(x):
        msg = f"X has {len(x)} rows but y has {len(codes)} labels"
        raise InvalidInputError(msg)
    if not len(x):
        msg = "X has no rows"
        raise InvalidInputError(msg)
    if x.dtype.kind == "f" and not np.isfinite(x).all():
        refuse_unusable(x, names)
    return x, classes, codes, names


def class_rows(x: Any, codes: Codes, k: int, max_rows: int, rng: np.random.Generator) -> Floats:
    """Return the rows of class k, or a random sample of ``max_rows`` of them."""
    return np.asarray(x[sample_of_class(codes, k, max_rows, rng)], np.float64)


def sample_of_class(codes: Codes, k: int, max_rows: int, rng: np.random.Generator) -> Codes:
    """Return the positions of at most ``max_rows`` rows of class k, in order."""
    if max_rows < 1:
        msg = f"max_rows must be at least 1, got {max_rows}"
        raise InvalidParameterError(msg)
    where = np.flatnonzero(codes == k)
    if len(where) <= max_rows:
        return where
    return np.sort(rng.choice(where, max_rows, replace=False))
