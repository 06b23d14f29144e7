"""The number of parameters of fitted classifiers: by hand, and for all of scikit-learn."""

import warnings

import numpy as np
import pytest
from sklearn.ensemble import (
    GradientBoostingClassifier,
    RandomForestClassifier,
    StackingClassifier,
    VotingClassifier,
)
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.multioutput import ClassifierChain, MultiOutputClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils import all_estimators

import suffice as sf
from suffice.evaluate.comparison.model_size import is_readable, n_parameters

LINEAR = LogisticRegression(max_iter=20)
MEMBERS = [("a", LINEAR), ("b", DecisionTreeClassifier(max_depth=1))]
REQUIRED = {
    "ClassifierChain": {"estimator": LINEAR},
    "FixedThresholdClassifier": {"estimator": LINEAR},
    "MultiOutputClassifier": {"estimator": LINEAR},
    "OneVsOneClassifier": {"estimator": LINEAR},
    "OneVsRestClassifier": {"estimator": LINEAR},
    "OutputCodeClassifier": {"estimator": LINEAR},
    "SelfTrainingClassifier": {"estimator": LINEAR},
    "StackingClassifier": {"estimators": MEMBERS, "cv": 2},
    "TunedThresholdClassifierCV": {"estimator": LINEAR, "cv": 2},
    "VotingClassifier": {"estimators": MEMBERS},
}
QUICK = {"max_iter": 3, "n_estimators": 3, "cv": 2}


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    y = np.arange(60) % 2
    return rng.integers(0, 3, (60, 3)) + y[:, None], y


@pytest.mark.parametrize("name", [name for name, _ in all_estimators("classifier")])
def test_counting_parameters_never_fails_a_fitted_model(name, rows):
    x, y = rows
    kind = dict(all_estimators("classifier"))[name]
    if kind in (ClassifierChain, MultiOutputClassifier):
        y = np.stack([y, 1 - y], axis=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = kind(**REQUIRED.get(name, {}))
        if name not in REQUIRED:
            names = model.get_params()
            model.set_params(**{key: value for key, value in QUICK.items() if key in names})
        model.fit(x, y)
    count = n_parameters(model)
    assert np.isnan(count) or count >= 1
    assert is_readable(model) in (True, False)


def test_a_regression_tree_has_one_number_at_each_leaf(rows):
    model = GradientBoostingClassifier(n_estimators=2, max_depth=1).fit(*rows)
    # 2 stumps, each with a feature, a threshold and 2 leaves
    assert n_parameters(model) == 2 * (2 + 2)


def test_boosted_trees_are_compared(rows):
    boosting = GradientBoostingClassifier(n_estimators=2, max_depth=1)
    comparison = sf.compare(*rows, models=[boosting], progress=False)
    assert not comparison.failures
    assert comparison.outcomes[0].n_parameters == 8


def test_stacking_counts_the_model_of_its_members(rows):
    model = StackingClassifier(MEMBERS, cv=2).fit(*rows)
    # 4 of the line, 2 + 2 of the stump, and 3 of the model of their 2 probabilities
    assert n_parameters(model) == 4 + 4 + 3


def test_members_may_be_pipelines_and_ensembles(rows):
    forest = RandomForestClassifier(2, max_depth=1, random_state=0)
    members = [("a", make_pipeline(StandardScaler(), LINEAR)), ("b", forest), ("c", LINEAR)]
    model = VotingClassifier(members).fit(*rows)
    assert n_parameters(model) == 4 + 2 * 4 + 4


@pytest.mark.parametrize("kind", [LogisticRegression, RidgeClassifier])
def test_an_intercept_of_zero_is_a_parameter_if_it_is_fitted(kind):
    x = np.array([[-2.0, 1.0], [-1.0, -1.0], [1.0, 1.0], [2.0, -1.0]])
    y = np.array([0, 0, 1, 1])
    model = kind().fit(x, y)
    model.intercept_ = np.zeros_like(model.intercept_)
    assert n_parameters(model) == 3
    assert n_parameters(kind(fit_intercept=False).fit(x, y)) == 2


@pytest.mark.parametrize("n_classes", [2, 3, 4])
def test_a_linear_support_vector_machine_has_an_equation_for_each_pair_of_classes(n_classes):
    rng = np.random.default_rng(0)
    y = np.arange(40) % n_classes
    model = SVC(kernel="linear").fit(rng.normal(size=(40, 3)) + y[:, None], y)
    n_pairs = n_classes * (n_classes - 1) / 2
    assert n_parameters(model) == n_pairs * 4


def test_the_size_of_a_model_that_uses_these_names_differently_is_unknown():
    class Foreign:
        estimators_ = 3

    class Odd:
        tree_ = "oak"

    assert np.isnan(n_parameters(Foreign()))
    assert np.isnan(n_parameters(Odd()))
