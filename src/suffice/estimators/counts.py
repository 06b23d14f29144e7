"""Naive Bayes for counts: words, clicks and events, in dense or sparse rows."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from suffice.core.decision.bayes_decision import CostsLike
from suffice.core.decision.classifier import Classifier
from suffice.core.estimation.count_kinds import (
    decide_counts,
    estimate_counts,
    text_column,
)
from suffice.core.estimation.count_settings import (
    AlphaLike,
    CountSettings,
    KindWord,
    TemperatureLike,
)
from suffice.core.estimation.priors import Priors
from suffice.core.model.column_importances import column_importances, divergence_of_counts
from suffice.core.model.counts import ComplementModel, CountModel
from suffice.core.moments.count_sums import CountSums, sharing_features
from suffice.core.table.count_rows import CountRows
from suffice.core.table.foreign import to_numpy
from suffice.core.table.labels import as_labels, code_of, codes_of
from suffice.core.table.matrix import as_weights
from suffice.core.table.words import TextColumn, texts_of
from suffice.core.text.lists import counted
from suffice.core.threads import at_most, one_at_a_time
from suffice.errors import InvalidParameterError
from suffice.estimators.predictor import (
    checked_table,
    feature_names,
    set_features,
)
from suffice.estimators.sums_estimator import SumsEstimator
from suffice.persistence.count_sums_file import count_sums_from
from suffice.persistence.counts import count_state, restored_count_settings
from suffice.persistence.fields import State
from suffice.selection.search.count_choice import choose_count_settings
from suffice.typing import Array, Floats, Labels, LabelsLike, RowsLike, WeightsLike


class CountNB(SumsEstimator):
    """Naive Bayes for counts: words, clicks and events, in dense or sparse rows.

    The model is computed from K × d sums. Models can therefore be updated with new rows and merged,
    rows can be removed, and leave-one-out estimates are exact.

    Parameters
    ----------
    kind : {"multinomial", "complement", "bernoulli", "poisson"}, default="multinomial"
        Distribution of the counts in a class. "multinomial" models the counts given their total, as
        is usual for words. "bernoulli" models whether each count is above ``binarize``. "poisson"
        models independent counts. "complement" scores a class by the counts of all other classes.
        It is often better for classes of unequal size, but has no density.
    alpha : float or "auto", default=1.0
        Pseudo-count of each feature in each class. "auto" takes the value with the lowest
        leave-one-out log-loss.
    priors : None, "uniform", array, {label: p} or Dirichlet, default=None
        Prior probabilities of the classes. None uses the class frequencies, and
        ``Dirichlet(α)`` smooths them.
    costs : array (K, K), {(action, truth): cost} or Costs, optional
        Cost of predicting ``action`` when ``truth`` holds; by default every error costs 1.
        ``Costs(reject=0.1)`` also lets the classifier reject uncertain rows.
    temperature : float or "auto", default=1.0
        T in the posteriors softmax(a / T), where a is the log joint density. "auto" takes the T
        with the lowest leave-one-out log-loss. Naive Bayes is over-confident on long rows.
    binarize : float, default=0.0
        For "bernoulli": a feature is present in a row if its count is above this number.
    text : str, optional
        Name of a text column whose words are counted. The rows are then a frame with this column,
        or a sequence of texts. A word is two or more letters or digits, in lower case.
        ``partial_fit`` adds new words, and ``predict`` ignores them. A missing text counts as
        empty.
    n_jobs : int, optional
        Number of threads for prediction; None and -1 use every core. Results do not depend on it.

    Attributes
    ----------
    classes_ : array (K,)
        Class labels, in the order that all other attributes follow.
    moments_ : CountSums
        Sums of the training rows. To merge two fits, add their sums.
    settings_ : CountSettings
        All settings, with the values that were chosen for "auto".
    model_ : Classifier
        The fitted classifier without scikit-learn; it has densities and posteriors.
    priors_ : array (K,)
        Class priors.
    feature_log_weights_ : array (K, d)
        What one count of each feature adds to the score of each class.

    Examples
    --------
    >>> import suffice as sf
    >>> counts = [[3, 0, 1], [2, 0, 0], [0, 2, 1], [0, 3, 0]]
    >>> model = sf.CountNB().fit(counts, ["ham", "ham", "spam", "spam"])
    >>> model.predict([[0, 1, 0]]).tolist(), model.predict_proba([[0, 1, 0]]).round(2).tolist()
    (['spam'], [[0.14, 0.86]])
    >>> [name for name, _ in model.top_features("spam", 1, names=["tea", "win", "the"])]
    ['win']
    """

    classes_: Labels
    moments_: CountSums
    settings_: CountSettings

    def __init__(
        self,
        kind: KindWord = "multinomial",
        *,
        alpha: AlphaLike = 1.0,
        priors: Priors = None,
        costs: CostsLike = None,
        temperature: TemperatureLike = 1.0,
        binarize: float = 0.0,
        text: str | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.kind = kind
        self.alpha = alpha
        self.priors = priors
        self.costs = costs
        self.temperature = temperature
        self.binarize = binarize
        self.text = text
        self.n_jobs = n_jobs

    @property
    def _text_column(self) -> str | None:
        return self.text

    @property
    def _takes_sparse(self) -> bool:
        return True

    @property
    def _scores_sparse(self) -> bool:
        return True

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        tags.classifier_tags.poor_score = True  # the score is poor on rows that are not counts
        return tags

    def _count_settings(self) -> CountSettings:
        """Return all settings as one value; raise if two of them contradict each other."""
        return CountSettings(
            kind=self.kind,
            alpha=self.alpha,
            priors=self.priors,
            costs=self.costs,
            temperature=self.temperature,
            binarize=self.binarize,
            text=self.text,
        )

    def _resolved_count_settings(self) -> CountSettings:
        """Return the settings; values that ``fit`` has chosen replace "auto"."""
        settings = self._count_settings()
        if not hasattr(self, "settings_"):
            return settings
        if isinstance(settings.alpha, str):
            settings = replace(settings, alpha=self.settings_.alpha)
        if isinstance(settings.temperature, str):
            settings = replace(settings, temperature=self.settings_.temperature)
        return settings

    # --- learning ----------------------------------------------------------------------------

    def fit(self, X: RowsLike, y: LabelsLike, sample_weight: WeightsLike = None) -> Self:
        """Fit the model to rows ``X`` with labels ``y``; earlier rows are discarded."""
        settings = self._count_settings()
        x, labels, weight = checked_table(self, X, y, sample_weight, reset=True)
        moments, settings = self._summed_and_chosen(x, labels, weight, settings, None)
        self._set_moments(moments, settings)
        self._model = self._estimate()
        return self

    def fit_moments(self, moments: CountSums) -> Self:
        """Fit the model to sums that were collected before, without reading rows.

        If ``fit`` has chosen values for settings that are "auto", these values are kept.
        """
        if not isinstance(moments, CountSums):
            raise InvalidParameterError(
                f"CountNB is fitted to CountSums, not to {type(moments).__name__}: collect "
                "them with CountSums.of(X, y)"
            )
        settings = self._resolved_count_settings()
        for name in settings.open_settings:
            raise InvalidParameterError(
                f"{name}='auto' is chosen by leave-one-out, which needs rows: call fit(X, y), or "
                f"give a value for {name}"
            )
        self._set_columns(moments)
        self._set_moments(moments, settings)
        self._model = self._estimate()
        return self

    @one_at_a_time
    def partial_fit(
        self,
        X: RowsLike,
        y: LabelsLike,
        classes: LabelsLike | None = None,
        sample_weight: WeightsLike = None,
    ) -> Self:
        """Add rows, in any order and in batches of any size. New classes are allowed."""
        settings = self._count_settings()
        is_first = not hasattr(self, "moments_")
        x, labels, weight = checked_table(self, X, y, sample_weight, reset=is_first)
        if is_first:
            moments, settings = self._summed_and_chosen(x, labels, weight, settings, classes)
        else:
            settings = self._resolved_count_settings()
            added = self._summed(x, labels, weight, settings, classes)
            before, added = self._with_words_of_both(added)
            moments = before + added
        self._set_moments(moments, settings)
        return self

    @one_at_a_time
    def forget(self, X: RowsLike, y: LabelsLike, sample_weight: WeightsLike = None) -> Self:
        """Remove rows that were added before, as if they had never been added."""
        check_is_fitted(self)
        x, labels, weight = checked_table(self, X, y, sample_weight, reset=False)
        settings = self._resolved_count_settings()
        removed = self._summed(x, labels, weight, settings, None)
        before, removed = self._with_words_of_both(removed)
        rest = before - removed
        self._set_moments(rest if self.text is None else rest.without_unseen(), settings)
        return self

    def _summed(
        self,
        x: RowsLike,
        labels: LabelsLike,
        weight: WeightsLike,
        settings: CountSettings,
        classes: LabelsLike | None,
    ) -> CountSums:
        if settings.text is None:
            return CountSums.of(
                x,
                labels,
                weight,
                threshold=settings.threshold,
                classes=classes,
                names=feature_names(self),
            )
        column = TextColumn.of(settings.text, texts_of(x, settings.text))
        sums = CountSums.of(
            column.rows(x).matrix(),
            labels,
            weight,
            threshold=settings.threshold,
            classes=classes,
            names=column.vocabulary,
        )
        return sums.without_unseen()

    def _with_words_of_both(self, other: CountSums) -> tuple[CountSums, CountSums]:
        """Return the estimator's sums and ``other``; sums of texts get the same words."""
        if self.text is None:
            return self.moments_, other
        return sharing_features(self.moments_, other)

    def _set_columns(self, moments: CountSums) -> None:
        """Set the names of the features to those of the sums, or to the name of the text column."""
        if self.text is None:
            set_features(self, moments.n_features, moments.feature_names)
        else:
            set_features(self, 1, (self.text,))

    def _summed_and_chosen(
        self,
        x: RowsLike,
        labels: LabelsLike,
        weight: WeightsLike,
        settings: CountSettings,
        classes: LabelsLike | None,
    ) -> tuple[CountSums, CountSettings]:
        """Return the sums of the rows, and the settings with values chosen in place of "auto"."""
        moments = self._summed(x, labels, weight, settings, classes)
        if not settings.open_settings:
            return moments, settings
        column = text_column(moments, settings)
        rows = CountRows.of(x) if column is None else column.rows(x)
        codes = codes_of(as_labels(to_numpy(labels)), moments.classes)
        checked = as_weights(to_numpy(weight), rows.n_rows)
        w = np.ones(rows.n_rows) if checked is None else checked
        judged = np.flatnonzero(w)
        if len(judged) < rows.n_rows:
            rows = rows.take(judged)
        read = rows if settings.threshold is None else rows.presence(settings.threshold)
        with at_most(self._n_jobs):
            chosen = choose_count_settings(settings, moments, read, codes[judged], w[judged])
        return moments, chosen

    def _set_moments(self, moments: CountSums, settings: CountSettings) -> None:
        """Set the sums, and discard the model that was estimated from earlier sums."""
        self.moments_ = moments
        self.settings_ = settings
        self.classes_ = moments.classes
        self._model = None

    def _estimate(self) -> Classifier:
        model = estimate_counts(self.moments_, self.settings_)
        return decide_counts(model, self.moments_, self.settings_)

    def _summed_log_likelihood(self) -> float:
        return self._density.log_likelihood_of(self.moments_)

    # --- files -------------------------------------------------------------------------------

    def _state(self) -> State:
        return count_state(self.moments_, self.settings_)

    def _restored(self, header: Mapping[str, Any], arrays: Mapping[str, Array]) -> Self:
        moments = count_sums_from(header, arrays)
        self._set_columns(moments)
        self._set_moments(moments, restored_count_settings(header))
        self._model = self._estimate()
        return self

    # --- what was learnt ---------------------------------------------------------------------

    @property
    def _density(self) -> CountModel:
        model = self.model_.model
        assert isinstance(model, CountModel)
        return model

    @property
    def feature_log_weights_(self) -> Floats:
        """What one count of each feature adds to the score of each class, shape (K, d)."""
        return self._density.weights

    @property
    def feature_importances_(self) -> Floats:
        """Share of the divergence between the classes that lies in each feature, (d,).

        The scores of ``kind="complement"`` are not log densities. There, a feature counts by the
        difference between its shares in two classes, times the difference between its scores.
        """
        density = self._density
        features = list(np.arange(density.n_features)[:, None])
        if not isinstance(density, ComplementModel):
            return column_importances(density, features)
        totals = self.moments_.sums.sum(1, keepdims=True)
        shares = self.moments_.sums / np.where(totals > 0, totals, 1.0)
        lost = divergence_of_counts(density.priors, shares, density.weights)
        return lost / (lost.sum() or 1.0)

    def top_features(
        self,
        label: object,
        n: int = 10,
        *,
        names: Sequence[str] | None = None,
    ) -> list[tuple[str | int, float]]:
        """Return the n features that favour a class most, with their log odds.

        The log odds of a feature are its score in the class minus the mean of its scores in all
        other classes. They say how much one more count of the feature favours the class.

        Parameters
        ----------
        label : label
            The class.
        n : int, default=10
            Number of features.
        names : sequence of d names, optional
            Names of the features, such as the words of a vectorizer. By default, the names that
            ``fit`` saw are used, or positions if there are none.
        """
        weights = self.feature_log_weights_
        k = code_of(label, self.classes_)
        others = (weights.sum(0) - weights[k]) / (len(weights) - 1)
        log_odds = weights[k] - others
        best = np.argsort(-log_odds, kind="stable")[:n].tolist()
        feature_names = self.moments_.feature_names if names is None else names
        if feature_names is not None and len(feature_names) != len(log_odds):
            raise InvalidParameterError(
                f"names holds {counted(len(feature_names), 'name')}, but there are "
                f"{counted(len(log_odds), 'feature')}: give each feature one name"
            )
        return [
            (j if feature_names is None else str(feature_names[j]), float(log_odds[j]))
            for j in best
        ]
