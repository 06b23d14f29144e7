"""Whether the sums of a table are computed inside the database or from its rows, and why."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from suffice.errors import InvalidParameterError

if TYPE_CHECKING:
    from suffice.sources.sql.engines import Engine

METHODS = ("auto", "database", "stream")


@dataclass(frozen=True, slots=True)
class Choice:
    """A way to sum a table, and the reason in words."""

    method: str  # "database" or "stream"
    reason: str

    def __str__(self) -> str:
        way = "sums inside the database" if self.method == "database" else "rows streamed out"
        return f"{way}: {self.reason}"


def choose(method: str, engine: Engine, n_features: int, *, fourth: bool = False) -> Choice:
    """Return how to sum a table of so many features.

    Inside an engine each of d² / 2 products costs an instruction of its interpreter, while rows
    that were streamed out are multiplied by compiled kernels; so there is a width from which
    streaming wins, and it differs between engines.
    """
    if method not in METHODS:
        msg = f"method must be one of {', '.join(map(repr, METHODS))}, got {method!r}"
        raise InvalidParameterError(msg)
    if fourth and method == "database":
        msg = "fourth moments are not summed inside a database: use method='stream'"
        raise InvalidParameterError(msg)
    if method != "auto":
        return Choice(method, "asked for")
    if fourth:
        return Choice("stream", "fourth moments are summed from rows")
    if not engine.widest_sums:
        return Choice("stream", "rows leave this engine without a copy, so that is quicker")
    if n_features > engine.widest_sums:
        reason = f"{n_features} features > {engine.widest_sums}, from which on that is quicker"
        return Choice("stream", reason)
    reason = f"{n_features} features ≤ {engine.widest_sums}, up to which that is quicker"
    return Choice("database", reason)
