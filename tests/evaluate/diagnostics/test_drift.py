"""Drift: each test of a column against SciPy's, and what no test may miss."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import suffice as sf
from suffice.diagnostics import drift
from suffice.errors import InvalidInputError
from suffice.evaluate.diagnostics.drift import drift_between
from suffice.evaluate.diagnostics.row_sums import RowSums


@pytest.fixture
def rows():
    rng = np.random.default_rng(3)
    x = rng.normal(size=(400, 3)) * [1, 5, 0.1] + [0, 100, 3]
    return x, rng.integers(0, 3, 400), rng


def test_means_of_normal_rows_are_compared_as_by_student(rows):
    x, y, rng = rows
    new = rng.normal(size=(250, 3)) * [1, 5, 0.1] + [0.2, 100, 3]
    found = {(c.column, c.what): c for c in drift(sf.LDA().fit(x, y), new).columns}
    for j in range(3):
        p = stats.ttest_ind(x[:, j], new[:, j]).pvalue
        assert found[f"x{j}", "mean"].p_value == pytest.approx(p, rel=0.02)
        effect = (new[:, j].mean() - x[:, j].mean()) / x[:, j].std()
        assert found[f"x{j}", "mean"].effect == pytest.approx(effect)


@pytest.mark.parametrize("n_new", [15, 40, 200])
def test_means_of_skewed_rows_are_compared_as_by_all_permutations(n_new):
    rng = np.random.default_rng(n_new)
    old = rng.exponential(size=(200, 1))
    new = rng.exponential(size=(n_new, 1)) + 2.2 / np.sqrt(n_new)
    found = drift(sf.LDA().fit(old, np.arange(200) % 2), new).columns[0]
    both = np.concatenate([old, new]).ravel()
    drawn = np.array([rng.permutation(both)[:n_new].mean() for _ in range(20_000)])
    share = (drawn >= new.mean()).mean()
    assert found.p_value == pytest.approx(2 * min(share, 1 - share), rel=0.15, abs=0.004)


def test_a_number_with_two_values_has_fishers_exact_test():
    rng = np.random.default_rng(0)
    old = np.where(rng.random((500, 2)) < 0.02, 7.0, 3.0)
    new = np.where(rng.random((30, 2)) < 0.2, 7.0, 3.0)
    new[:, 1] = 3.0
    found = drift(sf.LDA().fit(old, rng.integers(0, 2, 500)), new).columns
    assert [c.what for c in found] == ["mean", "mean"]
    for j, column in enumerate(found):
        counts = [[(x[:, j] == v).sum() for v in (7.0, 3.0)] for x in (old, new)]
        exact = stats.fisher_exact(counts).pvalue
        point = stats.hypergeom.pmf(counts[1][0], 530, counts[0][0] + counts[1][0], 30)
        assert column.p_value == pytest.approx(exact - point / 2, rel=1e-6)


@pytest.mark.parametrize("gap", [False, True])
def test_rows_of_a_frame_have_the_names_of_the_fit(rows, gap):
    x, y, _ = rows
    frame = pd.DataFrame(x, columns=["a", "b", "c"])
    if gap:
        frame.loc[5, "a"] = np.nan
    fitted = sf.LDA().fit(frame, y)
    for new in (frame, frame[::-1]):  # and no warning of columns without names
        assert {c.column for c in drift(fitted, new).columns} == {"a", "b", "c"}


def test_shares_of_levels_are_compared_as_by_chi_square(rows):
    x, y, rng = rows
    old = pd.DataFrame({"c": rng.choice(list("abc"), 400), "x": x[:, 0]})
    new = pd.DataFrame({"c": rng.choice(list("abc"), 300, p=[0.5, 0.3, 0.2]), "x": x[:300, 0]})
    found = next(c for c in drift(sf.LDA().fit(old, y), new).columns if c.column == "c")
    counts = [frame["c"].value_counts().reindex(list("abc")) for frame in (old, new)]
    assert found.p_value == pytest.approx(stats.chi2_contingency(counts).pvalue, rel=0.02)
    shares = np.array(counts) / np.sum(counts, axis=1, keepdims=True)
    assert found.effect == pytest.approx(0.5 * np.abs(shares[1] - shares[0]).sum())


def test_a_level_never_seen_before_is_a_drift(rows):
    x, y, rng = rows
    old = pd.DataFrame({"c": rng.choice(list("ab"), 400), "x": x[:, 0]})
    assert drift(sf.LDA().fit(old, y), old.assign(c="z")).moved == ("c",)


def test_cells_that_become_empty_are_a_drift(rows):
    x, y, _ = rows
    old = pd.DataFrame(x, columns=list("abc"))
    old.loc[:5, "a"] = np.nan
    new = old.copy()
    new.loc[:200, "a"] = np.nan
    fitted = sf.LDA(missing="indicator").fit(old, y)
    missing = next(c for c in drift(fitted, new).columns if c.what == "missing")
    assert missing.column == "a"
    assert (missing.before, missing.after) == pytest.approx((6 / 400, 201 / 400))
    assert "a" in drift(fitted, new).moved


def test_what_is_said_of_missing_cells_is_always_their_share(rows):
    _, y, rng = rows
    names = [f"x{j}" for j in range(12)]
    old = pd.DataFrame(rng.normal(size=(400, 12)), columns=names).mask(
        rng.random((400, 12)) < 0.1
    )
    new = old[:150].mask(rng.random((150, 12)) < 0.05)
    columns = drift(sf.LDA(missing="indicator").fit(old, y), new).columns
    found = {c.column: (c.before, c.after) for c in columns if c.what == "missing"}
    assert set(found) == set(names)
    for name, shares in found.items():
        assert shares == pytest.approx((old[name].isna().mean(), new[name].isna().mean()))


def test_all_together_is_hotellings_test(rows):
    x, y, rng = rows
    new = rng.normal(size=(250, 3)) * [1, 5, 0.1] + [0.1, 100.5, 3]
    found = drift(sf.QDA().fit(x, y), new)
    delta = new.mean(0) - x.mean(0)
    v = (399 * np.cov(x.T) + 249 * np.cov(new.T)) / 648 * (1 / 400 + 1 / 250)
    assert (found.df, found.error_df) == (3, 648)
    assert found.statistic == pytest.approx(delta @ np.linalg.solve(v, delta), rel=1e-9)
    assert found.p_value == pytest.approx(
        stats.f.sf(found.statistic * 646 / (648 * 3), 3, 646)
    )


def test_rows_of_the_same_kind_are_no_drift_and_units_play_no_part(rows):
    x, y, rng = rows
    new = rng.normal(size=(250, 3)) * [1, 5, 0.1] + [0, 100, 3]
    found = drift(sf.LDA().fit(x, y), new)
    assert found.moved == ()
    scaled = drift(sf.LDA().fit(x * 1e6, y), new * 1e6)
    assert scaled.statistic == pytest.approx(found.statistic, rel=1e-6)
    assert "no evidence in 6 tests that a column has moved" in repr(found)


def test_too_few_rows_are_refused(rows):
    x, y, _ = rows
    with pytest.raises(InvalidInputError, match="the new rows: weight 1"):
        drift(sf.LDA().fit(x, y), x[:1])


def test_a_drift_is_drawn_with_its_largest_change_on_top(rows):
    x, y, _ = rows
    axes = drift(sf.LDA().fit(x, y), x + np.array([0, 20, 0])).plot()
    assert axes.get_yticklabels()[-1].get_text() == "x1: mean"


def test_a_column_that_is_empty_in_all_new_rows_is_a_drift(rows):
    x, y, _ = rows
    empty = x.copy()
    empty[:, 1] = np.nan
    found = drift(sf.LDA().fit(x, y), empty)
    assert found.moved == ("x1",)
    assert [(c.what, c.before, c.after) for c in found.columns if c.column == "x1"] == [
        ("missing", 0, 1)
    ]
    assert found.df == 2
    assert found.p_value == pytest.approx(1)


def test_rows_with_holes_are_compared_by_what_they_have(rows):
    x, y, _ = rows
    holes = x.copy()
    holes[y == 0, 1] = np.where(np.arange((y == 0).sum()) % 2, np.nan, holes[y == 0, 1])
    same = {(c.column, c.what): c for c in drift(sf.QDA().fit(holes, y), holes).columns}
    assert same["x1", "mean"].before == pytest.approx(np.nanmean(holes[:, 1]))
    assert same["x1", "mean"].after == pytest.approx(np.nanmean(holes[:, 1]))
    assert same["x1", "spread"].before == pytest.approx(np.nanstd(holes[:, 1]))


def test_sums_of_transformed_rows_are_compared_whatever_their_classes():
    x = np.random.default_rng(3).normal(size=(90, 2))
    y = np.repeat(["a", "b", "c"], 30)
    before = sf.LDA(power="yeo-johnson").fit(x, y).moments_
    after = sf.Moments.of(x[:60], y[:60], power=before.power)
    assert 0 < drift_between(RowSums(before), RowSums(after)).p_value <= 1


@pytest.mark.parametrize("n_new", [4, 12, 100])
def test_few_rows_of_the_same_kind_are_no_more_often_a_drift_than_they_may_be(n_new):
    rng = np.random.default_rng(0)
    fitted = sf.LDA().fit(rng.normal(size=(500, 10)), rng.integers(0, 2, 500))
    found = [drift(fitted, rng.normal(size=(n_new, 10))) for _ in range(100)]
    p = np.array([[c.p_value for c in each.columns] for each in found])  # (100, 20)
    assert (p[:, ::2] <= 0.05).mean() < 0.075  # means
    assert (p[:, 1::2] <= 0.05).mean() < 0.075  # spreads
    together = [each.p_value for each in found]
    assert stats.kstest(together, "uniform").pvalue > 0.001


def test_spreads_of_heavy_tails_vary_more_and_are_no_drift():
    rng = np.random.default_rng(0)
    fitted = sf.QDA().fit(rng.standard_t(5, (2000, 20)), rng.integers(0, 2, 2000))
    new = rng.standard_t(5, (2000, 20))
    spreads = [c for c in drift(fitted, new).columns if c.what == "spread"]
    assert sum(c.p_value <= 0.05 for c in spreads) <= 3
    assert drift(fitted, new).moved == ()
    assert len(drift(fitted, new * 1.5).moved) == 20


def test_the_kurtosis_of_spreads_is_that_of_the_rows_whatever_their_parts(rows):
    x, y, rng = rows
    fit = sf.Moments.of(x, y)
    new = rng.exponential(size=(300, 3)) * [1e-3, 1e6, 1] + [7, 0, -1e3]
    parts = [RowSums.like(fit, part) for part in np.split(new, 5)]
    whole = RowSums.like(fit, new)
    total = parts[0] + parts[1] + parts[2] + parts[3] + parts[4]
    np.testing.assert_allclose(
        total.moments.higher.as_array(), whole.moments.higher.as_array(), rtol=1e-6
    )
    found = {
        c.column: c
        for c in drift_between(RowSums.like(fit, x), whole).columns
        if c.what == "spread"
    }
    for j in range(3):
        both = [z - z.mean() for z in (x[:, j], new[:, j])]
        kappa = min(
            stats.kurtosis(np.concatenate(both), fisher=False),
            2 * max(stats.kurtosis(z, fisher=False) for z in both),
        )
        share, ratio = 2 / (kappa - 1), new[:, j].var(ddof=1) / x[:, j].var(ddof=1)
        f = stats.f(share * 299, share * 399)
        expected = 2 * min(f.cdf(ratio), f.sf(ratio))
        assert found[f"x{j}"].p_value == pytest.approx(expected, rel=1e-6)


def test_rare_levels_among_few_rows_are_no_drift():
    rng = np.random.default_rng(0)
    share = 1 / np.arange(1, 31)
    levels = np.array([f"level {j}" for j in range(30)])

    def drawn(n):
        return pd.DataFrame({"c": rng.choice(levels, n, p=share / share.sum())})

    fitted = sf.GaussianNB().fit(drawn(500), rng.integers(0, 2, 500))
    p = np.array([drift(fitted, drawn(8)).columns[0].p_value for _ in range(200)])
    assert (p <= 0.05).mean() < 0.09
    assert (p <= 0.001).mean() < 0.02
    assert drift(fitted, drawn(8).assign(c="level 29")).moved == ("c",)


def test_rare_levels_that_the_fit_has_merged_are_merged_in_new_rows():
    rng = np.random.default_rng(0)
    x = pd.DataFrame({"c": [f"level {j}" for j in rng.integers(0, 130, 400)]})
    with pytest.warns(sf.errors.SufficeWarning, match="39 most frequent"):
        fitted = sf.GaussianNB(categorical=["c"]).fit(x, rng.integers(0, 2, 400))
    category = fitted.moments_.schema.categories[0]
    assert category.other
    assert drift(fitted, x).columns[0].effect == pytest.approx(0, abs=1e-9)
    halves = [RowSums.like(fitted.moments_, rows) for rows in (x[:200], x[200:])]
    whole = drift_between(RowSums(fitted.moments_), halves[0] + halves[1])
    assert whole.columns[0].effect == pytest.approx(0, abs=1e-9)
    new = pd.DataFrame({"c": [f"level {j}" for j in rng.integers(0, 130, 100)]})
    assert drift(fitted, new).moved == ()
    assert drift(fitted, new.assign(c=category.levels[0])).moved == ("c",)
    gaps = new.assign(c=[None, *new["c"][1:]])
    assert drift(fitted, gaps).n_after == 100


@pytest.mark.parametrize("unit", [1e-60, 1.0, 1e60])
def test_units_of_any_size_change_nothing(rows, unit):
    x, y, rng = rows
    new = rng.normal(size=(50, 3)) * [1, 8, 0.1] + [0, 100, 3]
    expected = [c.p_value for c in drift(sf.LDA().fit(x, y), new).columns]
    found = [c.p_value for c in drift(sf.LDA().fit(x * unit, y), new * unit).columns]
    assert found == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("unit", [1e-140, 1e140])
def test_spreads_whose_fourth_powers_overflow_are_not_tested(rows, unit):
    x, y, rng = rows
    new = rng.normal(size=(50, 3)) * [1, 8, 0.1] + [0, 100, 3]
    expected = drift(sf.LDA().fit(x, y), new).columns
    found = drift(sf.LDA().fit(x * unit, y), new * unit).columns
    for here, there in zip(found, expected, strict=True):
        if here.what == "spread":
            assert np.isnan(here.p_value)
            assert here.note == "not tested: the fit keeps no fourth moments"
        else:
            assert here.p_value == pytest.approx(there.p_value, rel=0.1)


def test_a_constant_column_and_heavy_tails_with_few_rows_have_a_note_and_no_p_value(rows):
    _, y, rng = rows
    old = np.column_stack([np.ones(400), rng.lognormal(size=400)])
    new = np.column_stack([np.ones(20), rng.lognormal(size=20)])
    with pytest.warns(sf.errors.DegenerateDataWarning):
        fitted = sf.LDA().fit(old, y)
    found = {(c.column, c.what): c for c in drift(fitted, new).columns}
    assert np.isnan(found["x0", "mean"].p_value)
    assert found["x0", "mean"].note == "not tested: the column is constant"
    assert np.isnan(found["x1", "spread"].p_value)
    assert "2 changes not tested for want of rows" in repr(drift(fitted, new))
