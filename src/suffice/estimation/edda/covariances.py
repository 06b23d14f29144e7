"""EDDA covariances of maximum likelihood, and what to do where a class leaves none."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from suffice.errors import InvalidInputError, InvalidParameterError
from suffice.estimation.degenerate import Gap, ReferenceCovariance, filled_variances
from suffice.estimation.edda.decomposition import EddaProblem, symmetric
from suffice.estimation.edda.families import family
from suffice.estimation.groups import resolved_variances
from suffice.estimation.structures import diagonal_variances
from suffice.linalg import LOG_2PI, scaled_cholesky, unit_scale
from suffice.model.covariance import Covariance, DiagonalCovariance, FullCovariance

if TYPE_CHECKING:
    from collections.abc import Sequence

    from suffice.estimation.shrinkage import Regularisation
    from suffice.moments import Moments
    from suffice.typing import Codes, Floats


@dataclass(frozen=True, slots=True, eq=False)
class EddaFit:
    """Covariances of one family at the maximum of the likelihood."""

    code: str
    covariances: Floats  # Σ  (K, d, d)
    log_likelihood_given_class: float  # Σ_i log f(x_i | its class)
    n_parameters: int  # of the covariances alone
    iterations: int  # 0 where the solution is in closed form
    converged: bool

    @property
    def total_parameters(self) -> int:
        """Number of covariance parameters and means."""
        n_classes, n_features = self.covariances.shape[:2]
        return int(self.n_parameters + n_classes * n_features)


def edda_covariances(
    code: str,
    weights: Floats,
    scatters: Floats,
    *,
    standardise: bool = False,
    tol: float = 1e-22,
    max_iter: int = 1000,
) -> EddaFit:
    r"""Return the maximum-likelihood covariances of one of the 14 EDDA families.

    :math:`\Sigma_k = \lambda_k D_k A_k D_k^\top` (volume, shape, orientation), each part equal
    for all classes (E), varying (V) or the identity (I): EII VII EEI VEI EVI VVI EEE VEE EVE
    VVE EEV VEV EVV VVV.

    Parameters
    ----------
    code : str
        Three letters: volume, shape, orientation.
    weights : (K,) array
        Rows, or sum of sample weights, of each class.
    scatters : (K, d, d) array
        Σ w (x − μ_k)(x − μ_k)ᵀ about the mean of each class.
    standardise : bool
        Fit the family to features divided by their pooled standard deviation, and give the
        covariances back in the units of the features. EEI, VEI, EVI, VVI, EEE, VEE, EVV and VVV
        are the same either way; EII, VII, EVE, VVE, EEV and VEV depend on the units of the
        features unless this is set. The scales are not counted as parameters.
    tol : float
        Stop when the next step would gain less log-likelihood than this per unit of weight.
    max_iter : int
        Most steps of an iterative family.

    Returns
    -------
    EddaFit
        Covariances (K, d, d), their log-likelihood, parameter count, and how it was reached.

    References
    ----------
    Celeux & Govaert (1995), Pattern Recognition 28; Bensmail & Celeux (1996), JASA 91.

    Examples
    --------
    >>> import numpy as np
    >>> scatters = np.array([[[4.0, 0.0], [0.0, 1.0]], [[1.0, 0.0], [0.0, 4.0]]])
    >>> fit = edda_covariances("EEV", np.array([10.0, 10.0]), scatters)
    >>> fit.covariances.round(3).tolist()
    [[[0.4, 0.0], [0.0, 0.1]], [[0.1, 0.0], [0.0, 0.4]]]
    >>> fit.n_parameters, fit.total_parameters
    (4, 8)
    """
    chosen = family(code)
    n, w = _checked(weights, scatters, tol, max_iter)
    total, d = float(n.sum()), w.shape[-1]
    s = unit_scale(np.diagonal(w.sum(0)) / total) if standardise else np.ones(d)
    parts = chosen.fit(EddaProblem(code, n, tol, max_iter), w / np.outer(s, s))
    # Σ_k = S λ_k C_k S
    covariances = np.exp(parts.log_volumes)[:, None, None] * parts.forms * np.outer(s, s)
    covariances = symmetric(covariances)
    covariances.flags.writeable = False
    # log|Σ_k| = d log λ_k + 2 log|S|,  and Σ_k tr(Σ_k⁻¹ W_k) = n d at the best volumes
    log_dets = d * parts.log_volumes + 2 * np.log(s).sum()
    log_likelihood = -0.5 * (total * d * (LOG_2PI + 1) + float(n @ log_dets))
    n_parameters = chosen.n_parameters(len(n), d)
    return EddaFit(
        code, covariances, log_likelihood, n_parameters, parts.iterations, parts.converged
    )


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
    """One of VEE, EVE, VVE, EEV, VEV, EVV: volume, shape and orientation, shared or not."""

    code: str

    def covariances(
        self,
        moments: Moments,
        group_of: Codes,
        how: Regularisation,  # noqa: ARG002
    ) -> tuple[list[Covariance], list[Gap]]:
        """Return the covariances of greatest likelihood; singular classes are filled first."""
        seen = np.flatnonzero(moments.weights > 0)
        w, scatters = moments.weights[seen], moments.scatters[seen]
        gaps: list[Gap] = []
        try:
            fit = edda_covariances(self.code, w, scatters)
        except InvalidInputError:
            sigmas = scatters / w[:, None, None]
            filled, gaps = _filled(sigmas, moments, group_of, seen)
            fit = edda_covariances(self.code, w, filled * w[:, None, None])
        found = [FullCovariance.of(sigma) for sigma in fit.covariances]
        return _placed(found, seen, moments.n_classes), gaps

    def n_parameters(self, n_groups: int, n_features: int) -> int:
        """Return the number of free parameters of the family."""
        return family(self.code).n_parameters(n_groups, n_features)

    def storage(self, *, tied: bool) -> str:  # noqa: ARG002
        """Return the storage of moments that suffices."""
        return "per-class"


@dataclass(frozen=True, slots=True)
class DiagonalEddaStructure:
    """VEI or EVI: features independent given the class, volume or shape shared."""

    code: str

    def covariances(
        self, moments: Moments, group_of: Codes, how: Regularisation
    ) -> tuple[list[Covariance], list[Gap]]:
        """Return the covariances of greatest likelihood; empty variances are filled first."""
        seen = np.flatnonzero(moments.weights > 0)
        w = moments.weights[seen]
        variances, pooled, totals = diagonal_variances(moments, group_of, how)
        gaps: list[Gap] = []
        try:
            fit = edda_covariances(self.code, w, _diagonal(w, moments.diagonals[seen]))
        except InvalidInputError:
            gaps = [
                Gap.of(int(k), np.zeros((0, 0)), variances[k])
                for k in seen
                if not variances[k].all()
            ]
            filled = filled_variances(variances[seen], pooled, totals)
            fit = edda_covariances(self.code, w, _diagonal(w, filled * w[:, None]))
        scales = np.sqrt(np.diagonal(fit.covariances, axis1=1, axis2=2))
        found = [DiagonalCovariance(scale) for scale in scales]
        return _placed(found, seen, moments.n_classes), gaps

    def n_parameters(self, n_groups: int, n_features: int) -> int:
        """Return the number of free parameters of the family."""
        return family(self.code).n_parameters(n_groups, n_features)

    def storage(self, *, tied: bool) -> str:  # noqa: ARG002
        """Return the storage of moments that suffices."""
        return "diagonal"


def _filled(
    sigmas: Floats, moments: Moments, group_of: Codes, seen: Codes
) -> tuple[Floats, list[Gap]]:
    """Return the covariances of classes with rows, singular ones filled, and the gaps."""
    everyone = np.zeros((moments.n_classes, *sigmas.shape[1:]))
    everyone[seen] = sigmas
    diagonals = np.diagonal(everyone, axis1=1, axis2=2)
    variances = resolved_variances(diagonals, moments, group_of)[seen]
    reference = ReferenceCovariance.of(moments)
    filled, gaps = sigmas.copy(), []
    for i, k in enumerate(seen):
        if not variances[i].all() or scaled_cholesky(sigmas[i]) is None:
            root = reference.filled(sigmas[i])
            filled[i] = root @ root.T
            gaps.append(Gap.of(int(k), sigmas[i], variances[i]))
    return filled, gaps


def _diagonal(w: Floats, squares: Floats) -> Floats:
    """Return diagonal scatters (K, d, d)."""
    return squares[:, :, None] * np.eye(squares.shape[1]) * (w > 0)[:, None, None]


def _placed(found: Sequence[Covariance], seen: Codes, n_classes: int) -> list[Covariance]:
    """Return a covariance for every class; those without rows take the first."""
    everyone = [found[0]] * n_classes
    for k, covariance in zip(seen, found, strict=True):
        everyone[k] = covariance
    return everyone
