"""Predictions against the truth: the confusion matrix, and calibration in bins."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from suffice.core.decision.error_intervals import wilson
from suffice.core.decision.predictions import Predictions
from suffice.core.table.matrix import as_weights
from suffice.errors import InvalidInputError, InvalidParameterError
from suffice.typing import Codes, Floats, WeightsLike

BINS = 15  # number of bins of equal width in every calibration error


def confusion(rows: Predictions) -> Floats:
    """Return the weight of rows by true and predicted class, (K, K + 1).

    The last column has the weight of rows for which no class was predicted.
    """
    counts = np.zeros((len(rows.classes), len(rows.classes) + 1))
    # rows without a prediction have code −1, which selects the last column
    np.add.at(counts, (rows.truth, rows.predicted), rows.weights)
    return counts


@dataclass(frozen=True, slots=True, eq=False)
class Reliability:
    """Predicted and observed probability in each bin that contains rows."""

    low_edges: Floats  # (B,)
    high_edges: Floats  # (B,)
    stated: Floats  # mean predicted probability  (B,)
    observed: Floats  # share of rows in which the event occurred  (B,)
    low: Floats  # lower end of the confidence interval of the observed share (B,)
    high: Floats
    counts: Codes  # number of rows  (B,)
    weights: Floats  # weight of the rows  (B,)

    @property
    def calibration_error(self) -> float:
        """Expected calibration error, Σ_b (w_b / w) |observed − stated|."""
        return float(self.weights @ np.abs(self.observed - self.stated) / self.weights.sum())


def reliability(
    happened: npt.ArrayLike,
    probability: npt.ArrayLike,
    sample_weight: WeightsLike = None,
    *,
    bins: int = 10,
    equal_counts: bool = False,
) -> Reliability:
    """Return the observed frequency of an event (n,) in bins of its predicted probability.

    Bins have equal widths, or, with ``equal_counts``, quantiles as edges. DeGroot & Fienberg
    (1983), *The Statistician* 32, 12–22; Wilson (1927), *JASA* 22, 209–212.
    """
    p = np.asarray(probability, np.float64)
    event = np.asarray(happened, bool)
    if p.ndim != 1 or p.shape != event.shape or not p.size:
        raise InvalidInputError(
            f"events have shape {event.shape} and probabilities have shape {p.shape}: give one "
            "event and one probability for each row, (n,)"
        )
    invalid = np.flatnonzero(~((p >= 0) & (p <= 1)))
    if len(invalid):
        raise InvalidInputError(
            f"the probability of row {invalid[0]} is {p[invalid[0]]}: expected a number in [0, 1]"
        )
    if bins < 1:
        raise InvalidParameterError(f"bins must be at least 1, got {bins}")
    w = as_weights(sample_weight, len(p))
    if w is None:
        w = np.ones(len(p))
    edges = np.linspace(0, 1, bins + 1)
    if equal_counts:
        edges[1:-1] = np.quantile(p, edges[1:-1], weights=w, method="inverted_cdf")
    bin_of = np.searchsorted(edges[1:-1], p)  # an edge belongs to the bin below it
    totals = np.bincount(bin_of, w, bins).astype(np.float64)
    kept = totals > 0
    weights = totals[kept]
    observed = np.bincount(bin_of, w * event, bins)[kept] / weights
    # Kish's effective number of rows, (Σ w)² / Σ w²
    effective = weights**2 / np.bincount(bin_of, w**2, bins)[kept]
    low, high = wilson(observed, effective)
    return Reliability(
        low_edges=edges[:-1][kept],
        high_edges=edges[1:][kept],
        stated=np.bincount(bin_of, w * p, bins)[kept] / weights,
        observed=observed,
        low=low,
        high=high,
        counts=np.bincount(bin_of, w > 0, bins)[kept].astype(np.intp),
        weights=weights,
    )
