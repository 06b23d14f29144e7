"""How much more or less confident posteriors ought to be."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from suffice.errors import InvalidInputError, InvalidParameterError
from suffice.typing import Floats

if TYPE_CHECKING:
    from suffice.validation.predictions import Predictions

WIDEST = (1e-3, 1e3)  # temperatures among which the best is looked for


@dataclass(frozen=True, slots=True, eq=False)
class TemperatureCurve:
    """Mean log loss of softmax(log p / T) by temperature T."""

    temperatures: Floats  # (m,)
    log_losses: Floats  # (m,)
    best: float  # temperature of least log loss
    best_log_loss: float


def tempered(log_posteriors: Floats, temperature: float) -> Floats:
    """Return log softmax(log p / T), (n, K); T → 0 is the hard choice of the greatest."""
    from scipy.special import log_softmax

    with np.errstate(invalid="ignore"):
        t: Floats = log_softmax(log_posteriors / temperature, axis=1)
    return t


def temperature_curve(rows: Predictions, temperatures: Any = None) -> TemperatureCurve:
    """Return the mean log loss of rows under each temperature, and the best of all.

    References
    ----------
    Guo, Pleiss, Sun & Weinberger (2017), *ICML*, 1321–1330.
    """
    from scipy.optimize import minimize_scalar

    _check(rows)
    found = minimize_scalar(
        lambda s: _log_loss(rows, float(np.exp(s))), bounds=np.log(WIDEST), method="bounded"
    )
    best = float(np.exp(found.x))
    around = np.geomspace(min(0.1, best / 4), max(10.0, best * 4), 81)
    grid = around if temperatures is None else np.asarray(temperatures, np.float64)
    if grid.ndim != 1 or not np.all(np.isfinite(grid) & (grid > 0)):
        msg = f"temperatures={temperatures!r}: expected positive numbers"
        raise InvalidParameterError(msg)
    losses = np.array([_log_loss(rows, float(t)) for t in grid])
    return TemperatureCurve(grid, losses, best, float(found.fun))


def _log_loss(rows: Predictions, t: float) -> float:
    own = tempered(rows.log_posteriors, t)[np.arange(len(rows.truth)), rows.truth]
    return float(-(rows.weights @ own) / rows.weights.sum())


def _check(rows: Predictions) -> None:
    own = rows.log_posteriors[np.arange(len(rows.truth)), rows.truth]
    hopeless = np.flatnonzero(np.isneginf(own) & (rows.weights > 0))
    if len(hopeless):
        msg = (
            f"row {hopeless[0]} has posterior zero for its own class, which no temperature "
            "repairs: use a classifier that rules nothing out"
        )
        raise InvalidInputError(msg)
