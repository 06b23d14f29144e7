"""A saved Gaussian classifier that only answers: loaded quickly, without scikit-learn."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from suffice.decision.costs import parse_costs
from suffice.estimation.recipe import Recipe
from suffice.estimation.settings import OPEN, is_open
from suffice.estimators.files import revived, unpacking
from suffice.moments import Moments

if TYPE_CHECKING:
    from collections.abc import Mapping

    from suffice.decision.costs import CostMatrix
    from suffice.model import ClassModel
    from suffice.typing import Floats, Labels

NAMES = frozenset({"GaussianClassifier", "LDA", "QDA", "RDA", "GaussianNB"})
_CHOSEN = ("pooling", "shrinkage", "temperature")
_OF_DECISIONS = ("costs", "reject_cost", "reject_label")
_OF_NEITHER = {*_OF_DECISIONS, "power", "temperature", "n_jobs"}


@dataclass(frozen=True, eq=False)
class Answering:
    """What ``suffice predict`` and ``suffice sample`` ask of a classifier, and no more."""

    classes_: Labels
    n_features_in_: int
    feature_names_in_: Any  # (d,), or None
    costs: Any
    reject_cost: Any
    model: ClassModel
    decision: CostMatrix

    def predict(self, x: Any) -> Labels:
        """Return the action of least expected cost for each row."""
        return self.decision.decode(self.decision.decide(self.model.posterior(x)))

    def predict_proba(self, x: Any) -> Floats:
        """Return p(class | x), shape (n, K)."""
        return self.model.posterior(x)

    def log_density(self, x: Any) -> Floats:
        """Return log p(x), shape (n,)."""
        return self.model.log_density(x)

    def sample(self, n: int, rng: np.random.Generator) -> tuple[Floats, Labels]:
        """Draw rows and labels."""
        x, codes = self.model.sample(n, rng)
        return x, self.classes_[codes]


def answering_from(header: Mapping[str, Any], arrays: Mapping[str, Any]) -> Answering:
    """Return the classifier of an archive whose estimator is one of ``NAMES``."""
    with unpacking():
        moments = Moments.of_archive(header, arrays)
        settings = {name: revived(value) for name, value in header["parameters"].items()}
        chosen = revived(header["chosen"])
        for name in _CHOSEN:
            if is_open(settings[name]):
                settings[name] = chosen.get(f"{name}_", OPEN)
        words = {name: value for name, value in settings.items() if name not in _OF_NEITHER}
        model = Recipe.parse(**words).settled(moments).model(moments)
        costs, reject_cost, reject_label = (settings[name] for name in _OF_DECISIONS)
        names = moments.feature_names
        return Answering(
            moments.classes,
            moments.n_features,
            None if names is None else np.array(names, dtype=object),
            costs,
            reject_cost,
            model.with_temperature(float(settings["temperature"])),
            parse_costs(costs, moments.classes, reject_cost, reject_label),
        )
