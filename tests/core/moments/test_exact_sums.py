"""Exact sums: the laws of a group bit for bit, and a read-out that is rounded once."""

from fractions import Fraction
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import suffice as sf
from suffice.core.moments import exact_products
from suffice.core.moments.exact_sums import ExactSums
from suffice.core.moments.int128 import Int128
from suffice.core.moments.rounding_grid import RoundingGrid
from suffice.errors import (
    FeatureMismatchError,
    ForgetError,
    InvalidInputError,
    InvalidParameterError,
    MissingStatisticsError,
    SufficeWarning,
)

INTEGERS = st.integers(-(2**127), 2**127 - 1)


def wide(numbers):
    """Return integers of Python as an array of 128 bits."""
    data = b"".join((number % 2**128).to_bytes(16, "big") for number in numbers)
    return Int128.from_bytes(data, (len(numbers),))


def rows(n=240, d=3, k=3, seed=0, offset=0.0):
    r = np.random.default_rng(seed)
    y = r.integers(0, k, n)
    x = r.normal(size=(n, d)) * 10.0 ** r.integers(-3, 4, d) + offset + y[:, None]
    return x, y


@given(st.lists(st.tuples(INTEGERS, INTEGERS), min_size=1, max_size=5), st.integers(0, 63))
def test_integers_of_128_bits_are_those_of_python_modulo_2_to_the_128(pairs, bits):
    a = wide([pair[0] for pair in pairs])
    b = wide([pair[1] for pair in pairs])

    def signed(number):
        return (number + 2**127) % 2**128 - 2**127

    for i, (left, right) in enumerate(pairs):
        assert a.item(i) == left
        assert (a + b).item(i) == signed(left + right)
        assert (a - b).item(i) == signed(left - right)
        assert (-a).item(i) == signed(-left)
        assert (a * b).item(i) == signed(left * right)
        assert (a << bits).item(i) == signed(left << bits)
        assert bool(a.is_negative[i]) == (left < 0)
        assert bool(a.is_zero[i]) == (left == 0)
    assert Int128.from_bytes(a.to_bytes(), a.shape).equals(a)
    assert a[:, None].sum(0).item(0) == signed(sum(pair[0] for pair in pairs))


@given(st.lists(INTEGERS, min_size=1, max_size=8))
def test_a_pair_of_floats_holds_106_bits_of_an_integer(numbers):
    pair = wide(numbers).to_pair()
    for i, number in enumerate(numbers):
        value = Fraction(pair.high[i]) + Fraction(pair.low[i])
        assert abs(value - number) <= Fraction(abs(number), 2**104)


@pytest.mark.parametrize("offset", [0.0, 1e8, -3e-9])
@pytest.mark.parametrize("weighted", [False, True])
def test_means_and_scatters_are_the_true_ones_rounded_once(offset, weighted):
    x, y = rows(60, 2, offset=offset)
    r = np.random.default_rng(5)
    w = r.integers(1, 5000, len(y)) if weighted else np.ones(len(y), int)
    grid = RoundingGrid.around(x)
    m = sf.Moments.of(x, y, w if weighted else None, exact=grid)
    steps = [Fraction(2) ** int(e) for e in grid.exponents]
    for k in range(3):
        members = np.flatnonzero(y == k)
        q = grid.rounded(x[members], None)
        # the values that were summed, as fractions
        value = [
            [Fraction(grid.origins[j]) + steps[j] * int(row[j]) for j in range(2)] for row in q
        ]
        weight = [int(u) for u in w[members]]
        n = sum(weight)
        mean = [sum(u * v[j] for u, v in zip(weight, value, strict=True)) / n for j in (0, 1)]
        assert m.means[k].tolist() == [float(mu) for mu in mean]
        for i in range(2):
            for j in range(2):
                scatter = sum(
                    u * (v[i] - mean[i]) * (v[j] - mean[j])
                    for u, v in zip(weight, value, strict=True)
                )
                assert m.scatters[k, i, j] == float(scatter)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 9), st.sampled_from(["per-class", "pooled"]))
