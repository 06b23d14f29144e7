"""Importances and explanations of rows, against brute force over features and orders."""

from itertools import permutations

import numpy as np
import pandas as pd
import pytest
from sklearn.base import ClassifierMixin
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


def frame_of_kinds():
    rng = np.random.default_rng(0)
    y = np.arange(300) % 3
    frame = pd.DataFrame(
        {
            "word_a": rng.poisson(2 + 2 * (y == 1)),
            "size": rng.normal(size=300) + (y == 2),
            "word_b": rng.poisson(3, 300),
            "zone": rng.choice(["n", "s", "w"], 300),
            "seen": (rng.random(300) < 0.2 + 0.5 * (y == 0)).astype(int),
        }
    )
    return frame, y


@pytest.mark.parametrize("kind", ["multinomial", "poisson", "bernoulli", "complement"])
def test_importances_of_counts_are_the_divergence_in_each_feature(kind):
    frame, y = frame_of_kinds()
    x = frame[["word_a", "word_b", "seen"]].to_numpy()
    model = sf.CountNB(kind=kind).fit(x, y)
    w = model.feature_log_weights_
    if kind == "complement":
        sums = np.stack([x[y == k].sum(0) for k in range(3)])
        means = sums / sums.sum(1, keepdims=True)
    elif kind == "multinomial":  # given the total, the shares differ alone
        means = np.exp(w)
    else:
        means = model.model_.model.means
    parts = np.zeros(3)
    for k, j in permutations(range(3), 2):
        # E_k[log p_k − log p_j] of each feature, up to a constant that cancels
        parts += model.priors_[k] * model.priors_[j] * means[k] * (w[k] - w[j])
    np.testing.assert_allclose(model.feature_importances_, parts / parts.sum(), rtol=1e-9)
    assert model.feature_importances_.argmin() == 1


def test_importances_of_independent_kinds_of_columns_share_one_divergence():
    frame, y = frame_of_kinds()
    kinds = {"word_*": "poisson", "seen": "bernoulli"}
    whole = sf.MixedNB(kinds).fit(frame, y)
    assert whole.feature_importances_.shape == (5,)
    assert whole.feature_importances_.sum() == pytest.approx(1)
    importance = dict(zip(frame.columns, whole.feature_importances_, strict=True))
    words = sf.CountNB(kind="poisson").fit(frame[["word_a", "word_b"]], y)
    numbers = sf.MixedNB({}).fit(frame[["size", "zone"]], y)
    for part, columns in ((words, ["word_a", "word_b"]), (numbers, ["size", "zone"])):
        shares = np.array([importance[name] for name in columns])
        np.testing.assert_allclose(part.feature_importances_, shares / shares.sum(), rtol=1e-7)


def test_importances_of_a_mixture_are_those_of_the_moments_of_its_classes():
    model = sf.MixtureClassifier(2, random_state=0).fit(X, Y)
    plain = sf.QDA().fit(X, Y)
    assert model.feature_importances_.shape == (4,)
    np.testing.assert_allclose(
        model.feature_importances_, plain.feature_importances_, atol=0.05
    )


CLASSIFIERS = [
    each
    for each in (getattr(sf, name) for name in sf.__all__)
    if isinstance(each, type) and issubclass(each, ClassifierMixin)
]


@pytest.mark.filterwarnings("ignore::suffice.estimators.linear.UnfinishedDescentWarning")
@pytest.mark.parametrize("cls", CLASSIFIERS)
def test_every_classifier_explains_its_rows_and_the_importance_of_its_columns(cls):
    rng = np.random.default_rng(0)
    y = np.arange(60) % 2
    counts = rng.poisson(3 + 4 * y[:, None] * [1, 0, 0, 0], (60, 4)).astype(float)
    model = cls().fit(counts, y)
    assert model.feature_importances_.shape == (4,)
    assert model.feature_importances_.sum() == pytest.approx(1)
    assert model.feature_importances_.argmax() == 0
    told = model.explain_row(counts[0])
    assert len(told.parts) == 4
    assert told.predicted == model.predict(counts[:1])[0]


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
