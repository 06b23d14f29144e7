"""The Gaussian family: one classifier, and its presets."""

import copy
import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from itertools import combinations
from operator import attrgetter
from typing import Any, Self, TypeVar, cast

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from suffice import errors
from suffice.core.decision.classifier import Classifier, softmax_temperature
from suffice.core.decision.conformal import NonconformityScores, PredictionSets
from suffice.core.decision.predictions import Predictions
from suffice.core.decision.prior_shift import PriorShift, shifted_priors
from suffice.core.estimation.fisher import DiscriminantSpace
from suffice.core.estimation.plug_in_and_debiased import require_two_classes
from suffice.core.estimation.recipe import Recipe
from suffice.core.estimation.settings import is_open, parse_priors, parse_word
from suffice.core.estimation.stated import stated
from suffice.core.estimation.unlabelled import SharedOut
from suffice.core.model import ClassModel, GaussianModel
from suffice.core.model.bayes_error import BayesError, ErrorRate, linear_error, rule_error
from suffice.core.model.gaussian import bic
from suffice.core.model.geometry.boundary import Boundary, boundary_between
from suffice.core.model.linear import discriminant
from suffice.core.moments import Moments
from suffice.core.power_transform import PowerTransform, check_power
from suffice.core.table import Table
from suffice.core.table.foreign import all_finite, is_foreign, like, to_numpy
from suffice.core.table.labels import as_labels, codes_of, has_label, two_codes
from suffice.core.table.matrix import filled, has_missing, refuse_unusable
from suffice.core.table.table import numbering_rows, require_as_many
from suffice.core.threads import at_most, one_at_a_time, one_blas_thread
from suffice.estimators import predictor
from suffice.estimators.predictor import DensityMixin, ScoreMixin
from suffice.evaluate.diagnostics.drift import Drift, RowSums, drift
from suffice.persistence import gaussians as saved
from suffice.selection.search.plan import settled
from suffice.selection.validation.leave_one_out import leave_one_out
from suffice.typing import Floats


def _read(path: str, doc: str) -> Any:
    """Return a property that reads what the fitted model holds."""
    return property(attrgetter(path), doc=doc)


