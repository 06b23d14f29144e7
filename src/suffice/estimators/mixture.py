"""A classifier with several Gaussians in every class."""

from collections.abc import Hashable, Mapping
from typing import Any, Literal, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from suffice.core.checks import not_negative, positive, whole_number
from suffice.core.decision import Classifier
from suffice.core.decision.bayes_decision import CostsLike
from suffice.core.estimation.fit_mixtures import choose_counts, fit_mixtures
from suffice.core.estimation.mixture_settings import MixtureSettings
from suffice.core.estimation.priors import Priors, class_priors, priors_among
from suffice.core.model.column_importances import column_importances
from suffice.core.model.mixture import MixtureModel
from suffice.core.table import Table
from suffice.core.table.foreign import all_finite, is_on_device
from suffice.core.table.labels import values_by_class
from suffice.core.threads import at_most
from suffice.errors import InvalidParameterError, require_word
from suffice.estimators import predictor
from suffice.persistence.fields import State
from suffice.persistence.gaussians import mixture_from, mixture_state
from suffice.typing import Array, Codes, Floats, Labels, LabelsLike, RowsLike, WeightsLike


class MixtureClassifier(predictor.DensityMixin, predictor.ScoreMixin, BaseEstimator):
    """Bayes classifier with a mixture of Gaussians per class (mixture discriminant analysis).

    With one component per class, the classifier is QDA, or LDA if ``tied=True``. Missing values
    (NaN) are integrated out.

    Hastie & Tibshirani (1996), *JRSS B* 58, 155–176.

    Parameters
    ----------
    n_components : int, {label: int} or "auto", default="auto"
        Number of Gaussians in each class. "auto" takes the number, at most 12, with the greatest
        held-out likelihood. It is chosen for each class separately, or once for all classes if
        ``tied=True``.
    covariance : {"full", "diagonal"}, default="full"
        Structure of each covariance.
    tied : {False, "class", True}, default=False
        With False, each component has its own covariance. With "class", the components of a class
        share a covariance. With True, all components share a covariance.
    n_init : int, default=3
        Number of k-means++ starts; the fit with the greatest likelihood is kept.
    prior_rows : float, optional
        Strength of the inverse-Wishart prior, which keeps components from collapsing onto single
        rows. It adds this number of pseudo-rows to each component, with the spread of the class.
        The default is the number of features plus two; 0 is maximum likelihood.
    max_iter : int, default=500
        Maximum number of EM steps.
    tol : float, default=1e-6
        EM stops when a step raises the log-likelihood per row by less than this.
    priors, costs, n_jobs
        As in ``GaussianClassifier``.
    random_state : int, default=0
        Seed of starts, samples and folds.

    Attributes
    ----------
    classes_ : array (K,)
    n_components_ : array (K,)
    model_ : Classifier
        The fitted classifier. ``model_.model`` is the mixture: its ``components`` have the shares,
        means and covariances, and ``class_of`` has the class of each component.
    n_iter_ : int
        Number of EM steps in the class that needed the most.

    Examples
    --------
    >>> import numpy as np, suffice as sf
    >>> X = np.array([[0.0], [0.1], [9.0], [9.1], [4.0], [4.5], [5.0]])
    >>> fit = sf.MixtureClassifier({"ends": 2, "middle": 1}).fit(X, ["ends"] * 4 + ["middle"] * 3)
    >>> fit.predict([[0.3], [4.2], [8.8]]).tolist()
    ['ends', 'middle', 'ends']
    """

    classes_: Labels
    n_components_: Codes
    _mixture: MixtureModel
    n_iter_: int
    n_features_in_: int
    _takes_missing = True

    def __init__(
        self,
        n_components: int | Mapping[Hashable, int] | Literal["auto"] = "auto",
        covariance: Literal["full", "diagonal"] = "full",
        tied: Literal["class"] | bool = False,  # noqa: FBT001, FBT002
        *,
        n_init: int = 3,
        prior_rows: float | None = None,
        max_iter: int = 500,
        tol: float = 1e-6,
        priors: Priors = None,
        costs: CostsLike = None,
        random_state: int = 0,
        n_jobs: int | None = None,
    ) -> None:
        self.n_components = n_components
        self.covariance = covariance
        self.tied = tied
        self.n_init = n_init
        self.prior_rows = prior_rows
        self.max_iter = max_iter
        self.tol = tol
        self.priors = priors
        self.costs = costs
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X: RowsLike, y: LabelsLike, sample_weight: WeightsLike = None) -> Self:
        """Fit the model to rows ``X`` with labels ``y``."""
        x, labels, weight = predictor.checked_table(self, X, y, sample_weight, reset=True)
        if is_on_device(x) and all_finite(x):
            table = Table.of_device(x, labels, weight)
        else:
            table = Table.of(x, labels, weight)
        settings = self._mixture_settings(self.n_features_in_)
        with at_most(self._n_jobs):
            counts = self._counts(settings, table)
            model, runs = fit_mixtures(table, counts, settings, self.random_state)
        self.n_iter_ = max(max(len(run.objectives), 1) for run in runs)
        weights = table.class_weights
        priors = priors_among(weights > 0, class_priors(self.priors, table.classes, weights))
        return self._set_model(table.classes, model.with_priors(priors))

    @property
    def model_(self) -> Classifier:
        """The fitted classifier; its ``model`` holds the components of every class."""
        check_is_fitted(self)
        names = predictor.feature_names(self)
        classifier = Classifier.of(self.classes_, names, self._mixture, costs=self.costs)
        return classifier.allowing_missing()

    @property
    def feature_importances_(self) -> Floats:
        """Share of the divergence between the classes that is lost without each column, (d,).

        The mixture of each class is treated as the Gaussian with the same mean and covariance.
        """
        return column_importances(self.model_.density, self.model_._column_groups())

    def log_likelihood(self, X: RowsLike, y: LabelsLike) -> float:
        """Return Σ log p(x, y) of labelled rows."""
        return self.model_.rows_log_likelihood(predictor.checked_rows(self, X), y)

    def component_posterior(self, X: RowsLike) -> Floats:
        """Return p(component | x), shape (n, R), for the R components of all classes in turn."""
        return self._answer(X, lambda _, x: self._mixture.component_posterior(x))

    def _mixture_settings(self, n_features: int) -> MixtureSettings:
        if not (isinstance(self.tied, (bool, np.bool_)) or self.tied == "class"):
            raise InvalidParameterError(
                f"tied must be one of False, True, 'class', got {self.tied!r}"
            )
        require_word(self.covariance, ("full", "diagonal"), "covariance")
        prior_rows = n_features + 2 if self.prior_rows is None else self.prior_rows
        return MixtureSettings(
            covariance=self.covariance,
            tied="class" if self.tied == "class" else bool(self.tied),
            prior_rows=not_negative("prior_rows", prior_rows),
            n_init=whole_number("n_init", self.n_init),
            max_iter=whole_number("max_iter", self.max_iter),
            tol=positive("tol", self.tol),
        )

    def _counts(self, settings: MixtureSettings, table: Table) -> list[int]:
        """Return the number of components of each class."""
        if self.n_components == "auto":
            return choose_counts(table, settings, self.random_state)
        if isinstance(self.n_components, Mapping):
            counts = values_by_class(self.n_components, table.classes, where="n_components")
            return [whole_number("n_components", count) for count in counts]
        return [whole_number("n_components", self.n_components)] * table.n_classes

    def _set_model(self, classes: Labels, model: MixtureModel) -> Self:
        self.classes_ = classes
        self._mixture = model
        self.n_components_ = np.bincount(model.class_of, minlength=len(classes))
        return self

    def _state(self) -> State:
        header: dict[str, object] = {
            "feature_names": predictor.feature_names(self),
            "n_iter": self.n_iter_,
        }
        arrays = {"classes": self.classes_, **mixture_state(self._mixture)}
        return header, arrays

    def _restored(self, header: Mapping[str, Any], arrays: Mapping[str, Array]) -> Self:
        classifier = mixture_from(header, arrays)
        predictor.set_features(self, classifier.n_features, classifier.feature_names)
        self.n_iter_ = int(header["n_iter"])
        assert isinstance(classifier.model, MixtureModel)
        return self._set_model(classifier.classes, classifier.model)
