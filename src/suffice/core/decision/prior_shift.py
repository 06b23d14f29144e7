"""Prior shift: estimate the priors of new, unlabelled rows by EM on the posteriors.

A model takes other priors π′ without a refit: a_k(x) = log p(x | k) + log π′_k
(``ClassModel.with_priors``).
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from suffice.errors import InvalidInputError
from suffice.typing import Floats

_RELATIVE_TOLERANCE = 1e-12  # densities with a smaller relative difference count as equal


@dataclass(frozen=True, slots=True, eq=False)
class PriorShift:
    """Priors estimated from unlabelled rows, and how the iteration ended."""

    priors: Floats  # π  (K,)
    iterations: int
    # upper bound of the difference between the maximum of the mean log-likelihood and its value at
    # ``priors``
    gap: float
    converged: bool
    # 2 (log L of the new priors − log L of the old); NaN if no row distinguishes the classes
    statistic: float = np.nan
    df: int = 0  # number of classes with positive prior, minus 1
    n_rows: int = 0  # m, the number of new rows
    # n, total weight of the training rows of the densities; NaN if weights are not numbers of rows
    fitted_weight: float = np.inf

    @property
    def p_value(self) -> float:
        """The p-value of the χ² test that the priors have not changed, if the densities are right.

        The test accounts for the uncertainty of the fit to n rows and of the m new rows. The
        p-value is NaN if there is only one class, if m or n is less than 2, or if every row is
        equally likely in all classes.
        """
        from scipy.special import chdtrc  # slow to import, and seldom needed

        if self.df == 0 or not (self.n_rows >= 2 and self.fitted_weight >= 2):
            return np.nan
        # The derivative of the log-likelihood by the priors has the variance V/m due to the new
        # rows. The uncertainty of the fit adds at most V/n.
        inflation = 1 + self.n_rows / self.fitted_weight
        return float(chdtrc(self.df, max(self.statistic, 0.0) / inflation))


def shifted_priors(
    log_posterior: npt.ArrayLike,
    priors: npt.ArrayLike,
    tol: float = 1e-10,
    max_iter: int = 10_000,
    fitted_weight: float = np.inf,
) -> PriorShift:
    """Return the maximum-likelihood priors of rows whose classes are not known.

    Each EM step averages the posteriors under the current priors. SQUAREM extrapolates from two
    steps, and an extrapolation is kept only if it increases the likelihood. ``log_posterior`` is
    log p(k | x), (m, K), under the old ``priors`` π⁰, (K,). The p-value needs ``fitted_weight``,
    the total weight of the rows that the posteriors were fitted to.

    Saerens, Latinne & Decaestecker (2002), *Neural Computation* 14(1), eq. 2.9; SQUAREM: Varadhan &
    Roland (2008), *Scandinavian Journal of Statistics* 35(2).
    """
    if not len(np.asarray(log_posterior)):
        raise InvalidInputError(
            "there are no rows: pass at least one row to estimate new class frequencies"
        )
    old_priors = np.asarray(priors, np.float64) / np.sum(priors)
    # Bayes' rule: log p(x | k) = log p(k | x) − log π⁰_k + const(x); choose const(x) such that the
    # greatest density of each row is 1
    with np.errstate(divide="ignore", invalid="ignore"):
        log_L = np.where(old_priors > 0, log_posterior - np.log(old_priors), -np.inf)
    L = np.exp(log_L - log_L.max(axis=1, keepdims=True))

    def growth(pi: Floats) -> Floats:
        # EM: π_k ← π_k G_k,  G_k = (1/m) Σ_i L_ik / Σ_j L_ij π_j, where L_ik ∝ p(x_i | k)
        # at the maximum, G_k ≤ 1 for all k, and G_k = 1 where π_k > 0
        return np.asarray((1 / (L @ pi)) @ L / len(L))

    def log_likelihood(pi: Floats) -> float:
        return float(np.log(L @ pi).mean())

    pi = old_priors
    for iterations in range(0, max_iter + 2, 2):
        factors = growth(pi)
        gap = float(factors.max() - 1)
        if gap <= tol or iterations >= max_iter:
            break
        one_step = pi * factors
        two_steps = one_step * growth(one_step)
        # π + 2αr + α²v,  r = π₁ − π,  v = (π₂ − π₁) − r,  α = |r| / |v|
        r = one_step - pi
        v = (two_steps - one_step) - r
        alpha = np.linalg.norm(r) / max(float(np.linalg.norm(v)), np.finfo(float).tiny)
        extrapolated = np.maximum(pi + 2 * alpha * r + alpha**2 * v, 0.01 * two_steps)
        extrapolated = extrapolated / extrapolated.sum()
        if log_likelihood(extrapolated) > log_likelihood(two_steps):
            pi = extrapolated
        else:
            pi = two_steps / two_steps.sum()
    statistic = 2 * len(L) * (log_likelihood(pi) - log_likelihood(old_priors))
    densities_of_old_classes = L[:, old_priors > 0]
    if not (np.ptp(densities_of_old_classes, axis=1) > _RELATIVE_TOLERANCE).any():
        statistic = np.nan
    return PriorShift(
        priors=pi,
        iterations=min(iterations, max_iter),
        gap=gap,
        converged=gap <= tol,
        statistic=statistic,
        df=int((old_priors > 0).sum()) - 1,
        n_rows=len(L),
        fitted_weight=fitted_weight,
    )
