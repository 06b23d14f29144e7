"""Compiled loops, run by the interpreter, which refuses every place outside an array.

Numba reads and writes there without an error, so that a wrong bound may go unnoticed.
"""

import importlib
import sys

import numpy as np
import pytest
from numba.core.registry import CPUDispatcher

from suffice import CountNB, Moments, leave_one_out
from suffice.core.estimation import count_left_out
from suffice.core.estimation.mixture_em import e_step
from suffice.core.estimation.mixture_rows import MixtureRows
from suffice.core.estimation.mixture_settings import MixtureSettings
from suffice.core.linalg import unit_scale
from suffice.core.model import FullCovariance, scoring, sparse_scores
from suffice.core.model.covariance import DiagonalCovariance
from suffice.core.model.gaussian import GaussianModel
from suffice.core.model.posterior import Argmax, Joint, LogDensity, LogPosterior, Posterior
from suffice.core.moments import collect, count_sums, exact_products, higher_moments
from suffice.core.moments.count_sums import CountSums
from suffice.core.moments.rounding_grid import BITS, RoundingGrid
from suffice.core.table import Table
from suffice.discriminative.design import CompiledDesign, Design
from suffice.discriminative.perceptron import (
    State,
    direct_rule,
    one_against_rest,
    stochastic_pass,
)
from suffice.discriminative.scaling import Scaling
from suffice.errors import InvalidInputError

MODULES = (
    "suffice.core.estimation.count_loops",
    "suffice.core.model.count_loops",
    "suffice.core.model.loops",
    "suffice.core.model.tree_loops",
    "suffice.core.moments.count_loops",
    "suffice.core.moments.exact_product_loops",
    "suffice.core.moments.loops",
    "suffice.discriminative.loops",
)
# a number of columns, and of rows, that no block divides
N = 37
D = 5
rng = np.random.default_rng(0)
X = rng.normal(size=(N, D)) + np.arange(N)[:, None] % 3
Y = np.arange(N) % 3
W = rng.uniform(0.5, 2.0, N)


@pytest.fixture
def interpreted(monkeypatch):
    """Replace every compiled function by its source."""
    for name in MODULES:
        importlib.import_module(name)
    for name, module in list(sys.modules.items()):
        if name.startswith("suffice.") and name.endswith("loops"):
            for key, value in list(vars(module).items()):
                if isinstance(value, CPUDispatcher):
                    monkeypatch.setattr(module, key, value.py_func)
    for module in (
        collect,
        count_left_out,
        count_sums,
        exact_products,
        scoring,
        sparse_scores,
    ):
        monkeypatch.setattr(module, "SMALL", -1)
    monkeypatch.setattr(higher_moments, "_MANY_CELLS", -1)


def check_moments(moments, x, w):
    """Compare sums with their definitions, for every class."""
    w = np.ones(len(x)) if w is None else w
    for k in range(3):
        in_class = k == Y
        mean = np.average(x[in_class], axis=0, weights=w[in_class])
        z = x[in_class] - mean
        np.testing.assert_allclose(moments.means[k], mean, rtol=1e-13)
        np.testing.assert_allclose(moments.weights[k], w[in_class].sum(), rtol=1e-13)
        if moments.storage == "per-class":
            scatter = (w[in_class, None] * z).T @ z
            np.testing.assert_allclose(moments.scatters[k], scatter, rtol=1e-11, atol=1e-12)
        if moments.storage == "diagonal":
            squares = w[in_class] @ z**2
            np.testing.assert_allclose(moments.diagonals[k], squares, rtol=1e-11)
        if moments.fourth is not None:
            fourths = (w[in_class, None] * z**2).T @ z**2
            np.testing.assert_allclose(moments.fourth.fourths[k], fourths, rtol=1e-10)
    z = x - np.stack([moments.means[k] for k in Y])
    if moments.storage == "pooled":
        scatter = (w[:, None] * z).T @ z
        np.testing.assert_allclose(moments.pooled_scatter, scatter, rtol=1e-11, atol=1e-12)
    if moments.higher is not None:
        z = x - np.average(x, axis=0, weights=w)
        np.testing.assert_allclose(moments.higher.squares, w @ z**2, rtol=1e-11)
        np.testing.assert_allclose(moments.higher.cubes, w @ z**3, rtol=1e-10, atol=1e-11)
        np.testing.assert_allclose(moments.higher.fourths, w @ z**4, rtol=1e-10)


