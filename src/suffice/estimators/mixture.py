"""scikit-learn face of mixtures: several Gaussians in every class."""

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from suffice.core.decision import Classifier
from suffice.core.estimation.mixture_em import MixtureRecipe
from suffice.core.estimation.priors import class_priors, priors_among
from suffice.core.estimation.settings import is_open, parse_word
from suffice.core.table import Table
from suffice.core.table.foreign import all_finite, is_on_device
from suffice.core.table.labels import values_by_class
from suffice.core.threads import at_most
from suffice.estimators import predictor
from suffice.estimators.linear import positive, whole_number
from suffice.persistence.gaussians import mixture_from, mixture_state
from suffice.typing import Floats, Labels


class MixtureClassifier(predictor.DensityMixin, predictor.ScoreMixin, BaseEstimator):
    """Bayes classifier with a mixture of Gaussians per class (mixture discriminant analysis).

    With one component per class it is QDA, or LDA if tied. Empty cells (NaN) are integrated out.

    Hastie & Tibshirani (1996), *JRSS B* 58, 155–176.

    Parameters
    ----------
    n_components : int, {label: int} or "auto", default="auto"
        Gaussians of each class. "auto" takes the number of greatest held-out likelihood, of each
        class apart (at most 12), or the same for all where ``tied=True``.
    covariance : {"full", "diagonal"}, default="full"
        Structure of each covariance.
    tied : {False, "class", True}, default=False
        One covariance for each component, for each class, or for all.
    prior_rows : float, optional
        Strength of the inverse-Wishart prior against collapse: as many imagined rows of each
        component, spread like its class; by default two more than features. 0 is none.
    n_init : int, default=3
        Starts by k-means++; the best is kept.
    max_iter : int, default=500
        Most steps of EM.
    tol : float, default=1e-6
        EM ends where a step gains less log-likelihood than this, per row.
    priors, costs, n_jobs
        As in ``GaussianClassifier``.
    random_state : int, default=0
        Seed of starts, samples and folds.

    Attributes
    ----------
    classes_ : array (K,)
    n_components_ : array (K,)
    model_ : MixtureModel
        With ``components``, shares, means and covariances of all, and ``class_of``, their classes.
    n_iter_ : int
        Steps of EM in the class that took most.

    Examples
    --------
    >>> import numpy as np, suffice as sf
    >>> X = np.array([[0.0], [0.1], [9.0], [9.1], [4.0], [4.5], [5.0]])
    >>> fit = sf.MixtureClassifier({"ends": 2, "middle": 1}).fit(X, ["ends"] * 4 + ["middle"] * 3)
    >>> fit.predict([[0.3], [4.2], [8.8]]).tolist()
    ['ends', 'middle', 'ends']
    """

    _takes_missing = True

    def __init__(
        self,
        n_components: Any = "auto",
        covariance: str = "full",
        tied: Any = False,  # noqa: FBT002
        *,
        prior_rows: float | None = None,
        n_init: int = 3,
        max_iter: int = 500,
        tol: float = 1e-6,
        priors: Any = None,
        costs: Any = None,
        random_state: int = 0,
        n_jobs: int | None = None,
    ) -> None:
        predictor.keep(locals())

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from rows ``X`` with labels ``y``."""
        x, y, sample_weight = predictor.checked_table(self, X, y, sample_weight, reset=True)
        there = is_on_device(x) and all_finite(x)
        table = (Table.of_device if there else Table.of)(x, y, sample_weight)
        settings = self.get_params()
        how = _recipe(settings, x.shape[1])
        with at_most(self.n_jobs):
            model, runs = how.fit(
                table, _counts(settings, how, table), settings["random_state"]
            )
        self.n_iter_ = max(max(len(run.objectives), 1) for run in runs)
        weights = table.class_weights
        pi = priors_among(
            weights > 0, class_priors(settings["priors"], table.classes, weights)
        )
        return self._set(table.classes, model.with_priors(pi))

    def _set(self, classes: Labels, model: Any) -> Self:
        self.classes_, self._mixture = classes, model
        self.n_components_ = np.bincount(model.class_of, minlength=len(classes))
        return self

    @property
    def model_(self) -> Classifier:
        check_is_fitted(self)
        found = Classifier.of(
            self.classes_, predictor.feature_names(self), self._mixture, costs=self.costs
        )
        return found.allowing_missing()

    def component_posterior(self, X: Any) -> Floats:
        """Return p(component | x) of all components, class by class, shape (n, R)."""
        return self._answer(X, lambda _, x: self._mixture.component_posterior(x))

    def _state(self) -> tuple[dict[str, Any], dict[str, Any]]:
        names = {"feature_names": predictor.feature_names(self), "n_iter": self.n_iter_}
        return names, {"classes": self.classes_, **mixture_state(self._mixture)}

    def _restored(self, header: Mapping[str, Any], arrays: Mapping[str, Any]) -> Self:
        found = mixture_from(header, arrays)
        predictor.set_features(self, found.n_features, found.feature_names)
        self.n_iter_ = int(header["n_iter"])
        return self._set(found.classes, found.model)


def _recipe(given: Mapping[str, Any], n_features: int) -> MixtureRecipe:
    words = {word: word for word in ("full", "diagonal")}
    covariance = parse_word(given["covariance"], words, "covariance")
    tied = parse_word(
        str(given["tied"]), {"False": False, "True": True, "class": "class"}, "tied"
    )
    kappa = n_features + 2 if given["prior_rows"] is None else given["prior_rows"]
    n_init, max_iter = (whole_number(name, given[name]) for name in ("n_init", "max_iter"))
    kappa, tol = positive("prior_rows", kappa, zero=True), positive("tol", given["tol"])
    return MixtureRecipe(covariance, tied, kappa, n_init, max_iter, tol)


def _counts(given: Mapping[str, Any], how: MixtureRecipe, table: Table) -> list[int]:
    wanted = given["n_components"]
    if is_open(wanted):
        return how.counts(table, given["random_state"])
    if not isinstance(wanted, Mapping):
        return [whole_number("n_components", wanted)] * table.n_classes
    found = values_by_class(wanted, table.classes, where="n_components")
    return [whole_number("n_components", n) for n in found]
