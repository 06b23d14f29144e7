"""scikit-learn face of the Gaussian family: names and checks here, mathematics elsewhere."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.base import (
    BaseEstimator,
    ClassifierMixin,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
)
from sklearn.utils.validation import check_is_fitted

from suffice.errors import InvalidParameterError
from suffice.estimation.recipe import Recipe
from suffice.estimators.coordinates import Coordinates
from suffice.estimators.decisions import GaussianDecisions
from suffice.estimators.exporting import Exports
from suffice.estimators.readout import GaussianAttributes
from suffice.estimators.sets import PredictsSets
from suffice.estimators.settings import checked_transform
from suffice.estimators.telling import Tells
from suffice.estimators.validation import checked_table
from suffice.moments import Moments
from suffice.moments.labels import as_labels
from suffice.moments.rows import as_weights

if TYPE_CHECKING:
    from pathlib import Path

    from suffice.model import ClassModel


class GaussianClassifier(
    Tells,
    Exports,
    PredictsSets,
    Coordinates,
    GaussianAttributes,
    GaussianDecisions,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    ClassifierMixin,
    BaseEstimator,
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
    divisor : {"mle", "unbiased"}, default="mle"
        Divide scatter by the weight (maximum likelihood, the default: it is what the likelihood,
        AIC and BIC speak of), or by the weight less one per mean (Bessel).
    pooling : float in [0, 1] or "auto", optional
        Friedman's λ: how much each group borrows from all.
    shrinkage : float in [0, 1], "oas", "ledoit-wolf" or "auto", optional
        Friedman's γ: how much each covariance is pulled towards ``target``. The closed forms
        give each group of tied classes its own γ, from its own sums.
    target : {"diagonal", "sphere", "identity"}, default="diagonal"
        What shrinkage pulls towards: the covariance's own diagonal, or a sphere once features
        are measured in units of their pooled standard deviation; neither depends on units.
        "identity" is (tr Σ / d) I in the units of the data, as in Friedman's paper.
    estimate : {"plug-in", "map", "predictive", "debiased"}, default="plug-in"
        Estimates in the place of parameters; most probable parameters; parameters integrated
        out (a Student t per class, good for one row or fewer rows than features); or plug-in
        scores without their bias. The last three learn full covariances and ignore ``divisor``.
    prior : None, "flat" or NormalInverseWishart, default=None
        Prior of means and covariances for "map" and "predictive". None is weak, proper, and in
        the units of the data (see ``NormalInverseWishart.default``).
    dirichlet : float, optional
        Concentration of a symmetric Dirichlet prior of class priors, where these are learnt:
        as many imagined rows of each class. None counts rows alone.
    priors : None, "uniform", array or {label: p}, default=None
        Class priors; None takes class frequencies.
    costs : array (K, K) or {(action, truth): cost}, optional
        Cost of predicting ``action`` when ``truth`` holds; by default every error costs 1.
    reject_cost : float, optional
        Cost of refusing to answer; None never refuses.
    reject_label : object, default=None
        What ``predict`` returns for a refused row: None gives NaN among numeric labels and None
        among text labels.
    transform : None, "yeo-johnson" or PowerTransform, default=None
        Change each feature by a monotone power first, fitted to the rows without their labels,
        or given; densities, samples and posteriors stay those of the rows as they are, means_,
        covariance_ and coef_ are of transformed rows. ``partial_fit`` keeps the transform of
        its first chunk. Read it by ``get_params()``: ``est.transform(X)`` is a method.
    temperature : float, default=1.0
        Posteriors are softmax(temperature · log joint): 1 is Bayes, larger is bolder.
    n_jobs : int, optional
        Threads; None uses every core. The answer is the same for any number.

    Attributes
    ----------
    classes_ : array (K,)
        Labels, in the order of every other attribute.
    moments_ : Moments
        What was learnt from the data; add two to merge two fits.
    model_ : GaussianModel, StudentModel, DebiasedModel or TransformedModel
        Densities, posterior and samples; estimated from ``moments_`` when first needed.
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
        priors: Any = None,
        costs: Any = None,
        reject_cost: Any = None,
        reject_label: Any = None,
        transform: Any = None,
        temperature: float = 1.0,
        n_jobs: int | None = None,
    ) -> None:
        self.covariance = covariance
        self.tied = tied
        self.divisor = divisor
        self.pooling = pooling
        self.shrinkage = shrinkage
        self.target = target
        self.estimate = estimate
        self.prior = prior
        self.dirichlet = dirichlet
        self.priors = priors
        self.costs = costs
        self.reject_cost = reject_cost
        self.reject_label = reject_label
        self.transform = transform
        self.temperature = temperature
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from rows ``X`` with labels ``y``, forgetting anything learnt before."""
        x, y = checked_table(self, X, y, reset=True)
        recipe, power = self._settle(x, y, sample_weight)
        self._set_moments(self._summarise(x, y, sample_weight, recipe, power), recipe)
        self._keep_at_hand(x, y, sample_weight)
        return self

    def fit_moments(self, moments: Moments) -> Self:
        """Learn from sums collected elsewhere, without a pass over the data."""
        checked_transform(vars(self)["transform"], moments)
        self.n_features_in_ = moments.n_features
        self.__dict__.pop("feature_names_in_", None)
        if moments.feature_names is not None:
            self.feature_names_in_ = np.array(moments.feature_names, dtype=object)
        return self._set_moments(moments, self.recipe())

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Add rows to what was learnt, new classes at any time, in any order and grouping."""
        first = "moments_" not in vars(self)
        x, y = checked_table(self, X, y, reset=first)
        settled = (self.recipe(), self.moments_.transform) if not first else None
        recipe, power = settled or self._settle(x, y, sample_weight)
        more = self._summarise(x, y, sample_weight, recipe, power, classes)
        return self._set_moments(more if first else self.moments_ + more)

    def forget(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Take rows out again, as if they had never been seen."""
        check_is_fitted(self)
        x, y = checked_table(self, X, y, reset=False)
        power = self.moments_.transform
        less = self._summarise(x, y, sample_weight, self.recipe(), power)
        return self._set_moments(self.moments_ - less)

    def save(self, path: str | Path) -> None:
        """Write a ``.suffice`` file: sums and settings in one zip, never pickle."""
        from suffice.estimators.file import save_estimator

        check_is_fitted(self)
        save_estimator(self, path)

    def recipe(self) -> Recipe:
        """Return how moments become a model: every setting, checked."""
        return Recipe.parse(
            covariance=self.covariance,
            tied=self.tied,
            divisor=self.divisor,
            pooling=self._chosen("pooling"),
            shrinkage=self._chosen("shrinkage"),
            target=self.target,
            estimate=self.estimate,
            prior=self.prior,
            dirichlet=self.dirichlet,
            priors=self.priors,
        )

    def _chosen(self, name: str) -> Any:
        """Return a setting, or the number that was chosen for it where it says "auto"."""
        value = vars(self)[name]
        return vars(self).get(f"{name}_", value) if _is_word(value, "auto") else value

    def _settle(self, x: Any, y: Any, sample_weight: Any) -> tuple[Recipe, Any]:
        """Choose what was left open by cross-validation; return recipe and transform to use."""
        for name in ("pooling_", "shrinkage_", "temperature_"):
            self.__dict__.pop(name, None)
        recipe, transform = self.recipe(), vars(self)["transform"]
        if recipe.is_resolved and not any(
            _is_word(word, "auto") for word in (self.temperature, transform)
        ):
            return recipe, transform
        from suffice.evaluation.search.dials import settled

        labels, weight = as_labels(y), as_weights(sample_weight, len(x))
        temperature = self.temperature
        found = settled(recipe, x, labels, weight, transform=transform, temperature=temperature)
        self.pooling_, self.shrinkage_ = found.pooling, found.shrinkage
        self.temperature_ = found.temperature
        return self.recipe(), found.transform

    def _summarise(
        self,
        x: Any,
        y: Any,
        sample_weight: Any,
        recipe: Recipe,
        transform: Any,
        classes: Any = None,
    ) -> Moments:
        moments = Moments.of(
            x,
            y,
            sample_weight,
            storage="auto" if recipe.storage == "pooled" else recipe.storage,
            fourth=recipe.needs_fourth,
            classes=classes,
            transform=transform,
            n_threads=self.n_jobs,
        )
        names = getattr(self, "feature_names_in_", None)
        return moments if names is None else replace(moments, feature_names=tuple(names))

    def _set_moments(self, moments: Moments, recipe: Recipe | None = None) -> Self:
        self.moments_ = moments
        self.classes_ = moments.classes
        self.__dict__.pop("_model", None)
        self._forget_calibration()
        if recipe is not None:
            self._model = self._estimate(recipe)
            self._decision()
        return self

    def _estimate(self, recipe: Recipe) -> ClassModel:
        temperature = self._chosen("temperature")
        if isinstance(temperature, str) or not 0 < temperature < np.inf:
            msg = f"temperature must be a positive number or 'auto' with rows, got {temperature!r}"
            raise InvalidParameterError(msg)
        settled = recipe.settled(self.moments_)
        self.family_ = settled.family
        return settled.model(self.moments_).with_temperature(float(temperature))

    @property
    def model_(self) -> ClassModel:
        """Densities, posterior and samples, estimated from ``moments_`` when first needed."""
        check_is_fitted(self)
        if "_model" not in vars(self):
            self._model = self._estimate(self.recipe())
        return self._model


def _is_word(value: Any, word: str) -> bool:
    return isinstance(value, str) and value == word


__all__ = ["GaussianClassifier"]