def test_any_order_and_grouping_of_parts_gives_the_same_bits(seed, n_parts, storage):
    x, y = rows(50, 2, seed=seed)
    grid = RoundingGrid.around(x)
    whole = sf.Moments.of(x, y, exact=grid, storage=storage)
    r = np.random.default_rng(seed)
    order = r.permutation(len(y))
    total = sf.Moments.empty()
    for part in np.array_split(order, n_parts):
        total = total + sf.Moments.of(x[part], y[part], exact=grid, storage=storage)
    assert total.digest() == whole.digest()
    assert np.array_equal(total.means, whole.means)
    assert np.array_equal(total.means_low, whole.means_low)
    assert np.array_equal(total.scatter.values, whole.scatter.values)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(0, 50))
def test_forgotten_rows_leave_no_bit_behind(seed, n_forgotten):
    x, y = rows(50, 2, seed=seed)
    x[0] *= 1e3  # an outlier, which would cost floating sums their digits
    grid = RoundingGrid.around(x)
    gone = np.random.default_rng(seed).permutation(len(y))[:n_forgotten]
    kept = np.setdiff1d(np.arange(len(y)), gone)
    rest = sf.Moments.of(x, y, exact=grid) - sf.Moments.of(x[gone], y[gone], exact=grid)
    never = sf.Moments.of(x[kept], y[kept], exact=grid)
    assert rest.digest() == never.digest()


def test_a_long_history_of_adding_and_forgetting_equals_retraining():
    x, y = rows(400, 2)
    grid = RoundingGrid.around(x)
    r = np.random.default_rng(1)
    held = np.zeros(len(y), bool)
    m = sf.Moments.of(x[:0], y[:0], classes=[0, 1, 2], exact=grid)
    for _ in range(300):
        i = int(r.integers(len(y)))
        row = sf.Moments.of(x[[i]], y[[i]], exact=grid)
        m = m - row if held[i] else m + row
        held[i] = not held[i]
    assert m.digest() == sf.Moments.of(x[held], y[held], exact=grid).digest()


