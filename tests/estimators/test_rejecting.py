"""The score of a classifier that may refuse to answer."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score

from suffice import LDA, QDA, Costs


@pytest.mark.parametrize("as_text", [True, False])
def test_the_score_is_the_accuracy_of_the_rows_answered(iris, as_text):
    X, y = iris
    y = y if as_text else np.unique(y, return_inverse=True)[1]
    fitted = LDA(costs=Costs(reject=0.05)).fit(X, y)
    best = fitted.predict_proba(X)
    answered = best.max(1) >= 0.95
    assert 0 < answered.sum() < len(y)
    right = fitted.classes_[best.argmax(1)] == y
    assert fitted.score(X, y) == pytest.approx(right[answered].mean())
    assert (fitted.model_.decide(X) == len(fitted.classes_)).mean() == pytest.approx(
        1 - answered.mean()
    )
    w = np.arange(150.0)
    assert fitted.score(X, y, w) == pytest.approx(
        np.average(right[answered], weights=w[answered])
    )
    assert np.average(
        fitted.model_.decide(X) == len(fitted.classes_), weights=w
    ) == pytest.approx(w[~answered].sum() / w.sum())


def test_without_reject_the_score_is_scikit_learns(iris):
    X, y = iris
    fitted = QDA().fit(X, y)
    assert fitted.score(X, y) == np.mean(fitted.predict(X) == y)
    assert (fitted.model_.decide(X) == len(fitted.classes_)).mean() == 0.0


def test_a_classifier_that_answers_nothing_has_no_score(iris):
    X, y = iris
    fitted = LDA(costs=Costs(reject=0.0)).fit(X, y)
    unsure = fitted.predict_proba(X).max(1) < 1
    with pytest.warns(UserWarning, match="rejects every row"):
        assert np.isnan(fitted.score(X[unsure], y[unsure]))
    assert (fitted.model_.decide(X[unsure]) == len(fitted.classes_)).mean() == 1.0


def test_scikit_learns_tools_score_it(iris):
    X, y = iris
    rejecting = LDA(costs=Costs(reject=0.1))
    assert cross_val_score(clone(rejecting), X, y, cv=3).min() > 0.95
    grid = GridSearchCV(
        rejecting, {"costs": [Costs(reject=0.01), Costs(reject=0.3)]}, cv=3
    ).fit(X, y)
    assert np.isfinite(grid.best_score_)
