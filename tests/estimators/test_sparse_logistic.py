"""Logistic regression over sparse rows: the answers of dense rows."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

import suffice as sf
import suffice.sklearn as drop_in
from suffice.core.table.table import Table
from suffice.discriminative.design import Design, SparseDesign, is_quicker_dense
from suffice.discriminative.scaling import Scaling
from suffice.errors import DegenerateDataWarning, InvalidInputError, SeparationWarning


def _sparse_rows(n, d, n_classes, seed=0):
    """Return counts with about eight cells a row, one full column far from zero, and labels."""
    rng = np.random.default_rng(seed)
    X = sparse.random_array((n, d), density=8 / d, rng=rng, format="lil")
    X[:, 1] = rng.normal(1e5, 1.0, (n, 1))
    X = X.tocsr()
    slopes = rng.normal(0, 2, (d, n_classes))
    slopes[1] = 0.0
    scores = X @ slopes + rng.gumbel(size=(n, n_classes))
    return X, np.array(["a", "b", "c", "d"])[scores.argmax(1)], rng.random(n) + 0.1


@pytest.fixture(name="newton", scope="module")
def _newton():
    return _sparse_rows(6000, 90, 2)


@pytest.fixture(name="wide", scope="module")
def _wide():
    return _sparse_rows(150, 4000, 3)


@pytest.mark.parametrize("curved", [False, True])
@pytest.mark.parametrize("lead", [0.0, 1.0])
def test_sums_of_sparse_rows_are_those_of_dense_ones(curved, lead):
    X, y, w = _sparse_rows(80, 12, 3)
    classes, codes = np.unique(y, return_inverse=True)
    dense = X.toarray()
    centre = lead * dense.mean(0)
    scaling = Scaling(centre, 1 / (0.1 + dense.std(0)), lead)
    phi = np.random.default_rng(1).normal(size=(2, 13))
    expected = Design(scaling.standardised(Table(dense, classes, codes, w)))
    design = SparseDesign.of(Table(X, classes, codes, w), scaling)
    loss, gradient, hessian = design.sums(phi, curved=curved)
    expected_loss, expected_gradient, expected_hessian = expected.sums(phi, curved=curved)
    assert_allclose(loss, expected_loss, rtol=1e-9)
    assert_allclose(gradient, expected_gradient, rtol=1e-9, atol=1e-9)
    assert (hessian is None) == (not curved)
    if curved:
        assert_allclose(hessian, expected_hessian, rtol=1e-9, atol=1e-9)
    for block in design.blocks():
        assert_allclose(block.x, expected.table.x, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("make", [sparse.csr_array, sparse.csc_matrix, sparse.coo_array])
def test_coefficients_and_posteriors_are_those_of_dense_rows(newton, make):
    X, y, w = newton
    assert not is_quicker_dense(X)
    dense = sf.LogisticRegression().fit(X.toarray(), y, w)
    fitted = sf.LogisticRegression().fit(make(X), y, w)
    assert_allclose(fitted.coef_, dense.coef_, atol=1e-8)
    assert_allclose(fitted.log_likelihood_, dense.log_likelihood_, rtol=1e-9)
    assert_allclose(fitted.predict_proba(make(X)), dense.predict_proba(X.toarray()), atol=1e-8)
    assert_array_equal(fitted.predict(make(X)), fitted.predict(X.toarray()))


@pytest.mark.parametrize("solver", ["auto", "quasi-newton"])
def test_wide_sparse_rows_give_the_coefficients_of_dense_ones(wide, solver):
    X, y, _ = wide
    with pytest.warns(DegenerateDataWarning, match="constant"):
        # few dense rows are solved in their span by Newton's method, sparse ones by quasi-Newton
        dense = sf.LogisticRegression(solver=solver, tol=1e-12).fit(X.toarray(), y)
    with pytest.warns(DegenerateDataWarning, match="constant"):
        fitted = sf.LogisticRegression(solver=solver, tol=1e-12).fit(X, y)
    assert_allclose(fitted.coef_, dense.coef_, atol=5e-8)
    assert_allclose(
        fitted.decision_function(X), dense.decision_function(X.toarray()), atol=1e-6
    )


def test_without_intercept_and_with_class_weights_the_answer_is_that_of_dense_rows(newton):
    X, y, _ = newton
    model = sf.LogisticRegression(3.0, fit_intercept=False, class_weight="balanced")
    dense = sf.LogisticRegression(3.0, fit_intercept=False, class_weight="balanced")
    dense.fit(X.toarray(), y)
    assert_allclose(model.fit(X, y).coef_, dense.coef_, atol=1e-8)


def test_a_summary_and_a_chosen_penalty_are_those_of_dense_rows(newton):
    X, y, _ = newton
    dense = sf.LogisticRegression("auto").fit(X.toarray(), y)
    fitted = sf.LogisticRegression("auto").fit(X, y)
    assert fitted.l2_ == dense.l2_
    expected = dense.summary().standard_errors
    assert_allclose(fitted.summary().standard_errors[:, 1:], expected[:, 1:], rtol=1e-6)


def test_columns_that_depend_on_others_are_found_without_a_penalty(newton):
    X, y, _ = newton
    doubled = sparse.hstack([X, 2 * X[:, [4]]]).tocsr()
    with pytest.warns(DegenerateDataWarning, match="column 90"):
        fitted = sf.LogisticRegression(0).fit(doubled, y)
    expected = sf.LogisticRegression(0).fit(X.toarray(), y).coef_
    assert fitted.coef_[0, 90] == 0
    assert_allclose(fitted.coef_[:, :90], expected, atol=1e-8)


def test_separation_of_sparse_rows_is_reported(newton):
    X, y, _ = newton
    telling = sparse.csr_array((y == "a").astype(float)[:, None])
    with pytest.warns(SeparationWarning, match="column 90 separates the classes"):
        sf.LogisticRegression(0).fit(sparse.hstack([X, telling]).tocsr(), y)


def test_batches_of_sparse_rows_are_learnt_as_dense_ones(newton):
    X, y, _ = newton
    # the columns near zero: a stream about a far column loses digits
    X = X[:, 2:].tocsr()
    thin = sf.LogisticRegression().partial_fit(X, y)
    dense = sf.LogisticRegression().partial_fit(X.toarray(), y)
    assert_allclose(thin.coef_, dense.coef_, atol=1e-8)


def test_a_cell_that_is_not_finite_is_named(newton):
    X, y, _ = newton
    broken = X.copy()
    broken.data[3] = np.inf
    column = broken.indices[3]
    with pytest.raises(InvalidInputError, match=f"infinity: row 0, column {column}"):
        sf.LogisticRegression().fit(broken, y)
    fitted = sf.LogisticRegression().fit(X, y)
    with pytest.raises(InvalidInputError, match=f"infinity: row 0, column {column}"):
        fitted.predict(broken)


def test_the_drop_in_reads_sparse_rows(newton):
    X, y, _ = newton
    X = X[:, 2:].tocsr()
    dense = drop_in.LogisticRegression().fit(X.toarray(), y)
    fitted = pickle.loads(pickle.dumps(drop_in.LogisticRegression().fit(X, y)))
    assert_allclose(fitted.coef_, dense.coef_, atol=1e-8)
    assert_allclose(fitted.predict_proba(X), dense.predict_proba(X.toarray()), atol=1e-8)
    assert_allclose(
        fitted.sparsify().predict_proba(X), dense.predict_proba(X.toarray()), atol=1e-8
    )


@pytest.mark.parametrize("model", [sf.LDA(), sf.QDA(), sf.Perceptron()])
def test_models_that_need_dense_rows_name_the_cure(newton, model):
    X, y, _ = newton
    with pytest.raises(InvalidInputError, match="TruncatedSVD"):
        model.fit(X, y)


def test_cross_validation_takes_sparse_rows(newton):
    X, y, _ = newton
    X = X[:, 2:].tocsr()
    dense = sf.cross_validate(sf.LogisticRegression(), X.toarray(), y, cv=3)
    thin = sf.cross_validate(sf.LogisticRegression(), X, y, cv=3)
    assert_allclose(thin.fold_losses, dense.fold_losses, atol=1e-6)
