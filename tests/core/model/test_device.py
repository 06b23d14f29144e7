"""Rows of other array libraries get answers of their own kind, equal to those for NumPy."""

import numpy as np
import pytest
from sklearn.base import clone
from tests.cuda import LIBRARIES, asarray_of

import suffice as sf
from suffice.core.table import foreign
from suffice.discriminative import design
from suffice.discriminative.problem import device_table
from suffice.discriminative.scaling import Scaling
from suffice.errors import InvalidInputError, UnusedDataWarning
from suffice.selection.validation import folds, held_out

MODELS = [
    sf.LDA(),
    sf.QDA(),
    sf.GaussianNB(),
    sf.GaussianClassifier(tied=[[0, 1], [2]]),
    sf.RDA(pooling=0.4, shrinkage=0.1),
    sf.QDA(temperature=2.0),
    sf.QDA(estimate="predictive"),
    sf.LogisticRegression(),
]


@pytest.fixture(params=LIBRARIES)
def library(request, monkeypatch):
    return asarray_of(request.param, monkeypatch)


def data():
    rng = np.random.default_rng(1)
    y = rng.integers(0, 3, 300)
    return rng.normal(size=(300, 4)) * [1, 2, 3, 4] + y[:, None] * [1, 0, 2, 1] + 1e4, y


