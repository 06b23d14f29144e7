"""The base class of classifiers whose model is computed from sums."""

import copy
from abc import abstractmethod
from dataclasses import replace
from typing import Self

from sklearn.utils.validation import check_is_fitted

from suffice.core.decision.bayes_decision import CostsLike
from suffice.core.decision.classifier import Classifier
from suffice.core.estimation.count_settings import CountSettings
from suffice.core.estimation.mixed_naive_bayes import MixedSettings
from suffice.core.estimation.priors import Priors
from suffice.core.estimation.settings import Settings
from suffice.core.moments import Moments
from suffice.core.moments.count_sums import CountSums
from suffice.core.moments.mixed_sums import MixedSums
from suffice.errors import InvalidParameterError
from suffice.estimators.predictor import DensityMixin, ScoreMixin, checked_rows
from suffice.typing import Floats, Labels, LabelsLike, RowsLike


class SumsEstimator(DensityMixin, ScoreMixin):
    """A Bayes classifier that keeps sums and estimates its model from them when needed."""

    classes_: Labels
    moments_: Moments | CountSums | MixedSums
    settings_: Settings | CountSettings | MixedSettings
    priors: Priors
    costs: CostsLike

    _model: Classifier | None = None  # estimated from ``moments_`` when first needed

    @abstractmethod
    def _estimate(self) -> Classifier:
        """Return the classifier that is estimated from the sums and the settings."""

    @abstractmethod
    def _summed_log_likelihood(self) -> float:
        """Return Σ log p(x, y) of the rows that were summed."""

    @property
    def model_(self) -> Classifier:
        """The fitted classifier, without scikit-learn: densities, parameters and error rates."""
        check_is_fitted(self)
        if self._model is None:
            self._model = self._estimate()
        return self._model

    @property
    def priors_(self) -> Floats:
        """Prior probabilities π of the classes, shape (K,)."""
        return self.model_.density.priors

    def with_priors(self, priors: Priors) -> Self:
        """Return a copy with other priors, without a refit."""
        check_is_fitted(self)
        settings = replace(self.settings_, priors=priors)
        class_priors = settings.class_priors(self.classes_, self.moments_.weights)
        changed = copy.copy(self)
        changed.priors = priors
        changed.settings_ = settings
        changed._model = self.model_.with_priors(class_priors)
        return changed

    def with_costs(self, costs: CostsLike) -> Self:
        """Return a copy with other costs, without a refit."""
        check_is_fitted(self)
        changed = copy.copy(self)
        changed.costs = costs
        changed.settings_ = replace(self.settings_, costs=costs)
        changed._model = self.model_.with_costs(costs)
        return changed

    def log_likelihood(self, X: RowsLike | None = None, y: LabelsLike | None = None) -> float:
        """Return Σ log p(x, y) of the training rows, from their sums, or of the given rows."""
        if X is None and y is None:
            return self._summed_log_likelihood()
        if X is None or y is None:
            raise InvalidParameterError(
                "log_likelihood takes rows and their labels, or neither: give X and y"
            )
        return self.model_.rows_log_likelihood(checked_rows(self, X), y)
