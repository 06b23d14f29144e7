"""Rows that several threads add to one estimator are all counted."""

import sys
import threading

import numpy as np
import pytest

import suffice as sf


@pytest.fixture
def impatient():
    """Let the interpreter change threads as often as it can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def in_threads(work, n=6):
    threads = [threading.Thread(target=work) for _ in range(n)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize(
    "model", [sf.LDA(), sf.LeastSquaresClassifier()], ids=lambda m: str(m)
)
def test_partial_fit_from_several_threads_loses_no_row(model):
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(20, 3)), np.arange(20) % 2

    def feed():
        for _ in range(25):
            model.partial_fit(x, y)

    in_threads(feed)
    assert model.moments_.counts.sum() == 6 * 25 * 20
    assert model.moments_.weights.sum() == 6 * 25 * 20


@pytest.mark.usefixtures("impatient")
def test_a_stream_of_a_logistic_model_takes_every_batch():
    model = sf.LogisticRegression()
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(20, 3)), np.arange(20) % 2

    def feed():
        for _ in range(10):
            model.partial_fit(x, y)

    in_threads(feed, 4)
    assert model._stream.moments.counts.sum() == 4 * 10 * 20


def test_an_estimator_stays_picklable_and_clonable():
    import pickle

    from sklearn.base import clone

    model = sf.LDA().partial_fit([[0.0], [1.0], [2.0]], [0, 1, 1])
    again = pickle.loads(pickle.dumps(model))
    assert again.partial_fit([[3.0]], [1]).moments_.counts.sum() == 4
    assert clone(model).get_params() == model.get_params()
