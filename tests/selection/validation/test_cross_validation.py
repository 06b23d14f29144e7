"""Cross-validation from sums equals refitting, whatever the setting."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import (
    FixedThresholdClassifier,
    GridSearchCV,
    GroupKFold,
    ShuffleSplit,
    StratifiedKFold,
    cross_val_score,
)
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline
from sklearn.svm import LinearSVC

import suffice as sf
from suffice import LDA, QDA, GaussianClassifier, PowerTransform
from suffice.core.estimation.edda import FAMILIES
from suffice.errors import InvalidParameterError
from suffice.selection.validation import held_out
from suffice.selection.validation.cross_validation import CrossValidation

DIALS = st.sampled_from([0.0, 0.15, 0.5, 1.0])
SHRINKAGES = st.builds(sf.Shrinkage, DIALS, st.sampled_from(["diagonal", "sphere"]))


@st.composite
def estimators(draw):
    return GaussianClassifier(
        covariance=draw(st.sampled_from(["full", "full", "diagonal", "spherical"])),
        tied=draw(st.sampled_from([True, False, [[0, 1]], [[2, 0]]])),
        divisor=draw(st.sampled_from(["mle", "unbiased"])),
        priors=draw(st.sampled_from([None, "uniform", [0.2, 0.3, 0.5]])),
        temperature=draw(st.sampled_from([1.0, 0.6])),
    )


UNIT_BOUND = ("EVE", "VVE", "EEV", "VEV")
POWERS = PowerTransform([0.5, 1.0, 1.4, 0.2], scale=[1.0, 10.0, 1e3, 0.1])


@st.composite
def the_rest_of_the_family(draw):
    """Settings that take no dials: EDDA, Bayesian, closed-form shrinkage, transforms."""
    return GaussianClassifier(
        power=draw(st.sampled_from([None, POWERS])),
        **draw(
            st.one_of(
                st.fixed_dictionaries({"covariance": st.sampled_from(sorted(FAMILIES))}),
                st.fixed_dictionaries(
                    {
                        "estimate": st.sampled_from(["map", "predictive"]),
                        "tied": st.sampled_from([True, False, [[0, 1]]]),
                    }
                ),
                st.fixed_dictionaries(
                    {
                        "shrinkage": st.sampled_from(["oas", "ledoit-wolf"]),
                        "priors": st.sampled_from([None, "uniform"]),
                    }
                ),
                st.fixed_dictionaries(
                    {"priors": st.sampled_from([sf.Dirichlet(0.5), sf.Dirichlet(2.0)])}
                ),
            )
        ),
    )


def rows_in_fair_units(estimator, seed, n):
    """Return rows whose axes are well determined, for the families that depend on units."""
    X, y, w = rows(seed, n)
    return (X / X.std(0) if estimator.covariance in UNIT_BOUND else X), y, w


def rows(seed, n=72, d=4):
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(n) % 3)
    mix = rng.normal(size=(3, d, d))
    X = np.einsum("nd,nde->ne", rng.normal(size=(n, d)), mix[y]) + rng.normal(size=(3, d))[y]
    return X * 10.0 ** rng.integers(-6, 6, d), y, rng.choice([0.0, 0.5, 1.0, 2.0], n)


def counted_folds(cv, y, w):
    """Return stratified folds of the rows that count."""
    at = np.flatnonzero(w)
    pairs = StratifiedKFold(cv).split(np.zeros((len(at), 1)), y[at])
    return [(at[train], at[test]) for train, test in pairs]


def by_refitting(estimator, params, X, y, w, splits):
    """Return the losses (F, 3) of fitting one candidate on every training set."""
    losses = []
    for train, test in splits:
        fitted = clone(estimator).set_params(**params).fit(X[train], y[train], w[train])
        log_p = fitted.predict_log_proba(X[test])
        truth = np.searchsorted(np.unique(y), y[test])
        per_row = [
            log_p.argmax(1) != truth,
            -log_p[np.arange(len(test)), truth],
            np.square(np.exp(log_p) - np.eye(3)[truth]).sum(1),
        ]
        losses.append(np.average(per_row, axis=1, weights=w[test]))
    return np.array(losses)


@settings(max_examples=40)
@pytest.mark.filterwarnings("ignore:.*has no effect")  # tied or diagonal, as drawn
@given(estimators(), DIALS, SHRINKAGES, st.integers(0, 10**6), st.booleans())
def test_exact_folds_equal_brute_force_refits(estimator, pooling, shrinkage, seed, in_blocks):
    X, y, w = rows(seed)
    splits = list(StratifiedKFold(4).split(X, y))
    grid = {"pooling": [0.0, pooling], "shrinkage": [shrinkage, 0.3]}
    before = held_out._NUMBERS
    held_out._NUMBERS = 50 if in_blocks else before
    try:
        result = sf.cross_validate(estimator, X, y, grid, cv=splits, sample_weight=w)
    finally:
        held_out._NUMBERS = before
    for params, found in zip(result.params, result.fold_losses, strict=True):
        expected = by_refitting(estimator, params, X, y, w, splits)
        np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-10)


@settings(max_examples=40)
@given(the_rest_of_the_family(), st.integers(0, 10**6))
def test_bayesian_edda_and_transformed_models_equal_refits_too(estimator, seed):
    X, y, w = rows_in_fair_units(estimator, seed, n=120)
    splits = list(StratifiedKFold(4).split(X, y))
    result = sf.cross_validate(estimator, X, y, cv=splits, sample_weight=w)
    expected = by_refitting(estimator, {}, X, y, w, splits)
    np.testing.assert_allclose(result.fold_losses[0], expected, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("cv", [GroupKFold(4), ShuffleSplit(3, random_state=0), 3])
def test_any_splitter_and_groups_work(cv):
    X, y, w = rows(0)
    groups = np.arange(len(y)) // 6 if isinstance(cv, GroupKFold) else None
    splits = counted_folds(cv, y, w) if isinstance(cv, int) else list(cv.split(X, y, groups))
    result = sf.cross_validate(QDA(shrinkage=0.1), X, y, cv=cv, groups=groups, sample_weight=w)
    expected = by_refitting(QDA(shrinkage=0.1), {}, X, y, w, splits)
    np.testing.assert_allclose(result.fold_losses[0], expected, rtol=1e-10)


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("priors", [np.array([0.3, 0.3, 0.4]), np.array([0.32, 0.28, 0.4])]),
        ("power", [PowerTransform([e, 1.0, 1.0, 1.0]) for e in (0.5, 0.52)]),
    ],
)
def test_points_of_a_grid_that_are_printed_alike_are_judged_apart(iris, name, settings):
    alone = [sf.cross_validate(QDA(**{name: each}), *iris, cv=3).means[0] for each in settings]
    with np.printoptions(precision=1):
        both = sf.cross_validate(QDA(), *iris, {name: settings}, cv=3).means
    np.testing.assert_allclose(both, alone, rtol=1e-9)
    assert both[0, 1] != both[1, 1]


def test_accuracies_equal_grid_search_over_scikit_learn(iris):
    X, y = iris
    path = [0.0, 0.01, 0.1, 0.5, 1.0]
    search = GridSearchCV(
        LinearDiscriminantAnalysis(solver="lsqr"), {"shrinkage": path}, cv=10
    ).fit((X - X.mean(0)) / X.std(0), y)
    ours = sf.cross_validate(LDA(), X, y, {"shrinkage": [0.0]}, cv=10)
    assert 1 - ours.means[0, 0] == pytest.approx(
        search.cv_results_["mean_test_score"][0], abs=1e-12
    )


def test_priors_can_be_kept_fixed_over_folds():
    X, y, w = rows(1)
    y[:10] = 0
    result = sf.cross_validate(LDA(), X, y, cv=3, sample_weight=w, refit_priors=False)
    assert not result.refit_priors
    given_priors = np.bincount(y, w) / w.sum()
    splits = counted_folds(3, y, w)
    expected = by_refitting(LDA(priors=given_priors), {}, X, y, w, splits)
    np.testing.assert_allclose(result.fold_losses[0], expected, rtol=1e-10)


def test_a_class_absent_from_a_training_fold_is_said_so():
    X, y, _ = rows(2)
    train, test = np.flatnonzero(y != 2), np.flatnonzero(y == 2)
    result = sf.cross_validate(LDA(), X, y, cv=[(train, test), (np.arange(72), test)])
    assert "class 2 has no training row in fold 0" in result.absent[0]
    assert result.fold_losses[0, 0, 0] == 1.0
    assert result.fold_losses[0, 0, 1] == pytest.approx(36.04, abs=0.01)


def test_the_best_estimator_is_fitted_on_all_rows(iris):
    X, y = iris
    result = sf.cross_validate(QDA(), X, y, {"shrinkage": [0.0, 0.1, 0.9]}, cv=5)
    again = QDA(**result.best_params).fit(X, y)
    np.testing.assert_array_equal(
        result.best_estimator.predict_proba(X), again.predict_proba(X)
    )
    frame = result.to_frame()
    assert list(frame.columns[:5]) == [
        "shrinkage",
        "error",
        "error_se",
        "log_loss",
        "log_loss_se",
    ]
    assert frame["log_loss"].idxmin() == result.best_index
    assert result.one_se_params["shrinkage"] >= result.best_params["shrinkage"]


def test_other_classifiers_are_fitted_again(iris):
    X, y = iris
    result = sf.cross_validate(
        LogisticRegression(max_iter=1000), X, y, {"C": [0.1, 1.0]}, cv=3
    )
    assert result.means.shape == (2, 3)
    assert result.means[:, 0].max() < 0.1


def test_bad_requests_are_refused(iris):
    X, y = iris
    with pytest.raises(InvalidParameterError, match="criterion must be one of"):
        sf.cross_validate(LDA(), X, y, criterion="accuracy")
    with pytest.raises(InvalidParameterError, match="a number from 0 to 1"):
        sf.cross_validate(LDA(), X, y, {"shrinkage": [2.0]})
    few = np.r_[0:60, 100:104]
    with pytest.raises(
        InvalidParameterError, match="'virginica' has 4 rows, fewer than the 10"
    ):
        sf.cross_validate(LDA(), X[few], y[few])


def test_naive_bayes_needs_no_full_scatter(iris):
    X, y = iris
    result = sf.cross_validate(
        GaussianClassifier("diagonal"), X, y, {"tied": [True, False]}, cv=5
    )
    assert result.best_estimator.moments_.storage == "diagonal"


def test_the_picture_fits_the_grid(iris):
    X, y = iris
    dials = [0.0, 0.5, 1.0]
    path = sf.cross_validate(LDA(), X, y, {"shrinkage": dials}, cv=3).plot()
    assert path.get_xlabel() == "shrinkage γ"
    both = {"pooling": dials, "shrinkage": dials}
    grid = sf.cross_validate(GaussianClassifier(), X, y, both, cv=3).plot()
    assert (grid.get_xlabel(), grid.get_ylabel()) == ("pooling λ", "shrinkage γ")
    words = sf.cross_validate(LDA(), X, y, {"priors": [None, "uniform"]}, cv=3).plot()
    assert len(words.get_yticklabels()) == 2
    plt.close("all")


def losses_by_hand(log_losses):
    """Return a result whose folds have these log-losses, (C, F)."""
    folds = np.stack([1 + np.array(log_losses), log_losses, 2 - np.array(log_losses)], axis=2)
    params = tuple({"shrinkage": g} for g in (0.5, 0.0, 1.0, 0.1))
    return CrossValidation(params, folds, "log_loss", True, (), None)


def test_the_best_has_the_least_loss_and_one_se_the_most_shrinkage_near_it():
    # means 0.33, 0.30, 0.60, 0.31; standard error of the best 0.04 / √4 · √(4/3) = 0.023
    result = losses_by_hand(
        [
            [0.32, 0.34, 0.33, 0.33],
            [0.26, 0.34, 0.26, 0.34],
            [0.60, 0.60, 0.60, 0.60],
            [0.31, 0.31, 0.31, 0.31],
        ]
    )
    assert result.best_params == {"shrinkage": 0.0}
    assert result.standard_errors[1, 1] == pytest.approx(0.04 / np.sqrt(3))
    assert result.one_se_params == {"shrinkage": 0.1}
    wider = losses_by_hand([[0.32] * 4, [0.24, 0.36, 0.24, 0.36], [0.6] * 4, [0.31] * 4])
    assert wider.best_params == {"shrinkage": 0.0}
    assert wider.one_se_params == {"shrinkage": 0.5}


def test_a_candidate_without_posteriors_is_never_the_best_by_log_loss(iris):
    X, y = iris
    either = Pipeline([("model", LinearSVC())])
    models = [LinearSVC(), LogisticRegression(max_iter=500)]
    result = sf.cross_validate(either, X, y, {"model": models}, cv=3)
    assert result.best_params == {"model": models[1]}
    assert np.isnan(result.means[0, 1])
    with pytest.raises(InvalidParameterError, match="use criterion='error'"):
        sf.cross_validate(LinearSVC(), X, y, cv=3)
    assert sf.cross_validate(LinearSVC(), X, y, cv=3, criterion="error").best_params == {}


def test_errors_are_those_of_predict_whatever_decides(iris):
    X, y = iris[0][50:], iris[1][50:]
    decided = FixedThresholdClassifier(LogisticRegression(max_iter=500))
    found = sf.cross_validate(
        decided, X, y, {"threshold": [0.01, 0.5, 0.99]}, cv=3, criterion="error"
    )
    dear = LDA(costs=[[0, 50], [1, 0]])
    costly = sf.cross_validate(dear, X, y, cv=3)
    folds = StratifiedKFold(3)
    for estimator, errors in zip(
        [*(clone(decided).set_params(threshold=t) for t in (0.01, 0.5, 0.99)), dear],
        [*found.fold_losses[:, :, 0], costly.fold_losses[0, :, 0]],
        strict=True,
    ):
        assert errors == pytest.approx(1 - cross_val_score(estimator, X, y, cv=folds))
    assert found.best_params == {"threshold": 0.5}
    np.testing.assert_allclose(
        costly.fold_losses[0, :, 1:],
        sf.cross_validate(LDA(), X, y, cv=3).fold_losses[0, :, 1:],
    )


def test_priors_of_all_rows_are_used_where_cells_are_empty_too(iris):
    X, y = iris[0].copy(), iris[1]
    X[3, 1] = np.nan
    folds = [(np.r_[0:60, 100:150], np.r_[60:100])]  # few rows of class 1 to learn from
    found = sf.cross_validate(QDA(), X, y, cv=folds, refit_priors=False)
    by_hand = QDA(priors="uniform").fit(X[folds[0][0]], y[folds[0][0]])
    logs = by_hand.predict_log_proba(X[60:100])
    assert found.means[0, 1] == pytest.approx(-logs[:, 1].mean())
    with pytest.raises(InvalidParameterError, match="refit_priors=False is for Gaussian"):
        sf.cross_validate(LogisticRegression(), iris[0], y, cv=folds, refit_priors=False)


def test_folds_are_masks_or_row_numbers_that_there_are(iris):
    X, y = iris
    even = np.arange(150) % 2 == 0
    masks = sf.cross_validate(LDA(), X, y, cv=[(even, ~even)])
    numbers = sf.cross_validate(
        LDA(), X, y, cv=[(np.flatnonzero(even).tolist(), np.flatnonzero(~even).tolist())]
    )
    np.testing.assert_array_equal(masks.fold_losses, numbers.fold_losses)
    assert masks.one_se_params == {}
    assert np.isnan(masks.standard_errors).all()
    for wrong, said in (
        ([], "no row"),
        ([([0, 60, 120], [])], "no row"),
        ([([0, 60, 120], [150])], "names row 150, but rows are numbered from 0 to 149"),
        ([([0, 60, 120], [-1])], "names row -1"),
        ([([0.0, 60.0], [1.0])], "got an array of float64"),
        ([(even[:-1], ~even)], r"of bool of shape \(149,\)"),
    ):
        with pytest.raises(InvalidParameterError, match=said):
            sf.cross_validate(LDA(), X, y, cv=wrong)


@pytest.mark.parametrize("kind", [np.float32, np.float64, float])
def test_one_se_reads_numbers_of_any_kind(kind):
    losses = np.array([[[0.3, 0.4]] * 2] * 3)[..., [0, 0, 0]] + [[[0.0]], [[0.01]], [[0.02]]]
    losses[:, 1] += 0.2
    for name in ("shrinkage", "l2"):
        params = tuple({name: kind(value)} for value in (0.0, 0.25, 0.5))
        result = CrossValidation(params, losses, "log_loss", True, (), None)
        assert (result.best_params, result.one_se_params) == (params[0], params[2])
    others = tuple({"C": kind(value)} for value in (1.0, 0.1, 0.01))
    result = CrossValidation(others, losses[::-1], "log_loss", True, (), None)
    assert result.best_params == result.one_se_params == others[2]  # nobody knows what C is


def test_weights_that_any_candidate_would_ignore_are_refused(iris):
    either = Pipeline([("model", LinearSVC())])
    models = [LogisticRegression(), KNeighborsClassifier()]
    with pytest.raises(
        InvalidParameterError, match=r"KNeighborsClassifier.* does not accept sample weights"
    ):
        sf.cross_validate(either, *iris, {"model": models}, cv=3, sample_weight=np.ones(150))


@pytest.mark.parametrize(
    "settings",
    [
        {"estimate": "map", "tied": True},
        {"estimate": "predictive", "priors": sf.Dirichlet(1.0)},
        {"tied": True, "priors": sf.Dirichlet(1.0)},
        {"covariance": "diagonal", "priors": sf.Dirichlet(0.5)},
    ],
)
def test_a_class_that_a_fold_never_saw_plays_no_part_in_it(iris, settings):
    X, y = iris[0][::3], iris[1][::3]
    folds = [
        (np.flatnonzero(y != label), np.flatnonzero(y == label)) for label in np.unique(y)
    ]
    folds = [(train, np.concatenate([test, train[::4]])) for train, test in folds]
    estimator = GaussianClassifier(**settings)
    found = sf.cross_validate(estimator, X, y, cv=folds).fold_losses[0]
    for losses, (train, test) in zip(found, folds, strict=True):
        fitted = clone(estimator).fit(X[train], y[train])
        seen = np.isin(y[test], fitted.classes_)
        logs = fitted.predict_log_proba(X[test])
        at = np.searchsorted(fitted.classes_, y[test]).clip(max=1)
        expected = np.where(
            seen, -logs[np.arange(len(test)), at], -np.log(np.finfo(float).eps)
        )
        assert losses[1] == pytest.approx(expected.mean(), rel=1e-9)
