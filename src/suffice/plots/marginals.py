"""Class densities over some of the features, and distances within a class."""

from dataclasses import dataclass, replace
from functools import singledispatch
from typing import Any, Self

import numpy as np

from suffice.errors import InvalidInputError
from suffice.model import FullCovariance, GaussianModel
from suffice.model.student import StudentModel
from suffice.model.transformed import TransformedModel
from suffice.plots.inputs import Fitted
from suffice.typing import Floats

DRAWS = 4000  # synthetic rows that say how far to draw where no rows do


@dataclass(frozen=True, slots=True, eq=False)
class Marginals:
    """Densities of the classes over one or two features, the others integrated out."""

    priors: Floats  # π  (K,)
    model: Any  # of these features
    rows: Floats  # (n, m)

    @classmethod
    def of(cls, fitted: Fitted, axes: list[int]) -> Self:
        """Return the densities over the features at these places."""
        whole: Any = fitted.classifier.model
        if not hasattr(whole, "class_log_density"):
            msg = (
                f"{type(fitted.estimator).__name__} has no class densities to draw: use sf.LDA, "
                "sf.QDA, sf.GaussianNB or sf.GaussianClassifier"
            )
            raise InvalidInputError(msg)
        everything = axes == list(range(fitted.n_features))
        model = whole if everything else marginal(whole, axes)
        rows = fitted.rows[:, axes]
        if not len(rows):
            rows = model.sample(DRAWS, np.random.default_rng(0))[0]
        return cls(np.asarray(whole.priors), model, rows)

    def at(self, z: Floats) -> Floats:
        """Return p(z | k), (n, K), of points (n, m)."""
        logs: Floats = self.model.class_log_density(z)
        return np.exp(logs)

    def window(self, margin: float) -> Floats:
        """Return ((low, high), …) around the rows, or around synthetic ones."""
        low, high = self.rows.min(axis=0), self.rows.max(axis=0)
        reach = margin * np.where(high > low, high - low, 1.0)
        return np.stack([low - reach, high + reach], axis=1)


@singledispatch
def marginal(model: Any, axes: list[int]) -> Any:  # noqa: ARG001  each kind of model has its own
    """Return the model of some features: the others integrated out of each class."""
    msg = f"no figure knows the densities of a {type(model).__name__} over some features only"
    raise InvalidInputError(msg)


@marginal.register
def _(model: GaussianModel, axes: list[int]) -> GaussianModel:
    return replace(
        model,
        centre=model.centre[axes],
        offsets=model.offsets[:, axes],
        covariances=_cut(model.covariances, axes),
    )


@marginal.register
def _(model: StudentModel, axes: list[int]) -> StudentModel:
    return replace(
        model,
        centre=model.centre[axes],
        offsets=model.offsets[:, axes],
        scales=_cut(model.scales, axes),
    )


@marginal.register
def _(model: TransformedModel, axes: list[int]) -> TransformedModel:
    return TransformedModel(marginal(model.inner, axes), model.transform.select(np.array(axes)))


@singledispatch
def squared_distances(model: Any, x: Floats, k: int) -> Floats:  # noqa: ARG001
    """Return D² of rows (n, d) from the mean of class k, by its covariance, (n,)."""
    msg = (
        f"distances are compared with those of a Gaussian, which a {type(model).__name__} is not: "
        "use sf.LDA, sf.QDA, sf.GaussianNB or sf.GaussianClassifier"
    )
    raise InvalidInputError(msg)


@squared_distances.register
def _(model: GaussianModel, x: Floats, k: int) -> Floats:
    # D² = |L⁻¹(x − μ)|²
    squared: Floats = np.square(model.covariance_of(k).whiten(x - model.means[k])).sum(axis=1)
    return squared


@squared_distances.register
def _(model: TransformedModel, x: Floats, k: int) -> Floats:
    return squared_distances(model.inner, model.transform.apply(x), k)


def _cut(covariances: Any, axes: list[int]) -> tuple[FullCovariance, ...]:
    """Return the part of each covariance that belongs to some features."""
    cut = np.ix_(axes, axes)
    return tuple(FullCovariance.of(c.dense()[cut]) for c in covariances)
