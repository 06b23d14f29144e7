"""The fourteen EDDA families as settings: optima, counts, criteria, choice, degenerate data."""

import itertools
import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import suffice as sf
from suffice import GaussianClassifier, Hyperplane, Moments
from suffice.core.estimation.edda import FAMILIES
from suffice.core.model.covariance import DiagonalCovariance
from suffice.errors import DegenerateDataWarning, InvalidParameterError

REFERENCE = json.loads(
    (Path(__file__).parents[1] / "reference" / "edda.json").read_text(encoding="utf-8")
)["datasets"]
CASES = [
    pytest.param(name, code, marks=[] if name == "iris" else [pytest.mark.slow])
    for name in REFERENCE
    for code in FAMILIES
]
PLAIN = {
    "EII": GaussianClassifier("spherical", tied=True),
    "VII": GaussianClassifier("spherical"),
    "EEI": GaussianClassifier("diagonal", tied=True),
    "VVI": GaussianClassifier("diagonal"),
    "EEE": GaussianClassifier(tied=True),
    "VVV": GaussianClassifier(),
}


@pytest.mark.parametrize(("name", "code"), CASES)
def test_likelihood_count_and_criterion_are_those_of_the_optimum(table, name, code):
    X, y, _ = table(name)
    est = GaussianClassifier(code).fit(X, y)
    expected = REFERENCE[name]["families"][code]
    w = est.moments_.weights
    given_class = est.log_likelihood() - w @ np.log(w / w.sum())
    assert given_class == pytest.approx(expected["log_likelihood"], rel=1e-10)
    assert given_class >= expected["log_likelihood_R"] - 1e-10 * abs(given_class)
    # theirs counts no priors; ours is the negative of the BIC of class and features together
    n_priors = len(w) - 1
    assert est.model_.model.n_parameters - n_priors == expected["df"]
    assert est.model_.bic(est.moments_) == pytest.approx(-expected["bic_joint"], rel=1e-10)
    assert est.family_ == code
    # mclust's is of the features alone, whatever their class
    mixture = 2 * est.model_.log_density(X).sum() - expected["df"] * np.log(len(X))
    assert mixture == pytest.approx(expected["bic_mclust"], rel=1e-8)


@pytest.mark.parametrize("code", FAMILIES)
def test_likelihood_from_moments_is_that_of_the_rows(iris, code):
    X, y = iris
    est = GaussianClassifier(code).fit(X, y)
    joint = est.model_.class_log_density(X) + np.log(est.priors_)
    rows = joint[np.arange(150), np.searchsorted(est.classes_, y)]
    assert est.log_likelihood() == pytest.approx(rows.sum(), rel=1e-10)


@pytest.mark.parametrize("code", PLAIN)
def test_six_families_are_plain_structures(iris, code):
    X, y = iris
    one, two = GaussianClassifier(code).fit(X, y), PLAIN[code].fit(X, y)
    np.testing.assert_allclose(one.covariance_, two.covariance_, rtol=1e-12)
    assert one.model_.bic(one.moments_) == pytest.approx(two.model_.bic(two.moments_))
    assert two.family_ is None


def test_shared_covariances_give_linear_boundaries_and_diagonal_ones_stay_diagonal(iris):
    X, y = iris
    est = GaussianClassifier("EEI").fit(X, y)
    assert isinstance(est.boundary("setosa", "virginica"), Hyperplane)
    assert est.coef_.shape == (3, 4)
    for code in ("VEI", "EVI"):
        est = GaussianClassifier(code).fit(X, y)
        assert all(isinstance(c, DiagonalCovariance) for c in est.model_.model.covariances)
        assert est.moments_.storage == "diagonal"


def test_auto_takes_the_family_of_least_bic(table):
    for name in ("iris", "crabs", "banknote"):
        X, y, _ = table(name)
        fits = {code: GaussianClassifier(code).fit(X, y) for code in FAMILIES}
        scores = {code: fit.model_.bic(fit.moments_) for code, fit in fits.items()}
        est = GaussianClassifier("auto").fit(X, y)
        assert est.family_ == min(scores, key=scores.get)
        assert est.model_.bic(est.moments_) == pytest.approx(min(scores.values()))
        same = GaussianClassifier("auto").fit_moments(Moments.of(X, y))
        assert same.family_ == est.family_


@settings(max_examples=8)
@given(st.sampled_from(["EEI", "VVI", "EEE", "VVV"]), st.integers(0, 10**6))
def test_auto_finds_the_family_that_made_the_data(code, seed):
    rng = np.random.default_rng(seed)
    d, y = 3, np.repeat([0, 1], 4000)
    a = np.eye(d) + 0.5 * np.tri(d, k=-1)
    roots = {
        "EEI": (np.diag([1, 2, 3.0]), np.diag([1, 2, 3.0])),
        "VVI": (np.diag([1, 2, 3.0]), np.diag([3, 1, 1.0])),
        "EEE": (a, a),
        "VVV": (a, np.diag([4, 1, 1]) @ a.T),
    }[code]
    X = np.concatenate([rng.normal(size=(4000, d)) @ r.T for r in roots])
    assert GaussianClassifier("auto").fit(X, y).family_ == code


