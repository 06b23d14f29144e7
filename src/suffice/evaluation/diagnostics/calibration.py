"""Can the posteriors be taken at their word? Calibration of every class and of the choice."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from suffice.errors import InvalidInputError, InvalidParameterError
from suffice.evaluation.curves.predictions import Predictions
from suffice.evaluation.diagnostics.events import event_calibration
from suffice.evaluation.diagnostics.spiegelhalter import SpiegelhalterTest
from suffice.evaluation.diagnostics.words import LEVEL, Row, as_frame, axes, holm, p_text, plain
from suffice.notebook import Tabled

if TYPE_CHECKING:
    from suffice.evaluation.diagnostics.events import EventCalibration
    from suffice.typing import Floats, Labels


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Calibration(Tabled):
    """Whether stated probabilities are observed frequencies; see ``calibration``."""

    classes: Labels  # (K,)
    spiegelhalter: SpiegelhalterTest  # all classes at once
    top: EventCalibration  # is the most probable class the true one?
    by_class: tuple[EventCalibration, ...]  # one for each class, of two only the second
    n_rows: int

    @property
    def p_value(self) -> float:
        """Return the smaller of two, adjusted: all-class Spiegelhalter and top-label error."""
        both = np.array([self.spiegelhalter.p_value, self.top.error_p_value])
        return float(np.nanmin(holm(both)))

    def rows(self) -> list[Row]:
        """Return a row for the top label, then one for each class."""
        return [event.row() for event in (self.top, *self.by_class)]

    def to_frame(self) -> Any:
        """Return ``rows()`` as a pandas frame."""
        return as_frame(self.rows())

    def plot(self, ax: Any = None) -> Any:
        """Draw observed against stated probability of the most probable class."""
        ax = axes(ax)
        bins = self.top.bins
        error = np.stack([bins.observed - bins.low, bins.high - bins.observed])
        ax.plot([0, 1], [0, 1], color="0.6", lw=1)
        ax.errorbar(bins.stated, bins.observed, yerr=error, fmt="o", capsize=3)
        ax.set_xlabel("stated probability of the most probable class")
        ax.set_ylabel("share of rows where it is right")
        ax.set_title(f"calibration error {self.top.calibration_error:.3f}")
        return ax

    def __repr__(self) -> str:
        account = (
            f"calibration error {self.top.calibration_error:.3g}, a calibrated model would "
            f"show {self.top.expected_error:.3g}; "
            f"Spiegelhalter z = {self.spiegelhalter.z:.2f}; {p_text(self.p_value)}"
        )
        return f"{self._verdict()} ({account})"

    def _verdict(self) -> str:
        if self.p_value > LEVEL:
            return "Calibrated: no evidence against it"
        stated = float(self.top.bins.counts @ self.top.bins.stated) / self.n_rows
        how = "Overconfident" if self.top.excess > 0 else "Underconfident"
        return f"{how}: states {stated:.1%} on average, is right {stated - self.top.excess:.1%}"


def calibration(
    y: Any,
    posteriors: Any,
    classes: Any = None,
    *,
    bins: int = 15,
    fitted: bool = False,
    simulations: int = 999,
    random_state: Any = 0,
) -> Calibration:
    """Return calibration errors and tests of posteriors, by top label and by class.

    The expected calibration error is never zero, even of a calibrated model; it is set beside
    what a calibrated model with the same bins would show, by simulation. Spiegelhalter's z
    tests the Brier score, here for any number of classes; Hosmer and Lemeshow's χ² each event.

    Parameters
    ----------
    y : labels (n,)
        True classes. Weights are not supported: the tests are those of independent rows that
        count once each.
    posteriors : array (n, K)
        Of held-out rows (test, cross-validated or leave-one-out): those of the rows a model was
        fitted to look better calibrated than they are.
    classes : labels (K,), optional
        Order of the columns; by default the sorted labels of ``y``.
    bins : int, default=15
        Bins of equal width of the calibration error.
    fitted : bool, default=False
        Whether the rows are those of the fit, which costs Hosmer and Lemeshow's χ² two degrees
        of freedom.
    simulations : int, default=999
        Draws of the calibration error of a calibrated model.
    random_state : int or Generator, default=0
        Seed of the draws.

    References
    ----------
    Guo, Pleiss, Sun & Weinberger (2017), *ICML*; Bröcker & Smith (2007), *Weather and
    Forecasting* 22, 651–661; Spiegelhalter (1986), *Statistics in Medicine* 5, 421–433.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> p = rng.uniform(0.5, 1.0, 2000)
    >>> y = np.where(rng.uniform(size=2000) < p, "yes", "no")
    >>> calibration(y, np.stack([1 - p, p], axis=1)).p_value > 0.05
    True
    """
    known = Predictions.of(y, posteriors, classes)
    p = _probabilities(known.posteriors)
    if simulations < 39:
        msg = f"simulations must be at least 39 for two tests at the 5 % level, got {simulations}"
        raise InvalidParameterError(msg)
    rng = np.random.default_rng(random_state)
    options: dict[str, Any] = {
        "bins": bins,
        "fitted": fitted,
        "simulations": simulations,
        "rng": rng,
    }
    k_classes = len(known.classes)
    told = range(k_classes) if k_classes > 2 else range(1, k_classes)
    return Calibration(
        known.classes,
        SpiegelhalterTest.of(p, known.codes),
        event_calibration("top label", known.right, p.max(1), **options),
        tuple(
            event_calibration(plain(known.classes[k]), known.codes == k, p[:, k], **options)
            for k in told
        ),
        len(p),
    )


def _probabilities(posteriors: Floats) -> Floats:
    """Return posteriors whose rows sum to one, up to rounding."""
    total = posteriors.sum(1)
    bad = np.flatnonzero(~(np.abs(total - 1) < 1e-6))
    if len(bad):
        msg = f"the posteriors of row {bad[0]} sum to {total[bad[0]]:g}: expected 1"
        raise InvalidInputError(msg)
    return np.minimum(posteriors, 1.0)
