"""Rows without a label, shared out by EM among classes: Nigam et al. (2000), Mach. Learning 39."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from suffice.core.estimation.recipe import Recipe
from suffice.core.moments import Moments
from suffice.core.table import Table
from suffice.core.table.sampling import stratified_folds
from suffice.errors import NotConvergedWarning, warn
from suffice.typing import Floats

WEIGHTS = (0.0, 0.02, 0.1, 0.3, 1.0)  # that "auto" tries
MOST_STEPS, CLOSE = 300, 1e-6  # EM steps; change of a posterior at which they end
_FOLDS = 5


@dataclass(frozen=True, slots=True, eq=False)
class SharedOut:
    """A recipe for rows of which some have labels, and how their sums are taken."""

    recipe: Recipe
    collect: Callable[[Table], Moments]
    temperature: float = 1.0

    def moments(self, known: Table, unknown: Table, weight: float) -> Moments:
        """Return the sums of labelled rows and, by weight and posterior, of the others."""
        labelled = total = self.collect(known)
        if not weight:
            return labelled
        before = np.zeros((unknown.n_rows, labelled.n_classes))
        for _ in range(MOST_STEPS):
            posterior = self._posterior(total, unknown)
            change = float(np.abs(posterior - before).max(initial=0.0))
            if change < CLOSE:
                return total
            # each row counts weight · p(k | x) in class k
            total = labelled
            for k, p in enumerate(posterior.T):
                shares: Any = {
                    "weight": unknown.weights * (weight * p),
                    "classes": total.classes,
                }
                total += self.collect(replace(unknown, codes=np.full(len(p), k), **shares))
            total = replace(total, counts=labelled.counts)
            before = posterior
        warn(
            f"EM over rows without a label stopped after {MOST_STEPS} steps, posteriors still "
            f"changing by {change:.1g}: use a smaller unlabelled weight",
            NotConvergedWarning,
        )
        return total

    def chosen_weight(self, known: Table, unknown: Table, seed: int = 0) -> float:
        """Return the weight of least log-loss on labelled rows held out, zero among them."""
        n_folds = int(np.clip(known.n_rows // 2, 2, _FOLDS))
        pairs = stratified_folds(known.codes, n_folds, seed)
        folds = [(known.take(a), known.take(b)) for a, b in pairs]
        losses = [
            sum(self._loss(*fold, unknown, weight) for fold in folds) for weight in WEIGHTS
        ]
        return WEIGHTS[int(np.argmin(losses))]

    def _loss(self, train: Table, test: Table, unknown: Table, weight: float) -> float:
        posterior = self._posterior(self.moments(train, unknown, weight), test)
        hit = posterior[np.arange(test.n_rows), test.codes]
        return float(-(test.weights * np.log(np.maximum(hit, 1e-15))).sum())

    def _posterior(self, moments: Moments, rows: Table) -> Floats:
        model = self.recipe.model(moments, quiet=True).with_temperature(self.temperature)
        return model.allowing_missing().posterior(rows.encoded(moments.encoding)[0].x)
