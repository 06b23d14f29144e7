"""Classes that are mixtures of Gaussians: log-sum-exp over the scores of their components."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from suffice.core.model.class_model import ClassModel, forwarded
from suffice.core.model.gaussian import GaussianModel
from suffice.core.model.posterior import Readout
from suffice.core.model.scoring import Formula
from suffice.core.table.foreign import is_foreign
from suffice.errors import InvalidParameterError
from suffice.typing import Codes, Floats


@dataclass(frozen=True, eq=False)
class OfClasses(Readout):
    """A readout of a_k = log Σ_r exp a_r over the components r of class k."""

    readout: Readout
    starts: Codes  # first component of each class  (K,)

    dtype = forwarded("dtype", "readout")
    per_class = forwarded("per_class", "readout")

    def shape(self, n_rows: int, n_scores: int) -> tuple[int, ...]:  # noqa: ARG002
        """Return the shape of the values of so many rows."""
        return self.readout.shape(n_rows, len(self.starts))

    def read(self, a: Floats) -> npt.NDArray[Any]:
        """Return the values for scores of components (n, R)."""
        return self.readout.read(log_sums(a, self.starts))

    def of_classes(self, xp: Any, a: Any) -> tuple[Any, Any]:
        """Return the scores of classes, in a library of the Array API, and what is read out."""
        runs = [a[:, lo:hi] for lo, hi in pairwise([*self.starts.tolist(), a.shape[1]])]
        pairs = zip(runs, [xp.max(run, axis=1, keepdims=True) for run in runs], strict=True)
        sums = [top[:, 0] + xp.log(xp.sum(xp.exp(run - top), axis=1)) for run, top in pairs]
        return xp.stack(sums, axis=1), self.readout

    def write(self, tile: Floats, n_classes: int, out: npt.NDArray[Any]) -> bool:
        """Write ``read`` of a tile of components (chunks, R and more, rows)."""
        return self.readout.write(
            log_sums(tile[:, :n_classes], self.starts), len(self.starts), out
        )


def log_sums(a: Floats, starts: Codes) -> Floats:
    """Return log Σ_r exp a_r over the runs of axis 1 that begin at ``starts``."""
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
    components: GaussianModel  # R of them, class by class; its priors are the shares s
    class_of: Codes  # class of each component, in order  (R,)
    temperature: float = 1.0

    centre = forwarded("centre", "components")
    n_parameters = forwarded("n_parameters", "components")
    impute = forwarded("impute", "joint")
    sample_missing = forwarded("sample_missing", "joint")

    @property
    def offsets(self) -> Floats:  # type: ignore[override]
        """Mean of each class less ``centre``, shape (K, d)."""
        return self._sums(self.components.offsets)

    @property
    def starts(self) -> Codes:
        """First component of each class, shape (K,)."""
        return np.searchsorted(self.class_of, np.arange(self.n_classes))

    @property
    def covariance_matrices(self) -> Floats:
        """Covariance of the rows of each class, components and their means together (K, d, d)."""
        parts, far = self.components, self.components.offsets - self.offsets[self.class_of]
        sigmas = np.stack([parts.covariance_of(r).dense() for r in range(parts.n_classes)])
        # Σ_k = Σ_r s_r (Σ_r + (μ_r − μ_k)(μ_r − μ_k)ᵀ)
        return self._sums(sigmas + far[:, :, None] * far[:, None, :])

    @cached_property
    def joint(self) -> GaussianModel:
        """The components as classes of their own, with priors π_k s_r."""
        return replace(self.components, log_priors=self.log_weights(self.log_priors))

    def component_posterior(self, x: Any) -> Floats:
        """Return p(r | x) of every component of every class, shape (n, R)."""
        return (self.joint if is_foreign(x) else self.joint.allowing_missing()).posterior(x)

    def marginal(self, observed: Codes) -> MixtureModel:
        """Return the same kind of model of some features alone: indices, or (d,) bool."""
        return replace(self, components=self.components.marginal(observed))

    def sample_of(self, codes: Codes, rng: np.random.Generator) -> Floats:
        """Draw a row of the mixture of class k for each code k, shape (n, d)."""
        r = np.empty(len(codes), np.intp)
        for k in np.unique(codes):
            own, here = np.flatnonzero(self.class_of == k), codes == k
            r[here] = rng.choice(own, here.sum(), p=self.components.priors[own])
        return self.components.sample_of(r, rng)

    def as_gaussian(self, *_: Any, **__: Any) -> NoReturn:
        """Refuse: no Gaussian has this posterior, and moments do not know components."""
        msg = "a mixture is no Gaussian: it has no quadric boundaries, and no likelihood by moments"
        raise InvalidParameterError(msg)

    _log_likelihood = as_gaussian

    @property
    def formula(self) -> Formula:
        """Scores of all components, to be added up by class."""
        return replace(self.joint.formula, class_of=self.class_of)

    def _sums(self, values: Floats) -> Floats:
        """Return Σ_r s_r v_r of each class."""
        shares = self.components.priors.reshape(-1, *[1] * (values.ndim - 1))
        return np.asarray(np.add.reduceat(shares * values, self.starts, axis=0))

    def log_weights(self, of_classes: Floats) -> Floats:
        """Return log(w_k s_r) of each component."""
        return np.asarray(of_classes[self.class_of] + self.components.log_priors)

    def _read(self, x: Any, readout: Readout, log_weights: Floats | None = None) -> Any:
        own = None if log_weights is None else self.log_weights(log_weights)
        return self.joint._read(x, OfClasses(readout, self.starts), own)

    def _read_observed(
        self,
        x: Any,
        readout: Readout,
        log_weights: Floats | None = None,
    ) -> Any:
        own = None if log_weights is None else self.log_weights(log_weights)
        return self.joint._read_observed(x, OfClasses(readout, self.starts), own)