@pytest.mark.parametrize("model", MODELS, ids=lambda m: repr(m)[:40])
def test_answers_equal_those_for_numpy(library, model):
    x, y = data()
    expected = clone(model).fit(x, y)
    there = library(x)
    verbs = ["predict_proba", "predict_log_proba", "predict", "decision_function"]
    verbs += ["log_density", "class_log_density"] * hasattr(model, "class_log_density")
    for verb in verbs:
        found, known = getattr(expected, verb)(there), getattr(expected, verb)(x)
        assert type(found) is type(there), verb
        np.testing.assert_allclose(foreign.to_numpy(found), known, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("d", [1, 33, 64, 130])
def test_any_width(library, d):
    rng = np.random.default_rng(d)
    y = rng.integers(0, 3, 900)
    x = rng.normal(size=(900, d)) + 0.3 * y[:, None]
    for model in (sf.LDA(), sf.QDA(shrinkage=0.1)):
        fitted = model.fit(x, y)
        found = foreign.to_numpy(fitted.predict_log_proba(library(x)))
        np.testing.assert_allclose(found, fitted.predict_log_proba(x), rtol=1e-7, atol=1e-9)


def test_in_the_memory_of_the_host_answers_come_in_kind():
    torch = pytest.importorskip("torch")
    x, y = data()
    fitted = sf.QDA().fit(torch.asarray(x), torch.asarray(y))
    proba = fitted.predict_proba(torch.asarray(x))
    assert isinstance(proba, torch.Tensor)
    np.testing.assert_array_equal(proba.numpy(), sf.QDA().fit(x, y).predict_proba(x))


def test_a_fit_on_the_device_answers_there(library):
    x, y = data()
    expected = sf.QDA().fit(x, y)
    there, labels = library(x), library(y)
    fitted = sf.QDA().fit(there, labels)
    assert fitted.n_features_in_ == 4
    np.testing.assert_allclose(fitted.means_, expected.means_, rtol=1e-13)
    proba = fitted.predict_proba(there)
    assert type(proba) is type(there)
    np.testing.assert_allclose(foreign.to_numpy(proba), expected.predict_proba(x), atol=1e-10)
    fitted.partial_fit(there, labels).forget(there, labels)
    np.testing.assert_allclose(fitted.covariance_, expected.covariance_, rtol=1e-9)
    chosen = sf.RDA().fit(there, labels)  # hyperparameters are chosen on the host
    assert chosen.settings_.pooling == sf.RDA().fit(x, y).settings_.pooling


@pytest.mark.parametrize("l2", [0, 1.0])
@pytest.mark.parametrize("weighted", [False, True])
def test_logistic_regression_on_the_device(library, l2, weighted):
    x, y = data()
    w = np.linspace(0.5, 2, len(y)) if weighted else None
    expected = sf.LogisticRegression(l2=l2).fit(x, y, w)
    given = None if w is None else library(w)
    found = sf.LogisticRegression(l2=l2).fit(library(x), library(y), given)
    assert found.converged_
    np.testing.assert_allclose(found.coef_, expected.coef_, rtol=1e-6)
    np.testing.assert_allclose(found.log_likelihood_, expected.log_likelihood_, rtol=1e-9)
    two = sf.LogisticRegression(l2=l2).fit(library(x[y < 2]), library(y[y < 2]))
    np.testing.assert_allclose(
        two.coef_, sf.LogisticRegression(l2=l2).fit(x[y < 2], y[y < 2]).coef_, rtol=1e-6
    )
    chosen = sf.LogisticRegression(l2="auto").fit(library(x), library(y))  # on the host
    assert chosen.l2_ == sf.LogisticRegression(l2="auto").fit(x, y).l2_


@pytest.mark.parametrize("curved", [False, True])
def test_logistic_sums_by_blocks_that_fit(library, curved, monkeypatch):
    class OutOfMemoryError(Exception):
        pass

    x, y = data()
    table, moments = device_table(library(x), library(y), None)
    rows = design.design_of(table, Scaling.of(moments))
    phi = np.linspace(-1, 1, 10).reshape(2, 5)
    expected = rows.sums(phi, curved=curved)
    monkeypatch.setattr(design, "DEVICE_BLOCK", 4 * 64)
    monkeypatch.setattr(foreign, "_SMALLEST", 16)
    calls = []

    def fetched(values):
        calls.append(len(calls))
        if len(calls) == 4:
            raise OutOfMemoryError
        return foreign.to_numpy(values)

    monkeypatch.setattr(design, "to_numpy", fetched)
    found = rows.sums(phi, curved=curved)
    assert len(calls) > 2 * (235 // 16)  # in smaller blocks, once one was too large
    for a, b in zip(found[: 2 + curved], expected[: 2 + curved], strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9)


@pytest.mark.parametrize("labels", ["float", "bool"])
def test_labels_of_other_kinds_on_the_device(library, labels):
    x, y = data()
    y = (y > 0) if labels == "bool" else y.astype(float)
    found, expected = sf.LDA().fit(library(x), library(y)), sf.LDA().fit(x, y)
    assert found.classes_.tolist() == expected.classes_.tolist()
    assert found.classes_.dtype == expected.classes_.dtype


def test_rows_without_a_label_are_left_out_on_the_device(library):
    x, y = data()
    y = y.astype(float)
    y[::50] = np.nan
    w = np.linspace(0.5, 2, len(y))
    for model in (sf.QDA(), sf.LogisticRegression(l2=1.0)):
        with pytest.warns(UnusedDataWarning, match="6 of 300 rows have no label"):
            found = clone(model).fit(library(x), library(y), library(w))
        known = ~np.isnan(y)
        expected = clone(model).fit(x[known], y[known], w[known])
        assert found.classes_.tolist() == [0, 1, 2]
        proba = foreign.to_numpy(found.predict_proba(library(x)))
        np.testing.assert_allclose(proba, expected.predict_proba(x), atol=1e-8)


def test_continuous_targets_are_refused_on_the_device(library):
    x, y = data()
    for model in (sf.LDA(), sf.LogisticRegression(), sf.LeastSquaresClassifier()):
        with pytest.raises(ValueError, match="Unknown label type"):
            clone(model).fit(library(x), library(y + 0.5))


def test_every_verb_takes_rows_of_the_library(library):
    x, y = data()
    there, labels = library(x), library(y)
    fitted = sf.LDA().fit(x, y).calibrate(x, y)
    model = fitted.model_
    for answer in (fitted.transform, model.impute, model.sample_missing):
        found = answer(there)
        assert type(found) is type(there)
        expected = answer(x)
        np.testing.assert_allclose(foreign.to_numpy(found), expected, rtol=1e-7, atol=1e-7)
    assert (
        fitted.transform(library(x.astype(np.float32))).dtype == library(np.float32([1])).dtype
    )
    assert fitted.score(there, labels) == fitted.score(x, y)
    assert fitted.predict_set(there).to_list() == fitted.predict_set(x).to_list()
    assert fitted.log_likelihood(there, labels) == pytest.approx(fitted.log_likelihood(x, y))
    _, shift = sf.diagnostics.adapt_priors(fitted, there)
    assert shift.priors == pytest.approx(sf.diagnostics.adapt_priors(fitted, x)[1].priors)
    moved = sf.diagnostics.drift(fitted, there)
    assert moved.p_value == pytest.approx(sf.diagnostics.drift(fitted, x).p_value)
    x[4, 1] = np.nan
    found = foreign.to_numpy(fitted.transform(library(x)))
    np.testing.assert_allclose(found, fitted.transform(x))


def test_float32_stays_float32(library):
    x, y = data()
    there = library((x - 1e4).astype(np.float32))
    proba = sf.QDA().fit(there, y).predict_proba(there)
    assert proba.dtype == there.dtype
    exact = sf.QDA().fit(x - 1e4, y).predict_proba(x - 1e4)
    np.testing.assert_allclose(foreign.to_numpy(proba), exact, atol=2e-5)


def test_text_labels_come_as_numpy(library):
    x, y = data()
    names = np.array(["a", "b", "c"])[y]
    fitted = sf.LDA().fit(library(x), names)
    assert fitted.predict(library(x)).tolist() == sf.LDA().fit(x, names).predict(x).tolist()


def test_rows_with_holes_and_costs_visit_the_host(library):
    x, y = data()
    model = sf.QDA().fit(x, y)
    costly = model.with_costs(np.array([[0, 5, 1], [1, 0, 1], [1, 1, 0.0]]))
    x[4, 1] = np.nan
    found = foreign.to_numpy(model.predict_proba(library(x)))
    np.testing.assert_allclose(found, model.predict_proba(x))
    there = library(x)
    assert foreign.to_numpy(costly.predict(there)).tolist() == costly.predict(x).tolist()
    x[4, 1] = np.inf
    with pytest.raises(InvalidInputError, match="row 4"):
        model.predict(library(x))


def test_everything_takes_rows_on_a_device(library):
    x, y = data()
    there, labels = library(x), library(y)
    assert (
        sf.leave_one_out(sf.QDA(), there, labels).error
        == sf.leave_one_out(sf.QDA(), x, y).error
    )
    models = ["LDA", "decision tree"]
    found, expected = (sf.compare(*rows, models, cv=3) for rows in ((there, labels), (x, y)))
    assert found.to_frame().error.tolist() == expected.to_frame().error.tolist()
    for model in (sf.AutoGaussian(), sf.MixtureClassifier(2), sf.LeastSquaresClassifier()):
        fitted = clone(model).fit(there, labels)
        assert fitted.score(there, labels) == clone(model).fit(x, y).score(x, y)


@pytest.mark.parametrize("weighted", [False, True])
def test_folds_are_summed_and_scored_on_the_device(library, weighted, monkeypatch):
    x, y = data()
    w = np.linspace(0.5, 2, len(y)) if weighted else None
    there = (library(x), library(y))
    grid = {"pooling": [0.0, 0.5], "shrinkage": [0.0, 0.2]}
    settings = {"cv": 5, "sample_weight": w}
    expected = sf.cross_validate(sf.RDA(), x, y, grid=grid, **settings)
    fetched = []

    def to_numpy(values):
        if foreign.is_foreign(values):
            fetched.append(tuple(values.shape))
        return foreign.to_numpy(values)

    for room in (folds, held_out):
        monkeypatch.setattr(room, "to_numpy", to_numpy)
    found = sf.cross_validate(sf.RDA(), *there, grid=grid, **settings)
    np.testing.assert_allclose(
        found.to_frame()[["error", "log_loss", "brier"]],
        expected.to_frame()[["error", "log_loss", "brier"]],
        rtol=1e-9,
    )
    assert found.best_params == expected.best_params
    assert x.shape not in fetched  # only labels and scores come to the host
    assert (60, 3) in fetched
    for model in (sf.QDA(power="yeo-johnson"), sf.QDA(estimate="predictive"), sf.RDA()):
        errors = [
            sf.cross_validate(model, *rows, cv=3).to_frame().log_loss[0]
            for rows in (there, (x, y))
        ]
        assert errors[0] == pytest.approx(errors[1], rel=1e-9)
    x[3, 1] = np.nan
    errors = [
        sf.cross_validate(sf.LDA(), library(rows), library(y), cv=3).to_frame().error[0]
        for rows in (x,)
    ]
    assert errors[0] == sf.cross_validate(sf.LDA(), x, y, cv=3).to_frame().error[0]


MIXTURES = [{}, {"covariance": "diagonal"}, {"tied": "class"}, {"tied": True}]


@pytest.mark.parametrize(
    ("settings", "weighted"), [*((each, False) for each in MIXTURES), ({}, True)]
)
def test_mixtures_on_the_device(library, settings, weighted):
    x, y = data()
    x[::2, 1] += 9 * (y[::2] == 1)
    w = np.linspace(0.5, 2, len(y)) if weighted else None
    given = None if w is None else library(w)
    model = sf.MixtureClassifier(2, **settings, n_init=1, tol=1e-4)
    expected = clone(model).fit(x, y, w)
    found = model.fit(library(x), library(y), given)
    assert found.n_iter_ == expected.n_iter_ > 3
    here, there = expected.model_.model.components, found.model_.model.components
    np.testing.assert_allclose(
        there.offsets + there.centre, here.offsets + here.centre, rtol=1e-9
    )
    for a, b in zip(there.covariances, here.covariances, strict=True):
        np.testing.assert_allclose(a.dense(), b.dense(), rtol=1e-6, atol=1e-9)
    pairs = (
        (found.predict_proba, expected.predict_proba),
        (found.predict, expected.predict),
        (found.model_.log_density, expected.model_.log_density),
        (found.model_.class_log_density, expected.model_.class_log_density),
    )
    for on_device, on_host in pairs:
        answer, known = on_device(library(x)), on_host(x)
        assert type(answer) is type(library(x))
        np.testing.assert_allclose(foreign.to_numpy(answer), known, rtol=1e-6, atol=1e-8)


def test_a_mixture_on_the_device_chooses_its_components(library):
    x, y = data()
    x[::2, 1] += 9 * (y[::2] == 1)
    known, found = (
        sf.MixtureClassifier(n_init=1, tol=1e-3).fit(a(x), a(y)) for a in (np.asarray, library)
    )
    assert found.n_components_.tolist() == known.n_components_.tolist()
    assert foreign.is_foreign(found.component_posterior(library(x)))


def test_a_mixture_of_rows_with_holes_on_the_device_is_that_of_the_host(library):
    x, y = data()
    x[3, 1] = np.nan
    known, found = (
        sf.MixtureClassifier(2, n_init=1, tol=1e-3).fit(a(x), y) for a in (np.asarray, library)
    )
    np.testing.assert_allclose(
        found.model_.model.components.offsets, known.model_.model.components.offsets
    )
