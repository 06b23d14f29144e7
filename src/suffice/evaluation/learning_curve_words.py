"""Learning curves in a sentence."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping

    from suffice.typing import Codes, Floats


def words_of(errors: Mapping[str, Floats], sizes: Codes) -> str:
    """Return who leads with few rows, and who takes over where.

    A leader is overtaken where another's error is lower by more than one standard error of their
    difference, and stays lower to the end.

    Examples
    --------
    >>> import numpy as np
    >>> fast = np.array([[0.30, 0.31], [0.29, 0.30], [0.30, 0.29]])
    >>> slow = np.array([[0.40, 0.42], [0.31, 0.30], [0.20, 0.21]])
    >>> words_of({"fast": fast, "slow": slow}, np.array([10, 100, 1000]))
    'With 10 rows fast has the least error, 30.5 %; slow overtakes it by 1,000 rows, with 20.5 %.'
    """
    means = {name: each.mean(1) for name, each in errors.items()}
    known = {name: mean for name, mean in means.items() if np.isfinite(mean[-1])}
    first = min(known, key=lambda name: np.nan_to_num(known[name][0], nan=np.inf))
    last = min(known, key=lambda name: float(known[name][-1]))
    lead = f"With {sizes[0]:,} rows {first} has the least error, {100 * known[first][0]:.1f} %"
    if first == last or not _is_lower(errors[last][-1], errors[first][-1]):
        return f"{lead}, and none is clearly better with {sizes[-1]:,} rows."
    at = _overtaken(errors[last], errors[first])
    size, error = sizes[at], 100 * known[last][-1]
    end = "" if at == len(sizes) - 1 else f" in the end ({sizes[-1]:,} rows)"
    return f"{lead}; {last} overtakes it by {size:,} rows, with {error:.1f} %{end}."


def _overtaken(challenger: Floats, leader: Floats) -> int:
    """Return the first size from which a challenger is clearly better to the end."""
    better = [_is_lower(a, b) for a, b in zip(challenger, leader, strict=True)]
    worse_until = max((at for at, is_better in enumerate(better) if not is_better), default=-1)
    return worse_until + 1


def _is_lower(a: Floats, b: Floats) -> bool:
    """Whether errors a (R,) are lower than b by more than one standard error of the difference."""
    difference = b - a
    return bool(difference.mean() > difference.std(ddof=1) / np.sqrt(len(difference)))
