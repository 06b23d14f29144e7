"""How diagnostics speak: p-values, labels and tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable

    from suffice.typing import Floats

LEVEL = 0.05  # p-values up to it are called evidence
Row = dict[str, Any]


class Diagnostic(Protocol):
    """A frozen answer to one question about a model; ``str`` of it is the answer in words."""

    def rows(self) -> list[Row]:
        """Return the numbers as plain dictionaries."""
        ...

    def to_frame(self) -> Any:
        """Return the numbers as a pandas frame."""
        ...

    def plot(self, ax: Any = None) -> Any:
        """Draw into ``ax``, or new axes, and return them."""
        ...


def as_frame(rows: list[Row]) -> Any:
    """Return the rows as a pandas frame."""
    try:
        import pandas as pd
    except ImportError as error:
        msg = "to_frame() needs pandas: install it, or use .rows(), which holds the same numbers"
        raise ImportError(msg) from error
    return pd.DataFrame(rows)


def axes(ax: Any) -> Any:
    """Return ``ax``, or new axes."""
    if ax is not None:
        return ax
    from matplotlib import pyplot

    return pyplot.subplots(layout="constrained")[1]


def p_text(p: float) -> str:
    """Return a p-value as people write it."""
    if not np.isfinite(p):
        return "p unknown"
    return "p < 0.0001" if p < 1e-4 else f"p = {p:.2g}"


def plain(value: Any) -> Any:
    """Return a NumPy scalar as a Python one."""
    return value.item() if isinstance(value, np.generic) else value


def listed(labels: Iterable[Any], most: int = 4) -> str:
    """Return labels as text, the first few by name."""
    names = [repr(plain(label)) for label in labels]
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def holm(p: Floats) -> Floats:
    """Return p-values adjusted for their number (Holm 1979); NaN stays NaN and does not count.

    Examples
    --------
    >>> import numpy as np
    >>> holm(np.array([0.01, 0.04, np.nan, 0.03])).tolist()
    [0.03, 0.06, nan, 0.06]
    """
    adjusted = np.full_like(p, np.nan)
    known = np.flatnonzero(np.isfinite(p))
    order = known[np.argsort(p[known], kind="stable")]
    # p̃_(i) = max_{j ≤ i} (m − j + 1) p_(j), at most 1
    steps = np.arange(len(order), 0, -1) * p[order]
    adjusted[order] = np.minimum(np.maximum.accumulate(steps), 1.0)
    return adjusted
