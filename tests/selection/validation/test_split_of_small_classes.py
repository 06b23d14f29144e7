"""A class of few rows has one in every part, and its share as far as that leaves rows."""

import numpy as np
import pytest

import suffice as sf


@pytest.mark.parametrize(
    ("count", "validation", "test", "sizes"),
    [
        (10, 0.2, 0.2, [6, 2, 2]),
        (5, 0.0, 0.8, [1, 0, 4]),
        (5, 0.8, 0.0, [1, 4, 0]),
        (4, 0.7, 0.2, [1, 2, 1]),
        (3, 0.6, 0.3, [1, 1, 1]),
        (3, 0.05, 0.9, [1, 1, 1]),
        (3, 0.01, 0.01, [1, 1, 1]),
        (2, 0.0, 0.9, [1, 0, 1]),
    ],
)
def test_every_part_has_a_row_of_a_small_class(count, validation, test, sizes):
    y = np.repeat([0, 1], [count, 200])
    parts = sf.split(np.arange(len(y))[:, None], y, validation, test)
    assert [int((part.y == 0).sum()) for part in parts] == sizes
