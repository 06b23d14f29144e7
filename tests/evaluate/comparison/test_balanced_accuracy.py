"""The balanced accuracy of a verdict, and its p-value, against their definitions."""

import numpy as np
import pytest
from scipy import stats

from suffice.evaluate.comparison.comparison import compared, folds_for
from suffice.evaluate.comparison.models import parse_models
from suffice.evaluate.comparison.verdict import verdict_on


def test_its_standard_error_is_that_of_recalls_under_uniform_priors():
    rng = np.random.default_rng(1)
    y = np.repeat([0, 1, 2], [40, 12, 8])
    X = rng.normal(size=(60, 2)) + 0.6 * y[:, None]
    result = compared(
        parse_models(["LDA"], 0), folds_for(X, y, 5, None, None, 0), 0, keep=True
    )
    found = verdict_on(result, chosen=True).gains[-1]
    outcome = result["LDA"]
    hits = np.bincount(outcome.held_out.truth, ~outcome.held_out.wrong)
    n = np.array([40, 12, 8])
    recalls = stats.beta(hits + 1, n - hits + 1).mean()
    variance = (recalls * (1 - recalls) / n).sum() / 9 * 60 / outcome.effective_rows
    accuracy = (hits / n).mean()
    z = abs(accuracy - 1 / 3) / np.sqrt(variance)
    assert found.model == pytest.approx(accuracy)
    assert found.constant == pytest.approx(1 / 3)
    assert found.p_value == pytest.approx(2 * stats.norm.sf(z), rel=1e-9)
    assert 1e-6 < found.p_value < 0.9
