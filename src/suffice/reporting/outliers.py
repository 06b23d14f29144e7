"""Rows that the model finds unlikely, by log density."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from suffice.reporting.blocks import Table
from suffice.sources.predict import OUTLIER_RATE, outlier_threshold
from suffice.text.lists import plural
from suffice.text.numbers import number, percent

if TYPE_CHECKING:
    from suffice.reporting.rows import Rows
    from suffice.typing import Codes, Floats

MOST = 10  # rows shown
_BLOCK = 65_536


@dataclass(frozen=True, slots=True, eq=False)
class Outliers:
    """Log density of every row, and the value under which a row is an outlier."""

    log_densities: Floats  # (n,)
    threshold: float
    rate: float  # share of the model's own draws under the threshold

    @classmethod
    def of(cls, explained: Any, rows: Rows) -> Outliers:
        """Return the rows as a fitted Gaussian classifier sees them."""
        blocks = (rows.x[lo : lo + _BLOCK] for lo in range(0, rows.n_rows, _BLOCK))
        found = np.concatenate([explained.model_.log_density(block) for block in blocks])
        return cls(found, outlier_threshold(explained.classifier_, OUTLIER_RATE), OUTLIER_RATE)

    @property
    def n_flagged(self) -> int:
        """Number of rows under the threshold."""
        return int((self.log_densities < self.threshold).sum())

    @property
    def sentence(self) -> str:
        """How many outliers there are against how many one expects."""
        n, found = len(self.log_densities), self.n_flagged
        who = f"{plural(found, 'row')} ({percent(found / n)})" if found else "No row"
        return (
            f"Outliers: {who} {'are' if found > 1 else 'is'} less likely under the chosen model "
            f"than {percent(1 - self.rate)} of rows drawn from it; were it true, one would expect "
            f"{number(self.rate * n, 2)}."
        )

    def least_likely(self, most: int = MOST) -> Codes:
        """Return the rows of least log density, least first."""
        n = min(most, len(self.log_densities))
        at = np.argpartition(self.log_densities, n - 1)[:n]
        found: Codes = at[np.argsort(self.log_densities[at], kind="stable")]
        return found


def least_likely_rows(outliers: Outliers, explained: Any, rows: Rows) -> Table:
    """Return the least likely rows, each with the feature that is strangest in its class."""
    at = outliers.least_likely()
    z = standardised(explained, rows, at)
    strangest = np.abs(z).argmax(1)
    body = [
        (
            str(rows.ids[i]),
            rows.class_names[rows.codes[i]],
            float(outliers.log_densities[i]),
            "yes" if outliers.log_densities[i] < outliers.threshold else "no",
            rows.names[j],
            float(rows.x[i, j]),
            f"{z[r, j]:+.1f}".replace("-", "−"),
        )
        for r, (i, j) in enumerate(zip(at, strangest, strict=True))
    ]
    return Table(
        "Least likely rows",
        (
            rows.id_name,
            "class",
            "log density",
            "outlier",
            "strangest feature",
            "value",
            "deviations",
        ),
        ("text", "text", "number", "text", "text", "number", "text"),
        tuple(body),
        note=(
            f"An outlier has a log density under {number(outliers.threshold)}. Deviations: how far "
            "from the mean of the row's class, in standard deviations of that class."
        ),
    )


def standardised(explained: Any, rows: Rows, at: Codes) -> Floats:
    """Return how far rows lie from the mean of their class, feature by feature, (m, d)."""
    sums, x, codes = explained.moments_, rows.x[at], rows.codes[at]
    if sums.power is not None:
        x = sums.power.apply(x)
    variances = sums.diagonals / np.maximum(sums.weights, 1e-300)[:, None]
    pooled = sums.diagonals.sum(0) / sums.total_weight
    scale = np.sqrt(np.where(variances[codes] > 0, variances[codes], pooled))
    difference = x - sums.means[codes]
    z: Floats = np.divide(difference, scale, out=np.zeros_like(difference), where=scale > 0)
    return z
