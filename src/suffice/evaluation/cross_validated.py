"""Losses of candidates on folds, and the choices they lead to."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from suffice.errors import InvalidParameterError
from suffice.notebook import Tabled

if TYPE_CHECKING:
    from collections.abc import Mapping

    from suffice.typing import Floats

CRITERIA = ("error", "log_loss", "brier")


def check_criterion(criterion: str) -> None:
    """Refuse a criterion that is not measured."""
    if criterion not in CRITERIA:
        msg = f"criterion must be one of {', '.join(map(repr, CRITERIA))}, got {criterion!r}"
        raise InvalidParameterError(msg)


@dataclass(frozen=True, eq=False)
class CrossValidation(Tabled):
    """Losses of every candidate on every fold.

    ``error``, ``log_loss`` and ``brier`` are means over folds, as in scikit-learn; their standard
    errors are those of that mean. ``best_params`` has the least ``criterion``;
    ``one_se_params`` is the most regularised candidate within one standard error of it.
    """

    params: tuple[dict[str, Any], ...]  # C candidates
    fold_losses: Floats  # error, log-loss, Brier  (C, F, 3)
    criterion: str
    refit_priors: bool  # whether priors were estimated again in every fold
    absent: tuple[str, ...]  # what was said of classes without training rows
    best_estimator: Any  # fitted on all rows

    @property
    def means(self) -> Floats:
        """Mean error, log-loss and Brier score of each candidate, shape (C, 3)."""
        means: Floats = self.fold_losses.mean(1)
        return means

    @property
    def standard_errors(self) -> Floats:
        """Standard errors of the means, shape (C, 3)."""
        n = self.fold_losses.shape[1]
        deviations: Floats = self.fold_losses.std(1, ddof=1)
        errors: Floats = deviations / np.sqrt(n)
        return errors

    @cached_property
    def best_index(self) -> int:
        """Number of the candidate with the least criterion."""
        return int(np.argmin(self.means[:, CRITERIA.index(self.criterion)]))

    @property
    def best_params(self) -> dict[str, Any]:
        """Parameters of the candidate with the least criterion."""
        return self.params[self.best_index]

    @property
    def one_se_params(self) -> dict[str, Any]:
        """Parameters of the most regularised candidate within one standard error of the best."""
        column = CRITERIA.index(self.criterion)
        limit = self.means[self.best_index, column] + self.standard_errors[self.best_index, column]
        close = np.flatnonzero(self.means[:, column] <= limit)
        return self.params[max(close, key=lambda i: (_regularity(self.params[i]), -i))]

    def rows(self) -> list[dict[str, Any]]:
        """Return a mapping per candidate: its parameters, then its losses."""
        means, errors = self.means, self.standard_errors
        return [
            {
                **params,
                "error": means[i, 0],
                "error_se": errors[i, 0],
                "log_loss": means[i, 1],
                "log_loss_se": errors[i, 1],
                "brier": means[i, 2],
                "brier_se": errors[i, 2],
            }
            for i, params in enumerate(self.params)
        ]

    def to_frame(self) -> Any:
        """Return a pandas frame with a row per candidate."""
        import pandas as pd

        return pd.DataFrame(self.rows())

    def plot(self, ax: Any = None) -> Any:
        """Draw the path of one parameter, or the map of two; return the Axes."""
        from suffice.plots.cross_validations import plot

        return plot(self, ax)

    def __repr__(self) -> str:
        means = self.means[self.best_index]
        n_candidates, n_folds, _ = self.fold_losses.shape
        best = ", ".join(f"{k}={v!r}" for k, v in self.best_params.items()) or "the estimator"
        return (
            f"CrossValidation({n_candidates} candidates × {n_folds} folds; best by "
            f"{self.criterion}: {best}: error {means[0]:.4f}, log-loss {means[1]:.4f})"
        )


def _regularity(params: Mapping[str, Any]) -> float:
    values = (params.get(name) for name in ("pooling", "shrinkage"))
    return sum(float(v) for v in values if isinstance(v, (int, float)))
