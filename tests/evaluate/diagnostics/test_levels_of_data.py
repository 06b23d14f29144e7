"""Random tables rarely have a suspicious column, or rows that seem to belong together."""

import numpy as np
import pandas as pd
import pytest
from tests.levels import assert_rate

from suffice.evaluate.diagnostics.data import data_checks


def normal(rng, y):
    return rng.normal(size=(len(y), 12))


def rounded(rng, y):
    # nearly every row shares half of its cells with another row by chance
    return np.rint(np.clip(3 * rng.normal(size=(len(y), 4)), -6, 6))


def whole_numbers(rng, y):
    return rng.integers(0, 100_000, size=(len(y), 3)).astype(float)


def codes(rng, y):
    return pd.DataFrame({"code": [f"c{i}" for i in rng.integers(0, 2000, len(y))]})


@pytest.mark.parametrize("draw", [normal, rounded, whole_numbers, codes])
@pytest.mark.parametrize(("n", "n_rare"), [(40, 20), (40, 4), (20, 2), (20, 1)])
def test_columns_of_random_tables_are_rarely_suspicious(draw, n, n_rare):
    rng = np.random.default_rng(0)
    y = (np.arange(n) < n_rare).astype(int)
    is_alarm = [bool(data_checks(draw(rng, y), y).caveats) for _ in range(7)]
    assert_rate(is_alarm, 0.0, 0.05)


@pytest.mark.parametrize("n_rare", [20, 4])
def test_a_column_that_is_the_class_is_suspicious(n_rare):
    rng = np.random.default_rng(1)
    y = (np.arange(40) < n_rare).astype(int)
    is_alarm = []
    for _ in range(5):
        x = normal(rng, y)
        x[:, 0] = y + 0.01 * rng.normal(size=40)
        is_alarm.append(bool(data_checks(x, y).caveats))
    assert_rate(is_alarm, 0.95, 1.0)


@pytest.mark.parametrize(("n_columns", "is_suspicious"), [(5, True), (60, False)])
def test_each_further_column_may_be_the_one_that_fits_by_chance(n_columns, is_suspicious):
    # the four largest of 20 numbers are those of one class in 1 of 4,845 orders, and so are the
    # four smallest: 2/4,845 times 60 columns is above 1 %
    rng = np.random.default_rng(2)
    y = (np.arange(20) >= 16).astype(int)
    x = np.tile(np.where(np.arange(20) % 2, 0.3, 0.7)[:, None], n_columns)
    x[:, 0] = np.sort(rng.normal(size=20))
    suspects = data_checks(x, y).suspects
    assert [suspect.predicts_alone for suspect in suspects] == [True] * is_suspicious
