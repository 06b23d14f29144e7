"""Logistic regression of fewer rows than features equals the same fit in all features."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression as Peer

import suffice as sf
from suffice.core.table import Table
from suffice.discriminative.penalty_choice import _penalty_of_folds, penalties
from suffice.errors import DegenerateDataWarning


def wide_rows(n_classes, n_features=1600, n_rows=40):
    rng = np.random.default_rng(0)
    y = np.arange(n_rows) % n_classes
    shifts = 0.4 * rng.normal(size=(n_classes, n_features))
    X = 3.0 + np.exp(rng.normal(size=n_features)) * (
        rng.normal(size=(n_rows, n_features)) + shifts[y]
    )
    return X, y


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_coefficients_equal_those_of_scikit_learn(n_classes, fit_intercept):
    X, y = wide_rows(n_classes)
    model = sf.LogisticRegression(l2=2.0, fit_intercept=fit_intercept).fit(X, y)
    assert model.converged_
    size = X.std(0, ddof=1) if fit_intercept else np.sqrt(np.square(X).mean(0))
    peer = Peer(C=0.5, tol=1e-10, max_iter=10_000, fit_intercept=fit_intercept)
    rows = (X - X.mean(0) * fit_intercept) / size
    peer.fit(rows, y)
    np.testing.assert_allclose(model.coef_ * size, peer.coef_, atol=2e-6)
    np.testing.assert_allclose(model.predict_proba(X), peer.predict_proba(rows), atol=1e-5)


def test_weights_count_as_repeated_rows():
    X, y = wide_rows(2)
    w = 1.0 + np.arange(40) % 3
    weighted = sf.LogisticRegression(l2=1.0).fit(X, y, w)
    repeated = sf.LogisticRegression(l2=1.0).fit(
        np.repeat(X, w.astype(int), axis=0), np.repeat(y, w.astype(int))
    )
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, rtol=1e-4, atol=1e-9)


def test_a_constant_column_has_no_coefficient():
    X, y = wide_rows(2)
    X[:, 7] = 5.0
    with pytest.warns(DegenerateDataWarning, match="column.* 7"):
        model = sf.LogisticRegression().fit(X, y)
    assert model.coef_[0, 7] == 0


@pytest.mark.parametrize("l2", [None, "auto"])
def test_identical_rows_have_the_class_frequencies_as_posteriors(l2):
    y = np.array([0, 0, 0, 1] * 5)
    model = sf.LogisticRegression() if l2 is None else sf.LogisticRegression(l2=l2)
    with pytest.warns(DegenerateDataWarning, match="constant"):
        model.fit(np.ones((20, 1600)), y)
    np.testing.assert_allclose(
        model.predict_proba(np.ones((1, 1600))), [[0.75, 0.25]], atol=0.02
    )
    assert not model.coef_.any()


def test_the_penalty_is_chosen_for_many_features():
    X, y = wide_rows(3)
    model = sf.LogisticRegression(l2="auto").fit(X, y)
    assert 0 < model.l2_ <= 40
    assert model.score(X, y) == 1.0


def test_the_penalty_of_folds_has_the_least_held_out_loss():
    X, y = wide_rows(3, n_features=30, n_rows=60)
    table = Table.of(X, y, None)
    chosen = _penalty_of_folds(
        table, fit_intercept=True, standardize=True, per_deviation=False
    )
    fold_of = np.arange(60) // 3 % 5  # every class has its rows dealt out in turn
    losses = []
    for l2 in penalties(60.0):
        total = 0.0
        for fold in range(5):
            train = fold_of != fold
            peer = Peer(C=1 / l2, tol=1e-8, solver="newton-cholesky").fit(X[train], y[train])
            logs = peer.predict_log_proba(X[~train])
            total -= logs[np.arange(len(logs)), y[~train]].sum()
        losses.append(total)
    assert chosen == pytest.approx(penalties(60.0)[np.argmin(losses)])


def test_many_coordinates_are_solved_without_a_hessian(monkeypatch):
    X, y = wide_rows(3)
    exact = sf.LogisticRegression(l2=1.0).fit(X, y)
    monkeypatch.setattr("suffice.discriminative.logistic_fit._WIDEST_HESSIAN_IN_SPAN", 0)
    model = sf.LogisticRegression(l2=1.0).fit(X, y)
    assert model.converged_
    assert model.gradient_norm_ <= 1e-8
    np.testing.assert_allclose(model.predict_proba(X), exact.predict_proba(X), atol=1e-5)
