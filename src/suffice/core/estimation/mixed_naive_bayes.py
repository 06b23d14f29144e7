"""Naive Bayes over Gaussian, categorical and count columns: settings, model and classifier."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from suffice.core.decision.bayes_decision import CostsLike, decision_by
from suffice.core.decision.classifier import Classifier, check_temperature
from suffice.core.estimation.count_kinds import COUNT_KINDS
from suffice.core.estimation.count_settings import check_alpha
from suffice.core.estimation.estimate import estimate
from suffice.core.estimation.plug_in import require_two_classes
from suffice.core.estimation.priors import Priors, check_priors, class_priors
from suffice.core.estimation.settings import Categorical, Settings
from suffice.core.model.product import ModelPart, ProductModel
from suffice.core.moments.count_sums import check_threshold
from suffice.core.moments.mixed_sums import MixedSums
from suffice.core.table.column_kinds import ColumnKinds, check_kinds
from suffice.errors import FeatureMismatchError
from suffice.typing import Floats, Labels


@dataclass(frozen=True, slots=True, eq=False)
class MixedSettings:
    """Settings that turn sums of numbers, categories and counts into a classifier."""

    kinds: Mapping[str, str] | None = None  # pattern of column names → distribution
    alpha: float = 1.0  # pseudo-count of each count column and level in each class
    priors: Priors = None
    costs: CostsLike = None
    temperature: float = 1.0
    binarize: float = 0.0  # used by Bernoulli columns only

    def __post_init__(self) -> None:
        check_kinds(self.kinds)
        check_alpha(self.alpha, may_be_auto=False)
        check_priors(self.priors)
        check_threshold(self.binarize)
        check_temperature(self.temperature)

    def class_priors(self, classes: Labels, weights: Floats) -> Floats:
        """Return π (K,)."""
        return class_priors(self.priors, classes, weights)

    @property
    def of_numbers(self) -> Settings:
        """The settings for the Gaussian and categorical columns."""
        return Settings(
            covariance="diagonal",
            priors=self.priors,
            categorical=Categorical(smoothing=self.alpha),
        )


def estimate_mixed(sums: MixedSums, settings: MixedSettings) -> ProductModel:
    """Return the model with a part for numbers and categories, and one for each count pattern."""
    require_two_classes(sums.classes, sums.weights)
    _require_kinds(sums, settings)
    priors = settings.class_priors(sums.classes, sums.weights)
    with np.errstate(divide="ignore"):
        log_priors = np.log(priors)
    place_of, n_features = _places(sums)
    parts = []
    if sums.numbers is not None:
        model = estimate(sums.numbers, settings.of_numbers).with_log_priors(log_priors)
        encoding = sums.numbers.encoding
        names = sums.numbers.feature_names if encoding is None else encoding.feature_names
        assert names is not None
        n_numbers = encoding.schema.n_numbers if encoding else len(names)
        numbers = [place_of[name] for name in names[:n_numbers]]
        # indicators of levels follow all numbers and counts
        n_indicators = len(names) - n_numbers
        indicators = range(n_features - n_indicators, n_features)
        features = np.array([*numbers, *indicators], np.intp)
        parts.append(ModelPart(model, features, names))
    for block in sums.blocks:
        kind = COUNT_KINDS[block.kind]
        names = block.sums.feature_names
        assert names is not None
        features = np.array([place_of[name] for name in names], np.intp)
        count_model = kind.model(block.sums, float(settings.alpha), log_priors)
        parts.append(ModelPart(count_model, features, names))
    return ProductModel(log_priors, tuple(parts))


def _require_kinds(sums: MixedSums, settings: MixedSettings) -> None:
    """Raise unless the columns were summed as the kinds that the settings assign."""
    asked = ColumnKinds.of(settings.kinds, sums.columns)
    asked_counts = {block.pattern: block.kind for block in asked.counts}
    summed_counts = {block.pattern: block.kind for block in sums.blocks}
    if asked_counts != summed_counts:
        raise FeatureMismatchError(
            f"kinds assigns columns by {asked_counts}, but the sums by {summed_counts}: collect "
            "the sums with the same kinds"
        )
    schema = None if sums.numbers is None else sums.numbers.schema
    categories = () if schema is None else tuple(c.name for c in schema.categories)
    for name in asked.categorical:
        if name not in categories:
            raise FeatureMismatchError(
                f"kinds says that {name!r} is categorical, but the sums hold it as numbers: "
                "collect the sums with the same kinds"
            )


def _places(sums: MixedSums) -> tuple[dict[str, int], int]:
    """Return the position of each numeric or count column in a row, and the length of a row."""
    encoding = sums.encoding
    if encoding is None:
        return {name: j for j, name in enumerate(sums.columns)}, len(sums.columns)
    numbers = encoding.schema.numbers
    return {number.name: j for j, number in enumerate(numbers)}, encoding.n_features


def decide_mixed(model: ProductModel, sums: MixedSums, settings: MixedSettings) -> Classifier:
    """Return the classifier that applies the model, with a temperature and costs."""
    encoding = sums.encoding
    return Classifier(
        classes=sums.classes,
        feature_names=sums.feature_names if encoding is None else encoding.feature_names,
        model=model.with_temperature(check_temperature(settings.temperature)),
        decision=decision_by(settings.costs, sums.classes),
        encoding=encoding,
        allow_missing=True,
    )
