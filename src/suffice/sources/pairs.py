"""Iterables of chunks (X, y) as sources of sums."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from suffice.errors import InvalidInputError
from suffice.moments import Moments
from suffice.sources.frames import is_frame


def is_pairs(source: Any) -> bool:
    """Return whether this is an iterable of chunks, rather than one table or a name."""
    if isinstance(source, (str, Path, np.ndarray)) or is_frame(source):
        return False
    if hasattr(source, "scans"):
        return False
    if isinstance(source, (list, tuple)):
        return len(source) > 0 and not isinstance(source[0], (str, Path))
    return isinstance(source, Iterable)


def pairs_of(source: Any, **options: Any) -> Iterator[Moments]:
    """Yield the sums of each chunk ``(X, y)`` or ``(X, y, sample_weight)``."""
    for at, chunk in enumerate(source):
        if not isinstance(chunk, tuple) or len(chunk) not in (2, 3):
            msg = f"chunk {at} of the iterable must be (X, y) or (X, y, sample_weight)"
            raise InvalidInputError(msg)
        if len(chunk[1]):
            yield Moments.of(*chunk, **options)
