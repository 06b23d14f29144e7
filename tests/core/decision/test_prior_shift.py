import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax, logsumexp
from scipy.stats import chi2

from suffice.core.decision import shifted_priors
from suffice.core.decision.prior_shift import PriorShift
from suffice.errors import InvalidInputError


def rows(seed, n=60, K=3, spread=2.0):
    """Log posteriors of rows from K unit Gaussians, the classes in unequal shares."""
    rng = np.random.default_rng(seed)
    means = spread * rng.normal(size=(K, 2))
    x = means[rng.choice(K, size=n, p=rng.dirichlet(np.ones(K)))] + rng.normal(size=(n, 2))
    priors = rng.dirichlet(np.full(K, 3.0))
    log_density = -0.5 * ((x[:, None] - means) ** 2).sum(2)
    return log_softmax(log_density + np.log(priors), axis=1), priors, log_density


def em_step(log_posterior, priors, pi):
    with np.errstate(divide="ignore"):
        changed = log_posterior + np.log(pi) - np.log(priors)
    return np.exp(changed - logsumexp(changed, axis=1, keepdims=True)).mean(axis=0)


@settings(deadline=None, max_examples=50)
@given(st.integers(0, 10**6), st.integers(2, 5))
def test_the_answer_is_a_fixed_point_of_em_and_meets_the_conditions_of_the_maximum(seed, K):
    log_posterior, priors, _ = rows(seed, K=K)
    shift = shifted_priors(log_posterior, priors)
    assert shift.converged
    assert shift.gap <= 1e-10
    assert shift.priors.sum() == pytest.approx(1)
    np.testing.assert_allclose(
        em_step(log_posterior, priors, shift.priors), shift.priors, atol=1e-9
    )


@settings(deadline=None, max_examples=8)
@given(st.integers(0, 10**6))
def test_plain_em_is_never_more_likely(seed):
    log_posterior, priors, log_density = rows(seed, spread=4.0)
    pi = priors
    for _ in range(300):
        pi = em_step(log_posterior, priors, pi)
    ours = shifted_priors(log_posterior, priors).priors
    plain, reached = (logsumexp(log_density, b=p, axis=1).mean() for p in (pi, ours))
    assert reached >= plain - 1e-10


def test_plain_em_goes_to_the_same_priors():
    log_posterior, priors, _ = rows(3, spread=4.0)
    pi = priors
    for _ in range(300):
        pi = em_step(log_posterior, priors, pi)
    np.testing.assert_allclose(shifted_priors(log_posterior, priors).priors, pi, atol=1e-8)


def test_two_classes_agree_with_a_scalar_maximiser():
    log_posterior, priors, log_density = rows(4, K=2)

    def loss(share):
        mixed = log_density + np.log([share, 1 - share])
        return -logsumexp(mixed, axis=1).sum()

    best = minimize_scalar(loss, bounds=(1e-9, 1 - 1e-9), options={"xatol": 1e-10}).x
    assert shifted_priors(log_posterior, priors).priors[0] == pytest.approx(best, abs=1e-6)


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 10**6))
def test_the_answer_does_not_depend_on_the_priors_the_posteriors_were_made_with(seed):
    _, _, log_density = rows(seed, spread=4.0)
    answers = []
    for priors in ([0.2, 0.3, 0.5], [0.6, 0.3, 0.1]):
        log_posterior = log_softmax(log_density + np.log(priors), axis=1)
        answers.append(shifted_priors(log_posterior, priors, tol=1e-13).priors)
    np.testing.assert_allclose(*answers, atol=1e-6)


def test_shares_of_a_shifted_population_are_recovered():
    rng = np.random.default_rng(0)
    share = np.array([0.85, 0.1, 0.05])
    k = rng.choice(3, size=20_000, p=share)
    x = np.array([0.0, 2.0, 4.0])[k] + rng.normal(size=20_000)
    log_density = -0.5 * (x[:, None] - [0.0, 2.0, 4.0]) ** 2
    uniform = np.full(3, 1 / 3)
    shift = shifted_priors(log_softmax(log_density + np.log(uniform), axis=1), uniform)
    np.testing.assert_allclose(shift.priors, share, atol=0.015)
    assert shift.iterations < 100


