"""Prior shift: the priors of new, unlabelled rows, by EM on the posteriors."""

from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt
from scipy.special import chdtrc

from suffice.errors import InvalidInputError, InvalidParameterError
from suffice.typing import Floats


@dataclass(frozen=True, slots=True, eq=False)
class PriorShift:
    """Priors re-estimated on unlabelled rows, and how the iteration ended.

    ``gap`` bounds how far the mean log-likelihood of the rows still is from its maximum;
    ``statistic`` is twice the gain of the log-likelihood of all rows over the old priors.
    """

    priors: Floats  # π  (K,)
    iterations: int
    gap: float
    converged: bool
    statistic: float = np.nan
    df: int = 0  # classes of positive prior, less one

    @property
    def p_value(self) -> float:
        """How probable a change this large is if the priors are the old ones: χ², ``df``.

        The densities of the classes count as known.
        """
        return float(chdtrc(self.df, max(self.statistic, 0.0))) if self.df else np.nan


def shifted_priors(
    log_posterior: npt.ArrayLike, priors: npt.ArrayLike, tol: float = 1e-10, max_iter: int = 10_000
) -> PriorShift:
    """Return the maximum-likelihood priors of rows whose classes are not known.

    The classes keep their densities and only their shares change. Each EM step averages the
    posteriors under the current priors; steps are extrapolated (SQUAREM) and kept only where
    the likelihood grows, so that the fixed point is that of plain EM. A prior of zero stays.
    Needs log p(k | x) (n, K) under the priors π⁰ (K,); stops at a ``gap`` of at most ``tol``.

    Saerens, Latinne & Decaestecker (2002), *Neural Computation* 14(1), eq. 2.9;
    Varadhan & Roland (2008), *Scandinavian Journal of Statistics* 35(2).
    """
    ratios = _Ratios.of(np.asarray(log_posterior, np.float64), np.asarray(priors, np.float64))
    if max_iter < 1 or not tol >= 0:
        msg = f"tol={tol} and max_iter={max_iter}: expected tol ≥ 0 and max_iter ≥ 1"
        raise InvalidParameterError(msg)
    pi = ratios.start
    for iterations in range(0, max_iter, 2):
        growth = ratios.growth(pi)
        gap = float(growth.max() - 1)
        if gap <= tol:
            return PriorShift(pi, iterations, gap, gap <= tol, *ratios.tested(pi))
        pi = ratios.two_steps(pi, growth)
    gap = float(ratios.growth(pi).max() - 1)
    return PriorShift(pi, max_iter, gap, gap <= tol, *ratios.tested(pi))


@dataclass(frozen=True, slots=True, eq=False)
class _Ratios:
    """Densities of the rows up to a factor of each row, and the priors to start from."""

    L: Floats  # p(x | k) up to a factor per row  (n, K), greatest of each row 1
    start: Floats  # π⁰  (K,)

    @classmethod
    def of(cls, log_posterior: Floats, priors: Floats) -> Self:
        """Undo Bayes' rule."""
        _check(log_posterior, priors)
        # log p(x | k) = log p(k | x) − log π⁰_k + const(x)
        with np.errstate(divide="ignore", invalid="ignore"):
            log_L = np.where(priors > 0, log_posterior - np.log(priors), -np.inf)
        top = log_L.max(axis=1, keepdims=True)
        lost = np.flatnonzero(~np.isfinite(top))
        if lost.size:
            msg = f"row {lost[0]} has no finite log posterior in a class of positive prior"
            raise InvalidInputError(msg)
        return cls(np.exp(log_L - top), priors / priors.sum())

    def growth(self, pi: Floats) -> Floats:
        """Return the factor by which an EM step multiplies each prior, (K,)."""
        # G_k = (1/n) Σ_i L_ik / Σ_j L_ij π_j;  the maximum is where G ≤ 1, and = 1 where π > 0
        g: Floats = (1 / (self.L @ pi)) @ self.L / len(self.L)
        return g

    def two_steps(self, pi: Floats, growth: Floats) -> Floats:
        """Return the priors after two EM steps, or beyond them where that is more likely."""
        one = pi * growth
        two = one * self.growth(one)
        # π − 2αr + α²v,  r = π₁ − π,  v = (π₂ − π₁) − r,  α = −|r| / |v|
        r, v = one - pi, (two - one) - (one - pi)
        alpha = np.linalg.norm(r) / max(float(np.linalg.norm(v)), np.finfo(float).tiny)
        beyond = np.maximum(pi + 2 * alpha * r + alpha**2 * v, 0.01 * two)
        beyond = beyond / beyond.sum()
        better = self._log_likelihood(beyond) > self._log_likelihood(two)
        chosen: Floats = beyond if better else two / two.sum()
        return chosen

    def tested(self, pi: Floats) -> tuple[float, int]:
        """Return 2 n (ℓ(π) − ℓ(π⁰)) of the mean log-likelihood ℓ, and the degrees of freedom."""
        gain = self._log_likelihood(pi) - self._log_likelihood(self.start)
        return 2 * len(self.L) * gain, int((self.start > 0).sum()) - 1

    def _log_likelihood(self, pi: Floats) -> float:
        return float(np.log(self.L @ pi).mean())


def _check(log_posterior: Floats, priors: Floats) -> None:
    """Refuse shapes that do not fit and numbers that are no logarithms or priors."""
    if log_posterior.ndim != 2 or log_posterior.shape[1:] != priors.shape:
        msg = f"log posteriors {log_posterior.shape} and priors {priors.shape} do not fit"
        raise InvalidInputError(msg)
    if not len(log_posterior):
        raise InvalidInputError("there are no rows: a shift of priors needs some")
    strange = np.flatnonzero(~np.all(log_posterior < np.inf, axis=1))
    if strange.size:
        raise InvalidInputError(f"row {strange[0]} holds a log posterior that is NaN or infinite")
    if not np.all(np.isfinite(priors) & (priors >= 0)) or not priors.sum() > 0:
        msg = f"priors={priors.tolist()} are not non-negative numbers with a positive sum"
        raise InvalidParameterError(msg)
