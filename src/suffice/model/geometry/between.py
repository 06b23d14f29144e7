"""Boundaries of Gaussian classes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from suffice.errors import FeatureMismatchError, InvalidParameterError
from suffice.model.geometry.hyperplane import Hyperplane
from suffice.model.geometry.quadric import Quadric, balanced
from suffice.model.geometry.surface import points

if TYPE_CHECKING:
    import numpy.typing as npt

    from suffice.typing import Floats

Boundary: TypeAlias = Hyperplane | Quadric


@dataclass(frozen=True, slots=True, eq=False)
class GaussianScore:
    r"""The score :math:`-\tfrac12 \log|\Sigma| - \tfrac12 (x-\mu)^\top P (x-\mu) + \log \pi`.

    It is the log joint density of a Gaussian class up to the term common to all classes.
    """

    mean: Floats  # μ  (d,)
    precision: Floats  # P = Σ⁻¹  (d, d)
    log_det: float  # log|Σ|, of the covariance
    log_prior: float  # log π

    def evaluate(self, x: npt.ArrayLike) -> Floats:
        """Return the score of each row, (n,)."""
        u = points(x, len(self.mean)) - self.mean
        # −½ (log|Σ| + (x−μ)ᵀP(x−μ)) + log π
        quadratic = np.einsum("ij,ij->i", u @ self.precision, u)
        score: Floats = -0.5 * (self.log_det + quadratic) + self.log_prior
        return score


def boundary_between(
    a: GaussianScore,
    b: GaussianScore,
    *,
    tied: bool,
    feature_names: tuple[str, ...] | None = None,
    labels: tuple[Any, Any] | None = None,
) -> Boundary:
    """Return where two Gaussian classes are equally probable, positive on the side of a.

    Its ``evaluate`` is the log odds log p(a∣x) − log p(b∣x).

    References
    ----------
    Hastie, Tibshirani & Friedman (2009), *The Elements of Statistical Learning*, section 4.3.
    """
    _check(a, b, labels)
    m = _middle(a, b)
    build = _hyperplane if tied else _quadric
    return build(a, b, m, feature_names, labels)


def _hyperplane(
    a: GaussianScore, b: GaussianScore, m: Floats, names: Any, labels: Any
) -> Hyperplane:
    # w = P(μ_a − μ_b),  y(m) = log π_a/π_b − ½ wᵀ((μ_a − m) + (μ_b − m))
    w = a.precision @ (a.mean - b.mean)
    value = a.log_prior - b.log_prior - 0.5 * w @ ((a.mean - m) + (b.mean - m))
    return Hyperplane(w, float(value), names, labels, m)


def _quadric(a: GaussianScore, b: GaussianScore, m: Floats, names: Any, labels: Any) -> Quadric:
    # A = ½(P_b − P_a),  ∇y(m) = P_a(μ_a − m) − P_b(μ_b − m),  y(m) = δ_a(m) − δ_b(m)
    A = 0.5 * (b.precision - a.precision)
    gradient = a.precision @ (a.mean - m) - b.precision @ (b.mean - m)
    value = a.evaluate(m)[0] - b.evaluate(m)[0]
    return Quadric(A, gradient, float(value), names, labels, m)


def _middle(a: GaussianScore, b: GaussianScore) -> Floats:
    """Return the point least far from both classes, in their own units: the best anchor."""
    # m = (P_a + P_b)⁻¹ (P_a μ_a + P_b μ_b) = μ_a + (P_a + P_b)⁻¹ P_b (μ_b − μ_a)
    M, s = balanced(a.precision + b.precision)
    pull = b.precision @ (b.mean - a.mean)
    middle: Floats = a.mean + s * (np.linalg.pinv(M, hermitian=True) @ (s * pull))
    return middle


def _check(a: GaussianScore, b: GaussianScore, labels: tuple[Any, Any] | None) -> None:
    """Refuse classes of different spaces, and a class that is never chosen."""
    if a.mean.shape != b.mean.shape:
        msg = f"the classes have {len(a.mean)} and {len(b.mean)} features"
        raise FeatureMismatchError(msg)
    for score, label in zip((a, b), labels or ("a", "b"), strict=True):
        if score.log_prior == -np.inf:
            msg = f"class {label!r} has prior 0, so it has no boundary: give it a positive prior"
            raise InvalidParameterError(msg)