@pytest.mark.usefixtures("interpreted")
@pytest.mark.parametrize("weight", [None, W], ids=["unweighted", "weighted"])
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("storage", ["per-class", "pooled", "diagonal"])
def test_sums_are_those_of_their_definition(storage, order, weight):
    x = np.asarray(X, order=order)
    check_moments(Moments.of(x, Y, weight, storage=storage), X, weight)


@pytest.mark.usefixtures("interpreted")
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("storage", ["per-class", "pooled", "diagonal"])
def test_sums_far_from_zero_lose_no_digits(storage, order):
    far = np.rint(X * 64) / 64  # numbers that keep all their digits at 2³⁰
    near = Moments.of(np.asarray(far, order=order), Y, W, storage=storage)
    moments = Moments.of(np.asarray(far + 2.0**30, order=order), Y, W, storage=storage)
    found = moments.scatter.values
    np.testing.assert_allclose(found, near.scatter.values, rtol=1e-9, atol=1e-9)


@pytest.mark.usefixtures("interpreted")
@pytest.mark.parametrize("weight", [None, W], ids=["unweighted", "weighted"])
def test_sums_over_the_numbers_that_are_there_are_those_of_their_definition(weight):
    x = X.copy()
    x[rng.uniform(size=X.shape) < 0.3] = np.nan
    moments = Moments.of(x, Y, weight, storage="diagonal")
    sums = moments.patterns.column_sums
    w = np.ones(N) if weight is None else weight
    for k in range(3):
        for j in range(D):
            there = (k == Y) & ~np.isnan(x[:, j])
            mean = np.average(x[there, j], weights=w[there])
            assert sums.counts[k, j] == there.sum()
            assert sums.means[k, j] == pytest.approx(mean, rel=1e-13)
            square = w[there] @ (x[there, j] - mean) ** 2
            assert sums.diagonals[k, j] == pytest.approx(square, rel=1e-11)
    higher = Moments.of(x, Y, weight).higher
    for j in range(D):
        there = ~np.isnan(x[:, j])
        z = x[there, j] - np.average(x[there, j], weights=w[there])
        assert higher.squares[j] == pytest.approx(w[there] @ z**2, rel=1e-11)
        assert higher.cubes[j] == pytest.approx(w[there] @ z**3, rel=1e-9)
        assert higher.fourths[j] == pytest.approx(w[there] @ z**4, rel=1e-10)


@pytest.mark.usefixtures("interpreted")
@pytest.mark.parametrize("storage", ["per-class", "pooled"])
@pytest.mark.parametrize("weight", [None, np.arange(N) % 4 + 1.0], ids=["rows", "counts"])
def test_exact_sums_are_those_of_their_definition(storage, weight):
    grid = RoundingGrid.around(X)
    moments = Moments.of(X, Y, weight, storage=storage, exact=grid)
    check_moments(moments, grid.origins + grid.steps * grid.in_steps(X), weight)


@pytest.mark.usefixtures("interpreted")
def test_rows_that_all_lie_outside_a_grid_are_refused():
    grid = RoundingGrid.around(X)
    beyond = grid.origins + 1.5 * 2.0**BITS * grid.steps
    with pytest.raises(InvalidInputError, match=r"row 0 has .*outside the range of the grid"):
        Moments.of(np.tile(beyond, (N, 1)), Y, exact=grid)


@pytest.mark.usefixtures("interpreted")
@pytest.mark.parametrize("threshold", [None, 1.0])
def test_sums_of_counts_are_those_of_their_definition(threshold):
    from scipy.sparse import csr_array

    counts = rng.poisson(1.0, (N, D))
    sums = CountSums.of(csr_array(counts), Y, W, threshold=threshold)
    values = counts if threshold is None else counts > threshold
    for k in range(3):
        in_class = k == Y
        np.testing.assert_allclose(sums.sums[k], W[in_class] @ values[in_class], rtol=1e-13)


READOUTS = [Posterior(), Posterior(0.5), LogPosterior(), LogDensity(), Joint(), Argmax()]
KINDS = {
    "own matrices": tuple(
        FullCovariance.of(np.eye(D) + 0.3 * k * np.ones((D, D))) for k in range(3)
    ),
    "own scales": tuple(DiagonalCovariance(np.arange(1.0, D + 1) + k) for k in range(3)),
    "one matrix": (FullCovariance.of(np.eye(D) + 0.3 * np.ones((D, D))),),
}


