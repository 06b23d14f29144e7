import matplotlib as mpl
import numpy as np
import pandas as pd
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
    X, y = iris
    return sf.report(X, pd.Series(y, name="species"), models=MODELS, cv=5, name="iris")


HOSTILE = "<script>alert('x')</script>"


@pytest.fixture(scope="session")
def hostile_report(iris):
    X, y = iris
    names = [f"{HOSTILE}{j} | `a` --> ]]>" for j in range(X.width)]
    labels = [f'"><img src=x onerror=alert(1)> {label} $x_' for label in y]
    ids = [f"{HOSTILE}{i}" for i in range(len(labels))]
    frame = pd.DataFrame(X.to_numpy(), columns=names, index=ids)
    y = pd.Series(labels, name=HOSTILE)
    return sf.report(frame, y, models=MODELS, cv=5, name=HOSTILE)


@pytest.fixture(scope="session")
def rare_rows():
    """Return rows of a rare class among two, with text and empty cells."""
    rng = np.random.default_rng(5)
    y = np.where(rng.random(400) < 0.12, "ill", "well")
    X = pd.DataFrame(
        {
            "marker": rng.normal(size=400) + 1.6 * (y == "ill"),
            "age": rng.integers(20, 80, 400),
            "site": rng.choice(["north", "south"], 400),
        }
    )
    X.loc[::17, "marker"] = np.nan
    X.loc[::23, "site"] = None
    return X, y


@pytest.fixture(scope="session")
def rare_report(rare_rows):
    return sf.report(*rare_rows, models=["LDA", "GaussianNB", "tree"], cv=5, name="cases")


@pytest.fixture(scope="session")
def many_rows():
    """Return rows of twelve classes."""
    rng = np.random.default_rng(6)
    y = rng.integers(0, 12, 600)
    X = rng.normal(size=(600, 5)) + 1.5 * rng.normal(size=(12, 5))[y]
    return X, np.array([f"species {k}" for k in y])


@pytest.fixture(scope="session")
def many_report(many_rows):
    return sf.report(*many_rows, models=["LDA", "tree"], cv=3, name="leaves")


@pytest.fixture(scope="session")
def first_look_rows():
    """Return rows of two classes."""
    rng = np.random.default_rng(0)
    y = np.where(np.arange(300) % 2, "yes", "no")
    return rng.normal(size=(300, 3)) + 2 * (y == "yes")[:, None], y


@pytest.fixture(scope="session")
def first_look_report(first_look_rows):
    """Return a first look at 200 rows, against the 100 others."""
    X, y = first_look_rows
    new = X[200:], y[200:]
    return sf.report(X[:200], y[:200], models=["LDA"], cv=3, fast=True, against=new)
