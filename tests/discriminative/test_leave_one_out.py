from dataclasses import replace

import numpy as np
import pytest

from suffice import LogisticRegression
from suffice.core.table import Table
from suffice.core.table.sampling import stratified_sample
from suffice.discriminative import penalty_choice
from suffice.discriminative.design import Design
from suffice.discriminative.logistic_fit import fit_logistic
from suffice.discriminative.newton import newton_step
from suffice.discriminative.penalty_choice import held_out_loss, penalties
from suffice.discriminative.problem import coded_moments


def _rows(n_classes, n=60, d=4, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, d))
    scores = x @ rng.normal(size=(d, n_classes)) + rng.gumbel(size=(n, n_classes)) * 1.5
    return x, scores.argmax(1)


def _refitted_loss(x, y, l2):
    """Return the mean log-loss of each row by a fit of all others, in the units of all rows."""
    s = x.std(0, ddof=1)
    lost = 0.0
    for i in range(len(y)):
        rest = np.arange(len(y)) != i
        # the penalty of all rows, λ (s w)², although the rest have other standard deviations
        fit = fit_logistic(
            table := Table.of(x[rest] / s, y[rest]),
            coded_moments(table),
            l2=l2,
            per_deviation=False,
        )
        a = np.concatenate([[0.0], fit.beta @ np.append(1.0, x[i] / s)])
        lost += np.log(np.exp(a).sum()) - a[y[i]]
    return lost / len(y)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_one_fit_gives_the_loss_of_as_many_refits_as_rows(n_classes):
    x, y = _rows(n_classes)
    for l2 in (0.3, 3.0, 30.0):
        fit = fit_logistic(table := Table.of(x, y), coded_moments(table), l2=l2)
        found = held_out_loss(fit.problem, fit.solution.point)
        assert found == pytest.approx(_refitted_loss(x, y, l2), rel=2e-2)


@pytest.mark.parametrize("n_classes", [2, 4])
def test_it_is_one_newton_step_without_each_row(n_classes):
    x, y = _rows(n_classes)
    w = np.random.default_rng(1).uniform(0.5, 2, len(y))
    fit = fit_logistic(table := Table.of(x, y, w), coded_moments(table), l2=0.5)
    objective, phi = fit.problem.objective, fit.solution.point.phi
    rows, lost = objective.design.table, 0.0
    for i in range(len(y)):
        rest = replace(objective, design=Design(rows.take(np.arange(len(y)) != i)))
        there = phi + newton_step(rest.curve(phi))
        a = np.concatenate([[0.0], there @ rows.x[i]])
        lost += w[i] * (np.log(np.exp(a).sum()) - a[y[i]])
    found = held_out_loss(fit.problem, fit.solution.point)
    assert found == pytest.approx(lost / w.sum(), rel=1e-9)


def test_a_penalty_is_chosen_for_any_number_of_coefficients():
    x, y = np.random.default_rng(0).normal(size=(40, 1600)), np.arange(40) % 2
    # labels that do not depend on the rows need the strongest penalty
    assert LogisticRegression(l2="auto").fit(x, y).l2_ == penalties(40.0)[0]


@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_chosen_penalty_is_that_of_refits(n_classes):
    x, y = _rows(n_classes)
    tried = penalties(len(y))
    losses = np.array([_refitted_loss(x, y, l2) for l2 in tried])
    chosen = LogisticRegression(l2="auto").fit(x, y).l2_
    place = int(np.argmin(np.abs(tried - chosen)))
    assert tried[place] == pytest.approx(chosen)
    # the same, or its neighbour where both predict alike
    assert losses[place] <= losses.min() * 1.002
    assert losses[place] < losses[[0, -1]].min() * 0.98


def test_the_fit_is_that_of_the_penalty_chosen():
    x, y = _rows(2)
    fit = LogisticRegression(l2="auto").fit(x, y)
    plain = LogisticRegression(l2=fit.l2_).fit(x, y)
    np.testing.assert_allclose(fit.coef_, plain.coef_)
    assert fit.get_params()["l2"] == "auto"


def test_noise_is_shrunk_and_signal_is_not():
    rng = np.random.default_rng(1)
    x = rng.normal(size=(200, 5))
    noise = LogisticRegression(l2="auto").fit(x, rng.integers(2, size=200)).l2_
    signal = LogisticRegression(l2="auto").fit(x, (x[:, 0] + rng.normal(size=200) > 0) + 0).l2_
    assert noise > 10 * signal


def test_of_many_rows_a_sample_chooses_the_penalty(monkeypatch):
    x, y = _rows(3, n=400)
    monkeypatch.setattr(penalty_choice, "_JUDGED_ROWS", 60)
    at = stratified_sample(y, 60, 0)
    fit = LogisticRegression(l2="auto").fit(x, y)
    assert fit.l2_ == LogisticRegression(l2="auto").fit(x[at], y[at]).l2_
    np.testing.assert_allclose(fit.coef_, LogisticRegression(l2=fit.l2_).fit(x, y).coef_)
