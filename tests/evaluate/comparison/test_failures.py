"""Why a model could not be evaluated: too few training rows of a class, or its own error."""

import numpy as np
import pytest
from sklearn.dummy import DummyClassifier

import suffice as sf
from suffice.evaluate.comparison.competitors import CalibratedSvm


def failures(X, y, models, cv):
    result = sf.compare(X, y, [*models, DummyClassifier()], cv)
    return dict(result.to_frame()["failure"])


def test_training_rows_of_a_single_class_are_named_with_what_is_needed():
    X = np.arange(10.0).reshape(5, 2)
    models = ["LDA", "boosting", "logistic", "svm", "AutoGaussian"]
    failure = failures(X, list("xxxxy"), models, 2)
    expected = (
        "all training rows of fold 1 belong to class 'x', but a classifier needs rows of at least "
        "2 classes. Collect at least 2 rows of every class"
    )
    names = ["LDA", "gradient boosting", "logistic regression", "RBF-SVM", "AutoGaussian"]
    assert {name: failure[name] for name in names} == dict.fromkeys(names, expected)


def test_folds_whose_training_rows_have_a_single_class_are_named_too():
    X = np.arange(16.0).reshape(8, 2)
    y = np.repeat(["x", "y"], 4)
    split = [(np.arange(4), np.arange(4, 8))]
    assert failures(X, y, ["LDA"], split)["LDA"] == (
        "all training rows of fold 1 belong to class 'x', but a classifier needs rows of at least "
        "2 classes. Choose folds with rows of several classes outside each fold"
    )


@pytest.mark.parametrize(
    ("labels", "but"),
    [("xxyyzz", "class 'x' has 1 row"), ("xxxxxxxxyy", "class 'y' has 1 row")],
)
def test_the_svm_says_how_many_rows_of_a_class_it_needs(labels, but):
    X = np.random.default_rng(0).normal(size=(len(labels), 2))
    assert failures(X, list(labels), ["svm"], 2)["RBF-SVM"] == (
        "the calibration of the RBF-SVM divides the training rows into 3 folds. It needs at least "
        f"2 rows of every class and 3 rows of one class, but {but}"
    )


@pytest.mark.filterwarnings("ignore:The least populated class")
def test_the_svm_fits_the_fewest_rows_that_it_asks_for():
    X = np.array([[0.0], [0.1], [0.2], [1.0], [1.1], [2.0], [2.1]])
    y = list("xxxyyzz")
    posteriors = CalibratedSvm().fit(X, y).predict_proba(X)
    np.testing.assert_allclose(posteriors.sum(1), 1)


def test_models_that_fail_for_one_reason_share_a_note():
    X = np.arange(10.0).reshape(5, 2)
    result = sf.compare(X, list("xxxxy"), ["LDA", "QDA", "tree"], 2)
    (note,) = (note for note in result.notes if " failed: " in note)
    assert note.startswith(
        "LDA and QDA failed: all training rows of fold 1 belong to class 'x'"
    )
