"""Scores aₖ(x) of K classes for many rows, and all that is read out of them.

Few rows are scored by NumPy alone, so that Numba is never imported for them; many by compiled
loops, block by block, in bounded memory and on any number of threads.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from suffice.errors import InvalidInputError
from suffice.model.parts import Group, Linear
from suffice.model.tiles import Pass

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import numpy.typing as npt

    from suffice.model.parts import Part, Stage
    from suffice.model.readout import Readout
    from suffice.typing import Codes, Floats

SMALL = 100_000  # n·d·K under which compiled loops do not pay


class Scorable(Protocol):
    """A covariance that knows how its classes are scored."""

    def part(self, group: Group) -> Part:
        """Return the part that scores the classes of ``group``."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class Scorer:
    r"""Scores of K classes, built from one part per group of classes.

    .. math:: a_k(x) = c_k - \tfrac12 |W_k (x - \mu_k)|^2, \quad W_k^\top W_k = \Sigma_k^{-1}

    The constant is :math:`c_k = \log\pi_k - \tfrac12\log|\Sigma_k|`, less
    :math:`\tfrac d2 \log 2\pi` where densities are wanted; :math:`-\infty` rules a class out.
    For fully tied classes the posterior needs only :math:`w_k^\top (x - o) + b_k`.

    References
    ----------
    Hastie, Tibshirani & Friedman (2009), *The Elements of Statistical Learning*, 4.3.

    Examples
    --------
    >>> import numpy as np
    >>> from suffice.model.readout import Posterior
    >>> scorer = Scorer.linear(np.zeros(1), np.array([[0.0], [1.0]]), np.zeros(2))
    >>> scorer.score(np.array([[0.0], [50.0]]), Posterior()).round(3)
    array([[0.5, 0.5],
           [0. , 1. ]])
    """

    origin: Floats  # o  (d,): rows and means are measured from it
    n_classes: int
    parts: tuple[Part, ...]

    @classmethod
    def of(
        cls,
        constants: Floats,
        means: Floats,
        covariances: Sequence[Scorable],
        *,
        origin: Floats | None = None,
    ) -> Scorer:
        """Return the scorer of cₖ, μₖ − o and Σₖ; classes that share one object Σ are tied."""
        members: dict[int, list[int]] = {}
        for k, sigma in enumerate(covariances):
            members.setdefault(id(sigma), []).append(k)
        parts = (
            covariances[ks[0]].part(Group(np.array(ks), constants[ks], means[ks]))
            for ks in members.values()
        )
        origin = np.zeros(means.shape[1]) if origin is None else origin
        return cls(origin, len(constants), tuple(parts))

    @classmethod
    def linear(cls, origin: Floats, weights: Floats, intercepts: Floats) -> Scorer:
        """Return the scorer wₖᵀ(x − o) + bₖ."""
        return cls(origin, len(intercepts), (Linear(weights, intercepts),))

    def score(
        self, x: npt.NDArray[Any], readout: Readout, *, n_jobs: int | None = None
    ) -> npt.NDArray[Any]:
        """Return what is read out for each row of ``x`` (n, d); raise if a row has no score."""
        values, unscored = self.try_score(x, readout, n_jobs=n_jobs)
        if len(unscored):
            raise InvalidInputError(_complaint(x, int(unscored[0])))
        return values

    def try_score(
        self, x: npt.NDArray[Any], readout: Readout, *, n_jobs: int | None = None
    ) -> tuple[npt.NDArray[Any], Codes]:
        """Return the values, and the numbers of the rows without any: NaN, or code −1."""
        x = np.asarray(x)
        if x.size * self.n_classes < SMALL:
            with np.errstate(invalid="ignore", over="ignore"):
                values = readout.read(self.joint(x))
            return values, _unscored(values)
        shape = (len(x), self.n_classes) if readout.per_class else (len(x),)
        values = np.empty(shape, readout.dtype)
        stages, origin = list(self._stages()), np.array(self.origin, np.float64)
        bad = Pass(x, origin, stages, self.n_classes, readout, values).run(n_jobs)
        return values, _unscored(values[: len(x) if bad else 0])

    def joint(self, x: npt.NDArray[Any]) -> Floats:
        """Return aₖ(x) (n, K), by NumPy alone."""
        x = np.asarray(x, np.float64) - self.origin
        a = np.empty((len(x), self.n_classes))
        for part in self.parts:
            a[:, part.classes] = part.scores(x)
        return a

    def _stages(self) -> Iterator[Stage]:
        """Yield the compiled stages, parts of one kind taken together."""
        kinds: dict[type[Part], list[Part]] = {}
        for part in self.parts:
            kinds.setdefault(type(part), []).append(part)
        for kind, parts in kinds.items():
            yield from kind.stages(parts)


def _unscored(values: npt.NDArray[Any]) -> Codes:
    """Return the numbers of the rows that are NaN, or have code −1."""
    first = values if values.ndim == 1 else values[:, 0]
    return np.flatnonzero(np.isnan(first) if first.dtype.kind == "f" else first < 0)


def _complaint(x: npt.NDArray[Any], row: int) -> str:
    """Say why a row has no score."""
    columns = np.flatnonzero(~np.isfinite(x[row]))
    if len(columns):
        what = "NaN" if np.isnan(x[row, columns[0]]) else "infinity"
        where = f"row {row}, column {columns[0]}"
        return f"Input X contains {what}: {where}; drop or impute such rows first"
    return f"row {row} is so far from every class that its distance overflows: check its units"
