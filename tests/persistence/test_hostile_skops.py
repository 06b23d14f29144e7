"""A file with a classifier of another library loads known types and sound trees only."""

import operator
import os
from functools import partial

import numpy as np
import pytest
import skops.io
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

import suffice as sf
from suffice.errors import FileFormatError
from suffice.estimators.saved import SavedClassifier

RNG = np.random.default_rng(0)
Y = np.arange(60) % 3
X = RNG.normal(size=(60, 4)) + Y[:, None]


class Stranger:
    """A type that no file of suffice holds."""

    classes_ = np.arange(3)
    n_features_in_ = 4


def forest():
    return RandomForestClassifier(3, random_state=0).fit(X, Y)


def written(path, content):
    """Write the file of a forest, in which other bytes stand for the forest."""
    saved = SavedClassifier.of(forest())
    saved._arrays = {**saved._arrays, "skops": np.frombuffer(content, np.uint8)}
    saved.save(path)


@pytest.mark.parametrize(
    "function",
    [os.system, partial(os.system, "false"), operator.methodcaller("clear")],
    ids=["function", "partial", "method"],
)
def test_a_file_that_would_call_a_function_is_refused(function, tmp_path):
    path = tmp_path / "model.suffice"
    hostile = make_pipeline(FunctionTransformer(function), forest())
    written(path, skops.io.dumps(hostile))
    with pytest.raises(FileFormatError, match="which suffice does not load"):
        sf.load(path)


def test_a_file_of_an_unknown_type_is_refused(tmp_path):
    path = tmp_path / "model.suffice"
    written(path, skops.io.dumps(Stranger()))
    with pytest.raises(FileFormatError, match="Stranger, which suffice does not load"):
        sf.load(path)


def test_a_file_of_other_bytes_is_refused(tmp_path):
    path = tmp_path / "model.suffice"
    written(path, b"no archive at all")
    with pytest.raises(FileFormatError):
        sf.load(path)


def test_trees_that_lead_nowhere_are_refused(tmp_path):
    path = tmp_path / "model.suffice"
    for name, value in (("feature", 4), ("children_left", 0), ("children_right", 10_000)):
        altered = forest()
        getattr(altered.estimators_[0].tree_, name)[0] = value
        written(path, skops.io.dumps(altered))
        with pytest.raises(FileFormatError, match="a tree with invalid nodes"):
            sf.load(path)
    boosted = HistGradientBoostingClassifier(max_iter=2, random_state=0).fit(X, Y)
    predictor = boosted._predictors[0][0]
    predictor.nodes = predictor.nodes.copy()
    predictor.nodes["left"][0] = 10_000
    written(path, skops.io.dumps(boosted))
    with pytest.raises(FileFormatError, match="a tree with invalid nodes"):
        sf.load(path)


def test_a_classifier_of_another_size_than_the_header_is_refused(tmp_path):
    path = tmp_path / "model.suffice"
    other = RandomForestClassifier(3, random_state=0).fit(X[:, :3], Y)
    written(path, skops.io.dumps(other))
    with pytest.raises(FileFormatError, match="3 features"):
        sf.load(path)
    written(path, skops.io.dumps(forest()))
    np.testing.assert_array_equal(sf.load(path).predict_proba(X), forest().predict_proba(X))
