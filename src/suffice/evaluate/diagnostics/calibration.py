"""Can the posteriors be taken at their word? The calibration of the most probable class."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from suffice.core.decision.predictions import LEVEL, Predictions
from suffice.core.text.numbers import loss, p_statement, percent
from suffice.core.text.tables import Row
from suffice.errors import InvalidInputError, InvalidParameterError
from suffice.evaluate.curves.reliability import BINS, Reliability, reliability
from suffice.evaluate.diagnostics.diagnostic import Diagnostic, simulated_p
from suffice.typing import Labels

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Calibration(Diagnostic):
    """Whether stated probabilities are observed frequencies; see ``calibration``."""

    classes: Labels  # (K,)
    bins: Reliability  # of the most probable class: is it the true one?
    expected_error: float  # mean calibration error of a calibrated model, these bins and rows
    p_value: float  # P(calibration error this large), were the model calibrated
    n_rows: int

    @property
    def calibration_error(self) -> float:
        """Return the expected calibration error, Σ_b (n_b / n) |observed − stated|."""
        return self.bins.calibration_error

    @property
    def excess(self) -> float:
        """Return mean stated less mean observed probability: positive is overconfident."""
        return float(self.bins.counts @ (self.bins.stated - self.bins.observed)) / self.n_rows

    def rows(self) -> list[Row]:
        """Return one row: the calibration error, and what a calibrated model would show."""
        errors = {"calibration_error": self.calibration_error}
        errors |= {"expected_calibration_error": self.expected_error, "p_value": self.p_value}
        return [errors | {"stated_minus_observed": self.excess}]

    def plot(self, ax: "Axes | None" = None) -> "Axes":
        """Draw into ``ax``, or new axes, and return them."""
        from suffice.present.plots.results import calibration_figure

        return calibration_figure(self, ax)

    def __repr__(self) -> str:
        found = f"calibration error {loss(self.calibration_error)}"
        usual = f"where a calibrated model would show {loss(self.expected_error)}"
        return f"{self._verdict()} ({found}, {usual}; {p_statement(self.p_value)})"

    @property
    def caveats(self) -> tuple[str, ...]:
        """What a user of the posteriors should know: one sentence, or none."""
        return () if self.p_value > LEVEL else (f"{self._verdict()}.",)

    def _verdict(self) -> str:
        if self.p_value > LEVEL:
            return "Calibrated: no evidence against it"
        stated = float(self.bins.counts @ self.bins.stated) / self.n_rows
        right = f"and is right in {percent(stated - self.excess)}"
        said = f"it states {percent(stated)} on average for the predicted class {right}"
        # of a calibrated model, Var of what is right = Σ_b n_b p_b (1 − p_b)
        chance = np.sqrt(self.bins.counts @ (self.bins.stated * (1 - self.bins.stated)))
        how = "too large" if self.excess > 0 else "too small"
        if abs(self.excess) * self.n_rows < 2 * chance:
            how = "too large for some rows and too small for others"
        return f"Its probabilities are {how}: {said}"


def calibration(
    y: Any,
    posteriors: Any,
    classes: Any = None,
    *,
    bins: int = BINS,
    simulations: int = 999,
    random_state: Any = 0,
) -> Calibration:
    """Return the calibration error of posteriors, and its test.

    The expected calibration error is never zero, even of a calibrated model; it is set beside
    what a calibrated model with the same bins would show, by simulation (Bröcker & Smith 2007,
    *Weather and Forecasting* 22, 651–661).

    Parameters
    ----------
    y : labels (n,)
        True classes, of rows that count once each.
    posteriors : array (n, K)
        Of held-out rows: those a model was fitted to look better calibrated than they are.
    classes : labels (K,), optional
        Order of the columns; by default the sorted labels of ``y``.
    bins : int, default=15
        Bins of equal width of the calibration error.
    simulations : int, default=999
        Draws of the calibration error of a calibrated model.
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
    known = Predictions.of(y, posteriors, classes)
    p = known.posteriors
    bad = np.flatnonzero(~(np.abs(p.sum(1) - 1) < 1e-6))
    if len(bad):
        msg = f"posteriors of row {bad[0]} sum to {p[bad[0]].sum():g}: expected 1"
        raise InvalidInputError(msg)
    if simulations < 19:
        msg = f"simulations must be at least 19 for a test at the 5 % level, got {simulations}"
        raise InvalidParameterError(msg)
    curve = reliability(known.right, p.max(1).clip(max=1), bins=bins)
    rng, n, stated = np.random.default_rng(random_state), curve.counts, curve.stated
    # events of a bin ~ Binomial(n_b, stated_b), a little wider than the truth within wide bins
    events = rng.binomial(n, np.clip(stated, 0, 1), (simulations, len(n)))
    null = np.abs(events / n - stated) @ (n / n.sum())  # errors of a calibrated model
    found = float(simulated_p(curve.calibration_error, null))
    return Calibration(known.classes, curve, float(null.mean()), found, len(p))
