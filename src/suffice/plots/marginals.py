"""Class densities over some of the features."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from suffice.model import FullCovariance, GaussianModel

if TYPE_CHECKING:
    from suffice.plots.fitted import Fitted
    from suffice.typing import Floats

REACH = 3.5  # standard deviations drawn where no rows say how far


@dataclass(frozen=True, slots=True, eq=False)
class Marginals:
    """Densities of the classes over one or two features, the others integrated out."""

    priors: Floats  # π  (K,)
    axes: list[int]  # places of the features
    fitted: Fitted
    model: GaussianModel | None  # over these features; None: ask the classifier itself

    @classmethod
    def of(cls, fitted: Fitted, axes: list[int]) -> Marginals:
        """Return the densities over the features at these places."""
        whole = fitted.n_features == len(axes)
        if fitted.model is None and whole and hasattr(fitted.estimator, "class_log_density"):
            return cls(np.asarray(fitted.estimator.priors_), axes, fitted, None)
        model = marginal_model(fitted.gaussian, axes)
        return cls(model.priors, axes, fitted, model)

    def at(self, z: Floats) -> Floats:
        """Return p(z | k), (n, K), of points (n, m)."""
        if self.model is None:
            logs: Floats = np.asarray(self.fitted.ask("class_log_density", z))
            return np.exp(logs)
        return np.exp(self.model.class_log_density(z))

    def window(self, margin: float) -> Floats:
        """Return ((low, high), …) around the rows, or around the classes if there are none."""
        rows = self.fitted.rows[:, self.axes]
        if not len(rows) and self.model is not None:
            model = self.model
            s = [
                np.sqrt(np.diagonal(model.covariance_of(k).dense()))
                for k in range(len(self.priors))
            ]
            rows = np.concatenate(
                [model.means - REACH * np.array(s), model.means + REACH * np.array(s)]
            )
            margin = 0.0
        low, high = rows.min(axis=0), rows.max(axis=0)
        reach = margin * np.where(high > low, high - low, 1.0)
        return np.stack([low - reach, high + reach], axis=1)


def marginal_model(model: GaussianModel, axes: list[int]) -> GaussianModel:
    """Return the model of some features: the others integrated out of each Gaussian."""
    cut = np.ix_(axes, axes)
    return GaussianModel.of(
        priors=model.priors,
        centre=model.centre[axes],
        offsets=model.offsets[:, axes],
        covariances=[FullCovariance.of(c.dense()[cut]) for c in model.covariances],
        group_of=model.group_of,
    )
