"""The figures of a report, each with its caption and the same in words."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from suffice.curves import separation
from suffice.errors import SufficeError
from suffice.reporting.blocks import Block, Figure, Text
from suffice.reporting.svg import drawn
from suffice.text.lists import listed
from suffice.text.numbers import percent

if TYPE_CHECKING:
    from collections.abc import Callable

    from suffice.moments import Moments
    from suffice.reporting.judging import Judgement
    from suffice.reporting.rows import Rows

FEWEST_DISTINCT = 3  # values of a feature that can be drawn as a density


@dataclass(frozen=True, eq=False)
class Drawings:
    """What figures are drawn from."""

    rows: Rows  # a sample, if there are many
    sums: Moments
    judgement: Judgement

    @property
    def model(self) -> Any:
        """The Gaussian classifier that is drawn, or whatever was chosen."""
        return self.judgement.explained or self.judgement.estimator

    @property
    def telling(self) -> tuple[str, ...]:
        """Features by how well they separate the classes, best first."""
        order = np.argsort(-separation(self.sums), kind="stable")
        many = [len(np.unique(self.rows.x[:, j])) >= FEWEST_DISTINCT for j in order]
        return tuple(self.rows.names[j] for j, enough in zip(order, many, strict=True) if enough)

    def glance(self) -> tuple[Block, ...]:
        """Return figures of the data itself."""
        if self.rows.n_features < 2 or len(self.telling) < 2:
            return ()
        from suffice.plots import pairs

        shown = self.telling[:4]
        return self._figure(
            "pairs",
            lambda: pairs(self.rows.frame, self.rows.labels, features=self._placed(shown)),
            f"Rows over each pair of {self._those(shown)}, with ellipses of each class.",
            f"Scatter plots of {listed(shown)}; each class in its own colour and marker, with "
            "ellipses, and histograms on the diagonal.",
            wide=True,
        )

    def models(self) -> tuple[Block, ...]:
        """Return a figure of all members."""
        from suffice.plots.results import comparison

        return self._figure(
            "members",
            lambda: comparison(self.judgement.comparison),
            "Held-out error and log-loss of every classifier; in colour those that cannot be "
            "told apart from the best.",
            "Dots with intervals: the error of each classifier, and beside it its log-loss.",
            wide=True,
        )

    def chosen(self) -> tuple[Block, ...]:
        """Return figures of the model: regions and densities."""
        return (*self._regions(), *self._densities())

    def errors(self) -> tuple[Block, ...]:
        """Return figures of held-out posteriors."""
        known = self.judgement.predictions
        if known is None:
            return ()
        from suffice.plots import cost_against_threshold, error_against_threshold, reliability, roc

        error = percent(known.error)
        return (
            *self._figure(
                "reliability",
                lambda: reliability(known),
                "Calibration of held-out posteriors: how often what was stated came true.",
                "Observed frequency against stated probability, with 95 % intervals; on the "
                "diagonal posteriors are what they say.",
            ),
            *self._figure(
                "roc",
                lambda: roc(known),
                "Rows of a class found against others taken for it, at every threshold.",
                "ROC curves of held-out posteriors with the area under each.",
            ),
            *self._figure(
                "threshold",
                lambda: error_against_threshold(known),
                "Error of the rows that are decided, if a decision needs at least this posterior.",
                f"Held-out error by the posterior required, from {error} when all rows are "
                "decided; above it the share of rows left undecided.",
            ),
            *self._figure(
                "cost",
                lambda: cost_against_threshold(known),
                "Mean cost of a row by the posterior from which a class is called, every error "
                "costing 1.",
                "Cost curves by threshold: false alarms fall and misses rise as it grows.",
            ),
        )

    def trust(self) -> tuple[Block, ...]:
        """Return figures of real rows against those the model expects."""
        if self.judgement.explained is None:
            return ()
        from suffice.plots import mahalanobis_qq, real_against_synthetic

        rows, shown = self.rows, self.telling[:3]
        synthetic: tuple[Block, ...] = ()
        if len(shown) > 1:
            synthetic = self._figure(
                "synthetic",
                lambda: real_against_synthetic(
                    self.model, rows.frame, rows.labels, features=self._placed(shown)
                ),
                "Real rows under the diagonal, rows drawn from the model over it, for "
                f"{self._those(shown)}.",
                "Scatter plots of real and of synthetic rows; where the model is right the two "
                "halves are mirror images.",
                wide=True,
            )
        return (
            *synthetic,
            *self._figure(
                "distances",
                lambda: mahalanobis_qq(self.model, rows.frame, rows.labels),
                "Distances of rows from the mean of their class, against those of a Gaussian.",
                "Quantiles of squared distances by class; on the diagonal a class is Gaussian, a "
                "curve that bends up has heavier tails.",
                wide=True,
            ),
        )

    def _regions(self) -> tuple[Block, ...]:
        from suffice.plots import decision_regions

        rows = self.rows
        plane = (
            "the only feature"
            if rows.n_features == 1
            else f"{rows.names[0]} and {rows.names[1]}"
            if rows.n_features == 2
            else "discriminant space, in which the classes are furthest apart"
        )
        return self._figure(
            "regions",
            lambda: decision_regions(self.model, rows.frame, rows.labels, resolution=220),
            f"Which class is named where, over {plane}; rows with an ink edge are named wrongly.",
            f"Decision regions of {listed(rows.class_names)} over {plane}, with boundaries, rows "
            "and class ellipses.",
            wide=True,
        )

    def _densities(self) -> tuple[Block, ...]:
        if self.judgement.explained is None:
            return ()
        from suffice.plots import class_densities

        rows, shown = self.rows, self.telling[:2]
        found: list[Block] = []
        for at, name in enumerate(shown):
            j = rows.names.index(name)
            found += self._figure(
                f"density{at + 1}",
                partial(class_densities, self.model, rows.frame, rows.labels, feature=j),
                f"Density of each class over {name}, times its prior, and the rows behind.",
                f"Density curves of {listed(rows.class_names)} over {name} with histograms.",
                wide=len(shown) == 1,
            )
        return tuple(found)

    def _placed(self, names: tuple[str, ...]) -> tuple[int, ...]:
        return tuple(sorted(self.rows.names.index(name) for name in names))

    def _those(self, names: tuple[str, ...]) -> str:
        few = len(names) < self.rows.n_features
        return (
            f"the {len(names)} features that separate the classes most" if few else "all features"
        )

    def _figure(
        self, key: str, draw: Callable[[], Any], caption: str, alt: str, *, wide: bool = False
    ) -> tuple[Block, ...]:
        try:
            return (Figure(key, caption, alt, drawn(draw, key), wide),)
        except (SufficeError, np.linalg.LinAlgError) as error:
            return (Text(f"A figure is missing ({caption}): {error}", "note"),)
