"""Naive Bayes over numbers, categories and counts."""

from collections.abc import Mapping
from typing import Any, Self

from sklearn.utils.validation import check_is_fitted

from suffice.core.decision.bayes_decision import CostsLike
from suffice.core.decision.classifier import Classifier
from suffice.core.estimation.mixed_naive_bayes import (
    MixedSettings,
    decide_mixed,
    estimate_mixed,
)
from suffice.core.estimation.priors import Priors
from suffice.core.model.column_importances import column_importances
from suffice.core.model.product import ProductModel
from suffice.core.moments.mixed_sums import MixedSums
from suffice.core.table.column_kinds import KindOfColumn
from suffice.core.threads import at_most, one_at_a_time
from suffice.errors import InvalidParameterError
from suffice.estimators.predictor import checked_table, feature_names, set_features
from suffice.estimators.sums_estimator import SumsEstimator
from suffice.persistence.fields import State
from suffice.persistence.mixed_naive_bayes import (
    mixed_state,
    mixed_sums_from,
    restored_mixed_settings,
)
from suffice.typing import Array, Floats, Labels, LabelsLike, RowsLike, WeightsLike


class MixedNB(SumsEstimator):
    """Naive Bayes over numbers, categories and counts in one table.

    The model is computed from sums. Models can therefore be updated and merged, and rows can be
    removed. Missing numbers are integrated out, and a missing category is a separate level; counts
    must be complete.

    Parameters
    ----------
    kinds : {pattern: kind}, optional
        Distribution of the columns whose names match a pattern: "gaussian", "categorical",
        "multinomial", "bernoulli" or "poisson". In a pattern, ``*`` stands for any characters. For
        example, ``{"words*": "multinomial"}`` treats every column whose name begins with "words" as
        counts. The columns of a multinomial pattern share one total. All other numeric columns are
        Gaussian, and all other text columns are categorical. Columns of an array are "x0", "x1" and
        so on.
    alpha : float, default=1.0
        Pseudo-count of each count and of each level in each class.
    priors : None, "uniform", array, {label: p} or Dirichlet, default=None
        Prior probabilities of the classes. None uses the class frequencies, and
        ``Dirichlet(α)`` smooths them.
    costs : array (K, K), {(action, truth): cost} or Costs, optional
        Cost of predicting ``action`` when ``truth`` holds; by default every error costs 1.
        ``Costs(reject=0.1)`` also lets the classifier reject uncertain rows.
    temperature : float, default=1.0
        T in the posteriors softmax(a / T), where a is the log joint density.
    binarize : float, default=0.0
        For "bernoulli": a feature is present in a row if its count is above this number.
    n_jobs : int, optional
        Number of threads for fit and prediction; None and -1 use every core. Results do not
        depend on it.

    Attributes
    ----------
    classes_ : array (K,)
        Class labels, in the order that all other attributes follow.
    moments_ : MixedSums
        Sums of the training rows. To merge two fits, add their sums.
    settings_ : MixedSettings
        All settings.
    model_ : Classifier
        The fitted classifier without scikit-learn; it has densities and posteriors.
    priors_ : array (K,)
        Class priors.

    Examples
    --------
    >>> import polars as pl, suffice as sf
    >>> mails = pl.DataFrame(
    ...     {
    ...         "hour": [9.5, 11.0, 2.5, 3.0],
    ...         "from": ["work", "home", "shop", "shop"],
    ...         "word_tea": [2, 1, 0, 0],
    ...         "word_win": [0, 0, 3, 1],
    ...     }
    ... )
    >>> model = sf.MixedNB(kinds={"word_*": "multinomial"})
    >>> model.fit(mails, ["ham", "ham", "spam", "spam"]).predict(mails[1:3]).tolist()
    ['ham', 'spam']
    """

    classes_: Labels
    moments_: MixedSums
    settings_: MixedSettings

    def __init__(
        self,
        kinds: Mapping[str, KindOfColumn] | None = None,
        *,
        alpha: float = 1.0,
        priors: Priors = None,
        costs: CostsLike = None,
        temperature: float = 1.0,
        binarize: float = 0.0,
        n_jobs: int | None = None,
    ) -> None:
        self.kinds = kinds
        self.alpha = alpha
        self.priors = priors
        self.costs = costs
        self.temperature = temperature
        self.binarize = binarize
        self.n_jobs = n_jobs

    @property
    def _takes_categories(self) -> bool:
        return True

    @property
    def _takes_missing(self) -> bool:
        return True

    def _mixed_settings(self) -> MixedSettings:
        """Return all settings as one value; raise if two of them contradict each other."""
        return MixedSettings(
            kinds=self.kinds,
            alpha=self.alpha,
            priors=self.priors,
            costs=self.costs,
            temperature=self.temperature,
            binarize=self.binarize,
        )

    # --- learning ----------------------------------------------------------------------------

    def fit(self, X: RowsLike, y: LabelsLike, sample_weight: WeightsLike = None) -> Self:
        """Fit the model to rows ``X`` with labels ``y``; earlier rows are discarded."""
        settings = self._mixed_settings()
        x, labels, weight = checked_table(self, X, y, sample_weight, reset=True)
        return self._learn(self._summed(x, labels, weight, settings, None), settings)

    def fit_moments(self, moments: MixedSums) -> Self:
        """Fit the model to sums that were collected before, without reading rows."""
        if not isinstance(moments, MixedSums):
            raise InvalidParameterError(
                f"MixedNB is fitted to MixedSums, not to {type(moments).__name__}: collect "
                "them with MixedSums.of(X, y, kinds=...)"
            )
        settings = self._mixed_settings()
        set_features(self, moments.n_features, moments.feature_names)
        return self._learn(moments, settings)

    @one_at_a_time
    def partial_fit(
        self,
        X: RowsLike,
        y: LabelsLike,
        classes: LabelsLike | None = None,
        sample_weight: WeightsLike = None,
    ) -> Self:
        """Add rows, in any order and in batches of any size. New classes are allowed."""
        settings = self._mixed_settings()
        is_first = not hasattr(self, "moments_")
        x, labels, weight = checked_table(self, X, y, sample_weight, reset=is_first)
        moments = self._summed(x, labels, weight, settings, classes)
        self._set_moments(moments if is_first else self.moments_ + moments, settings)
        return self

    @one_at_a_time
    def forget(self, X: RowsLike, y: LabelsLike, sample_weight: WeightsLike = None) -> Self:
        """Remove rows that were added before, as if they had never been added."""
        check_is_fitted(self)
        settings = self._mixed_settings()
        x, labels, weight = checked_table(self, X, y, sample_weight, reset=False)
        removed = self._summed(x, labels, weight, settings, None)
        self._set_moments(self.moments_ - removed, settings)
        return self

    def _summed(
        self,
        x: RowsLike,
        labels: LabelsLike,
        weight: WeightsLike,
        settings: MixedSettings,
        classes: LabelsLike | None,
    ) -> MixedSums:
        with at_most(self._n_jobs):
            return MixedSums.of(
                x,
                labels,
                weight,
                kinds=settings.kinds,
                threshold=settings.binarize,
                classes=classes,
                names=feature_names(self),
            )

    def _learn(self, moments: MixedSums, settings: MixedSettings) -> Self:
        self._set_moments(moments, settings)
        self._model = self._estimate()
        return self

    def _set_moments(self, moments: MixedSums, settings: MixedSettings) -> None:
        """Set the sums, and discard the model that was estimated from earlier sums."""
        self.moments_ = moments
        self.settings_ = settings
        self.classes_ = moments.classes
        self._model = None

    def _estimate(self) -> Classifier:
        model = estimate_mixed(self.moments_, self.settings_)
        return decide_mixed(model, self.moments_, self.settings_)

    def _summed_log_likelihood(self) -> float:
        model = self.model_.model
        assert isinstance(model, ProductModel)
        return model.log_likelihood_of(self.moments_)

    @property
    def feature_importances_(self) -> Floats:
        """Share of the divergence between the classes that is lost without each column, (d,)."""
        return column_importances(self.model_.density, self.model_._column_groups())

    # --- files -------------------------------------------------------------------------------

    def _state(self) -> State:
        return mixed_state(self.moments_, self.settings_)

    def _restored(self, header: Mapping[str, Any], arrays: Mapping[str, Array]) -> Self:
        moments = mixed_sums_from(header, arrays)
        set_features(self, moments.n_features, moments.feature_names)
        return self._learn(moments, restored_mixed_settings(header))