class GaussianClassifier(
    DensityMixin, ScoreMixin, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator
):
    """Bayes classifier with one Gaussian per class, read from mergeable sums.

    Parameters
    ----------
    covariance : {"full", "diagonal", "spherical"}, an EDDA code or "auto", default="full"
        Structure of each covariance. A code ("EII" … "VVV") says of volume, shape and orientation
        whether classes share them (E), not (V), or have none (I); it leaves ``tied``, ``pooling``
        and ``shrinkage`` alone. "auto" takes the code of least ``bic()``, kept as ``family_``.
    tied : bool or list of lists of labels, default=False
        True: one covariance for all classes (linear boundaries). False: one per class
        (quadratic boundaries). Groups of labels: classes of one group share one.
    divisor : {"mle", "unbiased", "averaged"}, default="mle"
        Divide scatter by the weight (maximum likelihood), or by the weight less one per mean
        (Bessel); "averaged": the mean by weight of S_k / (w_k − 1) over tied classes.
    pooling : float in [0, 1] or "auto", optional
        Friedman's λ: how much each group borrows from all.
    shrinkage : float in [0, 1], "oas", "ledoit-wolf" or "auto", optional
        Friedman's γ: how much each covariance is pulled towards ``target``; the closed forms
        give each group of tied classes its own γ.
    target : {"diagonal", "sphere", "identity"}, default="diagonal"
        What shrinkage pulls towards: the covariance's own diagonal, or a sphere in units of
        pooled standard deviations; "identity" is (tr Σ / d) I in the units of the data.
    estimate : {"plug-in", "map", "predictive"}, default="plug-in"
        Estimates in the place of parameters; most probable parameters; or parameters integrated
        out (a Student t per class). The last two learn full covariances and ignore ``divisor``.
    prior : None, "flat" or NormalInverseWishart, default=None
        Prior of means and covariances for "map" and "predictive"; None is weak and proper.
    dirichlet : float, optional
        Imagined rows of each class, and of each level where categories are factors or a tree.
        None counts rows alone for the classes, and one imagined row of each level.
    categories : {"indicators", "tree"}, default="indicators"
        How columns of text are read: as features of the Gaussian, one level of each left out
        (factors of their own where ``covariance`` is diagonal); or by a density of levels, each
        category depending on one other (Chow–Liu), with numbers regressed on the levels.
    n_components : int, optional
        How many discriminant coordinates ``transform`` gives; in a tied model (one full
        covariance, plug-in) predictions are made from these alone. None is all, K − 1.
    priors : None, "uniform", array or {label: p}, default=None
        Class priors; None takes class frequencies.
    costs : array (K, K) or {(action, truth): cost}, optional
        Cost of predicting ``action`` when ``truth`` holds; by default every error costs 1.
    reject_cost : float, optional
        Cost of refusing to answer; None never refuses.
    reject_label : object, default=None
        What ``predict`` returns for a refused row: None gives NaN among numeric labels and None
        among text labels.
    power : None, "yeo-johnson", "auto" or PowerTransform, default=None
        Change each feature by a monotone power first, fitted without labels, or given. Densities,
        samples and posteriors are of the rows as they are, means_, covariance_ and coef_ of
        transformed ones.
    temperature : float, default=1.0
        T of the posteriors softmax(a / T), a the log joint density; "auto" is chosen by held-out
        log-loss.
    base : float, optional
        The base b of the posteriors bᵃ / Σ bᵃ, in the place of a temperature: T = 1 / ln b.
    categorical : list of columns, optional
        Columns of numbers that are levels, by name or position; text always is.
    missing : {"marginal", "indicator"}, default="marginal"
        Empty numbers are integrated out; or filled by a mean and marked by an indicator, where
        being empty tells something. An empty category is a level of its own.
    unlabelled : float in [0, 1] or "auto", default=0
        Weight of a row without a label (None or NaN): such rows are shared out among the classes
        by their posteriors (EM). 0 leaves them out; "auto" takes the weight of least held-out
        log-loss, kept as ``unlabelled_``.
    prediction_sets : bool, default=False
        Measure in ``fit`` what ``predict_set`` needs; later, ``calibrate`` does it.
    n_jobs : int, optional
        Threads of fit and prediction; None and -1 use every core. The answer is the same.

    Attributes
    ----------
    classes_ : array (K,)
        Labels, in the order of every other attribute.
    moments_ : Moments
        What was learnt from the data; add two to merge two fits.
    classifier_ : Classifier
        What predicts, free of scikit-learn; estimated from ``moments_`` when first needed.
    model_ : GaussianModel, StudentModel or TransformedModel
        Densities, posterior and samples of the classifier.
    means_, priors_, covariance_ : arrays
        Parameters: (K, d), (K,), and (d, d) if tied or (K, d, d).
    coef_, intercept_ : arrays
        Linear scores of a tied model.
    family_ : str or None
        The EDDA code in use, where ``covariance`` is one or "auto".
    scalings_, xbar_, explained_variance_ratio_ : arrays
        Discriminant coordinates: ``transform(X) = (X - xbar_) @ scalings_``.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from suffice import GaussianClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> round(GaussianClassifier(tied=[[0, 1], [2]]).fit(X, y).score(X, y), 3)
    0.987
    """

    prior_shift_: PriorShift

    def __init__(
        self,
        covariance: str = "full",
        tied: Any = False,  # noqa: FBT002
        divisor: str = "mle",
        *,
        pooling: Any = None,
        shrinkage: Any = None,
        target: str = "diagonal",
        estimate: str = "plug-in",
        prior: Any = None,
        dirichlet: Any = None,
        n_components: Any = None,
        categories: str = "indicators",
        priors: Any = None,
        costs: Any = None,
        reject_cost: Any = None,
        reject_label: Any = None,
        power: Any = None,
        temperature: Any = 1.0,
        base: float | None = None,
        categorical: Any = None,
        missing: str = "marginal",
        unlabelled: Any = 0,
        prediction_sets: bool = False,
        n_jobs: int | None = None,
    ) -> None:
        predictor.keep(locals())

    @property
    def _takes(self) -> tuple[str, ...]:
        # Ledoit and Wolf's intensity needs sums of fourth powers, which indicators and gaps lack
        return () if self.shrinkage == "ledoit-wolf" else ("categorical", "allow_nan")

    @classmethod
    def from_parameters(
        cls,
        priors: Any,
        means: Any,
        covariances: Any,
        classes: Any = None,
        *,
        feature_names: Any = None,
    ) -> "GaussianClassifier":
        """Return the model with these parameters, as if it had been fitted.

        It knows the error of any rule (``true_error``). Were rows added, it would weigh as one.

        Parameters
        ----------
        priors : array (K,), {label: p} or "uniform"
        means : array (K, d)
        covariances : array (K, d, d) or (d, d), or a number
            One for each class, one for all, or the variance of every feature. Classes of the same
            matrix are tied.
        classes : array (K,), optional
            Labels, by default 0, 1, ….
        feature_names : sequence of d names, optional

        Examples
        --------
        >>> import suffice as sf
        >>> model = sf.GaussianClassifier.from_parameters([0.7, 0.3], [[2, 1], [1, 2]], 1.0)
        >>> model.bayes_error()
        0.204117 (exact)
        >>> X, y = model.sample(1000, random_state=0)
        >>> model.true_error(sf.QDA().fit(X, y)) > model.bayes_error()
        True
        """
        moments, tied = stated(priors, means, covariances, classes, feature_names)
        return GaussianClassifier(tied=tied).fit_moments(moments)

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from rows ``X`` with labels ``y``, forgetting anything learnt before."""
        given, shared = (X, y, sample_weight), self._shares_out(y)
        if shared:
            X, y, sample_weight = predictor.labelled_rows(X, y, sample_weight, quiet=True)
        x, y, sample_weight = predictor.checked_table(self, X, y, sample_weight, reset=True)
        recipe, power = self._settle(x, y, sample_weight)
        sums = self._summarise(x, y, sample_weight, recipe, power)
        if shared:
            sums = self._with_unlabelled(*given, recipe, sums.power)
        self._set_moments(sums, recipe)
        return self.calibrate(x, y, sample_weight) if self.prediction_sets else self

    def _shares_out(self, y: Any) -> bool:
        """Return whether there are rows without a label that are to count."""
        number = isinstance(self.unlabelled, (int, float)) and 0 <= self.unlabelled <= 1
        if not (number or is_open(self.unlabelled)):
            msg = f"unlabelled must be a number in [0, 1] or 'auto', got {self.unlabelled!r}"
            raise errors.InvalidParameterError(msg)
        return self.unlabelled != 0 and np.asarray(y).ndim == 1 and not has_label(y).all()

    def _with_unlabelled(
        self,
        X: Any,
        y: Any,
        weight: Any,
        recipe: Recipe,
        power: Any,
    ) -> Moments:
        """Return the sums of all rows, those without a label shared out by their posteriors."""
        here = has_label(y)
        labels = as_labels(np.asarray(y)[here])
        filler = np.empty(len(here), labels.dtype)
        filler[here], filler[~here] = labels, labels[0]
        table = Table.of(X, filler, weight, **self._reading())
        options: Any = {"power": power, "holes": bool(self._takes), **_collecting(recipe)}
        temperature = softmax_temperature(self.resolved_temperature())
        shared = SharedOut(recipe, partial(Moments.of_table, **options), temperature)
        known, unknown = table.take(here), table.take(~here)
        if is_open(self.unlabelled):
            self.unlabelled_ = shared.chosen_weight(known, unknown)
        return shared.moments(known, unknown, self._chosen("unlabelled"))

    def fit_moments(self, moments: Moments) -> Self:
        """Learn from sums collected elsewhere, without a pass over the data."""
        _check_power(self.power, moments)
        if self.missing == "indicator" and moments.patterns is not None:
            raise errors.MissingStatisticsError(
                "missing='indicator' needs moments in which empty cells are marked: collect them so"
            )
        columns = moments.schema.names if moments.schema else moments.feature_names
        predictor.set_features(self, len(columns) if columns else moments.n_features, columns)
        return self._set_moments(moments, self.recipe())

    @one_at_a_time
    def partial_fit(
        self,
        X: Any,
        y: Any,
        classes: Any = None,
        sample_weight: Any = None,
    ) -> Self:
        """Add rows to what was learnt, new classes at any time, in any order and grouping."""
        first = "moments_" not in vars(self)
        x, y, sample_weight = predictor.checked_table(self, X, y, sample_weight, reset=first)
        known = None if first else (self.recipe(), self.moments_.power)
        recipe, power = known or self._settle(x, y, sample_weight)
        more = self._summarise(x, y, sample_weight, recipe, power, classes)
        return self._set_moments(more if first else self.moments_ + more)

    @one_at_a_time
    def forget(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Take rows out again, as if they had never been seen."""
        check_is_fitted(self)
        x, y, sample_weight = predictor.checked_table(self, X, y, sample_weight, reset=False)
        recipe = self.recipe()
        rest = self.moments_ - self._summarise(
            x, y, sample_weight, recipe, self.moments_.power
        )
        if recipe.needs_fourth and rest.fourth is None:
            msg = "too few digits of the fourth moments would be left: fit again without these rows"
            raise errors.ForgetError(f"cannot forget these rows exactly: {msg}")
        return self._set_moments(rest)

    def calibrate(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        held_out: bool = False,
    ) -> Self:
        """Measure how strange the label of each row looks, as ``predict_set`` needs.

        The rows are those of ``fit``, each judged by the model of all others; or, with
        ``held_out=True``, rows that ``fit`` has not seen: then the coverage is guaranteed (split
        conformal). What is learnt later undoes it.
        """
        with at_most(self.n_jobs):
            judged = partial(Predictions.by, strict=False) if held_out else leave_one_out
            self._conformity = NonconformityScores.of(judged(self, X, y, sample_weight))
        return self

    def recipe(self) -> Recipe:
        """Return how moments become a model: every setting, checked."""
        return Recipe.parse(**{name: self._chosen(name) for name in saved.OF_RECIPE})

    def _chosen(self, name: str) -> Any:
        """Return a setting, or the number that was chosen for it where it says "auto"."""
        value = getattr(self, name)
        return vars(self).get(f"{name}_", value) if is_open(value) else value

    def resolved_temperature(self) -> Any:
        """Return T as it is set, by its base, or as it was chosen; "auto" before that."""
        temperature = self._chosen("temperature")
        known = self.base is not None or not is_open(temperature)
        return softmax_temperature(temperature, self.base) if known else temperature

    def _settle(self, x: Any, y: Any, sample_weight: Any) -> tuple[Recipe, Any]:
        """Choose what was left open by cross-validation; return recipe and transform to use."""
        for name in (*saved.CHOSEN, "unlabelled"):
            self.__dict__.pop(f"{name}_", None)
        recipe, power, temperature = self.recipe(), self.power, self.resolved_temperature()
        if not (recipe.open_settings or is_open(temperature) or is_open(power)):
            return recipe, power
        table, _ = Table.of(*map(to_numpy, (x, y, sample_weight)), **self._reading()).encoded()
        table = table.with_rows(filled(table.x), table.names)
        require_two_classes(table.classes, table.class_weights)
        rows = table if table.weight is None else table.take(table.weight > 0)
        with at_most(self.n_jobs), numbering_rows(table), one_blas_thread():
            found = settled(recipe, rows, power=power, temperature=temperature)
        how, self.temperature_ = found.recipe.regularisation, found.temperature
        self.pooling_, self.shrinkage_ = how.pooling, how.shrinkage.fixed
        return self.recipe(), getattr(found.view, "transform", None)

    def _summarise(
        self,
        x: Any,
        y: Any,
        sample_weight: Any,
        recipe: Recipe,
        power: Any,
        classes: Any = None,
    ) -> Moments:
        options: Any = {"classes": classes, "power": power, **_collecting(recipe)}
        options |= self._reading() | ({} if self._takes else {"missing": "refuse"})
        with at_most(self.n_jobs):
            moments = Moments.of(x, y, sample_weight, **options)
        names = None if moments.schema else predictor.feature_names(self)
        return replace(moments, feature_names=names) if names else moments

    def _reading(self) -> dict[str, Any]:
        errors.require_word(self.missing, ("marginal", "indicator"), "missing")
        names = predictor.feature_names(self)
        return {"categorical": self.categorical, "missing": self.missing, "names": names}

    def _set_moments(self, moments: Moments, recipe: Recipe | None = None) -> Self:
        """Keep the moments; estimate at once from a recipe, or else when first needed."""
        self.moments_, self.classes_ = moments, moments.classes
        for name in ("_classifier", "_conformity", "prior_shift_"):
            self.__dict__.pop(name, None)
        if recipe is not None:
            self._classifier = self._estimate(recipe)
        return self

    def _estimate(self, recipe: Recipe) -> Classifier:
        temperature = softmax_temperature(self.resolved_temperature())
        known = recipe.settled(self.moments_)
        self.family_, costs = known.family, {name: getattr(self, name) for name in saved.COSTS}
        return known.classifier(self.moments_, temperature, **costs)

    def _settings(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in _SETTINGS}  # those a preset fixes too

    def _state(self) -> tuple[dict[str, Any], dict[str, Any]]:
        return saved.gaussian_state(vars(self))

    def _restored(self, header: Mapping[str, Any], arrays: Mapping[str, Any]) -> Self:
        self.__dict__.update(saved.chosen_in(header))
        self.fit_moments(Moments.of_archive(header, arrays))
        self.__dict__.update(saved.conformity_in(arrays))
        return self

    @property
    def classifier_(self) -> Classifier:
        check_is_fitted(self)
        if "_classifier" not in vars(self):
            self._classifier = self._estimate(self.recipe())
        return self._classifier

    @property
    def model_(self) -> ClassModel:
        """Densities, posterior and samples."""
        return cast("ClassModel", self.classifier_.model)

    def decision_function(self, X: Any) -> Floats:
        """Return the score of the second class against the first (n,), or of each class (n, K).

        Where all classes share one covariance, it is ``X @ coef_.T + intercept_``; of rows with
        empty cells it is known up to a term common to all classes.
        """
        if is_foreign(X):
            return cast("Floats", like(self.decision_function(to_numpy(X)), X))
        x = self.classifier_.rows(predictor.checked_rows(self, X))
        if len(self.classes_) == 2 or self.model_.shared_covariance is None or has_missing(x):
            return super().decision_function(X)
        power = self._numbers.power
        rows = np.asarray(x if power is None else power.apply(x), np.float64)
        # row by row, so that a row's score does not depend on the others
        scores: Floats = np.einsum("nd,kd->nk", rows, self.coef_) + self.intercept_
        if not np.isfinite(scores.max(1)).all():
            refuse_unusable(x, self._numbers.feature_names)
        return scores

    def predict_set(self, X: Any, coverage: float = 0.95) -> PredictionSets:
        """Return for each row the set of classes that holds the true one with ``coverage``.

        After ``calibrate`` with n rows held out this is guaranteed on average over calibrations,
        of which a single one may be off by about √(1 / 4n), whether the model is right or not;
        calibrated on the rows of ``fit``, it is about this probability, without a guarantee.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from suffice import LDA
        >>> X, y = load_iris(return_X_y=True)
        >>> LDA(prediction_sets=True).fit(X, y).predict_set(X[[0, 70]], coverage=0.99).to_list()
        [[0], [1, 2]]
        """
        posterior = self.predict_proba(to_numpy(X))
        if "_conformity" not in vars(self):
            how = "fit with prediction_sets=True, or call calibrate(X, y)"
            raise errors.MissingStatisticsError(f"predict_set needs calibration: {how}")
        members = 1 - posterior <= self._conformity.threshold(coverage) * (1 + 1e-12)
        return PredictionSets(self.classes_, members, coverage)

    def with_priors(self, priors: Any) -> Self:
        """Return a copy under other priors; nothing is fitted again."""
        known = parse_priors(priors).of(self.classifier_.classes, self.moments_.weights)
        changed = copy.copy(self)
        changed.priors, changed.dirichlet = priors, None
        changed._classifier = self.classifier_.with_priors(known)
        # coordinates depend on the priors, and not all classes need have a density
        if self.recipe().n_components is not None or not self.moments_.weights.all():
            changed._classifier = changed._estimate(changed.recipe())
        for name in ("_conformity", "prior_shift_"):  # of other posteriors
            changed.__dict__.pop(name, None)
        return changed

    def with_costs(
        self,
        costs: Any = None,
        *,
        reject_cost: Any = None,
        reject_label: Any = None,
    ) -> Self:
        """Return a copy that decides by other costs; nothing is fitted again."""
        rejecting: Any = {"reject_cost": reject_cost, "reject_label": reject_label}
        classifier = self.classifier_.with_costs(costs, **rejecting)
        changed = copy.copy(self)
        changed.__dict__.update(costs=costs, **rejecting, _classifier=classifier)
        return changed

    def adapt_priors(self, X: Any) -> Self:
        """Return a copy under the priors that unlabelled rows ``X`` are most likely to come from.

        What was found, and whether the change is significant, is ``prior_shift_`` of the copy.
        Saerens, Latinne & Decaestecker (2002), *Neural Computation* 14(1), 21–41.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from suffice import LDA
        >>> X, y = load_iris(return_X_y=True)
        >>> adapted = LDA().fit(X, y).adapt_priors(X[:75])  # 50 of class 0, 25 of class 1
        >>> adapted.priors_.round(2), adapted.prior_shift_.p_value < 0.001
        (array([0.67, 0.33, 0.  ]), True)
        """
        found = shifted_priors(self.predict_log_proba(to_numpy(X)), self.priors_)
        changed = self.with_priors(found.priors)
        changed.prior_shift_ = found
        return changed

    def drift(self, X: Any, sample_weight: Any = None) -> Drift:
        """Return whether rows ``X`` differ from those of the fit, by column and all together.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from suffice import LDA
        >>> X, y = load_iris(return_X_y=True)
        >>> LDA().fit(X, y).drift(X + [0, 1, 0, 0]).moved
        ('x1',)
        """
        new = RowSums.like(self.moments_, predictor.checked_rows(self, X), sample_weight)
        return drift(RowSums(self.moments_), new)

    def transform(self, X: Any) -> Floats:
        """Return Fisher's discriminant coordinates, at most K − 1 columns.

        An empty number counts as its mean given the rest of the row.
        """
        return cast("Floats", like(self._answer(X, lambda _, x: self._coordinates(x)), X))

    def _coordinates(self, rows: Any) -> Any:
        power = self._numbers.power
        x = self.classifier_.rows(rows if power is None else to_numpy(rows))
        if not is_foreign(x) and self._takes and has_missing(x):
            x = self.model_.allowing_missing().impute(x)
        with np.errstate(invalid="ignore", over="ignore"):
            y = x if power is None else power.apply(x)
            coordinates = self._space.project(y)[:, : self.n_components]
        if not all_finite(coordinates):
            refuse_unusable(to_numpy(x), self._numbers.feature_names)
        return coordinates

    @property
    def _numbers(self) -> Moments:
        """The moments of the rows as the model reads them: one level of each category left out."""
        encoding = self.moments_.encoding
        return self.moments_.select(encoding.kept) if encoding else self.moments_

    @property
    def _space(self) -> DiscriminantSpace:
        model, centre = self.model_, self._numbers.grand_mean
        return DiscriminantSpace.of(model.priors, centre, model.means - centre, self._within())

    def _within(self) -> Any:
        """Return the covariance within classes: the shared one, or the pooled one of several."""
        covariance = "diagonal" if self.moments_.storage == "diagonal" else "full"
        recipe = Recipe.parse(covariance=covariance, tied=True, divisor=self.divisor)
        known = self.model_.shared_covariance
        return known or recipe.estimate(self._numbers, quiet=True).shared_covariance

    @property
    def _n_features_out(self) -> int:
        return int(self._space.scalings[:, : self.n_components].shape[1])

    means_ = _read("model_.means", "μ, shape (K, d).")
    priors_ = _read("model_.priors", "π, shape (K,).")

    @property
    def covariance_(self) -> Floats:
        """Σ, shape (d, d) if all classes are tied, else (K, d, d), whatever the pooling."""
        sigma, recipe, k = self.model_.covariance_matrices, self.recipe(), len(self.classes_)
        alike = recipe.regularisation.pooling == 1 and recipe.tied is not True
        return (
            np.broadcast_to(sigma, (k, *sigma.shape)) if alike and sigma.ndim == 2 else sigma
        )

    scalings_ = _read(
        "_space.scalings", "Columns of the discriminant coordinates, (d, ≤ K − 1)."
    )
    xbar_ = _read("_space.centre", "Prior-weighted mean of the class means, shape (d,).")
    explained_variance_ratio_ = _read(
        "_space.explained_ratio", "Share of between-class variance along each coordinate."
    )

    @property
    def coef_(self) -> Floats:
        """Weights of linear scores: (1, d) for two classes, second against first, else (K, d)."""
        return self._linear_scores("coef_")[0]

    @property
    def intercept_(self) -> Floats:
        """Intercepts of linear scores, shape (1,) or (K,)."""
        return self._linear_scores("intercept_")[1]

    def boundary(self, label_a: Any, label_b: Any, *, coordinates: str = "rows") -> Boundary:
        """Return where two classes are equally probable; positive values favour ``label_a``.

        With a power transform it is one of transformed rows: ``coordinates="transformed"``.
        """
        a, b = two_codes(label_a, label_b, self.classes_)
        of_rows = parse_word(coordinates, {"rows": True, "transformed": False}, "coordinates")
        if of_rows and self.moments_.power is not None:
            raise errors.InvalidParameterError(
                "with a power transform the boundary is no surface of the rows: ask for "
                "coordinates='transformed' and evaluate it at moments_.power.apply(X)"
            )
        model = self.model_.as_gaussian()
        names, labels = self._numbers.feature_names, tuple(self.classes_[[a, b]].tolist())
        return boundary_between(model, a, b, feature_names=names, labels=labels)

    def boundaries(self, *, coordinates: str = "rows") -> dict[tuple[Any, Any], Boundary]:
        """Return the boundary of every pair of classes, keyed by their labels."""
        pairs = combinations(self.classes_.tolist(), 2)
        return {(a, b): self.boundary(a, b, coordinates=coordinates) for a, b in pairs}

    @property
    def loadings_(self) -> Floats:
        """Correlation of each feature with each discriminant coordinate within classes, (d, r)."""
        return self._space.loadings(self._within())

    def log_likelihood(self, X: Any = None, y: Any = None) -> float:
        """Return Σ log p(x, y) of the training rows, from their sums alone, or of given rows."""
        if X is None and y is None:
            return self.model_._log_likelihood(self._numbers)
        if X is None or y is None:
            msg = "log_likelihood takes rows and their labels, or neither: give X and y"
            raise errors.InvalidParameterError(msg)
        codes = codes_of(as_labels(to_numpy(y)), self.classes_)
        density = self.class_log_density(to_numpy(X))
        require_as_many(len(density), len(codes))
        # Σ_n log p(x_n | y_n) + log π_{y_n}
        return float(
            (density[np.arange(len(codes)), codes] + np.log(self.priors_)[codes]).sum()
        )

    def aic(self) -> float:
        """Return Akaike's criterion, 2 p − 2 log L: smaller is better."""
        return 2 * self.model_.n_parameters - 2 * self.log_likelihood()

    def bic(self) -> float:
        """Return Schwarz's criterion, p log n − 2 log L: smaller is better."""
        return bic(self.log_likelihood(), self.model_.n_parameters, self.moments_.total_weight)

    def bayes_error(self, n_samples: int = 100_000, random_state: int = 0) -> BayesError:
        """Return the error of the best rule if the model were true."""
        return self.model_.bayes_error(n_samples, np.random.default_rng(random_state))

    def true_error(
        self,
        rule: Any,
        n_samples: int = 100_000,
        random_state: int = 0,
    ) -> ErrorRate:
        """Return the error of any fitted classifier if this model were true.

        Exact for a linear rule between two Gaussian classes; otherwise the mean of 1 − p(predicted
        class | x) over rows drawn from the model, those of ``bayes_error``, with its standard
        error. Rows that the rule refuses to answer are left out.
        """
        x, _ = self.sample(n_samples, random_state)
        asked = predictor.DecisionRule.of(rule, self.classes_, self._numbers.feature_names)
        model = self.model_
        plane = asked.hyperplane(x) if isinstance(model, GaussianModel) else None
        if plane is not None:
            return linear_error(model.as_gaussian(), *plane)
        posteriors = model.with_temperature(1.0).posterior(self.classifier_.rows(x))
        return rule_error(posteriors, asked.decide(x))

    def _linear_scores(self, name: str) -> list[Floats]:
        """Return weights and intercepts of each class; of two, of the second less the first."""
        if self.model_.shared_covariance is None:
            msg = f"{name} exists only where all classes share one covariance (tied=True)"
            raise AttributeError(msg)
        model = self.model_.as_gaussian()
        both = discriminant(model.covariances[0], model.means, model.log_priors)
        return [part[1:] - part[:1] if len(part) == 2 else part for part in both]


