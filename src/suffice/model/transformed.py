"""A model of transformed rows, known by what it says of the rows themselves."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from suffice.errors import InvalidInputError
from suffice.model.class_model import WrappedModel

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt

    from suffice.model.bayes_error import BayesError
    from suffice.model.class_model import ClassModel
    from suffice.model.gaussian import GaussianModel
    from suffice.model.posterior import Readout
    from suffice.model.scoring import Formula
    from suffice.moments import Moments
    from suffice.power import PowerTransform
    from suffice.typing import Codes, Floats

BLOCK = 1 << 20  # numbers transformed at a time


@dataclass(frozen=True, eq=False)
class TransformedModel(WrappedModel):
    """Densities of x through those of t(x): p(x | k) = p_t(t(x) | k) · |dt/dx|.

    Rows come in, and samples go out, in the units of the rows; parameters are those of the
    transformed rows. Posteriors need no Jacobian: it is the same for every class.
    """

    inner: ClassModel  # of t(x)
    transform: PowerTransform  # t

    @property
    def has_density(self) -> bool:
        """Whether the model of t(x) has one."""
        return self.inner.has_density

    @property
    def n_parameters(self) -> int:
        """Number of free parameters, each exponent other than 1 counted."""
        return self.inner.n_parameters + int((self.transform.exponents != 1).sum())

    def sample(self, n: int, rng: np.random.Generator) -> tuple[Floats, Codes]:
        """Draw n pairs (x, k), in the units of the rows."""
        y, k = self.inner.sample(n, rng)
        return self.transform.inverse(y), k

    def as_gaussian(self) -> GaussianModel:
        """Return the Gaussian model of transformed rows with the same posterior."""
        return self.inner.as_gaussian()

    def log_likelihood(self, moments: Moments) -> float:
        """Return Σ w (log p(x | y) + log π_y) of the rows that the moments sum up."""
        slopes = 0.0 if moments.power_sums is None else float(moments.power_sums.log_slopes.sum())
        return self.inner.log_likelihood(moments) + slopes

    def bayes_error(self, n_samples: int, rng: np.random.Generator) -> BayesError:
        """Return the error of the best rule if the model were true: no matter which units."""
        return self.inner.bayes_error(n_samples, rng)

    @property
    def formula(self) -> Formula:
        """Scores of transformed rows."""
        return replace(self.inner.formula, power=self.transform)

    def _read(self, x: Any, readout: Readout) -> npt.NDArray[Any]:
        return self._each_block(x, lambda t: self.inner._read(t, readout))

    def _read_density(self, x: Any, readout: Readout, log_weights: Floats) -> npt.NDArray[Any]:
        read = self._each_block(x, lambda t: self.inner._read_density(t, readout, log_weights))
        # log p(x | k) = log p_t(t(x) | k) + log |dt/dx|
        slopes = self.transform.log_jacobian(x)
        read += slopes[:, None] if readout.per_class else slopes
        return read

    def _each_block(self, rows: Any, verb: Callable[[Any], npt.NDArray[Any]]) -> npt.NDArray[Any]:
        """Return ``verb`` of the transformed rows, some at a time."""
        x = np.asarray(rows)
        step = max(BLOCK // max(self.n_features, 1), 1)
        start, parts = 0, []
        try:
            for start in range(0, max(len(x), 1), step):
                parts.append(verb(self.transform.apply(x[start : start + step])))
        except InvalidInputError as error:
            if not start:
                raise
            msg = f"in the rows from {start} on, counted from there: {error}"
            raise InvalidInputError(msg) from error
        return parts[0] if len(parts) == 1 else np.concatenate(parts)
