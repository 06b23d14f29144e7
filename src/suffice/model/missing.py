"""Rows in which NaN means "not observed": what is missing is integrated out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from suffice.errors import InvalidInputError
from suffice.table.matrix import refuse_unusable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import numpy.typing as npt

    from suffice.model.posterior import Readout
    from suffice.typing import Codes, Floats

    Verb = Callable[[Any], npt.NDArray[Any]]

BLOCK = 1 << 22  # numbers of incomplete rows looked at together


def by_holes(
    x: npt.NDArray[Any], readout: Readout, nothing: Floats, complete: Verb, incomplete: Verb
) -> npt.NDArray[Any]:
    """Return ``complete`` of all rows; if that fails for NaN, of those without any.

    Others are ``incomplete``; rows of NaN alone have scores ``nothing`` (K,).
    """
    try:
        return complete(x)
    except InvalidInputError:
        n_observed = observed_counts(x)
        if n_observed is None:
            raise
    values = np.empty((len(x), len(nothing)) if readout.per_class else len(x), readout.dtype)
    values[n_observed == 0] = readout.read(nothing[None])
    whole = n_observed == x.shape[1]
    for chosen, verb in ((whole, complete), (~whole & (n_observed > 0), incomplete)):
        for rows in _blocks(np.flatnonzero(chosen), x.shape[1]):
            values[rows] = _read_rows(x, rows, verb)
    return values


def observed_counts(x: npt.NDArray[Any]) -> Codes | None:
    """Return the entries observed of each row, None if none is missing; refuse infinities."""
    if x.dtype.kind != "f" or not np.isnan(x).any():
        return None
    observed = ~np.isnan(x)
    if np.isinf(x).any():
        refuse_unusable(np.where(observed, x, 0.0), None)
    counts: Codes = observed.sum(1)
    return counts


def patterns_of(observed: npt.NDArray[np.bool_]) -> tuple[npt.NDArray[np.bool_], Codes]:
    """Return the distinct rows (P, d), and which of them each row (n, d) is, (n,).

    Examples
    --------
    >>> import numpy as np
    >>> patterns, pattern_of = patterns_of(np.array([[True, False], [True, True], [True, False]]))
    >>> patterns.tolist(), pattern_of.tolist()
    ([[True, False], [True, True]], [0, 1, 0])
    """
    bits = np.packbits(observed, axis=1)
    words = np.zeros((len(bits), -(-bits.shape[1] // 8) * 8), np.uint8)
    words[:, : bits.shape[1]] = bits
    code = np.zeros(len(bits), np.int64)
    for i, word in enumerate(words.view(">u8").T):
        code = _ranks(word.astype(np.uint64)) + (0 if i == 0 else code * len(bits))
        code = code if i == 0 else _ranks(code)
    patterns = np.empty((code.max(initial=-1) + 1, observed.shape[1]), bool)
    patterns[code] = observed
    return patterns, code


def _ranks(keys: npt.NDArray[Any]) -> Codes:
    ranks: Codes = np.unique(keys, return_inverse=True)[1]
    return ranks


def _blocks(rows: Codes, d: int) -> Iterator[Codes]:
    """Yield some of the rows at a time."""
    step = max(BLOCK // max(d, 1), 1)
    return (rows[lo : lo + step] for lo in range(0, len(rows), step))


def _read_rows(x: npt.NDArray[Any], rows: Codes, verb: Verb) -> npt.NDArray[Any]:
    """Return ``verb`` of some finite rows; name the first that overflows."""
    try:
        return verb(x[rows].astype(np.float64, copy=False))
    except InvalidInputError:
        if len(rows) > 1:
            for half in np.array_split(rows, 2):
                _read_rows(x, half, verb)
        msg = f"row {rows[0]} is so far from every class that it overflows: check its units"
        raise InvalidInputError(msg) from None