_SETTINGS = tuple(inspect.signature(GaussianClassifier).parameters)


def _collecting(recipe: Recipe) -> dict[str, Any]:
    storage = "auto" if recipe.storage == "pooled" else recipe.storage
    return {"storage": storage, "fourth": recipe.needs_fourth}


def _check_power(power: Any, moments: Moments) -> None:
    """Refuse moments that were not taken in the coordinates that an estimator asks for."""
    if power is None or is_open(power):
        return
    check_power(power)
    if moments.power is None:
        msg = (
            f"power={power!r} needs moments of transformed rows: collect them with power= too"
        )
        raise errors.MissingStatisticsError(msg)
    found = moments.power
    if moments.schema is not None:
        found = found.select(np.arange(moments.schema.n_numbers))
    if isinstance(power, PowerTransform) and not power.equals(found):
        msg = (
            "the moments were taken with another transform than the estimator's: leave it out"
        )
        raise errors.FeatureMismatchError(msg)


Preset = TypeVar("Preset", bound=type[GaussianClassifier])
_EXAMPLE = """Examples
--------
>>> from sklearn.datasets import load_iris
>>> from suffice import {0}
>>> X, y = load_iris(return_X_y=True)
>>> {0}().fit(X, y).score(X, y) > 0.95
True
"""


