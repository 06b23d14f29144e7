"""Figures are drawn without a screen, closed after each test, and leave settings alone."""

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest

import suffice as sf


@pytest.fixture(autouse=True)
def headless():
    """Draw with Agg; after the test draw every figure for real, without a warning."""
    mpl.use("Agg")
    with mpl.rc_context({"figure.dpi": 50}):
        before = dict(mpl.rcParams)
        yield
        for number in plt.get_fignums():
            plt.figure(number).canvas.draw()
        plt.close("all")
        assert dict(mpl.rcParams) == before


@pytest.fixture(scope="session")
def flowers(table):
    X, y, _ = table("iris")
    return X, y


@pytest.fixture(scope="session")
def notes(table):
    """Two classes of six features."""
    X, y, _ = table("banknote")
    return X, y


@pytest.fixture(scope="session")
def lda(flowers):
    return sf.LDA().fit(*flowers)


@pytest.fixture(scope="session")
def qda(flowers):
    return sf.QDA().fit(*flowers)


@pytest.fixture(scope="session")
def crowd():
    """Return rows and labels of 100 classes in the plane, four rows each."""
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(100), 4)
    return rng.normal(size=(100, 2))[y] * 8 + rng.normal(size=(400, 2)), y
