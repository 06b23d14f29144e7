import matplotlib as mpl
import polars as pl
import pytest

import suffice as sf
from suffice import datasets

mpl.use("Agg")

MODELS = ["LDA", "QDA", "GaussianNB", "decision tree"]


@pytest.fixture(scope="session")
def iris():
    known = datasets.load("iris")
    frame = known.frame()
    return frame.drop(known.target), frame[known.target].to_numpy()


@pytest.fixture(scope="session")
def iris_report(iris):
    return sf.report(*iris, models=MODELS, cv=5, name="iris", target="species")


HOSTILE = "<script>alert('x')</script>"


@pytest.fixture(scope="session")
def hostile_report(iris):
    X, y = iris
    names = [f"{HOSTILE}{j} | `a` --> ]]>" for j in range(X.width)]
    labels = [f'"><img src=x onerror=alert(1)> {label} $x_' for label in y]
    X = X.rename(dict(zip(X.columns, names, strict=True)))
    ids = pl.Series([f"{HOSTILE}{i}" for i in range(len(labels))]).to_numpy()
    return sf.report(X, labels, models=MODELS, cv=5, name=HOSTILE, target=HOSTILE, ids=ids)