def _preset(*, fixed: bool = True, **settings: Any) -> Callable[[Preset], Preset]:
    """Return what makes a preset: settings that are fixed, and so no parameters, or defaults."""
    signature = inspect.signature(GaussianClassifier.__init__)
    kept = [p for p in signature.parameters.values() if not (fixed and p.name in settings)]
    kept = [p.replace(default=settings.get(p.name, p.default)) for p in kept]
    signature = signature.replace(parameters=kept)
    general = inspect.cleandoc(GaussianClassifier.__doc__ or "")
    shared = general[general.index("Parameters\n---") : general.index("Examples\n---")]
    entry = re.compile(r"^(\w*[a-z]) : .*\n(?: +.*\n)+", re.MULTILINE)  # a_ is an attribute
    shared = entry.sub(lambda f: f[0] if f[1] in signature.parameters else "", shared)
    said = ", ".join(f"{name}={value!r}" for name, value in settings.items())

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:  # noqa: N807
        try:
            bound = signature.bind(self, *args, **kwargs)
        except TypeError as error:
            raise TypeError(f"{type(self).__name__}() {error}") from None
        bound.apply_defaults()
        predictor.keep(bound.arguments)

    def made(cls: Preset) -> Preset:
        own = f"{inspect.cleandoc(cls.__doc__ or '')}\n\n``GaussianClassifier({said})``; all else"
        doc = f"{own} is the same.\n\n{shared}{_EXAMPLE.format(cls.__name__)}"
        __init__.__signature__ = signature  # type: ignore[attr-defined]
        attributes = {"__init__": __init__, "__doc__": doc, **(settings if fixed else {})}
        for name, value in attributes.items():
            setattr(cls, name, value)
        return cls

    return made


@_preset(tied=True)
class LDA(GaussianClassifier):
    """Linear discriminant analysis: one covariance for all classes."""


@_preset(tied=False)
class QDA(GaussianClassifier):
    """Quadratic discriminant analysis: one covariance per class."""


@_preset(fixed=False, pooling="auto", shrinkage="auto")
class RDA(GaussianClassifier):
    """Regularised discriminant analysis: between LDA, QDA and naive Bayes, as the data ask.

    Both settings are chosen by exact cross-validation. Friedman (1989), *JASA* 84, 165–175.
    """


@_preset(covariance="diagonal")
class GaussianNB(GaussianClassifier):
    """Gaussian naive Bayes: features independent given the class.

    Nothing is added to the variances, so a change of units changes nothing.
    """
