"""EDDA covariances of maximum likelihood, and what to do where a class leaves none."""

from dataclasses import dataclass

import numpy as np

from suffice.errors import InvalidInputError, InvalidParameterError
from suffice.estimation.degenerate import RankDeficiency, ReferenceCovariance, filled_variances
from suffice.estimation.divisors import resolved_variances
from suffice.estimation.edda.families import family
from suffice.estimation.edda.family_problem import EddaProblem, diagonal, symmetric
from suffice.estimation.shrinkage import Regularisation
from suffice.estimation.structures import Estimates, diagonal_variances
from suffice.linalg import LOG_2PI, scaled_cholesky
from suffice.model.covariance import Covariance, DiagonalCovariance, FullCovariance
from suffice.moments import Moments
from suffice.typing import Codes, Floats


@dataclass(frozen=True, slots=True, eq=False)
class EddaFit:
    """Covariances of one family at the maximum of the likelihood."""

    covariances: Floats  # Σ  (K, d, d)
    log_likelihood_given_class: float  # Σ_i log f(x_i | its class)
    n_parameters: int  # of the covariances alone
    iterations: int  # 0 where the solution is in closed form
    converged: bool


def edda_covariances(
    code: str, weights: Floats, scatters: Floats, *, tol: float = 1e-22, max_iter: int = 1000
) -> EddaFit:
    r"""Return the maximum-likelihood covariances of one of the 14 EDDA families.

    :math:`\Sigma_k = \lambda_k D_k A_k D_k^\top` (volume, shape, orientation), each part equal
    for all classes (E), varying (V) or the identity (I): EII VII EEI VEI EVI VVI EEE VEE EVE
    VVE EEV VEV EVV VVV. EII, VII, EVE, VVE, EEV and VEV depend on the units of the features.

    References
    ----------
    Celeux & Govaert (1995), Pattern Recognition 28; Bensmail & Celeux (1996), JASA 91.
    """
    chosen = family(code)
    n, w = _checked(weights, scatters, tol, max_iter)
    total, d = float(n.sum()), w.shape[-1]
    parts = chosen.fit(EddaProblem(code, n, tol, max_iter), w)
    # Σ_k = λ_k C_k
    covariances = symmetric(np.exp(parts.log_volumes)[:, None, None] * parts.forms)
    covariances.flags.writeable = False
    # log|Σ_k| = d log λ_k,  and Σ_k tr(Σ_k⁻¹ W_k) = n d at the best volumes
    log_likelihood = -0.5 * d * (total * (LOG_2PI + 1) + float(n @ parts.log_volumes))
    n_parameters = chosen.n_parameters(len(n), d)
    return EddaFit(covariances, log_likelihood, n_parameters, parts.iterations, parts.converged)


def _checked(weights: Floats, scatters: Floats, tol: float, max_iter: int) -> tuple[Floats, Floats]:
    """Return weights and symmetric scatters as floats, or say what is wrong with them."""
    n, w = np.asarray(weights, dtype=float), np.asarray(scatters, dtype=float)
    if n.ndim != 1 or w.ndim != 3 or w.shape != (len(n), w.shape[-1], w.shape[-1]):
        msg = f"weights {n.shape} and scatters {w.shape}: shapes (K,) and (K, d, d) are needed"
        raise InvalidInputError(msg)
    if not (w.size and np.isfinite(w).all() and np.isfinite(n).all()):
        msg = "weights and scatters must be finite, of at least one class and one feature"
        raise InvalidInputError(msg)
    for k in np.flatnonzero(n <= 0):
        msg = f"class {k} has weight {n[k]:g}: leave out classes without rows"
        raise InvalidInputError(msg)
    if not (tol >= 0 and max_iter >= 1):
        msg = f"tol={tol!r}, max_iter={max_iter!r}: tol ≥ 0 and max_iter ≥ 1 are needed"
        raise InvalidParameterError(msg)
    return n, symmetric(w)


@dataclass(frozen=True, slots=True)
class EddaStructure:
    """A family as a covariance structure: classes that leave it no maximum are filled first."""

    code: str

    @property
    def is_diagonal(self) -> bool:
        """Whether features are independent given the class."""
        return self.code.endswith("I")

    def covariances(self, moments: Moments, group_of: Codes, how: Regularisation) -> Estimates:
        """Return the covariances of greatest likelihood; classes without rows take the first."""
        seen = np.flatnonzero(moments.weights > 0)
        w = moments.weights[seen]
        deficient: list[RankDeficiency] = []
        scatters = diagonal(moments.diagonals) if self.is_diagonal else moments.scatters
        try:
            sigmas = edda_covariances(self.code, w, scatters[seen]).covariances
        except InvalidInputError:
            fill = _filled_diagonal if self.is_diagonal else _filled
            filled, deficient = fill(moments, group_of, seen, how)
            sigmas = edda_covariances(self.code, w, filled * w[:, None, None]).covariances
        found: list[Covariance] = (
            [DiagonalCovariance(np.sqrt(np.diagonal(sigma))) for sigma in sigmas]
            if self.is_diagonal
            else [FullCovariance.of(sigma) for sigma in sigmas]
        )
        place = np.zeros(moments.n_classes, np.intp)
        place[seen] = np.arange(len(seen))
        return [found[i] for i in place], deficient

    def n_parameters(self, n_groups: int, n_features: int) -> int:
        """Return the number of free parameters of the family."""
        return family(self.code).n_parameters(n_groups, n_features)


def _filled(
    moments: Moments, group_of: Codes, seen: Codes, _how: Regularisation
) -> tuple[Floats, list[RankDeficiency]]:
    """Return Σ of the classes with rows, singular ones filled from the pooled covariance."""
    sigmas = moments.scatters / np.maximum(moments.weights, np.finfo(float).tiny)[:, None, None]
    diagonals = np.diagonal(sigmas, axis1=1, axis2=2)
    variances = resolved_variances(diagonals, moments, group_of)
    reference, filled, deficient = ReferenceCovariance.of(moments), sigmas.copy(), []
    for k in seen.tolist():
        if not variances[k].all() or scaled_cholesky(sigmas[k]) is None:
            root = reference.filled(sigmas[k])
            filled[k] = root @ root.T
            deficient.append(RankDeficiency.of(k, sigmas[k], variances[k]))
    return filled[seen], deficient


def _filled_diagonal(
    moments: Moments, group_of: Codes, seen: Codes, how: Regularisation
) -> tuple[Floats, list[RankDeficiency]]:
    """Return diagonal Σ of the classes with rows, empty variances filled."""
    variances, pooled, totals = diagonal_variances(moments, group_of, how)
    lacking = [k for k in seen.tolist() if not variances[k].all()]
    deficient = [RankDeficiency.of_variances(k, variances[k]) for k in lacking]
    return diagonal(filled_variances(variances[seen], pooled, totals)), deficient
