"""The base class of the Gaussian classifiers, with all methods except ``settings``.

The classes that users construct are in ``gaussian.py``. Each turns its parameters into a
``Settings``, which all methods of the base class read.
"""

import copy
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from suffice.core.checks import is_number
from suffice.core.decision.bayes_decision import CostsLike
from suffice.core.decision.classifier import Classifier, check_temperature
from suffice.core.decision.conformal import NonconformityScores, PredictionSets
from suffice.core.decision.predictions import Predictions
from suffice.core.estimation.estimate import chosen_settings, decide, estimate
from suffice.core.estimation.fisher import DiscriminantSpace
from suffice.core.estimation.plug_in import require_two_classes
from suffice.core.estimation.priors import Priors
from suffice.core.estimation.semi_supervised import SemiSupervised
from suffice.core.estimation.settings import (
    CategoricalLike,
    MissingWord,
    PowerLike,
    Settings,
    TemperatureLike,
    is_open,
    parse_word,
)
from suffice.core.estimation.shrinkage import Shrinkage
from suffice.core.model.column_importances import column_importances
from suffice.core.model.covariance import Covariance
from suffice.core.model.gaussian import GaussianModel
from suffice.core.model.geometry.boundary import Boundary, boundary_between
from suffice.core.model.outlier_scores import nearest_class_distances, relative_distances
from suffice.core.moments import Moments
from suffice.core.moments.collect import smallest_storage
from suffice.core.moments.sparse_moments import moments_of_sparse
from suffice.core.power_transform import PowerTransform
from suffice.core.table import Table
from suffice.core.table.count_rows import is_sparse
from suffice.core.table.foreign import all_finite, is_foreign, is_on_device, like, to_numpy
from suffice.core.table.labels import as_labels, has_label, two_codes
from suffice.core.table.matrix import filled, has_missing, refuse_nonfinite, refuse_unusable
from suffice.core.table.table import numbering_rows
from suffice.core.text.lists import listed
from suffice.core.threads import at_most, one_at_a_time, one_blas_thread
from suffice.errors import (
    FeatureMismatchError,
    ForgetError,
    InvalidInputError,
    InvalidParameterError,
    MissingStatisticsError,
    warn,
)
from suffice.estimators.predictor import (
    SumsToCollect,
    checked_rows,
    checked_table,
    feature_names,
    labelled_rows,
    require_moments,
    set_features,
)
from suffice.estimators.sklearn_bases import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from suffice.estimators.sums_estimator import SumsEstimator
from suffice.persistence.fields import State
from suffice.persistence.gaussians import (
    gaussian_state,
    restored_conformity,
    restored_settings,
)
from suffice.selection.search.open_settings import choose_settings
from suffice.selection.validation.leave_one_out import leave_one_out
from suffice.typing import Array, Floats, Labels, LabelsLike, RowsLike, WeightsLike

# EM for missing values needs matrices of all features. If there are more features than this, and
# fewer rows than features, missing values raise an error.
_MOST_FEATURES_WITH_MISSING = 2_000