@pytest.mark.usefixtures("interpreted")
@pytest.mark.parametrize("covariances", KINDS.values(), ids=KINDS)
@pytest.mark.parametrize("order", ["C", "F"])
def test_scores_are_those_of_their_definition(covariances, order):
    model = GaussianModel.of(
        priors=np.array([0.2, 0.3, 0.5]),
        centre=np.ones(D),
        offsets=rng.normal(size=(3, D)),
        covariances=covariances,
        group_of=np.arange(3) % len(covariances),
        n_covariance_parameters=1,
    )
    scorer = model._density_scorer(model.log_priors)
    x = np.asarray(X, order=order)
    for readout in READOUTS:
        found = scorer.score(x, readout)
        expected = readout.read(scorer.joint(X))
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-13)


@pytest.mark.usefixtures("interpreted")
@pytest.mark.parametrize("weight", [None, W], ids=["unweighted", "weighted"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_logistic_sums_are_those_of_their_definition(n_classes, weight):
    codes = Y % n_classes
    table = Table.of(X, codes, weight)
    scaling = Scaling(X.mean(0), unit_scale(X.var(0)) ** -1.0)
    compiled = CompiledDesign(table, scaling)
    plain = Design(scaling.standardised(table))
    phi = rng.normal(size=(n_classes - 1, D + 1))
    for curved in (False, True):
        loss, gradient, hessian = compiled.sums(phi, curved=curved)
        other_loss, other_gradient, other_hessian = plain.sums(phi, curved=curved)
        assert loss == pytest.approx(other_loss, rel=1e-12)
        np.testing.assert_allclose(gradient, other_gradient, rtol=1e-11, atol=1e-12)
        if curved:
            np.testing.assert_allclose(hessian, other_hessian, rtol=1e-11, atol=1e-12)


@pytest.mark.usefixtures("interpreted")
@pytest.mark.parametrize("rule", [one_against_rest, direct_rule])
def test_a_pass_of_a_perceptron_is_that_of_its_definition(rule):
    scaling = Scaling(np.zeros(D), np.ones(D))
    table = Table.of(X, Y)
    states = []
    for design in (CompiledDesign(table, scaling), Design(scaling.standardised(table))):
        start = State(np.zeros((3, D + 1)), np.zeros((3, D + 1)))
        order = np.random.default_rng(1)
        states.append(stochastic_pass(design, rule, start, 0.5, order))
    np.testing.assert_allclose(states[0].weights, states[1].weights, rtol=1e-12)
    np.testing.assert_allclose(states[0].drift, states[1].drift, rtol=1e-12)


@pytest.mark.usefixtures("interpreted")
@pytest.mark.parametrize("weight", [None, W], ids=["unweighted", "weighted"])
def test_an_e_step_shares_rows_out_by_posteriors(weight):
    data = MixtureRows.of(Table.of(X, Y, weight), MixtureSettings(), quiet=True)
    model = GaussianModel.of(
        priors=np.array([0.4, 0.6]),
        centre=np.ones(D),
        offsets=rng.normal(size=(2, D)),
        covariances=KINDS["own matrices"][:2],
        group_of=np.arange(2),
        n_covariance_parameters=1,
    )
    rows = data.rows[1]
    sums = e_step(data, rows, model)
    w = np.ones(len(rows)) if weight is None else weight[rows]
    share = model.posterior(X[rows]) * w[:, None]
    np.testing.assert_allclose(sums.weights, share.sum(0), rtol=1e-12)
    for r in range(2):
        z = X[rows] - model.means[r]
        np.testing.assert_allclose(sums.sums[r], share[:, r] @ z, rtol=1e-10, atol=1e-12)
        scatter = (share[:, r, None] * z).T @ z
        np.testing.assert_allclose(sums.scatters[r], scatter, rtol=1e-10, atol=1e-12)
    assert sums.log_likelihood == pytest.approx(w @ model.log_density(X[rows]), rel=1e-12)


@pytest.mark.usefixtures("interpreted")
@pytest.mark.parametrize("kind", ["multinomial", "complement"])
def test_leaving_a_row_of_counts_out_is_refitting_without_it(kind):
    # weights so small that the sums of a class lie between 0 and 1 without a row
    counts = rng.poisson(0.7, (12, 4))
    codes = np.arange(12) % 3
    weight = rng.uniform(0.1, 0.3, 12)
    found = leave_one_out(CountNB(kind, alpha=0.5), counts, codes, weight)
    for i in range(12):
        others = np.arange(12) != i
        model = CountNB(kind, alpha=0.5).fit(counts[others], codes[others], weight[others])
        expected = model.predict_log_proba(counts[[i]])
        np.testing.assert_allclose(found.log_posteriors[[i]], expected, rtol=1e-9)
