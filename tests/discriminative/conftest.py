"""Problems to solve: small, random, overlapping classes in skewed and correlated features."""

import numpy as np
import pytest

from suffice.core.moments import Moments
from suffice.core.table.table import Table
from suffice.discriminative.problem import Problem


def overlapping(n, d, n_classes, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, d)) @ rng.normal(size=(d, d))
    x[:, ::3] = np.exp(x[:, ::3] / x[:, ::3].std(0))
    scores = (x - x.mean(0)) / x.std(0) @ rng.normal(size=(d, n_classes))
    codes = (scores + rng.gumbel(size=scores.shape)).argmax(1)
    codes[:n_classes] = np.arange(n_classes)
    return x, codes


def problem_of(x, codes, weight=None, l2=0.0, standardize=True):
    table = Table.of(x, codes, weight)
    moments = Moments.of_table(table, fourth=False)
    return Problem.of(table, moments, l2=l2, standardize=standardize)


@pytest.fixture(scope="session")
def rows_and_codes():
    return overlapping


@pytest.fixture(scope="session")
def problem():
    return problem_of
