"""Maximum-likelihood covariances of a family, from class weights and scatters alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from suffice.errors import InvalidInputError, InvalidParameterError
from suffice.estimation.edda.families import family
from suffice.estimation.edda.problem import Task, symmetric
from suffice.linalg import unit_scale

if TYPE_CHECKING:
    from suffice.typing import Floats

LOG_2PI = float(np.log(2 * np.pi))


@dataclass(frozen=True, slots=True, eq=False)
class EddaFit:
    """Covariances of one family at the maximum of the likelihood."""

    code: str
    covariances: Floats  # Σ  (K, d, d)
    log_likelihood_given_class: float  # Σ_i log f(x_i | its class)
    n_parameters: int  # of the covariances alone
    iterations: int  # 0 where the solution is in closed form
    converged: bool

    def total_parameters(self, *, with_priors: bool = False) -> int:
        """Return the number of covariance parameters and means, and priors if asked."""
        n_classes, n_features = self.covariances.shape[:2]
        n_priors = n_classes - 1 if with_priors else 0
        total: int = self.n_parameters + n_classes * n_features + n_priors
        return total


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
    >>> fit.n_parameters, fit.total_parameters()
    (4, 8)
    """
    chosen = family(code)
    n, w = _checked(weights, scatters, tol, max_iter)
    total, d = float(n.sum()), w.shape[-1]
    s = unit_scale(np.diagonal(w.sum(0)) / total) if standardise else np.ones(d)
    parts = chosen.fit(Task(code, n, tol, max_iter), w / np.outer(s, s))
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


def bic(log_likelihood: float, n_parameters: int, n_rows: float) -> float:
    """Return 2 log L − p log n: larger is better, the sign convention of mclust.

    Reference: Schwarz (1978), Ann. Statist. 6.

    Examples
    --------
    >>> round(bic(-100.0, 5, 50), 3)
    -219.56
    """
    return float(2 * log_likelihood - n_parameters * np.log(n_rows))


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