class GaussianEstimator(ClassNamePrefixFeaturesOutMixin, TransformerMixin, SumsEstimator):
    """Base of Bayes classifiers with one Gaussian per class, estimated from mergeable sums."""

    classes_: Labels  # (K,), in the order that all other attributes follow
    moments_: Moments  # sums of the training rows; to merge two fits, add their sums
    settings_: Settings  # all settings, with the values that were chosen for "auto"

    priors: Priors
    costs: CostsLike
    power: PowerLike
    temperature: TemperatureLike
    categorical: CategoricalLike
    missing: MissingWord

    _family: str | None = None
    _covariance_word = "full"  # used by classes without a parameter ``covariance``
    _conformity: NonconformityScores | None = None

    @abstractmethod
    def settings(self) -> Settings:
        """Return all settings as one value; raise if two of them contradict each other."""

    @property
    def _takes_categories(self) -> bool:
        return self._takes_missing

    @property
    def _takes_sparse(self) -> bool:
        # Variances can be summed over the non-zero cells alone. All other settings need dense rows.
        is_diagonal = getattr(self, "covariance", self._covariance_word) == "diagonal"
        is_plain = self.power is None and self.categorical is None
        is_closed = not isinstance(self.temperature, str)
        return is_diagonal and is_plain and is_closed and self.missing == "marginal"

    @property
    def _takes_missing(self) -> bool:
        # Ledoit–Wolf shrinkage needs fourth moments, which need complete numeric rows. The
        # parameters may be invalid here, so ``settings`` cannot be called.
        shrinkage = getattr(self, "shrinkage", None)
        intensity = shrinkage.intensity if isinstance(shrinkage, Shrinkage) else shrinkage
        return not (isinstance(intensity, str) and intensity == "ledoit-wolf")

    def _sums_to_collect(self) -> SumsToCollect | None:
        settings = self.settings()
        reads_plain_rows = settings.power is None and settings.categorical_columns is None
        if not reads_plain_rows or settings.open_settings or settings.missing != "marginal":
            return None
        return SumsToCollect(_storage_to_collect(settings), settings.needs_fourth)

    # --- learning ----------------------------------------------------------------------------

    def fit(self, X: RowsLike, y: LabelsLike, sample_weight: WeightsLike = None) -> Self:
        """Fit the model to rows ``X`` with labels ``y``; earlier rows are discarded."""
        if hasattr(self, "unlabelled_weight_"):
            del self.unlabelled_weight_  # ``fit_semisupervised`` chose it for other rows
        x, labels, weight = checked_table(self, X, y, sample_weight, reset=True)
        settings = self._chosen_settings(x, labels, weight)
        moments = self._summarise(x, labels, weight, settings, settings.power)
        return self._learn(moments, settings)

    def fit_moments(self, moments: Moments) -> Self:
        """Fit the model to sums that were collected before, without reading rows.

        A fitted estimator keeps the values that ``fit`` chose for settings that are "auto".
        """
        require_moments(self, moments)
        settings = self._resolved_settings()
        _warn_of_idle(settings)
        _require_sums(moments, settings)
        columns = moments.schema.names if moments.schema else moments.feature_names
        set_features(self, len(columns) if columns else moments.n_features, columns)
        return self._learn(moments, settings)

    @one_at_a_time
    def partial_fit(
        self,
        X: RowsLike,
        y: LabelsLike,
        classes: LabelsLike | None = None,
        sample_weight: WeightsLike = None,
    ) -> Self:
        """Add rows, in any order and in batches of any size. New classes are allowed.

        Settings that are "auto", and a power transform, keep the values chosen on the first rows. A
        warning names these settings.
        """
        is_first = not hasattr(self, "moments_")
        x, labels, weight = checked_table(self, X, y, sample_weight, reset=is_first)
        if is_first:
            settings = self._chosen_settings(x, labels, weight)
            moments = self._summarise(x, labels, weight, settings, settings.power, classes)
        else:
            self._warn_of_choices("partial_fit")
            settings = self._resolved_settings()
            more = self._summarise_like(self.moments_, x, labels, weight, settings, classes)
            moments = self.moments_ + more
        if settings.needs_fourth:
            moments.required_fourth()
        self._set_moments(moments, settings)
        return self

    @one_at_a_time
    def forget(self, X: RowsLike, y: LabelsLike, sample_weight: WeightsLike = None) -> Self:
        """Remove rows that were added before, as if they had never been added."""
        check_is_fitted(self)
        x, labels, weight = checked_table(self, X, y, sample_weight, reset=False)
        self._warn_of_choices("forget")
        settings = self._resolved_settings()
        removed = self._summarise_like(self.moments_, x, labels, weight, settings)
        remaining = self.moments_ - removed
        if settings.needs_fourth and remaining.fourth is None:
            raise ForgetError(
                "cannot remove these rows exactly, because rounding would leave too few digits of "
                "the fourth moments: fit again without these rows"
            )
        self._set_moments(remaining, settings)
        return self

    def fit_semisupervised(
        self,
        X: RowsLike,
        y: LabelsLike,
        sample_weight: WeightsLike = None,
        *,
        weight: float | Literal["auto"] = "auto",
    ) -> Self:
        """Fit the model to rows, some of which have no label (None or NaN).

        A row without a label counts for every class, in proportion to the posterior of the class
        (EM).

        Parameters
        ----------
        weight : float in [0, 1] or "auto", default="auto"
            Weight of each row without a label. "auto" takes the weight with the lowest held-out
            log-loss, stored as ``unlabelled_weight_``.
        """
        if not is_open(weight) and not (is_number(weight) and 0 <= weight <= 1):
            raise InvalidParameterError(
                f"weight must be a number in [0, 1] or 'auto', got {weight!r}"
            )
        if np.asarray(y).ndim != 1 or has_label(np.asarray(y)).all():
            return self.fit(X, y, sample_weight)
        rows, labels, weights = labelled_rows(X, y, sample_weight, quiet=True)
        x, labels, weights = checked_table(self, rows, labels, weights, reset=True)
        settings = self._chosen_settings(x, labels, weights)
        labelled = self._summarise(x, labels, weights, settings, settings.power)
        moments = self._share_out(X, y, sample_weight, weight, settings, labelled.power)
        return self._learn(moments, settings)

    def _share_out(
        self,
        X: RowsLike,
        y: LabelsLike,
        sample_weight: WeightsLike,
        weight: float | Literal["auto"],
        settings: Settings,
        power: PowerTransform | None,
    ) -> Moments:
        """Return the sums of all rows; rows without a label are weighted by their posteriors."""
        is_labelled = has_label(np.asarray(y))
        labels = as_labels(np.asarray(y)[is_labelled])
        all_labels = np.empty(len(is_labelled), labels.dtype)
        all_labels[is_labelled] = labels
        # EM replaces these placeholder labels with posteriors
        all_labels[~is_labelled] = labels[0]
        table = self._table(X, all_labels, sample_weight)
        shared = SemiSupervised(
            settings=settings,
            storage=_storage_to_collect(settings),
            power=power,
            temperature=check_temperature(settings.temperature),
        )
        labelled = table.take(is_labelled)
        unlabelled = table.take(~is_labelled)
        if isinstance(weight, str):
            weight = shared.choose_weight(labelled, unlabelled)
        self.unlabelled_weight_ = float(weight)
        return shared.moments(labelled, unlabelled, float(weight))

    def _chosen_settings(
        self, x: RowsLike, labels: LabelsLike, weight: WeightsLike
    ) -> Settings:
        """Return the settings, with values for "auto" chosen by cross-validation."""
        settings = self.settings()
        _warn_of_idle(settings)
        if not settings.open_settings:
            return settings
        table, _ = self._table(to_numpy(x), to_numpy(labels), to_numpy(weight)).encoded()
        table = table.with_rows(filled(table.x), table.names)
        refuse_nonfinite(table.x, feature_names(self), table.weight)
        require_two_classes(table.classes, table.class_weights)
        rows = table if table.weight is None else table.take(table.weight > 0)
        with at_most(self._n_jobs), numbering_rows(table), one_blas_thread():
            return choose_settings(settings, rows)

    def _resolved_settings(self) -> Settings:
        """Return the settings; values that ``fit`` has chosen replace "auto"."""
        settings = self.settings()
        if not hasattr(self, "settings_"):
            return settings
        chosen = self.settings_
        for name in settings.open_settings:
            if name == "pooling":
                settings = replace(settings, pooling=chosen.pooling)
            elif name == "shrinkage":
                settings = replace(settings, shrinkage=chosen.shrinkage)
            elif name == "temperature":
                settings = replace(settings, temperature=chosen.temperature)
            elif name == "power":
                settings = replace(settings, power=chosen.power)
        return settings

    def _warn_of_choices(self, verb: str) -> None:
        """Warn that settings chosen on earlier rows are kept: sums cannot choose them again."""
        settings = self.settings()
        names = list(settings.open_settings)
        if settings.power == "yeo-johnson":
            names.append("power")
        if names:
            warn(
                f"{verb} keeps {listed(names)} as chosen on the first rows: to choose again, fit "
                "all rows at once, or set a value"
            )

    def _table(self, X: RowsLike, y: LabelsLike, sample_weight: WeightsLike) -> Table:
        settings = self.settings()
        return Table.of(
            X,
            y,
            sample_weight,
            categorical=settings.categorical_columns,
            missing=settings.missing,
            names=feature_names(self),
        )

    def _summarise(
        self,
        x: RowsLike,
        labels: LabelsLike,
        weight: WeightsLike,
        settings: Settings,
        power: PowerLike,
        classes: LabelsLike | None = None,
    ) -> Moments:
        if is_sparse(x):
            return moments_of_sparse(x, labels, weight, classes=classes)
        storage: str = _storage_to_collect(settings)
        n_rows, n_features = np.shape(x)
        if n_rows < n_features:
            _refuse_missing_in_many_features(x, feature_names(self))
            n_classes = len(np.unique(to_numpy(labels) if classes is None else classes))
            storage = smallest_storage(storage, n_rows, n_classes, n_features)
        with at_most(self._n_jobs):
            moments = Moments.of(
                x,
                labels,
                weight,
                classes=classes,
                power=power,
                storage=storage,
                fourth=settings.needs_fourth,
                categorical=settings.categorical_columns,
                missing="refuse" if settings.needs_fourth else settings.missing,
                names=feature_names(self),
            )
        names = feature_names(self)
        if names is None or moments.schema is not None:
            return moments
        return replace(moments, feature_names=names)

    def _summarise_like(
        self,
        earlier: Moments,
        x: RowsLike,
        labels: LabelsLike,
        weight: WeightsLike,
        settings: Settings,
        classes: LabelsLike | None = None,
    ) -> Moments:
        """Return the sums of rows in a form that can be added to the sums of earlier rows."""
        if earlier.exact is None:
            return self._summarise(x, labels, weight, settings, earlier.power, classes)
        with at_most(self._n_jobs):
            moments = Moments.of(
                x,
                labels,
                weight,
                classes=classes,
                storage=earlier.storage,
                exact=earlier.exact.grid,
            )
        return replace(moments, feature_names=earlier.feature_names)

    def _learn(self, moments: Moments, settings: Settings) -> Self:
        """Set the moments, and estimate the model from them."""
        self._set_moments(moments, settings)
        self._model = self._estimate()
        return self

    def _set_moments(self, moments: Moments, settings: Settings) -> None:
        """Set the moments, and discard the model that was estimated from earlier moments."""
        self.moments_ = moments
        self.settings_ = settings
        self.classes_ = moments.classes
        self._model = None
        self._conformity = None

    def _estimate(self) -> Classifier:
        settings = chosen_settings(self.moments_, self.settings_)
        self._family = settings.family
        model = estimate(self.moments_, settings)
        return decide(model, self.moments_, settings)

    def _summed_log_likelihood(self) -> float:
        return self.model_.log_likelihood(self.moments_)

    # --- files -------------------------------------------------------------------------------

    def _state(self) -> State:
        self._check_parameters(self.moments_)  # the settings may have changed since the fit
        return gaussian_state(self.moments_, self.settings_, self._conformity)

    def _restored(self, header: Mapping[str, Any], arrays: Mapping[str, Array]) -> Self:
        moments = Moments.of_archive(header, arrays)
        columns = moments.schema.names if moments.schema else moments.feature_names
        set_features(self, len(columns) if columns else moments.n_features, columns)
        self._check_parameters(moments)
        settings = restored_settings(header)
        if np.count_nonzero(moments.weights) < 2:
            # ``partial_fit`` has seen a single class, which is too few for a model
            self._set_moments(moments, settings)
        else:
            self._learn(moments, settings)
        self._conformity = restored_conformity(arrays)
        return self

    def _check_parameters(self, moments: Moments) -> None:
        """Raise the errors that ``fit`` would raise for invalid parameters."""
        self.settings().class_priors(moments.classes, moments.weights)

    # --- decisions ---------------------------------------------------------------------------

    def decision_function(self, X: RowsLike) -> Floats:
        """Return the score of the second class against the first (n,), or of each class (n, K).

        If all classes share one covariance, the scores are ``X @ coef_.T + intercept_``. For rows
        with missing values, the scores hold up to a term common to all classes.
        """
        if is_foreign(X):
            scores: Floats = like(self.decision_function(to_numpy(X)), X)
            return scores
        if is_sparse(X):
            return super().decision_function(X)
        x = self.model_.rows(checked_rows(self, X))
        is_linear = (
            len(self.classes_) > 2 and self.model_.density.shared_covariance is not None
        )
        if not is_linear:
            return super().decision_function(X)
        # Linear scores are computed for complete rows only, even beside incomplete rows. Otherwise
        # the score of a row would depend on the other rows.
        is_complete = ~np.isnan(x).any(1)
        if is_complete.all():
            return self._linear_scores(x)
        all_scores: Floats = super().decision_function(X)
        all_scores[is_complete] = self._linear_scores(x[is_complete])
        return all_scores

    def _linear_scores(self, x: Array) -> Floats:
        """Return the linear scores of complete rows, (n, K)."""
        power = self._numbers.power
        rows = np.asarray(x if power is None else power.apply(x), np.float64)
        # einsum sums row by row; a matrix product may round a row differently beside other rows
        scores: Floats = np.einsum("nd,kd->nk", rows, self.coef_) + self.intercept_
        if not np.isfinite(scores.max(1)).all():
            refuse_unusable(x, self._numbers.feature_names)
        return scores

    def outlier_score(
        self,
        X: RowsLike,
        kind: Literal["mahalanobis", "relative"] = "mahalanobis",
    ) -> Floats:
        """Return how far each row is from its nearest class, shape (n,): high values are outliers.

        Parameters
        ----------
        kind : {"mahalanobis", "relative"}, default="mahalanobis"
            "mahalanobis" is the smallest squared Mahalanobis distance to a class, min_k (x − μ_k)ᵀ
            Σ_k⁻¹ (x − μ_k). "relative" subtracts (x − μ)ᵀ Σ_0⁻¹ (x − μ), the distance under one
            Gaussian fitted to all rows. Σ_0 is the covariance within classes plus that between the
            class means.

        References
        ----------
        Lee et al. (2018), *NeurIPS* 31; Ren et al. (2021), arXiv:2106.09022.

        Examples
        --------
        >>> from suffice import LDA
        >>> lda = LDA().fit([[0.0], [2.0], [10.0], [12.0]], ["a", "a", "b", "b"])
        >>> lda.outlier_score([[1.0], [6.0]]).tolist()
        [0.0, 25.0]
        """
        words = {"mahalanobis": False, "relative": True}
        is_relative = parse_word(kind, words, "kind")
        check_is_fitted(self)
        density = self.model_.density
        if not isinstance(density, GaussianModel) or self.moments_.schema is not None:
            raise InvalidParameterError(
                "outlier_score needs one Gaussian for each class and numeric columns, without a "
                "power transform: use model_.log_density, whose low values are outliers"
            )
        within = self._shrunk_within_covariance() if is_relative else None

        def scores(_: Classifier, rows: RowsLike) -> Floats:
            x = np.asarray(to_numpy(rows), np.float64)
            if has_missing(x):
                raise InvalidInputError(
                    "outlier_score needs complete rows, but some numbers are missing: fill them "
                    "with model_.impute, or read model_.log_density"
                )
            if not all_finite(x):
                refuse_unusable(x, self._numbers.feature_names)
            if within is None:
                return nearest_class_distances(density, x)
            return relative_distances(density, within, self.moments_.weights, x)

        answer: Floats = like(self._answer(X, scores), X)
        return answer

    def _shrunk_within_covariance(self) -> Covariance:
        """Return the within-class covariance with the shrinkage of the settings."""
        shared = self.model_.density.shared_covariance
        if shared is not None:
            return shared
        is_diagonal = self.moments_.storage == "diagonal"
        tied = Settings(
            covariance="diagonal" if is_diagonal else "full",
            tied=True,
            shrinkage=self.settings_.shrinkage,
            divisor=self.settings_.divisor,
        )
        shared = estimate(self.moments_, tied, quiet=True).shared_covariance
        assert shared is not None
        return shared

    def calibrate(
        self,
        X: RowsLike,
        y: LabelsLike,
        sample_weight: WeightsLike = None,
        *,
        held_out: bool = False,
    ) -> Self:
        """Measure the nonconformity of each row's label, as ``predict_set`` needs.

        By default, pass the rows of ``fit``: each is predicted by the model of all other rows. With
        ``held_out=True``, pass rows that ``fit`` has not seen. The coverage is then guaranteed
        (split conformal). Adding rows later discards the calibration.
        """
        with at_most(self._n_jobs):
            if held_out:
                judged = Predictions.by(self, X, y, sample_weight, strict=False)
            else:
                judged = leave_one_out(self, X, y, sample_weight)
            self._conformity = NonconformityScores.of(judged)
        return self

    def predict_set(self, X: RowsLike, coverage: float = 0.95) -> PredictionSets:
        """Return, for each row, a set that contains the true class with probability ``coverage``.

        After ``calibrate`` with n held-out rows, the coverage is guaranteed on average over
        calibrations, even if the model is wrong. In a single calibration it may be off by about √(1
        / 4n). After calibration on the rows of ``fit``, the coverage holds approximately, without a
        guarantee.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from suffice import LDA
        >>> X, y = load_iris(return_X_y=True)
        >>> lda = LDA().fit(X, y).calibrate(X, y)
        >>> lda.predict_set(X[[0, 70]], coverage=0.99).to_list()
        [[0], [1, 2]]
        """
        posterior = self.predict_proba(to_numpy(X))
        if self._conformity is None:
            raise MissingStatisticsError(
                "predict_set needs calibration: call calibrate(X, y) after fit"
            )
        return self._conformity.sets(self.classes_, posterior, coverage)

    def with_priors(self, priors: Priors) -> Self:
        """Return a copy with other priors, without a refit."""
        check_is_fitted(self)
        settings = replace(self.settings_, priors=priors)
        weights = self.moments_.weights
        class_priors = settings.class_priors(self.classes_, weights)
        changed = copy.copy(self)
        changed.priors = priors
        changed.settings_ = settings
        changed._conformity = None  # the calibration measured the posteriors of the old priors
        # discriminant coordinates depend on the priors, and a class without rows has no density
        if settings.n_components is not None or not weights.all():
            changed._model = changed._estimate()
        else:
            changed._model = self.model_.with_priors(class_priors)
        return changed

    # --- parameters --------------------------------------------------------------------------

    @property
    def _numbers(self) -> Moments:
        """Moments of the features that the model reads; one level of each category is dropped."""
        encoding = self.moments_.encoding
        return self.moments_.select(encoding.kept) if encoding else self.moments_

    @property
    def means_(self) -> Floats:
        """μ, shape (K, d)."""
        return self.model_.density.means

    @property
    def covariance_(self) -> Floats:
        """Σ, shape (d, d) if all classes are tied, else (K, d, d), for every degree of pooling."""
        sigma = self.model_.covariances
        is_tied = self.settings_.tied_classes is True
        is_pooled = self.settings_.regularisation.pooling == 1
        if is_pooled and not is_tied and sigma.ndim == 2:
            return np.broadcast_to(sigma, (len(self.classes_), *sigma.shape))
        return sigma

    @property
    def coef_(self) -> Floats:
        """Weights of linear scores, (K, d); for two classes (1, d), the second minus the first."""
        if self.model_.density.shared_covariance is None:
            raise AttributeError(
                "coef_ exists only where all classes share one covariance (tied=True)"
            )
        weights, _ = self.model_.linear_scores()
        return weights[1:] - weights[:1] if len(weights) == 2 else weights

    @property
    def intercept_(self) -> Floats:
        """Intercepts of linear scores, shape (1,) or (K,)."""
        if self.model_.density.shared_covariance is None:
            raise AttributeError(
                "intercept_ exists only where all classes share one covariance (tied=True)"
            )
        _, intercepts = self.model_.linear_scores()
        return intercepts[1:] - intercepts[:1] if len(intercepts) == 2 else intercepts

    def boundary(
        self,
        label_a: object,
        label_b: object,
        *,
        coordinates: Literal["rows", "transformed"] = "rows",
    ) -> Boundary:
        """Return where two classes are equally probable; positive values favour ``label_a``.

        With a power transform, ``coordinates="transformed"`` returns the boundary of the
        transformed rows.
        """
        a, b = two_codes(label_a, label_b, self.classes_)
        of_rows = parse_word(coordinates, {"rows": True, "transformed": False}, "coordinates")
        if of_rows and self.moments_.power is not None:
            raise InvalidParameterError(
                "with a power transform the boundary is not a hyperplane or quadric of the "
                "original features: pass coordinates='transformed', and evaluate the boundary at "
                "moments_.power.apply(X)"
            )
        return boundary_between(
            self.model_.density.as_gaussian(),
            a,
            b,
            feature_names=self._numbers.feature_names,
            labels=tuple(self.classes_[[a, b]].tolist()),
        )

    # --- discriminant coordinates ------------------------------------------------------------

    @property
    def feature_importances_(self) -> Floats:
        """Share of the divergence between the classes that is lost without each column, (d,).

        The shares are computed exactly from the fitted densities. The divergence is the
        Kullback–Leibler divergence of every pair of classes, weighted by their priors. The loss of
        a column is the divergence of the densities minus that of the densities without the column.
        For LDA, it is the lost squared Mahalanobis distance. The losses are scaled to sum to 1.
        """
        density = self.model_.density
        # a power transform does not change which column is which
        density = getattr(density, "inner", density)
        return column_importances(density, self.model_._column_groups())

    @property
    def discriminants_(self) -> DiscriminantSpace:
        """Fisher's coordinates: ``centre``, ``scalings``, ``explained_ratio``, ``loadings``."""
        centre = self._numbers.grand_mean
        model = self.model_.density
        within = self._within_covariance()
        return DiscriminantSpace.of(model.priors, centre, model.means - centre, within)

    def _within_covariance(self) -> Covariance:
        """Return the covariance that the classes share, or else the pooled one."""
        shared = self.model_.density.shared_covariance
        if shared is not None:
            return shared
        is_diagonal = self.moments_.storage == "diagonal"
        pooled = Settings(
            covariance="diagonal" if is_diagonal else "full",
            tied=True,
            divisor=self.settings_.divisor,
        )
        shared = estimate(self._numbers, pooled, quiet=True).shared_covariance
        assert shared is not None
        return shared

    def transform(self, X: RowsLike) -> Floats:
        """Return Fisher's discriminant coordinates, at most K − 1 columns.

        A missing number is replaced with its conditional mean given the rest of the row.
        """
        coordinates: Floats = like(self._answer(X, self._coordinates), X)
        return coordinates

    def _coordinates(self, classifier: Classifier, rows: RowsLike) -> Floats:
        power = self._numbers.power
        x = classifier.rows(rows if power is None else to_numpy(rows))
        if not is_foreign(x) and self._takes_missing and has_missing(x):
            x = self.model_.density.allowing_missing().impute(x)
        with np.errstate(invalid="ignore", over="ignore"):
            transformed = x if power is None else power.apply(x)
            coordinates = self.discriminants_.project(transformed)
            coordinates = coordinates[:, : self.settings_.n_components]
        if not all_finite(coordinates):
            refuse_unusable(to_numpy(x), self._numbers.feature_names)
        return coordinates

    @property
    def _n_features_out(self) -> int:
        n_coordinates = int(self.discriminants_.scalings.shape[1])
        limit = self.settings_.n_components
        return n_coordinates if limit is None else min(n_coordinates, limit)


