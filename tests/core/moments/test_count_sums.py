"""Sums of counts: one pass over any rows, and their algebra."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.special import gammaln

import suffice as sf
from suffice.core.moments import count_sums
from suffice.errors import FeatureMismatchError, ForgetError, InvalidInputError

FORMATS = [
    np.asarray,
    sparse.csr_matrix,
    sparse.csr_array,
    sparse.csc_matrix,
    sparse.csc_array,
    sparse.coo_array,
    sparse.lil_array,
]


@pytest.fixture(name="counts")
def _counts():
    rng = np.random.default_rng(0)
    return rng.poisson(0.7, (60, 9)), rng.choice(["a", "b", "c"], 60), rng.random(60) * 3


@pytest.fixture(name="path", params=["scipy", "loops"])
def _path(request, monkeypatch):
    """Both ways to sum: SciPy's product for few cells, the compiled pass for many."""
    monkeypatch.setattr(count_sums, "SMALL", 0 if request.param == "loops" else 1 << 60)


def _by_hand(X, y, w, threshold=None):
    read = X if threshold is None else (threshold < X) * 1.0
    return np.stack([w[y == label] @ read[y == label] for label in np.unique(y)])


@pytest.mark.usefixtures("path")
@pytest.mark.parametrize("make", FORMATS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64, np.int32, np.uint8])
@pytest.mark.parametrize("threshold", [None, 0.0, 1.5])
def test_sums_of_any_rows_are_those_by_hand(counts, make, dtype, threshold):
    X, y, w = counts
    sums = sf.CountSums.of(make(X.astype(dtype)), y, w, threshold=threshold)
    assert sums.classes.tolist() == ["a", "b", "c"]
    assert_allclose(sums.sums, _by_hand(X, y, w, threshold), rtol=1e-13)
    assert_allclose(sums.weights, [w[y == k].sum() for k in "abc"], rtol=1e-13)
    assert_array_equal(sums.counts, [(y == k).sum() for k in "abc"])


@pytest.mark.usefixtures("path")
def test_factorials_of_counts_and_of_totals_are_summed(counts):
    X, y, w = counts
    X = X * np.where(np.arange(9) == 0, 100, 1)  # beyond the table of small factorials
    sums = sf.CountSums.of(X, y, w)
    of_cells = w * gammaln(X + 1.0).sum(1)
    of_totals = w * gammaln(X.sum(1) + 1.0)
    assert_allclose(sums.log_factorials, [of_cells[y == k].sum() for k in "abc"], rtol=1e-12)
    assert_allclose(sums.log_totals, [of_totals[y == k].sum() for k in "abc"], rtol=1e-12)
    assert not sums.has_fractions
    assert sf.CountSums.of(X + 0.5, y).has_fractions


@pytest.mark.usefixtures("path")
@pytest.mark.parametrize("index", [np.int32, np.int64])
def test_duplicate_entries_add_up_and_explicit_zeros_count_nothing(index):
    data = np.array([1.0, 2.0, 0.0, 4.0])
    columns = np.array([1, 1, 0, 2], index)
    X = sparse.csr_array((data, columns, np.array([0, 3, 4], index)), shape=(2, 3))
    assert_array_equal(sf.CountSums.of(X, [0, 1]).sums, [[0, 3, 0], [0, 0, 4]])
    # the presence of 1 + 2 is one presence, and is above 2
    present = sf.CountSums.of(X, [0, 1], threshold=2.0)
    assert_array_equal(present.sums, [[0, 1, 0], [0, 0, 1]])


@pytest.mark.usefixtures("path")
@pytest.mark.parametrize(
    ("value", "message"),
    [
        (-1.0, "row 1, column 2 holds -1"),
        (np.nan, "contains NaN: row 1, column 2"),
        (np.inf, "contains infinity: row 1, column 2"),
    ],
)
def test_what_is_not_a_count_is_refused_by_its_row_and_column(value, message):
    X = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, value]])
    for rows in (X, sparse.csr_array(X)):
        for threshold in (None, 0.0):
            with pytest.raises(InvalidInputError, match=message):
                sf.CountSums.of(rows, ["a", "b"], threshold=threshold)


