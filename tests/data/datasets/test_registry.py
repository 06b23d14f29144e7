"""The built-in datasets are what their cards say."""

import numpy as np
import pytest

from suffice import datasets
from suffice.errors import InvalidParameterError


@pytest.mark.parametrize("name", datasets.names())
def test_every_card_describes_its_file(name):
    dataset = datasets.load(name)
    frame = dataset.frame()
    assert frame.columns[-1] == dataset.target
    assert (frame.height, frame.width - 1) == (dataset.n_rows, dataset.n_features)
    assert frame[dataset.target].n_unique() == dataset.n_classes
    assert frame[dataset.target].null_count() == 0


@pytest.mark.parametrize("name", datasets.names())
def test_every_file_is_small(name):
    assert datasets.load(name).path.stat().st_size < 500_000


@pytest.mark.parametrize("name", datasets.names())
def test_arrays_are_the_numeric_columns(name):
    dataset = datasets.load(name)
    X, y = dataset.arrays()
    assert X.shape == (dataset.n_rows, len(dataset.feature_names))
    assert X.dtype == np.float64
    assert len(y) == dataset.n_rows


def test_iris_is_the_table_of_the_references(table):
    X, y, _ = table("iris")
    ours = datasets.load("iris").arrays()
    np.testing.assert_array_equal(ours[0], X)
    np.testing.assert_array_equal(ours[1], y)


def test_wine_is_the_table_of_the_references(table):
    X, y, _ = table("wine")
    ours = datasets.load("wine").arrays()
    np.testing.assert_array_equal(ours[0], X)
    codes = {"1": "barolo", "2": "grignolino", "3": "barbera"}
    np.testing.assert_array_equal(ours[1], [codes[label] for label in y])


@pytest.mark.parametrize("name", ["breast_cancer", "digits"])
def test_tables_of_scikit_learn_are_unchanged(name):
    import sklearn.datasets

    X, _ = getattr(sklearn.datasets, f"load_{name}")(return_X_y=True)
    np.testing.assert_array_equal(datasets.load(name).arrays()[0], X)


def test_exam_is_the_worked_example():
    X, y = datasets.load("exam").arrays()
    assert X.ravel().tolist()[:4] == [0.5, 0.75, 1.0, 1.25]
    passed = [0, 0, 0, 0, 0, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 1, 1, 1, 1, 1]
    assert [("no", "yes")[p] for p in passed] == y.tolist()


def test_an_unknown_name_suggests_the_nearest():
    with pytest.raises(InvalidParameterError, match="did you mean 'penguins'"):
        datasets.load("pengins")
