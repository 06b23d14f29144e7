from itertools import pairwise

import numpy as np
import pytest

from suffice.core.text.dates import date_text, date_ticks


def days(text):
    return np.datetime64(text, "s").astype(np.int64) / 86_400


@pytest.mark.parametrize(
    ("low", "high", "labels"),
    [
        ("2025-02-20", "2027-01-05", ["2025-07", "2026-01", "2026-07", "2027-01"]),
        ("2024-02-28", "2024-03-02", ["2024-02-28", "2024-02-29", "2024-03-01", "2024-03-02"]),
        ("1902-06-01", "1999-01-01", ["1920", "1940", "1960", "1980"]),
        ("1969-12-31", "1970-01-03", ["1969-12-31", "1970-01-01", "1970-01-02", "1970-01-03"]),
        ("2024-03-01T23:10", "2024-03-02T01:10", ["2024-03-02 00:00", "2024-03-02 01:00"]),
    ],
)
def test_ticks_are_round_dates(low, high, labels):
    ticks = date_ticks(days(low), days(high))
    assert [label for _, label in ticks] == labels
    assert [at for at, _ in ticks] == [days(label.replace(" ", "T")) for label in labels]


@pytest.mark.parametrize(
    "span", [0.01, 0.3, 1, 3, 10, 33, 80, 200, 700, 3000, 40_000, 600_000]
)
@pytest.mark.parametrize("low", [-700.4, 0.0, 19_800.7])
def test_labels_are_inside_and_have_room(low, span):
    ticks = date_ticks(low, low + span)
    places = [(at - low) / span for at, _ in ticks]
    assert ticks
    assert all(-1e-3 <= at <= 1 + 1e-3 for at in places)
    letters = max(len(label) for _, label in ticks)
    assert all(b - a > letters / 42 for a, b in pairwise(places))


def test_a_missing_date_is_a_dash():
    assert date_text(np.nan) == "–"
    assert date_text(19_783.75) == "2024-03-01"
    assert date_text(-0.25) == "1969-12-31"