@pytest.mark.usefixtures("path")
def test_rows_of_weight_zero_are_absent_whatever_they_hold():
    X = sparse.csr_array([[1.0, 0.0], [np.nan, -3.0], [0.0, 2.0]])
    sums = sf.CountSums.of(X, ["a", "b", "b"], [1.0, 0.0, 2.0])
    assert_array_equal(sums.sums, [[1, 0], [0, 4]])
    assert_array_equal(sums.counts, [1, 1])


def test_an_index_outside_of_the_matrix_is_refused():
    X = sparse.csr_array(np.eye(3))
    X.indices = np.array([0, 1, 7], X.indices.dtype)
    with pytest.raises(InvalidInputError, match="column 7, but there are 3 columns"):
        sf.CountSums.of(X, [0, 1, 1])


def test_features_with_names_are_matched_by_name():
    a = sf.CountSums.of([[1, 2], [0, 1]], [0, 1], names=["tea", "win"])
    b = sf.CountSums.of([[5, 7]], [1], names=["win", "tea"])
    assert_array_equal((a + b).sums, [[1, 2], [7, 6]])
    c = sf.CountSums.of([[1, 2]], [1], names=["win", "now"])
    with pytest.raises(FeatureMismatchError, match="no feature 'tea'"):
        a + c
    every = ["tea", "win", "now"]
    total = a.with_features(every) + c.with_features(every)
    assert_array_equal(total.sums, [[1, 2, 0], [0, 2, 2]])


def test_sums_of_counts_and_of_presence_do_not_mix():
    a = sf.CountSums.of([[1, 2]], [0])
    with pytest.raises(FeatureMismatchError, match="threshold"):
        a + sf.CountSums.of([[1, 2]], [0], threshold=0.0)
    with pytest.raises(FeatureMismatchError, match="2 features, the other 3"):
        a + sf.CountSums.of([[1, 2, 3]], [0])


def test_rows_that_were_never_learnt_cannot_be_forgotten():
    total = sf.CountSums.of([[1, 2], [3, 0], [1, 1]], ["a", "b", "b"])
    with pytest.raises(ForgetError, match="class 'c'"):
        total - sf.CountSums.of([[1, 2]], ["c"])
    with pytest.raises(ForgetError, match="more rows of class 'a'"):
        total - sf.CountSums.of([[1, 0], [0, 1]], ["a", "a"])
    with pytest.raises(ForgetError, match="column 1 in class 'b'"):
        total - sf.CountSums.of([[0, 2]], ["b"])


def test_fractions_that_are_forgotten_leave_exactly_nothing():
    rng = np.random.default_rng(1)
    X = rng.random((40, 3))
    y = np.repeat([0, 1], 20)
    X[1:20, 2] = 0.0  # of class 0, only row 0 has feature 2
    total = sf.CountSums.of(X, y) + sf.CountSums.of(X, y)
    rest = total - sf.CountSums.of(X[:1], y[:1]) - sf.CountSums.of(X[:1], y[:1])
    assert rest.sums[0, 2] == 0.0
    assert (total - total).sums.tolist() == [[0.0] * 3] * 2


def test_ten_million_features_need_only_the_sums():
    d = 10**7
    X = sparse.csr_array(([1.0, 2.0, 3.0], ([0, 1, 1], [5, d - 1, 7])), shape=(2, d))
    model = sf.CountNB().fit(X, ["a", "b"])
    assert model.predict(X).tolist() == ["a", "b"]
    assert model.moments_.sums[1, d - 1] == 2.0


def test_a_file_of_sums_is_read_back(tmp_path, counts):
    X, y, w = counts
    sums = sf.CountSums.of(X, y, w, threshold=1.0, names=[f"w{j}" for j in range(9)])
    sums.save(tmp_path / "a.counts")
    loaded = sf.load(tmp_path / "a.counts")
    assert_array_equal(loaded.sums, sums.sums)
    assert loaded.feature_names == sums.feature_names
    assert loaded.threshold == 1.0
    assert repr(loaded) == "CountSums(3 classes × 9 features, 60 rows, indicators of x > 1)"
