"""Small values of decisions, worked by hand."""

import numpy as np
import pandas as pd
import pytest
from sklearn.tree import DecisionTreeClassifier

import suffice as sf
from suffice.core.decision.any_classifier import BoundaryRule, DecisionRule
from suffice.core.decision.bayes_decision import Costs
from suffice.core.decision.classifier import Classifier
from suffice.core.decision.conformal import NonconformityScores, PredictionSets
from suffice.core.decision.error_intervals import effective_rows
from suffice.core.decision.predictions import Predictions
from suffice.core.decision.prior_shift import shifted_priors
from suffice.core.model.predicted import PredictedModel
from suffice.errors import FeatureMismatchError, InvalidParameterError


def test_the_mean_row_is_the_mean_of_class_means_by_their_priors(iris):
    X, y = iris
    X, y = X[:120], y[:120]  # 50, 50 and 20 rows
    for estimator in (sf.LDA(), sf.LogisticRegression()):
        classifier = estimator.fit(X, y).model_
        np.testing.assert_allclose(classifier._mean_row(), X.mean(0))


def test_a_row_that_no_class_takes_is_predicted_as_none():
    predictions = Predictions(
        classes=np.array(["a", "b"]),
        truth=np.array([0, 1, 1]),
        predicted=np.array([0, -1, 1]),
        logs=None,
        rows=np.arange(3),
        weight=None,
    )
    assert predictions.predicted_labels.tolist() == ["a", None, "b"]


def test_sets_of_classes_are_counted_by_size_in_notebooks():
    members = np.array([[1, 0], [1, 1], [1, 1], [1, 1]], bool)
    html = PredictionSets(np.array(["a", "b"]), members, 0.9)._repr_html_()
    cells = html.replace("\n", "").split("classes in the set")[1].split("</table>")[0]
    numbers = [int(part) for part in cells.replace("<", ">").split(">") if part.isdigit()]
    assert numbers == [1, 1, 2, 3]


def test_priors_of_new_rows_do_not_depend_on_a_factor_of_each_row():
    rng = np.random.default_rng(0)
    logs = np.log(rng.dirichlet([1.0, 2.0, 3.0], size=60))
    factors = rng.uniform(-3000, -1000, size=(60, 1))
    expected = shifted_priors(logs, [0.2, 0.3, 0.5]).priors
    np.testing.assert_allclose(
        shifted_priors(logs + factors, [0.2, 0.3, 0.5]).priors, expected, atol=1e-9
    )


def test_labels_are_those_of_the_classes_predicted():
    predictions = Predictions(
        classes=np.array(["a", "b", "c"]),
        truth=np.array([0, 1, 1]),
        predicted=np.array([2, 1, 0]),
        logs=None,
        rows=np.arange(3),
        weight=None,
    )
    labels = predictions.predicted_labels
    assert labels.tolist() == ["c", "b", "a"]
    assert labels.dtype == predictions.classes.dtype


@pytest.mark.parametrize("coverage", [-0.5, 0.0, 1.0])
def test_coverage_lies_between_nothing_and_all(iris, coverage):
    held_out = sf.leave_one_out(sf.LDA(), *iris)
    scores = NonconformityScores.of(held_out)
    with pytest.raises(InvalidParameterError, match="between 0 and 1"):
        scores.threshold(coverage)


def test_a_curved_boundary_has_no_coefficients(iris):
    X, y = iris
    curved = sf.QDA().fit(X[:100], y[:100]).boundary(y[0], y[99])
    rule = BoundaryRule(curved)
    assert rule.coef_.shape == (0,)
    assert rule.intercept_.shape == (0,)


@pytest.mark.parametrize("seed", range(4))
def test_steps_of_the_iteration_come_in_pairs(seed):
    logs = np.log(np.random.default_rng(seed).dirichlet([0.3, 0.5, 0.8], size=40))
    found = shifted_priors(logs, [0.5, 0.3, 0.2])
    assert found.converged
    assert found.iterations % 2 == 0
    assert shifted_priors(logs, [0.5, 0.3, 0.2], max_iter=2).iterations == 2
    assert shifted_priors(logs, [0.5, 0.3, 0.2], max_iter=2).gap > found.gap


def test_a_posterior_of_zero_counts_as_a_log_posterior_of_minus_700():
    X = np.array([[0.0], [1.0], [10.0], [11.0]])
    tree = DecisionTreeClassifier().fit(X, [0, 0, 1, 1])
    classifier = Classifier.of(np.array([0, 1]), None, PredictedModel(tree, 2, 1))
    told = classifier.explain_row([0.0], [11.0])
    assert told.reference + told.parts.sum() == pytest.approx(700.0)


def test_groups_that_all_have_the_same_error_count_as_they_are():
    weights = np.array([1.0, 2.0, 3.0])
    expected = 6.0**2 / 14
    for losses in (np.zeros(3), np.full(3, 0.25)):
        assert effective_rows(losses, weights, grouped=True) == pytest.approx(expected)


def test_a_rule_reads_its_features_by_name_and_refuses_other_ones(iris):
    X, y = iris
    names = ("a", "b", "c", "d")
    frame = pd.DataFrame(X, columns=names)
    fitted = sf.LDA().fit(frame[["c", "a", "d", "b"]], y)
    asked = DecisionRule.of(fitted, np.unique(y), names)
    expected = np.unique(y).searchsorted(sf.LDA().fit(X, y).predict(X))
    np.testing.assert_array_equal(asked.decide(X), expected)
    with pytest.raises(FeatureMismatchError, match="fit the rule on the model's features"):
        DecisionRule.of(fitted, np.unique(y), ("a", "b", "c", "e"))


def test_a_row_that_a_rule_rejects_is_given_no_class(iris):
    X, y = iris
    classes = np.unique(y)
    for label in (None, "unsure"):
        costs = Costs(reject=0.05, reject_label=label)
        fitted = sf.LDA(costs=costs).fit(X, y)
        is_rejected = fitted.predict_proba(X).max(1) < 0.95
        assert 0 < is_rejected.sum() < 30
        decided = DecisionRule.of(fitted, classes, None).decide(X)
        np.testing.assert_array_equal(decided == -1, is_rejected)


def test_a_model_of_texts_reads_one_column_and_counts_words_of_all_but_a_matrix():
    texts = np.array(["tea the tea", "win cash", "the tea", "cash cash win"])
    model = sf.CountNB(text="said").fit(pd.DataFrame({"said": texts}), list("hshs")).model_
    assert model.n_features == 1
    counts = np.array([[0, 2, 1, 0], [1, 0, 0, 1], [0, 1, 1, 0], [2, 0, 0, 1]])
    np.testing.assert_array_equal(model.rows(texts).toarray(), counts)
    assert model.rows(counts) is counts


def test_a_model_of_levels_counts_its_columns_and_not_their_indicators():
    rows = pd.DataFrame({"size": [1.0, 2.0, 3.0, 5.0], "kind": ["a", "b", "c", "a"]})
    model = sf.LDA(shrinkage=0.5).fit(rows, [0, 1, 0, 1]).model_
    assert model.n_features == 2
