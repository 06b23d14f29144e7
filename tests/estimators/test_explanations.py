"""Importances and explanations of rows, against brute force over features and orders."""

from itertools import permutations

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris
from sklearn.tree import DecisionTreeClassifier

import suffice as sf
from suffice.errors import InvalidParameterError
from suffice.estimators.saved import SavedClassifier

X, Y = load_iris(return_X_y=True)
ROWS = X[:, :3]
ESTIMATORS = {
    "LDA": sf.LDA(),
    "QDA": sf.QDA(),
    "power": sf.LDA(power="yeo-johnson"),
    "naive Bayes": sf.GaussianNB(),
    "auto": sf.AutoGaussian(kernel_features=False),
    "mixture": sf.MixtureClassifier(2, random_state=0),
    "logistic": sf.LogisticRegression(),
    "least squares": sf.LeastSquaresClassifier(),
}


def log_odds(model, x, first, second):
    """Return log odds of two classes, or the difference of scores where there are none."""
    row = np.atleast_2d(x)
    if hasattr(model, "predict_log_proba"):
        logs = model.predict_log_proba(row)[0]
    else:
        logs = model.decision_function(row)[0]
    return logs[first] - logs[second]


@pytest.mark.parametrize("kind", ESTIMATORS)
def test_the_parts_of_a_row_sum_to_its_log_odds(kind):
    model = ESTIMATORS[kind].fit(ROWS, Y)
    for i in (0, 77, 120):
        told = model.explain_row(ROWS[i])
        assert told.predicted == model.predict(ROWS[[i]])[0]
        expected = log_odds(model, ROWS[i], told.predicted, told.against)
        assert told.log_odds == pytest.approx(expected, rel=1e-9)
        assert len(told.parts) == len(told.columns) == 3


@pytest.mark.parametrize("kind", ["LDA", "QDA", "naive Bayes", "logistic"])
def test_the_parts_of_linear_and_gaussian_models_are_shapley_values(kind):
    model = ESTIMATORS[kind].fit(ROWS, Y)
    row, reference = ROWS[77], ROWS[3]
    told = model.explain_row(row, reference)
    parts = np.zeros(3)
    for order in permutations(range(3)):
        x = reference.copy()
        for j in order:
            before = log_odds(model, x, told.predicted, told.against)
            x[j] = row[j]
            parts[j] += log_odds(model, x, told.predicted, told.against) - before
    np.testing.assert_allclose(told.parts, parts / 6, rtol=1e-7, atol=1e-9)
    start = log_odds(model, reference, told.predicted, told.against)
    assert told.reference == pytest.approx(start)


def test_a_mixed_row_has_a_part_for_each_column_and_not_for_each_level():
    rng = np.random.default_rng(0)
    y = np.arange(90) % 2
    frame = pd.DataFrame(
        {"a": rng.normal(size=90) + y, "kind": rng.choice(["u", "v", "w"], 90), "b": y * 0.5}
    )
    frame["b"] += rng.normal(size=90)
    model = sf.LDA().fit(frame, y)
    told = model.explain_row(frame.iloc[[5]])
    assert set(told.columns) == {"a", "kind", "b"}
    logs = model.predict_log_proba(frame.iloc[[5]])[0]
    assert told.log_odds == pytest.approx(abs(logs[0] - logs[1]))
    assert model.feature_importances_.shape == (3,)


def test_a_classifier_of_another_library_is_explained_from_a_reference():
    tree = SavedClassifier.of(DecisionTreeClassifier(max_depth=2, random_state=0).fit(ROWS, Y))
    with pytest.raises(InvalidParameterError, match="reference"):
        tree.explain_row(ROWS[0])
    told = tree.explain_row(ROWS[0], ROWS[77])
    assert told.predicted == 0
    assert np.isfinite(told.parts).all()


def divergence(priors, means, covariances):
    """Return Σ π_k π_l KL(k ‖ l) by the textbook."""
    total = 0.0
    for k in range(len(priors)):
        for j in range(len(priors)):
            delta = means[j] - means[k]
            inverse = np.linalg.inv(covariances[j])
            quotient = np.linalg.det(covariances[j]) / np.linalg.det(covariances[k])
            kl = np.trace(inverse @ covariances[k]) + delta @ inverse @ delta - len(delta)
            total += priors[k] * priors[j] * 0.5 * (kl + np.log(quotient))
    return total


@pytest.mark.parametrize("kind", ["LDA", "QDA", "naive Bayes"])
def test_importances_are_the_divergence_lost_without_a_feature(kind):
    model = ESTIMATORS[kind].fit(X, Y)
    covariances = np.broadcast_to(model.model_.covariances, (3, 4, 4))
    whole = divergence(model.priors_, model.means_, covariances)
    lost = []
    for j in range(4):
        kept = np.delete(np.arange(4), j)
        parts = covariances[:, kept][:, :, kept]
        lost.append(whole - divergence(model.priors_, model.means_[:, kept], parts))
    np.testing.assert_allclose(model.feature_importances_, lost / np.sum(lost), rtol=1e-6)


def test_importances_of_linear_models_do_not_depend_on_units(tmp_path):
    for model in (
        sf.LogisticRegression(),
        sf.LeastSquaresClassifier(),
        sf.Perceptron(variant="averaged"),
    ):
        plain = model.fit(X, Y).feature_importances_
        assert plain.sum() == pytest.approx(1)
        scaled = model.fit(X * [1, 1000, 0.001, 1], Y)
        np.testing.assert_allclose(scaled.feature_importances_, plain, rtol=1e-4, atol=1e-6)
        scaled.save(tmp_path / "m.suffice")
        loaded = sf.load(tmp_path / "m.suffice")
        np.testing.assert_array_equal(loaded.feature_importances_, scaled.feature_importances_)
