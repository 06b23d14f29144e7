"""Test of whether the posteriors of the most probable class are calibrated.

The calibration error is Σ_b (w_b / w) |observed_b − stated_b| over bins b of the largest posterior,
where w_b is the weight of the rows in bin b. ``reliability`` in ``curves/reliability.py`` computes
the bins. The p-value compares the calibration error with those of simulated calibrated models.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from suffice.core.decision.error_intervals import LEVEL
from suffice.core.decision.predictions import Predictions
from suffice.core.text.lists import counted
from suffice.core.text.numbers import loss, p_statement, percent
from suffice.core.text.tables import Row
from suffice.errors import InvalidInputError, InvalidParameterError
from suffice.evaluate.curves.reliability import BINS, Reliability, reliability
from suffice.evaluate.diagnostics.diagnostic import Diagnostic, simulated_p_values
from suffice.typing import Codes, Floats, Labels, LabelsLike, WeightsLike

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Calibration(Diagnostic):
    """The test of calibration, as ``calibration`` describes it."""

    classes: Labels  # (K,)
    bins: Reliability  # bins of the largest posterior, each with the share of correct predictions
    # mean calibration error of simulated calibrated models with the same bins
    expected_error: float
    # P(calibration error at least this large | calibrated); NaN for a single row or class
    p_value: float
    n_rows: int
    deviation: float  # standard deviation of ``excess`` under calibration

    @property
    def calibration_error(self) -> float:
        """Expected calibration error, Σ_b (w_b / w) |observed − stated|."""
        return self.bins.calibration_error

    @property
    def excess(self) -> float:
        """Mean predicted minus mean observed probability, which is positive if overconfident."""
        gaps = self.bins.stated - self.bins.observed
        return float(np.average(gaps, weights=self.bins.weights))

    def rows(self) -> list[Row]:
        """Return a mapping with the calibration error, its expected value, and the test."""
        row = {
            "calibration_error": self.calibration_error,
            "expected_calibration_error": self.expected_error,
            "p_value": self.p_value,
            "stated_minus_observed": self.excess,
        }
        return [row]

    def plot(self, ax: "Axes | None" = None) -> "Axes":
        """Draw on ``ax``, or on new axes, and return the axes."""
        from suffice.present.plots.results import calibration_figure

        return calibration_figure(self, ax)

    def __repr__(self) -> str:
        if np.isnan(self.p_value):
            return (
                f"Not enough rows to test (calibration error {loss(self.calibration_error)})"
            )
        return (
            f"{self._verdict()} (the calibration error is {loss(self.calibration_error)}; that of "
            f"a calibrated model would be about {loss(self.expected_error)}; "
            f"{p_statement(self.p_value)})"
        )

    @property
    def caveats(self) -> tuple[str, ...]:
        """A sentence on the posteriors if the test rejects calibration; else empty."""
        if not self.p_value <= LEVEL:
            return ()
        return (f"{self._verdict()}.",)

    @property
    def figures(self) -> dict[str, float]:
        """The numbers in the caveat: predicted and observed shares of all rows, or of two bins."""
        stated = float(np.average(self.bins.stated, weights=self.bins.weights))
        if abs(self.excess) >= 2 * self.deviation:
            return {"stated": stated, "observed": stated - self.excess}
        bins = self.bins
        gaps = bins.weights * (bins.stated - bins.observed)
        figures: dict[str, float] = {}
        for name, b in (("high", int(gaps.argmax())), ("low", int(gaps.argmin()))):
            figures[f"{name}_stated"] = float(bins.stated[b])
            figures[f"{name}_observed"] = float(bins.observed[b])
            figures[f"{name}_n_rows"] = int(bins.counts[b])
        return figures

    def _verdict(self) -> str:
        if self.p_value > LEVEL:
            return "No evidence of miscalibration"
        if abs(self.excess) < 2 * self.deviation:
            return self._both_ways()
        stated = float(np.average(self.bins.stated, weights=self.bins.weights))
        observed = stated - self.excess
        how = "too large" if self.excess > 0 else "too small"
        return (
            f"The model's probabilities are {how}: on average, the predicted class has a "
            f"probability of {percent(stated)}, but is right in {percent(observed)} of rows"
        )

    def _both_ways(self) -> str:
        """Return a sentence on the bins with the largest excess and the largest deficit."""
        bins = self.bins
        gaps = bins.weights * (bins.stated - bins.observed)
        high = int(gaps.argmax())
        low = int(gaps.argmin())
        too_large = (
            f"where the predicted class has a probability of about {percent(bins.stated[high])}, "
            f"it is right in {percent(bins.observed[high])} of "
            f"{counted(int(bins.counts[high]), 'row')}"
        )
        if gaps[low] >= 0:
            return f"The model's probabilities are too large for some rows: {too_large}"
        too_small = (
            f"where it has about {percent(bins.stated[low])}, it is right in "
            f"{percent(bins.observed[low])} of {counted(int(bins.counts[low]), 'row')}"
        )
        if gaps[high] <= 0:
            too_small = too_small.replace(
                "it has", "the predicted class has a probability of", 1
            )
            return f"The model's probabilities are too small for some rows: {too_small}"
        return (
            "The model's probabilities are too large for some rows and too small for others: "
            f"{too_large}; {too_small}"
        )


def calibration(
    y: LabelsLike,
    posteriors: npt.ArrayLike,
    classes: LabelsLike | None = None,
    *,
    sample_weight: WeightsLike = None,
    bins: int = BINS,
    simulations: int = 999,
    random_state: int | np.random.Generator = 0,
) -> Calibration:
    """Return the calibration error of posteriors, and a test of calibration.

    Even a calibrated model has a calibration error above zero. The test therefore compares the
    error with those of calibrated models, simulated with the same bins (Bröcker & Smith 2007,
    *Weather and Forecasting* 22, 651–661).

    Parameters
    ----------
    y : labels (n,)
        True classes.
    posteriors : array (n, K)
        Posteriors of held-out rows. On training rows, a model looks better calibrated than it is.
    classes : labels (K,), optional
        Order of the columns; by default the sorted labels of ``y``.
    sample_weight : array (n,), optional
        Weights of the rows in the predicted and observed shares; by default every row counts once.
    bins : int, default=15
        Number of bins of equal width.
    simulations : int, default=999
        Number of simulated calibrated models.
    random_state : int or Generator, default=0
        Seed of the draws.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> p = rng.uniform(0.5, 1.0, 2000)
    >>> y = np.where(rng.uniform(size=2000) < p, "yes", "no")
    >>> calibration(y, np.stack([1 - p, p], axis=1)).p_value > 0.05
    True
    """
    rows = Predictions.of(y, posteriors, classes, sample_weight)
    if rows.weight is not None:
        rows = rows.take(rows.weight > 0)
    p = rows.posteriors
    bad = np.flatnonzero(~(np.abs(p.sum(1) - 1) < 1e-6))
    if len(bad):
        raise InvalidInputError(
            f"posteriors of row {bad[0]} sum to {p[bad[0]].sum():g}, but the probabilities of all "
            "classes must sum to 1"
        )
    if simulations < 19:
        raise InvalidParameterError(
            f"simulations must be at least 19 for a test at the 5 % level, got {simulations}"
        )
    probability = p.max(1).clip(max=1)
    bins_of_rows = reliability(rows.right, probability, rows.weight, bins=bins)
    stated = bins_of_rows.stated
    # each row lies in the first bin whose upper edge is at least its probability
    bin_of = np.searchsorted(bins_of_rows.high_edges, probability)
    simulated_gaps = _simulated_gaps(
        bins_of_rows, bin_of, rows.weight, simulations, random_state
    )
    # Σ_b (w_b / w) |observed − predicted|
    shares = bins_of_rows.weights / bins_of_rows.weights.sum()
    simulated_errors = np.abs(simulated_gaps) @ shares
    # Var(Σ w_i (p_i − right_i) / Σ w) = Σ w_i² p_i (1 − p_i) / (Σ w)²
    w = rows.weights
    variances = stated[bin_of] * (1 - stated[bin_of])
    deviation = np.sqrt(np.square(w) @ variances) / w.sum()
    observed_error = np.asarray(bins_of_rows.calibration_error)
    p_value = float(simulated_p_values(observed_error, simulated_errors))
    if len(p) < 2 or len(rows.classes) < 2:
        p_value = np.nan
    return Calibration(
        classes=rows.classes,
        bins=bins_of_rows,
        expected_error=float(simulated_errors.mean()),
        p_value=p_value,
        n_rows=len(p),
        deviation=float(deviation),
    )


def _simulated_gaps(
    bins: Reliability,
    bin_of: Codes,
    weight: Floats | None,
    simulations: int,
    random_state: int | np.random.Generator,
) -> Floats:
    """Return observed minus predicted shares of simulated calibrated models, (S, B).

    Each row of a bin is right with the bin's mean predicted probability. In wide bins, the variance
    is then slightly larger than with the probabilities of the rows.
    """
    rng = np.random.default_rng(random_state)
    stated = np.clip(bins.stated, 0, 1)
    if weight is None:
        events = rng.binomial(bins.counts, stated, (simulations, len(stated)))
        return np.asarray(events / bins.counts - bins.stated)
    gaps = np.empty((simulations, len(stated)))
    for i in range(simulations):
        is_right = rng.random(len(weight)) < stated[bin_of]
        gaps[i] = (
            np.bincount(bin_of, weight * is_right, len(stated)) / bins.weights - bins.stated
        )
    return gaps
