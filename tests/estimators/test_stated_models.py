"""A stated model has parameters and no rows; any rule has an error under it."""

import numpy as np
import pytest
from scipy.stats import norm

import suffice as sf
from suffice.errors import InvalidParameterError

LECTURE = ([0.7, 0.3], [[2.0, 1.0], [1.0, 2.0]], np.eye(2))


@pytest.fixture(scope="module")
def lecture():
    return sf.GaussianClassifier.from_parameters(*LECTURE)


def test_the_likelihood_of_no_rows_is_refused(lecture):
    with pytest.raises(InvalidParameterError, match="has no training rows"):
        lecture.log_likelihood()
    for criterion in (lecture.model_.aic, lecture.model_.bic):
        with pytest.raises(InvalidParameterError, match="has no training rows"):
            criterion(lecture.moments_)


def test_given_rows_have_a_likelihood_under_a_stated_model(lecture):
    x, y = lecture.sample(50, random_state=0)
    squares = ((x - lecture.means_[y]) ** 2).sum()
    constants = np.log(lecture.priors_)[y].sum() - 50 * np.log(2 * np.pi)
    assert lecture.log_likelihood(x, y) == pytest.approx(constants - 0.5 * squares)


def test_a_class_of_one_row_is_fitted_and_not_stated():
    fitted = sf.LDA().fit([[0.0], [1.0], [5.0]], ["a", "a", "b"])
    assert np.isfinite(fitted.log_likelihood())


def test_a_stated_model_shows_no_rows_in_a_notebook(lecture):
    assert "rows" not in lecture._learnt()


def test_a_function_a_hyperplane_and_a_classifier_have_a_true_error(lecture):
    best = lecture.boundary(0, 1)
    assert lecture.model_.true_error(best) == pytest.approx(
        float(lecture.model_.bayes_error())
    )
    flipped = lecture.boundary(1, 0)
    assert lecture.model_.true_error(flipped) == lecture.model_.true_error(best)

    # always the first class: wrong with probability π₂
    always = lecture.model_.true_error(lambda rows: np.zeros(len(rows), int))
    assert always == pytest.approx(0.3, abs=4 * always.standard_error)
    # x₁ < 1.5 is the second class: Φ(−0.5) of each class errs
    upright = sf.Hyperplane([1.0, 0.0], -1.5, labels=(0, 1))
    assert lecture.model_.true_error(upright) == pytest.approx(norm.cdf(-0.5))
    by_function = lecture.model_.true_error(lambda rows: (rows[:, 0] < 1.5).astype(int))
    assert by_function == pytest.approx(norm.cdf(-0.5), abs=4 * by_function.standard_error)
    worst = sf.Hyperplane([1.0, 0.0], -1.5, labels=(1, 0))
    assert lecture.model_.true_error(worst) == pytest.approx(norm.cdf(0.5))


def test_what_is_no_rule_is_refused_with_a_reason(lecture):
    with pytest.raises(InvalidParameterError, match="does not assign classes"):
        lecture.model_.true_error("lda")
    with pytest.raises(InvalidParameterError, match="class LDA"):
        lecture.model_.true_error(sf.LDA)
    with pytest.raises(InvalidParameterError, match="one label for each row"):
        lecture.model_.true_error(lambda rows: 0)


def test_rows_of_one_class_are_drawn_by_its_label(lecture):
    x, y = lecture.sample(4000, random_state=0, label=1)
    assert set(y.tolist()) == {1}
    np.testing.assert_allclose(x.mean(axis=0), [1.0, 2.0], atol=0.08)
    with pytest.raises(ValueError, match="'rose'"):
        lecture.sample(3, label="rose")
    with pytest.raises(InvalidParameterError, match="integer"):
        lecture.sample(-1, label=1)


def test_linear_scores_of_two_classes_are_those_of_the_equation(lecture):
    w, w_0 = lecture.model_.linear_scores()
    np.testing.assert_allclose(w, [[2, 1], [1, 2]])
    np.testing.assert_allclose(w_0, -2.5 + np.log([0.7, 0.3]))
    line = lecture.boundary(0, 1)
    np.testing.assert_allclose(line.w, w[0] - w[1])
    assert line.w_0 == pytest.approx(w_0[0] - w_0[1])


def test_linear_scores_of_logistic_regression_have_a_row_for_each_class():
    X, y = sf.datasets.load("iris").arrays()
    two = sf.LogisticRegression().fit(X[50:], y[50:])
    w, w_0 = two.model_.linear_scores()
    assert w.shape == (2, 4)
    np.testing.assert_allclose(X @ (w[1] - w[0]) + w_0[1] - w_0[0], two.decision_function(X))
    three = sf.LogisticRegression().fit(X, y)
    w, w_0 = three.model_.linear_scores()
    scores = X @ w.T + w_0
    expected = three.decision_function(X)
    np.testing.assert_allclose(scores - scores[:, :1], expected - expected[:, :1], atol=1e-9)


def test_the_likelihood_of_a_mixture_of_one_component_is_that_of_a_gaussian():
    X, y = sf.datasets.load("iris").arrays()
    one = sf.MixtureClassifier(1, prior_rows=0).fit(X, y)
    qda = sf.QDA().fit(X, y)
    assert one.log_likelihood(X, y) == pytest.approx(qda.log_likelihood(X, y))


def test_a_mixture_is_compared_by_name():
    X, y = sf.datasets.load("iris").arrays()
    frame = sf.compare(X, y, models=["mixture", "LDA"], cv=3).to_frame()
    assert "mixture" in frame.index
    assert frame.loc["mixture", "error"] < 0.1
