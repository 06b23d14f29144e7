"""Classes that are mixtures of Gaussians.

log p(x | k) = log Σ_r exp(log s_r + log N(x; μ_r, Σ_r))   over the components r of class k
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import NoReturn, Self

import numpy as np

from suffice.core.model.class_model import ClassModel
from suffice.core.model.gaussian import GaussianModel
from suffice.core.model.posterior import Readout
from suffice.core.model.scoring import Formula
from suffice.core.moments import Moments
from suffice.core.table.foreign import DeviceArray, Namespace, is_foreign
from suffice.errors import InvalidParameterError
from suffice.typing import Array, Codes, Floats, RowsLike


@dataclass(frozen=True, eq=False)
class ComponentReadout(Readout):
    """A readout of class scores a_k = log Σ_r exp a_r, summed over the components of class k."""

    readout: Readout
    starts: Codes  # first component of each class  (K,)

    @property
    def dtype(self) -> type[np.generic]:
        return self.readout.dtype

    @property
    def per_class(self) -> bool:
        return self.readout.per_class

    def shape(self, n_rows: int, n_scores: int) -> tuple[int, ...]:  # noqa: ARG002
        return self.readout.shape(n_rows, len(self.starts))

    def read(self, a: Floats) -> Array:
        """Return the values, given the scores of components (n, R)."""
        return self.readout.read(log_sums(a, self.starts))

    def of_classes(self, xp: Namespace, a: DeviceArray) -> tuple[DeviceArray, Readout]:
        """Return the scores of the classes, in arrays of the library ``xp``, and their readout."""
        sums = []
        for lo, hi in pairwise([*self.starts.tolist(), a.shape[1]]):
            run = a[:, lo:hi]
            top = xp.max(run, axis=1, keepdims=True)
            sums.append(top[:, 0] + xp.log(xp.sum(xp.exp(run - top), axis=1)))
        return xp.stack(sums, axis=1), self.readout

    def write(self, tile: Floats, n_classes: int, out: Array) -> bool:
        """Write the values of a score tile (chunks, components, rows) of at least R components."""
        scores = log_sums(tile[:, :n_classes], self.starts)
        return self.readout.write(scores, len(self.starts), out)


def log_sums(a: Floats, starts: Codes) -> Floats:
    """Return log Σ_r exp a_r for each run of columns r; the runs begin at ``starts``."""
    top = np.maximum.reduceat(a, starts, axis=1)
    top = np.where(np.isfinite(top), top, 0.0)
    sizes = np.diff([*starts, a.shape[1]])
    with np.errstate(divide="ignore", invalid="ignore"):
        powers = np.exp(a - np.repeat(top, sizes, axis=1))
        sums: Floats = top + np.log(np.add.reduceat(powers, starts, axis=1))
    return sums


@dataclass(frozen=True, eq=False)
class MixtureModel(ClassModel):
    r"""Class k has prior :math:`\pi_k` and density :math:`\sum_r s_r N(\mu_r, \Sigma_r)`.

    The sum is over the components r of the class, whose shares :math:`s_r` sum to one.

    Hastie & Tibshirani (1996), *JRSS B* 58, 155–176.
    """

    log_priors: Floats  # log π  (K,)
    components: GaussianModel  # the R components, sorted by class; its priors are the shares s
    class_of: Codes  # class of each component, ascending  (R,)
    temperature: float = 1.0

    @property
    def centre(self) -> Floats:  # type: ignore[override]
        return self.components.centre

    @property
    def offsets(self) -> Floats:  # type: ignore[override]
        """Mean of each class minus ``centre``, shape (K, d)."""
        return self._class_averages(self.components.offsets)

    @property
    def n_parameters(self) -> int:
        return self.components.n_parameters

    @property
    def starts(self) -> Codes:
        """First component of each class, shape (K,)."""
        return np.searchsorted(self.class_of, np.arange(self.n_classes))

    @property
    def covariance_matrices(self) -> Floats:
        """Covariance of each class, the sum within and between its components, (K, d, d)."""
        components = self.components
        n_components = components.n_classes
        sigmas = np.stack([components.covariance_of(r).dense() for r in range(n_components)])
        gaps = components.offsets - self.offsets[self.class_of]
        # Σ_k = Σ_r s_r (Σ_r + (μ_r − μ_k)(μ_r − μ_k)ᵀ)
        return self._class_averages(sigmas + gaps[:, :, None] * gaps[:, None, :])

    @cached_property
    def joint(self) -> GaussianModel:
        """The components as separate classes, with priors π_k s_r."""
        return self.components.with_log_priors(self.log_weights(self.log_priors))

    def component_posterior(self, x: RowsLike) -> Floats:
        """Return p(r | x) for all components of all classes, shape (n, R)."""
        model: ClassModel = self.joint
        if not is_foreign(x):
            model = model.allowing_missing()
        return model.posterior(x)

    def with_log_priors(self, log_priors: Floats) -> Self:
        return replace(self, log_priors=log_priors)

    def with_temperature(self, temperature: float) -> Self:
        return replace(self, temperature=temperature)

    def marginal(self, observed: Codes) -> MixtureModel:
        return replace(self, components=self.components.marginal(observed))

    def impute(self, x: RowsLike) -> Floats:
        return self.joint.impute(x)

    def sample_missing(self, x: RowsLike, rng: np.random.Generator) -> Floats:
        return self.joint.sample_missing(x, rng)

    def sample_of(self, codes: Codes, rng: np.random.Generator) -> Floats:
        """Draw one row from the mixture of class k for each code k, shape (n, d)."""
        r = np.empty(len(codes), np.intp)
        for k in np.unique(codes):
            components = np.flatnonzero(self.class_of == k)
            rows = codes == k
            shares = self.components.priors[components]
            r[rows] = rng.choice(components, rows.sum(), p=shares)
        return self.components.sample_of(r, rng)

    def as_gaussian(self) -> NoReturn:
        raise InvalidParameterError(
            "the boundary of two mixtures of Gaussians is not a hyperplane or quadric: use LDA or "
            "QDA for boundaries and coefficients"
        )

    def _log_likelihood(self, moments: Moments) -> NoReturn:  # noqa: ARG002
        raise InvalidParameterError(
            "the likelihood of a mixture cannot be computed from moments, which do not tell the "
            "component of each row: sum log_joint over the rows"
        )

    @property
    def formula(self) -> Formula:
        """The formula of the components' scores; ``class_of`` names the class of each component."""
        return replace(self.joint.formula, class_of=self.class_of)

    def log_weights(self, of_classes: Floats) -> Floats:
        """Return log(w_k s_r) of each component, given log w_k of each class."""
        return np.asarray(of_classes[self.class_of] + self.components.log_priors)

    def _class_averages(self, values: Floats) -> Floats:
        """Return Σ_r s_r v_r over the components r of each class."""
        shares = self.components.priors.reshape(-1, *[1] * (values.ndim - 1))
        return np.asarray(np.add.reduceat(shares * values, self.starts, axis=0))

    def _read(
        self,
        x: RowsLike,
        readout: Readout,
        log_weights: Floats | None = None,
    ) -> Array:
        if log_weights is not None:
            log_weights = self.log_weights(log_weights)
        return self.joint._read(x, ComponentReadout(readout, self.starts), log_weights)

    def _read_observed(
        self,
        x: Floats,
        readout: Readout,
        log_weights: Floats | None = None,
    ) -> Array:
        if log_weights is not None:
            log_weights = self.log_weights(log_weights)
        return self.joint._read_observed(
            x, ComponentReadout(readout, self.starts), log_weights
        )
