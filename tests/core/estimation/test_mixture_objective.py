"""The start and the objective of EM for mixtures, by their definitions."""

import numpy as np
import pytest
from scipy.special import logsumexp
from scipy.stats import multivariate_normal

from suffice.core.estimation.mixture_em import MixtureProblem
from suffice.core.estimation.mixture_rows import MixtureRows
from suffice.core.estimation.mixture_settings import MixtureSettings
from suffice.core.table import Table

rng = np.random.default_rng(0)
X = rng.normal(size=(16, 2)) * [1.0, 3.0]
Y = np.arange(16) % 2


def started(settings, counts):
    data = MixtureRows.of(Table.of(X, Y), settings, quiet=True)
    problem = MixtureProblem(settings, data, [0, 1], counts)
    rows = [data.rows[0], data.rows[1]]
    problem, model = problem.start(rows, np.random.default_rng(0))
    return problem, rows, model


@pytest.mark.parametrize("tied", [False, "class"])
def test_the_prior_of_one_component_expects_the_covariance_of_its_class(tied):
    problem, _, model = started(MixtureSettings(tied=tied), [1, 1])
    for k in range(2):
        expected = np.cov(X[k == Y].T, bias=True)
        np.testing.assert_allclose(problem.targets[k], expected, rtol=1e-12)
        np.testing.assert_allclose(model.covariance_of(k).dense(), expected, rtol=1e-12)


@pytest.mark.parametrize("prior_rows", [0.0, 1.0, 5.0])
def test_the_objective_is_the_likelihood_and_the_density_of_the_prior(prior_rows):
    problem, rows, model = started(MixtureSettings(prior_rows=prior_rows), [2, 1])
    following, _ = problem.step(rows, model)
    _, found = problem.step(rows, following)
    class_of = np.array([0, 0, 1])
    expected = 0.0
    for k in range(2):
        logs = [
            following.log_priors[r]
            + multivariate_normal(
                following.means[r], following.covariance_of(r).dense()
            ).logpdf(X[k == Y])
            for r in np.flatnonzero(class_of == k)
        ]
        expected += logsumexp(logs, axis=0).sum()
    for r in range(3):
        sigma = following.covariance_of(r).dense()
        ratio = np.linalg.solve(sigma, problem.targets[r])
        # log |Ψ| − log |Σ| − tr Σ⁻¹ Ψ
        expected += 0.5 * prior_rows * (np.linalg.slogdet(ratio)[1] - np.trace(ratio))
    assert found == pytest.approx(expected, rel=1e-12)
