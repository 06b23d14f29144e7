"""All members of a line-up as judged, side by side."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from suffice.comparison.outcome import p_against
from suffice.comparison.text import InTerminal, as_html, as_text, verdict_of
from suffice.drawing import draw
from suffice.text.tables import Tabled
from suffice.validation.significance import holm

if TYPE_CHECKING:
    from suffice.comparison.outcome import Failure, Outcome
    from suffice.typing import Floats, Labels


@dataclass(frozen=True, eq=False, repr=False)
class Comparison(Tabled):
    """Error, probabilistic losses, size and speed of every member, on the same folds.

    ``rows()`` and ``to_frame()`` sort members by error. Losses are means over folds, as in
    ``sf.cross_validate``; see ``sf.compare`` for each column.
    """

    outcomes: tuple[Outcome, ...]  # least error first
    failures: tuple[Failure, ...]
    classes: Labels  # (K,)
    n_rows: int
    n_folds: int
    test_ratio: float  # rows judged by for each row learnt from
    protocol: str  # the folds in words

    @property
    def best(self) -> str:
        """Name of the member of least error."""
        return self.outcomes[0].name

    @cached_property
    def p_values(self) -> Floats:
        """Corrected resampled t test of each outcome against the best; NaN for the best."""
        best = self.outcomes[0]
        return np.array([p_against(o, best, self.test_ratio) for o in self.outcomes])

    @property
    def adjusted_p_values(self) -> Floats:
        """The same, adjusted for the number of tests by Holm's rule."""
        return holm(self.p_values)

    @property
    def verdict(self) -> str:
        """The outcome in words, by adjusted p-values at the 5 % level."""
        best, *others = self.outcomes
        p_values = self.adjusted_p_values[1:]
        against = {o.name: float(p) for o, p in zip(others, p_values, strict=True)}
        return verdict_of(best.name, best.error, against, [f.name for f in self.failures])

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader should know of single members: samples, warnings, failures."""
        said = [f"{o.name}: {note}" for o in self.outcomes for note in o.notes]
        return (*said, *(f"{f.name} failed: {f.message}" for f in self.failures))

    def rows(self) -> list[dict[str, Any]]:
        """Return a mapping per member, least error first, failed ones last."""
        tested = zip(self.outcomes, self.p_values, self.adjusted_p_values, strict=True)
        judged = [_row(o, float(p), float(adjusted)) for o, p, adjusted in tested]
        empty = dict.fromkeys(judged[0], np.nan)
        failed = [
            {**empty, "model": f.name, "n_rows": 0, "failure": f.message} for f in self.failures
        ]
        return judged + failed

    def to_frame(self) -> Any:
        """Return ``rows()`` as a pandas frame, indexed by model."""
        return super().to_frame().set_index("model")

    def plot(self, axes: Any = None, *, theme: Any = "light") -> Any:
        """Draw errors with intervals, and log-losses beside them; return the two Axes."""
        return draw("comparison", self, theme=theme, axes=axes)

    def __repr__(self) -> str:
        best = self.outcomes[0]
        return (
            f"Comparison({len(self.outcomes) + len(self.failures)} models × {self.n_folds} "
            f"folds; best: {best.name}: error {best.error:.4f}, log-loss {best.log_loss:.4f})"
        )

    def __str__(self) -> str:
        return as_text(self)

    def __rich__(self) -> Any:
        return InTerminal(self)

    def _repr_html_(self) -> str:
        return as_html(self)


def _row(outcome: Outcome, p_value: float, adjusted: float) -> dict[str, Any]:
    error, log_loss, brier = (float(mean) for mean in outcome.means)
    error_se, log_loss_se, brier_se = (float(se) for se in outcome.standard_errors)
    low, high = outcome.interval
    return {
        "model": outcome.name,
        "error": error,
        "error_se": error_se,
        "error_low": low,
        "error_high": high,
        "log_loss": log_loss,
        "log_loss_se": log_loss_se,
        "brier": brier,
        "brier_se": brier_se,
        "calibration_error": outcome.calibration_error,
        "auc": outcome.auc,
        "n_parameters": outcome.n_parameters,
        "fit_seconds": outcome.fit_seconds,
        "predict_seconds": outcome.predict_seconds,
        "p_value": p_value,
        "p_adjusted": adjusted,
        "n_rows": outcome.n_rows,
        "failure": "",
    }
