"""Long fits show a progress bar on a terminal, one at a time, and only after a second."""

import io
from contextlib import redirect_stderr

import numpy as np
import pytest

import suffice as sf
from suffice.core import progress
from suffice.core.progress import Progress, without_bars


class Terminal(io.StringIO):
    """Standard error that is a terminal."""

    def isatty(self):
        return True


@pytest.fixture(autouse=True)
def impatient(monkeypatch):
    """Let no task wait before it shows a bar."""
    monkeypatch.setattr(progress, "_PATIENCE", 0.0)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)


def shown(task, stream=None):
    """Return what a task writes to standard error, by default a terminal."""
    stream = stream or Terminal()
    with redirect_stderr(stream):
        task()
    return stream.getvalue()


def rows(n=80, d=3, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    return rng.normal(size=(n, d)) + y[:, None], y


def holes():
    X, y = rows()
    X[np.random.default_rng(1).random(X.shape) < 0.2] = np.nan
    return X, y


FITS = {
    "evaluating settings": lambda: sf.AutoGaussian(kernel_features=False).fit(*rows()),
    "choosing l2": lambda: sf.LogisticRegression(l2="auto").fit(*rows()),
    "descent: steps": lambda: sf.LogisticRegression(l2=1.0).fit(*rows()),
    "mixtures: steps of EM": lambda: sf.MixtureClassifier(2, random_state=0).fit(*rows()),
    "choosing n_components": lambda: sf.MixtureClassifier("auto", random_state=0).fit(*rows()),
    "missing values: steps of EM": lambda: sf.QDA().fit(*holes()),
}


@pytest.mark.parametrize("task", FITS)
def test_a_long_fit_shows_what_it_does(task):
    assert task in shown(FITS[task])


@pytest.mark.filterwarnings("ignore::suffice.estimators.linear.UnfinishedDescentWarning")
def test_a_perceptron_shows_its_passes():
    assert "perceptron: passes" in shown(lambda: sf.Perceptron().fit(*rows()))


def test_a_short_fit_and_one_without_a_terminal_show_nothing(monkeypatch):
    assert shown(FITS["choosing l2"], io.StringIO()) == ""
    monkeypatch.setattr(progress, "_PATIENCE", 60.0)
    assert shown(FITS["choosing l2"]) == ""


def test_only_the_outer_task_shows_a_bar():
    def nested():
        with Progress(total=2, what="outer") as outer:
            FITS["choosing l2"]()
            outer.step()
        with without_bars():
            FITS["choosing l2"]()

    text = shown(nested)
    assert "outer" in text
    assert "choosing l2" not in text
    assert Progress._n_open == 0


def test_a_task_that_fails_is_no_longer_open():
    with pytest.raises(ValueError, match="stop"), Progress(total=2, what="outer"):
        raise ValueError("stop")
    assert Progress._n_open == 0
    assert "choosing l2" in shown(FITS["choosing l2"])
