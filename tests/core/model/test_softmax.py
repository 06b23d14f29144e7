import numpy as np
import pytest
from scipy.special import softmax as scipy_softmax

import suffice as sf
from suffice.core.model.posterior import softmax
from suffice.errors import InvalidParameterError

SCORES = np.random.default_rng(0).normal(size=(20, 4)) * 3


def test_the_default_base_is_e():
    np.testing.assert_allclose(softmax(SCORES), scipy_softmax(SCORES, axis=1), rtol=1e-14)


@pytest.mark.parametrize("base", [1.1, 2, 10.0, 1e6])
def test_a_base_gives_its_powers_divided_by_their_sum(base):
    powers = base**SCORES
    np.testing.assert_allclose(
        softmax(SCORES, base), powers / powers.sum(1, keepdims=True), rtol=1e-12
    )


def test_a_base_is_a_temperature():
    X, y = np.arange(8.0)[:, None], np.repeat(["a", "b"], 4)
    X[3] += 2.0
    base = 10.0
    scores = sf.LDA().fit(X, y).predict_log_proba(X)
    cold = sf.LDA(temperature=1 / np.log(base)).fit(X, y).predict_proba(X)
    np.testing.assert_allclose(softmax(scores, base), cold, rtol=1e-9)


def test_large_scores_do_not_overflow_and_one_row_is_enough():
    np.testing.assert_allclose(softmax([1e4, 0.0], 10.0), [1.0, 0.0], atol=1e-300)
    assert softmax([0.0, 1.0, 2.0], base=2) == pytest.approx([1 / 7, 2 / 7, 4 / 7])


@pytest.mark.parametrize("base", [1.0, 0.5, -2.0, np.inf, np.nan])
def test_a_base_that_does_not_favour_larger_scores_is_refused(base):
    with pytest.raises(InvalidParameterError, match="use a finite number above 1"):
        softmax(SCORES, base)
