"""A model of transformed rows, known by what it says of the rows themselves."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from suffice.core.model.class_model import ClassModel, WrappedModel
from suffice.core.model.elliptical_and_missing import EllipticalModel
from suffice.core.model.posterior import Readout
from suffice.core.model.scoring import Formula
from suffice.core.moments import Moments
from suffice.core.power_transform import PowerTransform
from suffice.errors import InvalidInputError
from suffice.typing import Array, Codes, Floats

BLOCK = 1 << 20  # numbers transformed at a time


@dataclass(frozen=True, eq=False)
class TransformedModel(WrappedModel):
    """Densities of x through those of t(x): p(x | k) = p_t(t(x) | k) · |dt/dx|.

    Parameters are those of the transformed rows. Posteriors need no Jacobian.
    """

    inner: ClassModel  # of t(x)
    transform: PowerTransform  # t

    @cached_property
    def _reader(self) -> tuple[ClassModel, Callable[[Any], Floats]]:
        """A model, and the rows it reads: t(x) − c, where digits of a large mean would be lost."""
        if not isinstance(self.inner, EllipticalModel):
            return self.inner, self.transform.apply
        moved: Any = {"centre": self.inner.centre - self.transform.centre}
        return replace(self.inner, **moved), self.transform.about_centre  # type: ignore[type-var]

    @property
    def n_parameters(self) -> int:
        return self.inner.n_parameters + int((self.transform.exponents != 1).sum())

    def sample_of(self, codes: Codes, rng: np.random.Generator) -> Floats:
        return self.transform.inverse(self.inner.sample_of(codes, rng))

    def marginal(self, observed: Codes) -> TransformedModel:
        kept = np.arange(self.n_features)[observed]
        return TransformedModel(self.inner.marginal(kept), self.transform.select(kept))

    def impute(self, x: Any) -> Floats:
        """Return the rows, NaN replaced by t⁻¹(E[t(x_m) | x_o]): the median, if of one class."""
        return self._filled(x, self.inner.impute)

    def sample_missing(self, x: Any, rng: np.random.Generator) -> Floats:
        return self._filled(x, lambda y: self.inner.sample_missing(y, rng))

    def _log_likelihood(self, moments: Moments) -> float:
        slopes = 0.0 if moments.log_slopes is None else float(moments.log_slopes.sum())
        return self.inner._log_likelihood(moments) + slopes

    @property
    def formula(self) -> Formula:
        return replace(self.inner.formula, power=self.transform)

    def _read(self, x: Any, readout: Readout, log_weights: Floats | None = None) -> Array:
        model, _ = self._reader
        read = self._each_block(x, lambda t: model._read(t, readout, log_weights))
        return self._in_units(read, x, readout, log_weights)

    def _read_observed(
        self,
        x: Any,
        readout: Readout,
        log_weights: Floats | None = None,
    ) -> Array:
        read = self.inner._read_observed(
            self.transform.apply_observed(x), readout, log_weights
        )
        return self._in_units(read, x, readout, log_weights)

    def _in_units(self, read: Any, x: Any, readout: Readout, log_weights: Any) -> Array:
        """Return densities of the rows from those of their transform; scores stay."""
        if log_weights is not None:
            # log p(x | k) = log p_t(t(x) | k) + log |dt/dx|, over what was observed
            slopes = np.nansum(self.transform.log_slopes(x), axis=1)
            read += slopes[:, None] if readout.per_class else slopes
        return np.asarray(read)

    def _filled(self, x: Any, fill: Callable[[Floats], Floats]) -> Floats:
        x = np.asarray(x, np.float64)
        filled = self.transform.inverse(fill(self.transform.apply_observed(x)))
        return np.where(np.isnan(x), filled, x)

    def _each_block(self, rows: Any, verb: Callable[[Any], Array]) -> Array:
        """Return ``verb`` of the rows as the reader takes them, some at a time."""
        x, (_, transformed) = np.asarray(rows), self._reader
        step = max(BLOCK // max(self.n_features, 1), 1)
        start, parts = 0, []
        try:
            for start in range(0, max(len(x), 1), step):
                parts.append(verb(transformed(x[start : start + step])))
        except InvalidInputError as error:
            if not start:
                raise
            msg = f"in the rows from {start} on, counted from there: {error}"
            raise InvalidInputError(msg) from error
        return parts[0] if len(parts) == 1 else np.concatenate(parts)
