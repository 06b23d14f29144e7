"""Format dates, which tables hold as days since 1970."""

import numpy as np

from suffice.core.text.numbers import NOTHING

_SECONDS_OF_DAY = 86_400
# units and steps between ticks, from a minute to 1000 years
_STEPS = (
    *[("m", n) for n in (1, 2, 5, 10, 15, 30, 60, 120, 180, 360, 720)],
    *[("D", n) for n in (1, 2, 4, 7, 14)],
    *[("M", n) for n in (1, 2, 3, 6)],
    *[("Y", n) for n in (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)],
)
_LETTERS = 42  # letters that fit side by side along an axis


def date_text(days: float) -> str:
    """Return the date of a number of days since 1970, or a dash for NaN."""
    if np.isnan(days):
        return NOTHING
    return str(np.datetime64(int(days // 1), "D"))


def date_ticks(low: float, high: float) -> tuple[tuple[float, str], ...]:
    """Return as many round dates as an axis has room for: days since 1970, and labels."""
    first = np.datetime64(round(low * _SECONDS_OF_DAY), "s")
    last = np.datetime64(round(high * _SECONDS_OF_DAY), "s")
    for unit, step in _STEPS:
        origin = -1970 if unit == "Y" else 0  # multiples of a step count from the year 0
        start = (int(first.astype(f"M8[{unit}]").astype(np.int64)) - origin) // step
        stop = (int(last.astype(f"M8[{unit}]").astype(np.int64)) - origin) // step
        if stop - start > _LETTERS:
            continue
        moments = (origin + step * np.arange(start, stop + 1)).astype(f"M8[{unit}]")
        moments = moments[moments >= first]
        days = moments.astype("M8[s]").astype(np.int64) / _SECONDS_OF_DAY
        labels = [str(moment).replace("T", " ") for moment in moments]
        letters = max(map(len, labels), default=0)
        room = (letters + 1) / _LETTERS * (high - low)
        if np.diff(days).min(initial=np.inf) >= room:
            return tuple(zip(days.tolist(), labels, strict=True))
    return ()