@pytest.mark.parametrize("storage", ["per-class", "pooled"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("order", ["C", "F"])
def test_compiled_and_plain_sums_have_the_same_digest(storage, weighted, order, monkeypatch):
    x, y = rows(30_011, 7)
    x = np.asarray(x, order=order)
    w = np.random.default_rng(2).integers(0, 3000, len(y)) if weighted else None
    grid = RoundingGrid.around(x)
    compiled = sf.Moments.of(x, y, w, exact=grid, storage=storage)
    monkeypatch.setattr(exact_products, "SMALL", 10**9)
    plain = sf.Moments.of(x, y, w, exact=grid, storage=storage)
    assert compiled.digest() == plain.digest()
    assert (
        plain.digest()
        == sf.Moments.of(x, y, w, exact=grid, storage=storage, n_jobs=3).digest()
    )


@pytest.mark.parametrize("storage", ["per-class", "pooled"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("order", ["C", "F"])
def test_compiled_sums_of_wide_rows_have_the_digest_of_plain_ones(
    storage, weighted, order, monkeypatch
):
    x, _ = rows(4_700, 130)
    x = np.asarray(x, order=order)
    # more rows of one class than floats add up without rounding, few of another, none of a third
    y = np.where(np.arange(len(x)) % 97 == 0, 3, 1)
    w = np.random.default_rng(2).integers(0, 20, len(y)) if weighted else None
    grid = RoundingGrid.around(x)
    classes = np.arange(4)
    compiled = sf.Moments.of(x, y, w, classes=classes, exact=grid, storage=storage)
    monkeypatch.setattr(exact_products, "SMALL", x.size)
    plain = sf.Moments.of(x, y, w, classes=classes, exact=grid, storage=storage)
    assert compiled.digest() == plain.digest()


def test_the_digest_tells_rows_grids_names_and_labels_apart():
    x, y = rows()
    grid = RoundingGrid.around(x)
    digests = {
        sf.Moments.of(x, y, exact=grid).digest(),
        sf.Moments.of(x[1:], y[1:], exact=grid).digest(),
        sf.Moments.of(x, y, exact=RoundingGrid.around(x, headroom=4)).digest(),
        sf.Moments.of(x, y.astype(str), exact=grid).digest(),
        sf.Moments.of(x, y, exact=grid, storage="pooled").digest(),
        sf.Moments.of(np.nextafter(x, np.inf) + grid.steps, y, exact=grid).digest(),
    }
    assert len(digests) == 6


def test_the_digest_is_that_of_the_canonical_form():
    x = np.array([[1.0], [2.0], [4.0]])
    grid = RoundingGrid.of([0.0], [0])
    m = sf.Moments.of(x, ["a", "a", "b"], exact=grid)
    assert m.digest() == "f90860d80d9f27cfdc3531191c90637862bcea508833abe6a1dbf745dddfa04e"


REFERENCE = Path(__file__).parents[2] / "reference" / "data"
TABLES = [*sf.datasets.names(), *sorted(path.name for path in REFERENCE.glob("*.csv"))]


def numbers_of(name):
    """Return the complete rows of a table, numbers that vary only, and their labels."""
    if name.endswith(".csv"):
        frame = pl.read_csv(REFERENCE / name, null_values="NA", infer_schema_length=None)
        target = "target"
    else:
        frame = sf.datasets.load(name).frame()
        target = sf.datasets.load(name).target
    x = frame.drop(target).select(pl.selectors.numeric()).to_numpy().astype(float)
    complete = ~np.isnan(x).any(1)
    x = x[complete]
    return x[:, x.std(0) > 0], frame[target].to_numpy()[complete]


@pytest.mark.filterwarnings("ignore::suffice.errors.DegenerateDataWarning")  # of digits
@pytest.mark.parametrize("table", [name for name in TABLES if name != "house_votes84.csv"])
@pytest.mark.parametrize(
    "model", [sf.LDA(shrinkage=0.01), sf.QDA(shrinkage=0.1), sf.GaussianNB()], ids=repr
)
def test_models_of_exact_and_of_floating_sums_agree_on_every_table(table, model):
    x, y = numbers_of(table)
    moments = sf.Moments.of(x, y, exact="auto")
    exact = model.fit_moments(moments).predict_proba(x)
    floating = model.fit_moments(sf.Moments.of(x, y)).predict_proba(x)
    # The pooled covariance of zoo is singular: LDA of floating sums alone differs by 1e-8 when
    # the rows come in another order.
    is_singular = table == "zoo.csv" and isinstance(model, sf.LDA)
    np.testing.assert_allclose(exact, floating, rtol=0, atol=1e-7 if is_singular else 1e-9)


def test_a_model_keeps_the_grid_when_rows_are_added_and_forgotten():
    x, y = rows()
    grid = RoundingGrid.around(x)
    whole = sf.Moments.of(x, y, exact=grid)
    qda = sf.QDA().fit_moments(sf.Moments.of(x[:100], y[:100], exact=grid))
    qda.partial_fit(x[100:], y[100:])
    assert qda.moments_.digest() == whole.digest()
    qda.forget(x[:100], y[:100])
    assert qda.moments_.digest() == sf.Moments.of(x[100:], y[100:], exact=grid).digest()


def test_a_file_holds_the_integers(tmp_path):
    x, y = rows()
    m = sf.Moments.of(x, y, exact="auto")
    m.save(tmp_path / "m.moments")
    loaded = sf.load(tmp_path / "m.moments")
    assert loaded.digest() == m.digest()
    assert (loaded + m).digest() == (m + m).digest()
    sf.QDA().fit_moments(m).save(tmp_path / "m.suffice")
    assert sf.load(tmp_path / "m.suffice").moments_.digest() == m.digest()


def test_selected_features_stay_exact():
    x, y = rows()
    grid = RoundingGrid.around(x)
    m = sf.Moments.of(x, y, exact=grid).select([2, 0])
    part = sf.Moments.of(x[:, [2, 0]], y, exact=grid.select(np.array([2, 0])))
    assert m.digest() == part.digest()


def test_sums_on_different_grids_are_not_added():
    x, y = rows()
    m = sf.Moments.of(x, y, exact=RoundingGrid.around(x))
    other = sf.Moments.of(x, y, exact=RoundingGrid.around(x, headroom=5))
    with pytest.raises(FeatureMismatchError, match="different grids"):
        m + other
    with pytest.raises(FeatureMismatchError, match="one side has exact sums"):
        m + sf.Moments.of(x, y)
    with pytest.raises(FeatureMismatchError, match="one side has exact sums"):
        sf.Moments.of(x, y) - m
    with pytest.raises(FeatureMismatchError, match="the same storage"):
        m + sf.Moments.of(x, y, exact=RoundingGrid.around(x), storage="pooled")


def test_an_origin_of_minus_zero_is_zero():
    x, y = rows()
    plus, minus = (
        sf.Moments.of(x, y, exact=RoundingGrid.of([zero] * x.shape[1], [-30] * x.shape[1]))
        for zero in (0.0, -0.0)
    )
    assert plus.digest() == minus.digest()
    assert (plus + minus).digest() == (minus + plus).digest()


def test_rows_that_were_never_added_are_not_forgotten():
    x, y = rows()
    grid = RoundingGrid.around(x, headroom=10)
    m = sf.Moments.of(x, y, exact=grid)
    with pytest.raises(ForgetError, match="cannot be forgotten"):
        m - (m + m)
    with pytest.raises(ForgetError, match="their sums differ"):
        m - sf.Moments.of(x + grid.steps, y, exact=grid)
    with pytest.raises(ForgetError, match="never added"):
        m - sf.Moments.of(100 * x[:-20], y[:-20], exact=grid)


def test_values_that_a_grid_cannot_hold_are_refused_by_row_and_column():
    x, y = rows()
    grid = RoundingGrid.around(x)
    x[7, 1] *= 1e6
    with pytest.raises(
        InvalidInputError, match=r"row 7 has .* in column 1, which lies outside"
    ):
        sf.Moments.of(x, y, exact=grid)
    x[7, 1] = np.inf
    with pytest.raises(InvalidInputError, match="row 7 has inf in column 1"):
        sf.Moments.of(x, y, exact=grid)
    x[7, 1] = np.nan
    with pytest.raises(InvalidInputError, match="row 7 has no value in column 1"):
        sf.Moments.of(x, y, exact=grid)
    with pytest.raises(FeatureMismatchError, match="the grid has 3 features"):
        sf.Moments.of(x[:, :2], y, exact=grid)
    with pytest.raises(InvalidInputError, match="missing or infinite"):
        sf.Moments.of(x, y, exact="auto")


@given(
    st.lists(st.floats(-1e200, 1e200, allow_subnormal=False), min_size=1, max_size=9),
    st.integers(0, 4),
)
def test_a_grid_holds_the_rows_that_it_was_made_around(values, headroom):
    x = np.array(values)[:, None]
    grid = RoundingGrid.around(x, headroom=headroom)
    q = grid.rounded(x, None)  # raises where a value lies outside
    # as few bits are lost as the headroom says: the farthest value uses all others
    spread = np.ptp(x)
    if spread > 1e-200:
        assert np.abs(q).max() >= 2.0 ** (39 - headroom - 3)


def test_a_grid_without_headroom_holds_a_reach_just_below_a_power_of_two():
    x = np.array([[0.0], [2.0 - 2.0**-52]])
    for headroom in (0, 1):
        grid = RoundingGrid.around(x, headroom=headroom)
        sf.Moments.of(np.repeat(x, 2, 0), [0, 1, 0, 1], exact=grid)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (1e30, r"row 30000 has 1e\+30 in column 5, which lies outside the range"),
        (np.inf, "row 30000 has inf in column 5"),
        (-np.inf, "row 30000 has -inf in column 5"),
        (np.nan, "row 30000 has no value in column 5"),
    ],
)
def test_compiled_sums_refuse_what_a_grid_cannot_hold_on_any_thread(value, message):
    x, y = rows(40_000, 7)
    grid = RoundingGrid.around(x)
    x[30_000, 5] = value
    for n_jobs in (1, 3):
        with pytest.raises(InvalidInputError, match=message):
            sf.Moments.of(x, y, exact=grid, n_jobs=n_jobs)


@pytest.mark.parametrize("storage", ["per-class", "pooled"])
def test_one_two_and_eight_threads_give_the_same_bits(storage):
    x, y = rows(60_000, 5)
    grid = RoundingGrid.around(x)
    digests = {
        sf.Moments.of(x, y, exact=grid, storage=storage, n_jobs=n).digest() for n in (1, 2, 8)
    }
    backwards = sf.Moments.of(x[::-1], y[::-1], exact=grid, storage=storage, n_jobs=8)
    assert digests == {backwards.digest()}


def test_settings_that_exact_sums_lack_are_refused():
    x, y = rows()
    with pytest.raises(InvalidParameterError, match="fourth"):
        sf.Moments.of(x, y, exact="auto", fourth=True)
    with pytest.raises(InvalidParameterError, match="power"):
        sf.Moments.of(x, y, exact="auto", power="yeo-johnson")
    with pytest.raises(InvalidParameterError, match="diagonal"):
        sf.Moments.of(x, y, exact="auto", storage="diagonal")
    with pytest.raises(InvalidInputError, match="integers"):
        sf.Moments.of(x, y, np.full(len(y), 0.5), exact="auto")
    with pytest.raises(MissingStatisticsError, match="only exact sums have a digest"):
        sf.Moments.of(x, y).digest()
    with pytest.raises(InvalidParameterError, match="exact"):
        sf.Moments.of(x, y, exact="atuo")


def test_a_grid_that_is_coarser_than_the_data_is_warned_about():
    x, y = rows()
    grid = RoundingGrid.around(x)
    coarse = RoundingGrid.of(grid.origins, grid.exponents + np.array([0, 36, 0]))
    errors = np.rint((x[:, 1] - coarse.origins[1]) / coarse.steps[1]) * coarse.steps[1]
    errors += coarse.origins[1] - x[:, 1]
    share = np.mean(errors**2) / np.var(x[:, 1])
    with pytest.warns(SufficeWarning, match="coarse for feature 1") as warned:
        sf.Moments.of(x, y, exact=coarse)
    assert f"loses {100 * share:.2g} % of its variance" in str(warned[0].message)


def test_categories_are_refused_by_name():
    table = pl.DataFrame(
        {"x": [1.0, 2.0, 3.0, 5.0], "sex": ["m", "f", "m", "f"], "site": ["u", "v", "v", "u"]}
    )
    with pytest.raises(InvalidInputError, match="'sex', 'site' hold categories: leave these"):
        sf.Moments.of(table, [0, 1, 0, 1], exact="auto")
    with pytest.raises(InvalidInputError, match="'sex' holds categories: leave this column"):
        sf.Moments.of(table.drop("site"), [0, 1, 0, 1], exact="auto")


def test_weights_beyond_48_bits_are_refused():
    x, y = rows()
    grid = RoundingGrid.around(x)
    heavy = sf.Moments.of(x, y, np.full(len(y), 2.0**40), exact=grid)
    with pytest.raises(InvalidInputError, match="weights add up"):
        heavy + heavy
    with pytest.raises(InvalidInputError, match="weights add up"):
        sf.Moments.of(x, y, np.full(len(y), 2.0**47), exact=grid)


@pytest.mark.parametrize("storage", ["per-class", "pooled"])
def test_scatter_is_read_out_when_it_is_needed_and_only_once(storage, monkeypatch):
    x, y = rows()
    grid = RoundingGrid.around(x)
    read = []
    read_out = ExactSums.scatter_values
    monkeypatch.setattr(
        ExactSums, "scatter_values", lambda sums: read.append(sums) or read_out(sums)
    )
    whole = sf.Moments.of(x, y, exact=grid, storage=storage)
    rest = whole - sf.Moments.of(x[:9], y[:9], exact=grid, storage=storage)
    assert rest.digest() == sf.Moments.of(x[9:], y[9:], exact=grid, storage=storage).digest()
    assert not read
    assert np.array_equal(rest.pooled_scatter, rest.pooled_scatter)
    assert read == [rest.exact]


def test_scatters_of_some_classes_at_a_time_are_those_of_all(monkeypatch):
    x, y = rows(2000, 4, k=7)
    m = sf.Moments.of(x, y, exact="auto")
    together = m.exact.scatter_values()
    monkeypatch.setattr("suffice.core.moments.exact_sums._NUMBERS_AT_ONCE", 20)  # two classes
    assert np.array_equal(m.exact.scatter_values(), together)


@pytest.mark.parametrize("most_numbers", [0, 10**9])  # compiled loops, and matrix products
@pytest.mark.parametrize("weight", [None, 7])
def test_sums_at_the_edge_of_the_grid_are_those_of_integers(most_numbers, weight, monkeypatch):
    monkeypatch.setattr(exact_products, "SMALL", most_numbers)
    # q = 2²⁰ upper + lower with nearly the largest of both: products need all bits there are
    r = np.random.default_rng(0)
    q = (2**19 - 1) * 2**20 + 2**19 - 1 - r.integers(0, 100, (5000, 3))
    grid = RoundingGrid.of(np.zeros(3), np.zeros(3, int))
    w = None if weight is None else np.full(len(q), weight)
    sums = sf.Moments.of(q.astype(float), np.zeros(len(q), int), w, exact=grid).exact
    integers = q.astype(object)  # of Python, which have no largest one
    products = (weight or 1) * (integers.T @ integers)
    for i in range(3):
        assert sums.sums.item(0, i) == (weight or 1) * sum(integers[:, i])
        assert [sums.products.item(0, i, j) for j in range(3)] == products[i].tolist()


@pytest.mark.filterwarnings("ignore::suffice.errors.DegenerateDataWarning")  # of digits
@pytest.mark.parametrize(
    ("model", "tables"),
    [
        # sums of zoo in another order differ as much: its pooled covariance is singular
        (sf.LDA(), [name for name in TABLES if name not in ("house_votes84.csv", "zoo.csv")]),
        (
            sf.QDA(),
            ["iris", "wine", "penguins", "banknote.csv", "crabs.csv", "esl_mixture.csv"],
        ),
        (sf.QDA(shrinkage=0.1), [name for name in TABLES if name != "house_votes84.csv"]),
        (sf.GaussianNB(), [name for name in TABLES if name != "house_votes84.csv"]),
    ],
    ids=repr,
)
def test_log_posteriors_of_exact_and_of_floating_sums_agree(model, tables):
    for table in tables:
        x, y = numbers_of(table)
        exact = model.fit_moments(sf.Moments.of(x, y, exact="auto")).predict_log_proba(x)
        floating = model.fit_moments(sf.Moments.of(x, y)).predict_log_proba(x)
        # fish has nearly collinear columns and log posteriors down to −484,185
        tolerance = 2e-9 if table == "fish" else 1e-9
        np.testing.assert_allclose(
            exact, floating, rtol=tolerance, atol=tolerance, err_msg=table
        )
