"""A model of transformed rows t(x) that returns densities of the original rows x."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from suffice.core.model.class_model import ClassModel, WrappedModel
from suffice.core.model.gaussian import GaussianModel
from suffice.core.model.posterior import Readout
from suffice.core.model.scoring import Formula, refuse_unread
from suffice.core.model.student import StudentModel
from suffice.core.moments import Moments
from suffice.core.power_transform import PowerTransform
from suffice.core.table.matrix import refuse_unusable
from suffice.errors import InvalidInputError
from suffice.typing import Array, Codes, Floats, RowsLike

BLOCK = 1 << 20  # most numbers that are transformed at a time


@dataclass(frozen=True, eq=False)
class TransformedModel(WrappedModel):
    """Densities of x from densities of t(x): p(x | k) = p_t(t(x) | k) · |dt/dx|.

    The means and covariances are those of the transformed rows. Posteriors do not need the Jacobian
    |dt/dx|, which is the same for all classes.
    """

    inner: ClassModel  # model of t(x)
    transform: PowerTransform  # t

    @cached_property
    def _centred_inner(self) -> GaussianModel | StudentModel | None:
        """The Gaussian or Student t of t(x) − c, which is accurate even if the mean is large."""
        inner = self.inner
        if isinstance(inner, GaussianModel | StudentModel):
            return replace(inner, centre=inner.centre - self.transform.centre)
        return None

    @property
    def n_parameters(self) -> int:
        n_exponents = int((self.transform.exponents != 1).sum())
        return self.inner.n_parameters + n_exponents

    def sample_of(self, codes: Codes, rng: np.random.Generator) -> Floats:
        return self.transform.inverse(self.inner.sample_of(codes, rng))

    def marginal(self, observed: Codes) -> TransformedModel:
        kept = np.arange(self.n_features)[observed]
        return TransformedModel(self.inner.marginal(kept), self.transform.select(kept))

    def impute(self, x: RowsLike) -> Floats:
        """Return the rows with NaN replaced with t⁻¹(E[t(x_m) | x_o]), the median if K = 1."""
        rows = np.asarray(x, np.float64)
        filled = self.inner.impute(self.transform.apply_observed(rows))
        return np.where(np.isnan(rows), self.transform.inverse(filled), rows)

    def sample_missing(self, x: RowsLike, rng: np.random.Generator) -> Floats:
        rows = np.asarray(x, np.float64)
        filled = self.inner.sample_missing(self.transform.apply_observed(rows), rng)
        return np.where(np.isnan(rows), self.transform.inverse(filled), rows)

    def _log_likelihood(self, moments: Moments) -> float:
        log_likelihood = self.inner._log_likelihood(moments)
        if moments.log_slopes is None:
            return log_likelihood
        return log_likelihood + float(moments.log_slopes.sum())

    @property
    def formula(self) -> Formula:
        return replace(self.inner.formula, power=self.transform)

    def _read(
        self,
        x: RowsLike,
        readout: Readout,
        log_weights: Floats | None = None,
    ) -> Array:
        rows = np.asarray(x)

        def read(block: Array) -> Array:
            model = self._centred_inner
            if model is None:
                return self.inner._read(self.transform.apply(block), readout, log_weights)
            return model._read(self.transform.about_centre(block), readout, log_weights)

        values = self._by_block(rows, read)
        return self._with_jacobian(values, rows, readout, log_weights)

    def _read_observed(
        self,
        x: Floats,
        readout: Readout,
        log_weights: Floats | None = None,
    ) -> Array:
        transformed = self.transform.apply_observed(x)
        values = self.inner._read_observed(transformed, readout, log_weights)
        return self._with_jacobian(values, x, readout, log_weights)

    def _with_jacobian(
        self,
        values: Array,
        x: Array,
        readout: Readout,
        log_weights: Floats | None,
    ) -> Array:
        """Turn densities of t(x) into densities of x; leave scores unchanged."""
        if log_weights is not None:
            # log p(x | k) = log p_t(t(x) | k) + log |dt/dx|, over the observed features
            slopes = np.nansum(self.transform.log_slopes(x), axis=1)
            values += slopes[:, None] if readout.per_class else slopes
        return values

    def _by_block(self, rows: Array, read: Callable[[Array], Array]) -> Array:
        """Return the values that ``read`` returns for all rows, a block at a time."""
        step = max(BLOCK // max(self.n_features, 1), 1)
        parts = []
        for start in range(0, max(len(rows), 1), step):
            try:
                parts.append(read(rows[start : start + step]))
            except InvalidInputError:
                if start == 0:
                    raise
                # the error counts rows from the start of the block: raise one that counts all rows
                if not np.isfinite(rows).all():
                    refuse_unusable(rows, None)
                refuse_unread(read, rows, start, min(start + step, len(rows)))
        return parts[0] if len(parts) == 1 else np.concatenate(parts)
