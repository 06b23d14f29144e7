"""What is said while members are judged: collected, not shown."""

from __future__ import annotations

import threading
import warnings
from collections import Counter
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_ONE_AT_A_TIME = threading.RLock()  # the filters of warnings belong to the whole process


@contextmanager
def overheard() -> Iterator[list[warnings.WarningMessage]]:
    """Collect the warnings raised meanwhile."""
    with _ONE_AT_A_TIME, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield caught


def in_short(caught: Sequence[warnings.WarningMessage]) -> list[str]:
    """Return the first warning of each category, with how often it came."""
    times = Counter(warning.category for warning in caught)
    first: dict[type[Warning], str] = {}
    for warning in caught:
        first.setdefault(warning.category, " ".join(str(warning.message).split()))
    return [
        text if times[category] == 1 else f"{text} ({times[category]} times)"
        for category, text in first.items()
    ]
