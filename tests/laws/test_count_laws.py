"""Laws of sums of counts, and of what is read from them, for any rows."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

import suffice as sf
from suffice.core.estimation import count_left_out
from suffice.core.model import sparse_scores
from suffice.core.moments import count_sums

KINDS = ["multinomial", "complement", "bernoulli", "poisson"]


@st.composite
def labelled_counts(draw):
    """Return rows of small counts, some of them empty, with labels and weights."""
    n = draw(st.integers(4, 14))
    d = draw(st.integers(1, 5))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    X = rng.poisson(draw(st.sampled_from([0.2, 1.0, 4.0])), (n, d))
    y = rng.integers(0, 3, n)
    y[:4] = [0, 0, 1, 1]
    w = rng.integers(1, 4, n) / 2 if draw(st.booleans()) else np.ones(n)
    return X, y, w


def _same(a, b):
    assert_array_equal(a.classes, b.classes)
    assert_array_equal(a.counts, b.counts)
    assert_array_equal(a.weights, b.weights)
    assert_array_equal(a.sums, b.sums)
    assert_allclose(a.log_factorials, b.log_factorials, atol=1e-9)
    assert_allclose(a.log_totals, b.log_totals, atol=1e-9)


@given(labelled_counts(), st.integers(1, 3))
def test_chunks_add_up_to_the_whole_in_any_order(data, cut):
    X, y, w = data
    whole = sf.CountSums.of(X, y, w)
    first = sf.CountSums.of(X[:cut], y[:cut], w[:cut])
    second = sf.CountSums.of(X[cut:], y[cut:], w[cut:])
    _same(first + second, whole)
    _same(second + first, whole)


@given(labelled_counts(), st.integers(1, 3))
def test_rows_that_are_forgotten_were_never_seen(data, cut):
    X, y, w = data
    forgotten = sf.CountSums.of(X[:cut], y[:cut], w[:cut])
    rest = sf.CountSums.of(X, y, w) - forgotten
    never_seen = sf.CountSums.of(X[cut:], y[cut:], w[cut:])
    _same(rest, never_seen.with_classes(rest.classes))


@pytest.mark.parametrize("kind", KINDS)
@given(data=labelled_counts(), alpha=st.sampled_from([0.01, 1.0, 3.5]))
@settings(max_examples=25)
def test_leave_one_out_is_a_refit_without_the_row(kind, data, alpha):
    X, y, w = data
    model = sf.CountNB(kind, alpha=alpha, temperature=2.0)
    left_out = sf.leave_one_out(model, X, y, w)
    for i in range(len(X)):
        others = np.arange(len(X)) != i
        refitted = sf.CountNB(kind, alpha=alpha, temperature=2.0)
        refitted.fit(X[others], y[others], w[others])
        seen = np.searchsorted(left_out.classes, refitted.classes_)
        expected = refitted.predict_log_proba(X[i : i + 1])[0]
        assert_allclose(left_out.logs[i, seen], expected, atol=1e-9)
        unseen = np.setdiff1d(np.arange(len(left_out.classes)), seen)
        assert np.isneginf(left_out.logs[i, unseen]).all()


@pytest.mark.parametrize("kind", KINDS)
def test_compiled_leave_one_out_is_that_of_numpy(kind, monkeypatch):
    rng = np.random.default_rng(0)
    X = sparse.csr_array(rng.poisson(0.5, (80, 12)))
    y = rng.integers(0, 3, 80)
    w = rng.integers(1, 4, 80) / 2
    model = sf.CountNB(kind, alpha=0.3)
    by_numpy = sf.leave_one_out(model, X, y, w).logs
    monkeypatch.setattr(count_left_out, "SMALL", 0)
    monkeypatch.setattr(sparse_scores, "SMALL", 0)
    monkeypatch.setattr(count_sums, "SMALL", 0)
    assert_allclose(sf.leave_one_out(model, X, y, w).logs, by_numpy, atol=1e-11)


@pytest.mark.parametrize("kind", KINDS)
@given(data=labelled_counts())
@settings(max_examples=15)
def test_posteriors_sum_to_one_and_do_not_depend_on_the_container(kind, data):
    X, y, w = data
    model = sf.CountNB(kind).fit(X, y, w)
    dense = model.predict_proba(X)
    assert_allclose(dense.sum(1), 1.0, rtol=1e-12)
    assert_allclose(model.predict_proba(sparse.csc_array(X)), dense, atol=1e-12)
    fitted_to_sparse = sf.CountNB(kind).fit(sparse.csr_matrix(X), y, w)
    assert_allclose(fitted_to_sparse.predict_proba(X), dense, atol=1e-12)


@pytest.mark.parametrize("kind", ["multinomial", "poisson", "bernoulli"])
@given(data=labelled_counts())
@settings(max_examples=15)
def test_the_log_likelihood_of_sums_is_that_of_the_rows(kind, data):
    X, y, _ = data
    model = sf.CountNB(kind, alpha=0.5).fit(X, y)
    assert_allclose(model.log_likelihood(), model.log_likelihood(X, y), rtol=1e-9)