def test_auto_leaves_out_families_that_a_small_class_cannot_have(iris):
    X, y = iris
    rows = np.r_[0:3, 50:150]
    est = GaussianClassifier("auto").fit(X[rows], y[rows])  # no warning
    assert est.family_ not in {"VVV", "EVV", "EVE", "VVE"}
    assert est.score(X, y) > 0.9


@pytest.mark.parametrize(
    "code", ["VVV", "VEV", "EEV", "EVV", "VEE", "EVE", "VVE", "VVI", "VEI"]
)
def test_a_class_without_enough_rows_borrows_with_a_warning(iris, code):
    X, y = iris
    rows = np.r_[0:1, 50:150]
    est = GaussianClassifier(code)
    if code == "EEV":
        est.fit(X[rows], y[rows])  # volume and shape are shared: none of its own is needed
    else:
        with pytest.warns(DegenerateDataWarning, match="covariance of class 'setosa'"):
            est.fit(X[rows], y[rows])
    assert np.isfinite(est.predict_log_proba(X)).all()
    assert est.score(X, y) > 0.6


@pytest.mark.parametrize("code", ["VEE", "VEI"])
def test_classes_on_lines_borrow_the_same_variance_in_any_order(code):
    t = np.linspace(-1, 1, 10)
    lines = {
        "first": np.c_[t, 0 * t],
        "second": np.c_[t + 3, 0 * t + 1],
        "upright": np.c_[0 * t, t + 3],
    }
    rows = np.concatenate(list(lines.values()))
    found = []
    for names in itertools.permutations(lines):
        X = np.concatenate([lines[name] for name in names])
        # numbers in front of the names fix the order of the classes
        y = np.repeat([f"{place} {name}" for place, name in enumerate(names)], 10)
        est = GaussianClassifier(code)
        with pytest.warns(
            DegenerateDataWarning, match="class(es)? '0 .*To avoid this, set pooling"
        ):
            est.fit(X, y)
        order = [names.index(name) for name in lines]
        found.append(est.predict_log_proba(rows)[:, order])
    for each in found[1:]:
        np.testing.assert_allclose(each, found[0], rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("code", ["VEV", "VVE", "VEI", "EVV", "EEE", "auto"])
def test_constant_and_duplicated_columns_are_survived_with_a_warning(iris, code):
    X, y = iris
    wide = np.c_[X, np.full(150, 7.0), X[:, 0] + X[:, 1]]
    est = GaussianClassifier(code)
    with pytest.warns(DegenerateDataWarning, match="constant"):
        est.fit(wide, y)
    assert est.score(wide, y) > 0.9


def test_auto_is_chosen_by_the_columns_that_vary(iris):
    X, y = iris
    wide = np.c_[X, np.full(150, 7.0), X[:, 0] + X[:, 1]]
    with pytest.warns(DegenerateDataWarning):
        found = GaussianClassifier("auto").fit(wide, y).family_
    assert found == GaussianClassifier("auto").fit(X, y).family_


@pytest.mark.parametrize("code", ["EEI", "VEI", "EVI", "VVI", "EEE", "VEE", "EVV", "VVV"])
def test_eight_families_do_not_depend_on_units(iris, code):
    X, y = iris
    units = np.array([1e-9, 1e9, 1e3, 1.0])
    one = GaussianClassifier(code).fit(X, y).predict_log_proba(X)
    two = GaussianClassifier(code).fit(X * units, y).predict_log_proba(X * units)
    np.testing.assert_allclose(two, one, rtol=1e-6, atol=1e-9)


def test_a_class_without_rows_gets_no_probability(iris):
    X, y = iris
    for code in ("VEV", "EVI", "auto"):
        est = GaussianClassifier(code).partial_fit(X, y, classes=[*np.unique(y), "zzz"])
        posterior = est.predict_proba(X)
        assert not posterior[:, 3].any()
        np.testing.assert_allclose(posterior.sum(1), 1)


@pytest.mark.parametrize("code", ["VEV", "EVI", "auto"])
def test_files_keep_the_family(tmp_path, iris, code):
    X, y = iris
    est = GaussianClassifier(code).fit(X, y)
    est.save(tmp_path / "m.suffice")
    back = sf.load(tmp_path / "m.suffice")
    np.testing.assert_array_equal(back.predict_proba(X), est.predict_proba(X))
    assert back.family_ == est.family_


@pytest.mark.parametrize(
    ("estimator", "message"),
    [
        (GaussianClassifier("EEEE"), "an EDDA code .*got 'EEEE'"),
        (GaussianClassifier(3), "covariance must be one of"),
        (GaussianClassifier("VEV", tied=True), "leave tied=False, got tied=True"),
        (GaussianClassifier("auto", tied=[["setosa"]]), "leave tied=False"),
        (GaussianClassifier("VVV", "divisor"), "tied must be True, False"),
        (GaussianClassifier("VVV", divisor="unbiased"), "leave divisor='mle'"),
        (GaussianClassifier("EEE", shrinkage=0.1), "takes no pooling or shrinkage"),
        (GaussianClassifier("VEV", pooling="auto"), "takes no pooling or shrinkage"),
        (GaussianClassifier("EEE", estimate="map"), "leave estimate='plug-in'"),
    ],
)
def test_settings_that_contradict_a_code_are_refused(iris, estimator, message):
    with pytest.raises(InvalidParameterError, match=message):
        estimator.fit(*iris)