def _refuse_missing_in_many_features(x: RowsLike, names: tuple[str, ...] | None) -> None:
    """Raise if cells are missing and EM would need too large a matrix."""
    if np.shape(x)[1] <= _MOST_FEATURES_WITH_MISSING or is_on_device(x):
        return
    rows = np.asarray(to_numpy(x))
    if rows.dtype.kind == "f" and has_missing(rows):
        refuse_nonfinite(rows, names)


def _storage_to_collect(settings: Settings) -> Literal["auto", "per-class", "diagonal"]:
    """Return the storage of scatter to collect; "auto" if a pooled scatter is enough."""
    return "auto" if settings.storage == "pooled" else settings.storage


def _warn_of_idle(settings: Settings) -> None:
    """Warn about settings that have no effect in combination with the other settings."""
    for reason in settings.idle_settings:
        warn(reason)


def _require_sums(moments: Moments, settings: Settings) -> None:
    """Raise unless the moments were collected as the settings require."""
    for name in settings.open_settings:
        raise InvalidParameterError(
            f"{name}='auto' is chosen by cross-validation, which needs rows: call fit(X, y), or "
            f"give a value for {name}"
        )
    if settings.missing == "indicator" and moments.patterns is not None:
        raise MissingStatisticsError(
            "missing='indicator' needs moments with indicators of missing values: collect "
            "them with missing='indicator'"
        )
    _require_power(moments, settings.power)
    _require_categories(moments, settings)


def _require_power(moments: Moments, power: PowerLike) -> None:
    if power is None:
        return
    if moments.power is None:
        raise MissingStatisticsError(
            f"power={power!r} needs moments of transformed rows: collect them with power= too"
        )
    collected = moments.power
    if moments.schema is not None:
        collected = collected.select(np.arange(moments.schema.n_numbers))
    if isinstance(power, PowerTransform) and not power.equals(collected):
        raise FeatureMismatchError(
            "the moments were collected with a different power transform from that of the "
            "estimator: leave power out of the estimator"
        )


def _require_categories(moments: Moments, settings: Settings) -> None:
    columns = settings.categorical_columns
    if columns is None:
        return
    names = [columns] if isinstance(columns, str) else list(columns)
    schema = moments.schema
    categories = () if schema is None else tuple(c.name for c in schema.categories)
    all_names = moments.feature_names if schema is None else schema.names
    for column in names:
        name = column
        if isinstance(column, (int, np.integer)) and all_names is not None:
            name = all_names[column]
        if name not in categories:
            raise MissingStatisticsError(
                f"categorical names the column {column!r}, but the moments hold it as numbers: "
                "collect them with categorical= too"
            )
