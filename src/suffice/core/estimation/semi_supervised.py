"""EM that adds unlabelled rows to the classes, each with a weight v.

    E-step: p_nk = p(k | x_n) for each unlabelled row n
    M-step: fit the model to the labelled rows, and to each unlabelled row n in every class k with
    the weight v p_nk

Nigam et al. (2000), Machine Learning 39.
"""

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from suffice.core.estimation.estimate import estimate, in_row_units
from suffice.core.estimation.settings import Settings
from suffice.core.moments import Moments
from suffice.core.power_transform import PowerTransform
from suffice.core.table import Table
from suffice.core.table.sampling import stratified_folds
from suffice.errors import NotConvergedWarning, warn
from suffice.typing import Floats

WEIGHTS = (0.0, 0.02, 0.1, 0.3, 1.0)  # weights of unlabelled rows that "auto" tries
MOST_STEPS = 300
CLOSE = 1e-6  # EM ends when all posteriors change by less than this
_FOLDS = 5


@dataclass(frozen=True, slots=True, eq=False)
class SemiSupervised:
    """Settings for fitting a model to labelled and unlabelled rows."""

    settings: Settings
    storage: Literal["auto", "per-class", "pooled", "diagonal"]
    power: PowerTransform | None
    temperature: float = 1.0

    def moments(self, labelled: Table, unlabelled: Table, weight: float) -> Moments:
        """Return the sums of all rows; an unlabelled row has the weight ``weight`` × posterior."""
        labelled_sums = self._collect(labelled)
        if not weight:
            return labelled_sums
        total = labelled_sums
        before = np.zeros((unlabelled.n_rows, labelled_sums.n_classes))
        for _ in range(MOST_STEPS):
            posterior = self._posterior(total, unlabelled)
            change = float(np.abs(posterior - before).max(initial=0.0))
            if change < CLOSE:
                return total
            # an unlabelled row has the weight ``weight`` · p(k | x) in class k
            total = labelled_sums
            for k, p in enumerate(posterior.T):
                shared = replace(
                    unlabelled,
                    codes=np.full(len(p), k),
                    weight=unlabelled.weights * (weight * p),
                    classes=total.classes,
                )
                total += self._collect(shared)
            total = replace(total, counts=labelled_sums.counts)
            before = posterior
        warn(
            f"EM over rows without a label stopped after {MOST_STEPS} steps, while posteriors "
            f"still changed by {change:.1g}: use a smaller weight for these rows",
            NotConvergedWarning,
        )
        return total

    def choose_weight(self, labelled: Table, unlabelled: Table, seed: int = 0) -> float:
        """Return the weight (perhaps 0) with the lowest log-loss on held-out labelled rows."""
        n_folds = int(np.clip(labelled.n_rows // 2, 2, _FOLDS))
        splits = list(stratified_folds(labelled.codes, n_folds, seed))
        losses = []
        for weight in WEIGHTS:
            loss = 0.0
            for train, test in splits:
                loss += self._loss(
                    labelled.take(train), labelled.take(test), unlabelled, weight
                )
            losses.append(loss)
        return WEIGHTS[int(np.argmin(losses))]

    def _loss(self, train: Table, test: Table, unlabelled: Table, weight: float) -> float:
        posterior = self._posterior(self.moments(train, unlabelled, weight), test)
        hit = posterior[np.arange(test.n_rows), test.codes]
        return float(-(test.weights * np.log(np.maximum(hit, 1e-15))).sum())

    def _collect(self, table: Table) -> Moments:
        return Moments.of_table(
            table,
            storage=self.storage,
            fourth=self.settings.needs_fourth,
            power=self.power,
            holes=not self.settings.needs_fourth,
        )

    def _posterior(self, moments: Moments, rows: Table) -> Floats:
        model = in_row_units(estimate(moments, self.settings, quiet=True), moments)
        model = model.with_temperature(self.temperature).allowing_missing()
        encoded, _ = rows.encoded(moments.encoding)
        return model.posterior(encoded.x)
