"""Predictions against the truth: which classes are confused, whether probabilities hold."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from suffice.core.decision.predictions import Predictions, wilson
from suffice.core.table.matrix import as_weights
from suffice.errors import InvalidInputError, InvalidParameterError
from suffice.typing import Codes, Floats

BINS = 15  # of equal width: those of the calibration error, wherever it is stated


def confusion(rows: Predictions) -> Floats:
    """Return the weight of rows of each true class by prediction, (K, K + 1); the last is none."""
    counts = np.zeros((len(rows.classes), len(rows.classes) + 1))
    np.add.at(counts, (rows.truth, rows.predicted), rows.weights)  # none is coded −1
    return counts


@dataclass(frozen=True, slots=True, eq=False)
class Reliability:
    """Stated and observed probability in each bin that holds rows."""

    low_edges: Floats  # (B,)
    high_edges: Floats  # (B,)
    stated: Floats  # mean probability  (B,)
    observed: Floats  # share of rows for which the event held  (B,)
    low: Floats  # confidence interval of the observed share  (B,)
    high: Floats
    counts: Codes  # rows  (B,)
    weights: Floats  # weight of the rows  (B,)

    @property
    def calibration_error(self) -> float:
        """Expected calibration error, Σ_b (w_b / w) |observed − stated|."""
        return float(self.weights @ np.abs(self.observed - self.stated) / self.weights.sum())


def reliability(
    happened: Any,
    probability: Any,
    sample_weight: Any = None,
    *,
    bins: int = 10,
    equal_counts: bool = False,
) -> Reliability:
    """Return stated against observed probability of an event (n,), by bins of what was stated."""
    # bins have equal widths, or equal counts: then they lie between quantiles. DeGroot & Fienberg
    # (1983), *The Statistician* 32, 12–22; Wilson (1927), *JASA* 22, 209–212
    p, event = np.asarray(probability, np.float64), np.asarray(happened, bool)
    if p.ndim != 1 or p.shape != event.shape or not p.size:
        msg = f"{event.shape} events for probabilities of shape {p.shape}: expected (n,) twice"
        raise InvalidInputError(msg)
    for bad in np.flatnonzero(~((p >= 0) & (p <= 1)))[:1]:
        msg = f"the probability of row {bad} is {p[bad]}: expected a number in [0, 1]"
        raise InvalidInputError(msg)
    if bins < 1:
        raise InvalidParameterError(f"bins={bins}: at least one is needed")
    w = np.ones(len(p)) if (given := as_weights(sample_weight, len(p))) is None else given
    edges = np.linspace(0, 1, bins + 1)
    if equal_counts:
        edges[1:-1] = np.quantile(p, edges[1:-1], weights=w, method="inverted_cdf")
    bin_of = np.searchsorted(edges[1:-1], p)  # an edge belongs to the bin below it
    total: Floats = np.bincount(bin_of, w, bins).astype(np.float64)
    kept = total > 0
    observed = np.bincount(bin_of, w * event, bins)[kept] / total[kept]
    # Kish's effective number of rows, (Σ w)² / Σ w²
    low, high = wilson(observed, total[kept] ** 2 / np.bincount(bin_of, w**2, bins)[kept])
    stated = np.bincount(bin_of, w * p, bins)[kept] / total[kept]
    counts = np.bincount(bin_of, w > 0, bins)[kept].astype(np.intp)
    return Reliability(
        edges[:-1][kept], edges[1:][kept], stated, observed, low, high, counts, total[kept]
    )