def test_certain_posteriors_are_counted_and_zeros_are_exact():
    with np.errstate(divide="ignore"):
        log_posterior = np.log(np.eye(3)[[0, 0, 1, 0]])
    shift = shifted_priors(log_posterior, np.full(3, 1 / 3))
    np.testing.assert_allclose(shift.priors, [0.75, 0.25, 0.0], atol=1e-9)


def test_posteriors_far_below_the_smallest_float_still_count():
    log_posterior = np.array([[0.0, -2000.0], [-3000.0, 0.0]])
    np.testing.assert_allclose(shifted_priors(log_posterior, [0.9, 0.1]).priors, [0.5, 0.5])


def test_a_class_of_prior_zero_stays_there():
    log_posterior, priors, _ = rows(1)
    with np.errstate(divide="ignore"):
        log_posterior = np.column_stack([log_posterior, np.full(len(log_posterior), -np.inf)])
    shift = shifted_priors(log_posterior, np.append(priors, 0.0))
    assert shift.priors[3] == 0
    np.testing.assert_allclose(
        shift.priors[:3], shifted_priors(log_posterior[:, :3], priors).priors, atol=1e-8
    )


def test_a_class_absent_from_the_rows_loses_its_prior():
    x = np.random.default_rng(0).normal(size=(400, 1))
    log_density = -0.5 * (x - [0.0, 1.0]) ** 2
    log_posterior = log_softmax(log_density, axis=1)
    shift = shifted_priors(log_posterior[x[:, 0] < 0.3], [0.5, 0.5])
    assert shift.converged
    assert shift.priors[1] < 1e-6


def test_running_out_of_steps_is_said():
    log_posterior, priors, _ = rows(0, spread=0.5)
    shift = shifted_priors(log_posterior, priors, tol=0.0, max_iter=4)
    assert not shift.converged
    assert shift.iterations == 4


def test_no_rows_are_refused():
    with pytest.raises(InvalidInputError, match="no rows"):
        shifted_priors(np.zeros((0, 2)), [0.5, 0.5])


def test_the_change_is_tested_by_the_gain_of_likelihood_with_one_degree_less_than_classes():
    log_posterior, priors, log_density = rows(3)
    shift = shifted_priors(log_posterior, priors)
    new = logsumexp(log_density + np.log(shift.priors), axis=1).sum()
    old = logsumexp(log_density + np.log(priors), axis=1).sum()
    assert shift.df == 2  # of three classes
    assert shift.statistic == pytest.approx(2 * (new - old), rel=1e-6)
    assert shift.p_value == pytest.approx(chi2.sf(shift.statistic, 2), rel=1e-9)


def test_a_class_of_prior_zero_is_no_degree_of_freedom():
    log_posterior, priors, _ = rows(3)
    with np.errstate(divide="ignore"):
        log_posterior = np.column_stack([log_posterior, np.full(len(log_posterior), -np.inf)])
    assert shifted_priors(log_posterior, np.append(priors, 0.0)).df == 2
    assert np.isnan(shifted_priors(np.zeros((4, 1)), [1.0]).p_value)


def test_steps_come_in_pairs():
    log_posterior, priors, _ = rows(5)
    one, two, three, four = (
        shifted_priors(log_posterior, priors, max_iter=m).priors for m in (1, 2, 3, 4)
    )
    np.testing.assert_array_equal(one, two)
    np.testing.assert_array_equal(three, four)
    assert np.abs(three - two).max() > 1e-6


def test_stated_priors_come_from_no_rows_and_have_no_p_value():
    shift = PriorShift(np.array([0.5, 0.5]), iterations=0, gap=0.0, converged=True)
    assert (shift.df, shift.n_rows) == (0, 0)
    assert np.isnan(shift.p_value)
