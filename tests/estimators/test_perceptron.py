"""The perceptron as users meet it."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from suffice.errors import (
    InvalidInputError,
    InvalidParameterError,
    NotConvergedWarning,
    TooFewClassesError,
)
from suffice.estimators.perceptron import Perceptron
from suffice.lectures import PerceptronLearning

SETTINGS = [
    {"learning": "stochastic"},
    {"learning": "batch"},
    {"multiclass": "one-against-rest"},
    {"variant": "pocket"},
    {"start": "random", "random_state": 3},
]


@pytest.fixture
def triangle():
    rng = np.random.default_rng(0)
    codes = np.arange(90) % 3
    corners = np.array([[0.0, 4.0], [4.0, -3.0], [-4.0, -3.0]])
    return corners[codes] + 0.4 * rng.normal(size=(90, 2)), np.array(["a", "b", "c"])[codes]


@pytest.fixture
def overlap():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(200, 2))
    return X, (X[:, 0] + rng.normal(size=200) > 0).astype(int)


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_separable_classes_are_learnt_without_error(triangle, settings, n_classes):
    X, y = triangle
    X, y = (X, y) if n_classes == 3 else (X[y != "c"], y[y != "c"])
    fit = Perceptron(max_iter=1000, **settings).fit(X, y)
    assert fit.converged_
    assert fit.score(X, y) == 1
    assert fit.margin_ > 0
    assert fit.n_passes_ >= 1
    assert fit.coef_.shape == (1 if n_classes == 2 else 3, 2)


def test_overlapping_classes_are_reported_with_the_cure(overlap):
    with pytest.warns(NotConvergedWarning, match=r"after 15 passes.*variant='averaged'"):
        fit = Perceptron(max_iter=15).fit(*overlap)
    assert not fit.converged_
    assert fit.margin_ < 0
    assert fit.n_updates_ > 15


@pytest.mark.filterwarnings("ignore::suffice.errors.NotConvergedWarning")
def test_averaging_and_the_pocket_help_where_classes_overlap(overlap):
    scores = {
        variant: Perceptron(variant=variant, max_iter=40).fit(*overlap).score(*overlap)
        for variant in ("plain", "averaged", "pocket")
    }
    assert scores["averaged"] >= scores["plain"]
    assert scores["pocket"] >= scores["plain"]


@pytest.mark.parametrize("variant", ["averaged", "pocket"])
def test_a_variant_for_overlapping_classes_does_not_warn_of_overlap(variant, overlap):
    assert not Perceptron(variant=variant, max_iter=15).fit(*overlap).converged_


def test_the_answer_depends_on_the_start_and_the_seed_but_is_reproducible(triangle):
    a, b, c = (
        Perceptron(start="random", random_state=s).fit(*triangle).coef_ for s in (1, 1, 2)
    )
    np.testing.assert_array_equal(a, b)
    assert not np.allclose(a, c)


def test_from_a_zero_start_the_learning_rate_only_scales_the_answer(triangle):
    one, ten = (Perceptron(learning_rate=r).fit(*triangle).coef_ for r in (1.0, 10.0))
    np.testing.assert_allclose(ten, 10 * one, rtol=1e-9)


@given(st.lists(st.integers(-9, 9), min_size=2, max_size=2))
def test_units_do_not_matter(powers):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    y = X @ [2.0, -1.0] > 0.3
    factor = 10.0 ** np.array(powers)
    a, b = (Perceptron(max_iter=1000).fit(m, y) for m in (X, X * factor))
    assert a.n_updates_ == b.n_updates_
    np.testing.assert_allclose(b.coef_ * factor, a.coef_, rtol=1e-9)


def test_many_rows_take_the_compiled_way():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60_000, 9)).astype(np.float32)
    y = (X @ rng.normal(size=(9, 3))).argmax(1)
    fit = Perceptron(variant="pocket", max_iter=3).fit(X, y)
    assert fit.score(X, y) > 0.97


def test_a_fit_survives_pickling(triangle):
    fit = Perceptron(learning=PerceptronLearning(record=True)).fit(*triangle)
    again = pickle.loads(pickle.dumps(fit))
    np.testing.assert_array_equal(again.predict(triangle[0]), fit.predict(triangle[0]))
    assert len(again.path_) == fit.n_passes_ + 1


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"learning": "slow"}, "learning must be one of 'stochastic'"),
        ({"multiclass": "all"}, "multiclass must be one of"),
        ({"variant": "best"}, "variant must be one of 'plain'"),
        ({"start": "lda"}, "start must be one of 'zero'"),
        ({"learning_rate": 0}, "learning_rate must be"),
        ({"max_iter": -3}, "max_iter must be"),
        ({"max_iter": 0.5}, "max_iter must be an integer"),
    ],
)
def test_settings_outside_their_domain_are_refused(triangle, settings, message):
    with pytest.raises(InvalidParameterError, match=message):
        Perceptron(**settings).fit(*triangle)


def test_rows_that_cannot_be_and_single_classes_are_refused(triangle):
    X, y = triangle
    with pytest.raises(TooFewClassesError, match="at least 2 classes"):
        Perceptron().fit(X[y == "a"], y[y == "a"])
    X[3, 1] = np.nan
    with pytest.raises(InvalidInputError, match="row 3, column 1"):
        Perceptron().fit(X, y)


@pytest.mark.parametrize("standardize", [True, False])
@pytest.mark.parametrize("learning", ["stochastic", "batch"])
@pytest.mark.parametrize("n", [40, 400])  # the second is compiled
def test_without_an_intercept_the_boundary_goes_through_the_origin(learning, standardize, n):
    rng = np.random.default_rng(0)
    X = rng.normal([3, 0], size=(n, 2))
    X = X[np.abs(X[:, 1]) > 0.4]
    y = X[:, 1] > 0
    learning = PerceptronLearning(learning, standardize=standardize)
    settings = {"start": "random", "max_iter": 2000}
    fit = Perceptron(learning=learning, fit_intercept=False, **settings).fit(X, y)
    assert fit.converged_
    assert fit.intercept_ == 0
    assert fit.boundary(True, False).evaluate([0.0, 0.0]) == 0
    np.testing.assert_array_equal(X @ fit.coef_[0] > 0, y)


def test_every_mistake_can_be_kept():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(150, 2))
    y = X @ [1.0, 2.0] > 0.3
    recorded = PerceptronLearning(record="mistakes")
    fit = Perceptron(learning=recorded).fit(X, y)
    assert len(fit.path_) == fit.n_updates_ + 1 == len(fit.mistakes_) + 1
    np.testing.assert_allclose(fit.path_.parameters[-1], [fit.intercept_[0], *fit.coef_[0]])
    assert fit.path_.losses[-1] == 0
    same = Perceptron().fit(X, y)  # compiled
    np.testing.assert_allclose(same.coef_, fit.coef_)
    with pytest.raises(InvalidParameterError, match="record='mistakes' needs"):
        PerceptronLearning("batch", record="mistakes")
    with pytest.raises(InvalidParameterError, match="record='mistakes' needs"):
        Perceptron(learning=recorded, variant="pocket").fit(X, y)
    with pytest.raises(InvalidParameterError, match="record must be True, False or"):
        PerceptronLearning(record="all")
    with pytest.raises(InvalidParameterError, match="method must be one of 'stochastic'"):
        PerceptronLearning("slow")


def test_rows_can_be_shown_in_their_order():
    X, y = [[0.0], [1.0], [3.0], [4.0]], [0, 0, 1, 1]
    learning = PerceptronLearning(shuffle=False, standardize=False, record="mistakes")
    fit = Perceptron(learning=learning).fit(X, y)
    # w ← w + t (1, x) at 0, 3, 0, 1, then at 3 and 1 until it is right
    assert fit.mistakes_[:4] == (0, 2, 0, 1)
