"""A few values up to zero are suspect where all others keep far from zero."""

import numpy as np
import pytest

from suffice.evaluate.diagnostics.data import _rare_nonpositive


def suspects(n_zeros, n_rows, others=None):
    others = np.linspace(50.0, 60.0, n_rows - n_zeros) if others is None else others
    observed = np.concatenate([np.zeros(n_zeros), others])
    return _rare_nonpositive("size", observed, np.unique(observed))


@pytest.mark.parametrize(
    ("n_zeros", "n_rows", "is_suspect"),
    [
        (0, 200, False),
        # up to 2 % of the rows
        (4, 200, True),
        (4, 199, False),
        (5, 200, False),
        # or one row
        (1, 30, True),
        (2, 30, False),
        # ten different values above zero, at least
        (1, 11, True),
        (1, 10, False),
    ],
)
def test_up_to_two_percent_of_the_rows_are_few(n_zeros, n_rows, is_suspect):
    found = suspects(n_zeros, n_rows)
    assert bool(found) is is_suspect
    if is_suspect:
        (suspect,) = found
        assert suspect.figures == {"value": 0.0, "n_rows": n_zeros, "least_of_others": 50.0}


@pytest.mark.parametrize(("least", "is_suspect"), [(6.0, False), (6.01, True)])
def test_far_is_six_times_the_distance_of_the_smallest(least, is_suspect):
    others = least + np.arange(10)
    assert bool(suspects(1, 11, others)) is is_suspect
