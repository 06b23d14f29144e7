"""Sums that must refuse, name and keep what a person gave."""

from fractions import Fraction

import numpy as np
import pytest

import suffice as sf
from suffice.core.moments.exact_product_loops import split
from suffice.core.moments.loops import LANES
from suffice.core.moments.rounding_grid import RoundingGrid
from suffice.errors import (
    FeatureMismatchError,
    ForgetError,
    InvalidInputError,
    SufficeWarning,
)


def grid(origins, exponents):
    return RoundingGrid(np.array(origins, float), np.array(exponents))


@pytest.mark.parametrize("n", [20, 50_000])
@pytest.mark.parametrize("storage", ["per-class", "pooled"])
def test_a_row_outside_the_grid_is_refused_in_small_and_large_tables(n, storage):
    x = np.random.default_rng(0).normal(size=(n, 2))
    y = np.arange(n) % 2
    around = RoundingGrid.around(x)
    inside = sf.Moments.of(x, y, storage=storage, exact=around)
    np.testing.assert_allclose(inside.grand_mean, x.mean(0), atol=1e-6)
    x[n // 2, 1] = 1e9
    with pytest.raises(InvalidInputError, match=str(n // 2)):
        sf.Moments.of(x, y, storage=storage, exact=around)


def test_the_feature_whose_grids_differ_is_named():
    x = np.array([[0.5, 1.0], [1.0, 3.0]])
    a = sf.Moments.of(x, [0, 1], exact=grid([0.0, 0.0], [-10, -10]))
    b = sf.Moments.of(x, [0, 1], exact=grid([0.0, 1.0], [-10, -10]))
    with pytest.raises(FeatureMismatchError, match="feature 1 has steps"):
        a + b


def test_more_rows_than_were_added_cannot_be_forgotten_exactly():
    on = grid([0.0], [-10])
    total = sf.Moments.of(np.array([[1.0]]), [0], [5.0], exact=on)
    part = sf.Moments.of(np.array([[1.0], [1.0]]), [0, 0], exact=on)
    with pytest.raises(ForgetError, match="cannot be"):
        total - part


def test_names_of_either_side_are_kept_by_exact_sums():
    import pandas as pd

    on = grid([0.0, 0.0], [-10, -10])
    x = np.array([[0.5, 1.0], [1.0, 3.0]])
    named = sf.Moments.of(pd.DataFrame(x, columns=["u", "v"]), [0, 1], exact=on)
    nameless = sf.Moments.of(x, [0, 1], exact=on)
    assert (named + nameless).feature_names == ("u", "v")
    assert (nameless + named).feature_names == ("u", "v")


def test_pooled_sums_of_many_rows_far_from_zero_keep_their_digits():
    rng = np.random.default_rng(0)
    z = np.rint(rng.normal(size=(40_000, 3)) * 2**10) / 2**10
    y = np.arange(40_000) % 2
    near = sf.Moments.of(z, y, storage="pooled")
    far = sf.Moments.of(z + 2.0**30, y, storage="pooled")
    np.testing.assert_allclose(far.pooled_scatter, near.pooled_scatter, rtol=1e-9, atol=1e-6)


def test_masked_sums_count_the_lower_triangle_of_products_as_they_are_written():
    from suffice.core.moments.masked_sums import SumLayout

    rng = np.random.default_rng(0)
    x = rng.normal(size=(30, 3))
    for storage in ("pooled", "per-class"):
        sums = sf.Moments.of(x, np.arange(30) % 2, storage=storage, exact="auto").exact
        layout = SumLayout(sums.grid, sums.classes, None, storage)
        flat = layout.flattened(sums)
        assert sum(layout.sizes) == len(flat.high)
        again = layout.restored(flat)
        np.testing.assert_array_equal(again.products.low, sums.products.low)
        np.testing.assert_array_equal(again.sums.low, sums.sums.low)


@pytest.mark.parametrize("scale", [1e-4, 1.0, 1e4])
def test_a_coarse_grid_is_warned_about_in_any_unit(scale):
    x = scale * np.random.default_rng(0).normal(size=(50, 1))
    exponent = int(np.frexp(scale)[1])  # steps of about two standard deviations
    with pytest.warns(SufficeWarning, match="coarse for feature 0"):
        sf.Moments.of(x, np.arange(50) % 2, exact=grid([0.0], [exponent]))


@pytest.mark.parametrize(("low", "high"), [(-8.0, 8.0), (4.0, 7.0), (-1000.0, -1.0)])
def test_a_grid_lies_around_the_middle_of_the_rows(low, high):
    around = RoundingGrid.around(np.array([[low], [high]]))
    half_range = (high - low) / 2
    assert abs(around.origins[0] - (low + high) / 2) <= half_range / 4


@pytest.mark.parametrize("n", [30, 60_000])
@pytest.mark.parametrize("storage", ["per-class", "pooled", "diagonal"])
def test_rows_with_missing_numbers_keep_higher_moments_unless_they_are_many_and_diagonal(
    n, storage
):
    x = np.random.default_rng(0).normal(size=(n, 4))
    x[::7, 1] = np.nan
    moments = sf.Moments.of(x, np.arange(n) % 2, storage=storage)
    assert (moments.higher is None) == (n == 60_000 and storage == "diagonal")


def test_a_column_that_a_class_no_longer_has_leaves_nothing_behind():
    x = np.array([[1.0, 5.0], [2.0, np.nan], [3.0, np.nan], [4.0, 6.0], [5.0, 8.0]])
    y = np.array([0, 0, 0, 1, 1])
    total = sf.Moments.of(x, y, storage="diagonal")
    rest = total - sf.Moments.of(x[:1], y[:1], storage="diagonal")
    expected = sf.Moments.of(x[1:], y[1:], storage="diagonal")
    for name in ("weights", "counts", "means", "means_low", "diagonals"):
        found = getattr(rest.patterns.column_sums, name)
        np.testing.assert_array_equal(
            found, getattr(expected.patterns.column_sums, name), err_msg=name
        )


def test_a_row_outside_the_grid_is_numbered_from_zero():
    x = np.array([[0.0], [1.0], [1e9]])
    with pytest.raises(InvalidInputError, match="row 2"):
        grid([0.0], [-20]).rounded(x, None)


def test_means_far_from_zero_differ_from_each_other_by_all_their_digits():
    x = 1e8 + np.random.default_rng(0).normal(size=(60, 2))
    y = np.arange(60) % 2
    centred = sf.Moments.of(x, y).centred_means
    for j in range(2):
        means = [sum(map(Fraction, x[y == k, j].tolist())) / 30 for k in range(2)]
        difference = float(means[1] - means[0])
        assert centred[1, j] - centred[0, j] == pytest.approx(difference, rel=1e-12)


def test_rows_without_weight_are_not_kept():
    x = np.random.default_rng(0).normal(size=(6, 20))
    y = np.array([0, 1, 0, 1, 0, 1])
    w = np.array([1.0, 2.0, 0.0, 1.0, 1.0, 0.0])
    moments = sf.Moments.of(x, y, w, storage="rows")
    np.testing.assert_array_equal(moments.scatter.rows, x[[0, 4, 1, 3]])


def test_steps_are_outside_the_range_if_any_of_them_is():
    low = np.empty((1, LANES))
    both = np.empty((1, LANES))
    inside = np.arange(LANES, dtype=float)[None]
    assert split(inside.copy(), np.ones(1), LANES, float(LANES), low, both)
    assert not split(inside.copy(), np.ones(1), LANES, LANES - 1.0, low, both)


def test_the_last_column_far_from_zero_keeps_its_digits_in_pooled_sums():
    z = np.random.default_rng(0).normal(size=(3000, 3))
    y = np.arange(3000) % 2
    near = sf.Moments.of(z, y, storage="pooled")
    far = sf.Moments.of(z + 2.0**27, y, storage="pooled")
    # adding 2²⁷ rounds each number to 2⁻²⁶, which changes sums of squares by 1e-8 at most
    np.testing.assert_allclose(far.scatter.values, near.scatter.values, atol=1e-4)
