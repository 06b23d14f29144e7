"""Stated probabilities of one event against how often it happened."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from suffice.evaluation.curves.reliability import Reliability, reliability
from suffice.evaluation.diagnostics.nulls import ChiSquareTest, simulated_p
from suffice.evaluation.diagnostics.spiegelhalter import SpiegelhalterTest

if TYPE_CHECKING:
    from suffice.evaluation.diagnostics.words import Row
    from suffice.typing import Floats

_FEWEST = 5.0  # expected events, and non-events, in a group of Hosmer and Lemeshow


@dataclass(frozen=True, slots=True, eq=False)
class EventCalibration:
    """How well the probability of one event was stated."""

    event: Any  # "top label", or the label of a class
    bins: Reliability
    expected_error: float  # mean calibration error of a calibrated model, these bins and rows
    error_p_value: float  # P(calibration error this large), were the model calibrated
    spiegelhalter: SpiegelhalterTest
    hosmer_lemeshow: ChiSquareTest

    @property
    def calibration_error(self) -> float:
        """Return the expected calibration error, Σ_b (n_b / n) |observed − stated|."""
        return self.bins.calibration_error

    @property
    def largest_gap(self) -> float:
        """Return max_b |observed − stated|."""
        return float(np.abs(self.bins.observed - self.bins.stated).max())

    @property
    def excess(self) -> float:
        """Return mean stated less mean observed probability: positive is overconfident."""
        n = self.bins.counts
        return float(n @ (self.bins.stated - self.bins.observed) / n.sum())

    def row(self) -> Row:
        """Return everything as one row."""
        return {
            "event": self.event,
            "calibration_error": self.calibration_error,
            "expected_calibration_error": self.expected_error,
            "calibration_error_p_value": self.error_p_value,
            "largest_gap": self.largest_gap,
            "stated_minus_observed": self.excess,
            "spiegelhalter_z": self.spiegelhalter.z,
            "spiegelhalter_p_value": self.spiegelhalter.p_value,
            "hosmer_lemeshow": self.hosmer_lemeshow.statistic,
            "hosmer_lemeshow_df": self.hosmer_lemeshow.df,
            "hosmer_lemeshow_p_value": self.hosmer_lemeshow.p_value,
        }


def event_calibration(
    event: Any,
    happened: Any,
    probability: Floats,
    *,
    bins: int,
    fitted: bool,
    simulations: int,
    rng: np.random.Generator,
) -> EventCalibration:
    """Return the calibration of one event: whether it happened (n,), what was stated (n,)."""
    curve = reliability(happened, probability, bins=bins)
    null = _null_errors(curve, simulations, rng)
    two = np.stack([1 - probability, probability], axis=1)
    return EventCalibration(
        event,
        curve,
        float(null.mean()),
        simulated_p(curve.calibration_error, null),
        SpiegelhalterTest.of(two, happened.astype(np.intp)),
        hosmer_lemeshow(happened, probability, fitted=fitted),
    )


def hosmer_lemeshow(
    happened: Any, probability: Floats, *, groups: int = 10, fitted: bool = False
) -> ChiSquareTest:
    r"""Return Hosmer and Lemeshow's χ² over groups of equal size by stated probability.

    .. math::  \sum_g \frac{(O_g - E_g)^2}{E_g (1 - E_g / n_g)}

    Neighbouring groups are merged until each expects 5 events and 5 non-events. The degrees of
    freedom are the groups, or two fewer for ``fitted`` rows, those the model was fitted to. NaN
    where fewer groups than that remain.

    References
    ----------
    Hosmer & Lemeshow (1980), *Communications in Statistics: Theory and Methods* 9, 1043–1069.

    Examples
    --------
    >>> import numpy as np
    >>> p = np.repeat([0.25, 0.75], 40)
    >>> round(hosmer_lemeshow(np.arange(80) % 2 == 0, p, groups=2).statistic, 4)
    26.6667
    """
    curve = reliability(happened, probability, bins=groups, equal_counts=True)
    n = curve.counts.astype(float)
    sums = _merged(np.stack([n, n * curve.stated, n * curve.observed]))
    n, expected, observed = sums
    df = len(n) - (2 if fitted else 0)
    enough = min(expected.min(), (n - expected).min()) >= _FEWEST
    if df < 1 or not enough:
        return ChiSquareTest(float("nan"), max(df, 0))
    terms = np.square(observed - expected) / (expected * (1 - expected / n))
    return ChiSquareTest(float(terms.sum()), df)


def _merged(sums: Floats) -> Floats:
    """Return rows, expected and observed events (3, G) of groups that each expect enough."""
    groups: list[Floats] = []
    pending = np.zeros(3)
    for column in sums.T:
        pending = pending + column
        if min(pending[1], pending[0] - pending[1]) >= _FEWEST:
            groups.append(pending)
            pending = np.zeros(3)
    if pending.any() and groups:
        groups[-1] = groups[-1] + pending
    return np.array(groups or [pending]).T


def _null_errors(curve: Reliability, simulations: int, rng: np.random.Generator) -> Floats:
    """Return calibration errors of a calibrated model with these bins, (simulations,)."""
    # events of a bin ~ Binomial(n_b, stated_b), a little wider than the truth within wide bins
    events = rng.binomial(
        curve.counts, np.clip(curve.stated, 0, 1), (simulations, len(curve.counts))
    )
    gaps = np.abs(events / curve.counts - curve.stated)
    errors: Floats = gaps @ (curve.counts / curve.counts.sum())
    return errors
