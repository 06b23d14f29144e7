"""scikit-learn face of the Gaussian family: names and checks here, mathematics elsewhere."""

from __future__ import annotations

import copy
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

from suffice.decision.costs import parse_costs
from suffice.errors import InvalidParameterError
from suffice.estimation.fisher import DiscriminantSpace
from suffice.estimation.priors import parse_priors
from suffice.estimation.recipe import Recipe
from suffice.estimators.readout import GaussianAttributes
from suffice.estimators.validation import checked_rows, checked_table
from suffice.moments import Moments
from suffice.moments.rows import refuse_unusable

if TYPE_CHECKING:
    from pathlib import Path

    from suffice.decision.costs import CostMatrix
    from suffice.model import GaussianModel
    from suffice.typing import Floats, Labels


class GaussianClassifier(
    GaussianAttributes,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    ClassifierMixin,
    BaseEstimator,
):
    """Bayes classifier with one Gaussian per class, read from mergeable sums.

    Parameters
    ----------
    covariance : {"full", "diagonal", "spherical"}, default="full"
        Structure of each covariance.
    tied : bool or list of lists of labels, default=False
        True: one covariance for all classes (linear boundaries). False: one per class
        (quadratic boundaries). Groups of labels: classes of one group share one.
    divisor : {"mle", "unbiased"}, default="mle"
        Divide scatter by the weight (maximum likelihood, the default: it is what the likelihood,
        AIC and BIC speak of), or by the weight less one per mean (Bessel).
    pooling : float in [0, 1], optional
        Friedman's λ: how much each group borrows from all.
    shrinkage : float in [0, 1], optional
        Friedman's γ: how much each covariance is pulled towards ``target``.
    target : {"diagonal", "sphere"}, default="diagonal"
        What shrinkage pulls towards: the covariance's own diagonal, or a sphere once features
        are measured in units of their pooled standard deviation. Neither depends on units.
    priors : None, "uniform", array or {label: p}, default=None
        Class priors; None takes class frequencies.
    costs : array (K, K) or {(action, truth): cost}, optional
        Cost of predicting ``action`` when ``truth`` holds; by default every error costs 1.
    reject_cost : float, optional
        Cost of refusing to answer; None never refuses.
    reject_label : object, default=None
        What ``predict`` returns for a refused row: None gives NaN among numeric labels and None
        among text labels.
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
    model_ : GaussianModel
        Densities, posterior and samples; estimated from ``moments_`` when first needed.
    means_, priors_, covariance_ : arrays
        Parameters: (K, d), (K,), and (d, d) if tied or (K, d, d).
    coef_, intercept_ : arrays
        Linear scores of a tied model.
    scalings_, xbar_, explained_variance_ratio_ : arrays
        Discriminant coordinates: ``transform(X) = (X - xbar_) @ scalings_``.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from suffice import GaussianClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> round(GaussianClassifier(tied=[[0, 1], [2]]).fit(X, y).score(X, y), 3)
    0.98
    """

    def __init__(
        self,
        covariance: str = "full",
        tied: Any = False,
        divisor: str = "mle",
        *,
        pooling: Any = None,
        shrinkage: Any = None,
        target: str = "diagonal",
        priors: Any = None,
        costs: Any = None,
        reject_cost: Any = None,
        reject_label: Any = None,
        temperature: float = 1.0,
        n_jobs: int | None = None,
    ) -> None:
        self.covariance = covariance
        self.tied = tied
        self.divisor = divisor
        self.pooling = pooling
        self.shrinkage = shrinkage
        self.target = target
        self.priors = priors
        self.costs = costs
        self.reject_cost = reject_cost
        self.reject_label = reject_label
        self.temperature = temperature
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from rows ``X`` with labels ``y``, forgetting anything learnt before."""
        recipe = self.recipe()
        x, y = checked_table(self, X, y, reset=True)
        return self._set_moments(self._summarise(x, y, sample_weight, recipe), recipe)

    def fit_moments(self, moments: Moments) -> Self:
        """Learn from sums collected elsewhere, without a pass over the data."""
        self.n_features_in_ = moments.n_features
        self.__dict__.pop("feature_names_in_", None)
        if moments.feature_names is not None:
            self.feature_names_in_ = np.array(moments.feature_names, dtype=object)
        return self._set_moments(moments, self.recipe())

    def partial_fit(
        self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None
    ) -> Self:
        """Add rows to what was learnt, new classes at any time, in any order and grouping."""
        first = "moments_" not in vars(self)
        x, y = checked_table(self, X, y, reset=first)
        more = self._summarise(x, y, sample_weight, self.recipe(), classes)
        return self._set_moments(more if first else self.moments_ + more)

    def forget(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Take rows out again, as if they had never been seen."""
        check_is_fitted(self)
        x, y = checked_table(self, X, y, reset=False)
        less = self._summarise(x, y, sample_weight, self.recipe())
        return self._set_moments(self.moments_ - less)

    def predict(self, X: Any) -> Labels:
        """Return the action of least expected cost for each row: by default the MAP class."""
        x = checked_rows(self, X)
        decision = self._decision()
        if decision.is_map:
            labels: Labels = self.classes_[self.model_.most_probable(x)]
            return labels
        return decision.decode(decision.decide(self.model_.posterior(x)))

    def predict_proba(self, X: Any) -> Floats:
        """Return p(class | x), shape (n, K)."""
        x = checked_rows(self, X)
        return self.model_.posterior(x)

    def predict_log_proba(self, X: Any) -> Floats:
        """Return log p(class | x), shape (n, K), exact far from the data."""
        x = checked_rows(self, X)
        return self.model_.log_posterior(x)

    def decision_function(self, X: Any) -> Floats:
        """Return the log odds of the second class (n,), or the score of each class (n, K)."""
        x = checked_rows(self, X)
        scores = self.model_.scores(x)
        return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores

    def class_log_density(self, X: Any) -> Floats:
        """Return log p(x | class), shape (n, K)."""
        x = checked_rows(self, X)
        return self.model_.class_log_density(x)

    def log_density(self, X: Any) -> Floats:
        """Return log p(x), shape (n,): low values are outliers."""
        x = checked_rows(self, X)
        return self.model_.log_density(x)

    def transform(self, X: Any) -> Floats:
        """Return Fisher's discriminant coordinates, at most K − 1 columns."""
        x = checked_rows(self, X)
        with np.errstate(invalid="ignore", over="ignore"):
            coordinates = self._space().project(x)
        if not np.isfinite(coordinates).all():
            refuse_unusable(x, self.moments_.feature_names)
        return coordinates

    def sample(self, n: int = 1, random_state: Any = None) -> tuple[Floats, Labels]:
        """Draw rows and labels from the fitted model: ``X, y``."""
        check_is_fitted(self)
        x, codes = self.model_.sample(n, _generator(random_state))
        return x, self.classes_[codes]

    def with_priors(self, priors: Any) -> Self:
        """Return a copy under other priors; nothing is fitted again."""
        check_is_fitted(self)
        changed = copy.copy(self)
        changed.priors = priors
        known = parse_priors(priors, self.classes_, self.moments_.weights)
        changed._model = self.model_.with_priors(known)
        return changed

    def with_costs(
        self, costs: Any = None, *, reject_cost: Any = None, reject_label: Any = None
    ) -> Self:
        """Return a copy that decides by other costs; nothing is fitted again."""
        check_is_fitted(self)
        changed = copy.copy(self)
        changed.costs, changed.reject_cost = costs, reject_cost
        changed.reject_label = reject_label
        changed._decision()
        return changed

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
            pooling=self.pooling,
            shrinkage=self.shrinkage,
            target=self.target,
            priors=self.priors,
        )

    def _decision(self) -> CostMatrix:
        return parse_costs(self.costs, self.classes_, self.reject_cost, self.reject_label)

    def _summarise(
        self, x: Any, y: Any, sample_weight: Any, recipe: Recipe, classes: Any = None
    ) -> Moments:
        moments = Moments.of(
            x,
            y,
            sample_weight,
            storage="auto" if recipe.storage == "pooled" else recipe.storage,
            fourth=recipe.needs_fourth,
            classes=classes,
            n_threads=self.n_jobs,
        )
        names = getattr(self, "feature_names_in_", None)
        return moments if names is None else replace(moments, feature_names=tuple(names))

    def _set_moments(self, moments: Moments, recipe: Recipe | None = None) -> Self:
        self.moments_ = moments
        self.classes_ = moments.classes
        self.__dict__.pop("_model", None)
        if recipe is not None:
            self._model = self._estimate(recipe)
            self._decision()
        return self

    def _estimate(self, recipe: Recipe) -> GaussianModel:
        if not np.isfinite(self.temperature) or self.temperature <= 0:
            msg = f"temperature must be a positive number, got {self.temperature!r}"
            raise InvalidParameterError(msg)
        return recipe.estimate(self.moments_).with_temperature(float(self.temperature))

    @property
    def model_(self) -> GaussianModel:
        """Densities, posterior and samples, estimated from ``moments_`` when first needed."""
        check_is_fitted(self)
        if "_model" not in vars(self):
            self._model = self._estimate(self.recipe())
        return self._model

    def _space(self) -> DiscriminantSpace:
        model, moments = self.model_, self.moments_
        within = model.covariances[0] if model.is_tied else self._pooled_covariance(moments)
        return DiscriminantSpace.of(model.priors, model.centre, model.offsets, within)

    def _pooled_covariance(self, moments: Moments) -> Any:
        covariance = "diagonal" if moments.storage == "diagonal" else "full"
        recipe = Recipe.parse(covariance=covariance, tied=True, divisor=self.divisor)
        return recipe.estimate(moments).covariances[0]

    @property
    def _n_features_out(self) -> int:
        return int(self._space().scalings.shape[1])


def _generator(random_state: Any) -> np.random.Generator:
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(2**31 - 1))
    return np.random.default_rng(random_state)


__all__ = ["GaussianClassifier"]
