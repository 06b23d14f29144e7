"""The Gaussian classifier that chooses its own settings."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Self, cast

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from suffice.core.checks import whole_number
from suffice.core.decision import Classifier
from suffice.core.estimation.plug_in_and_debiased import require_two_classes
from suffice.core.estimation.recipe import recipe_of
from suffice.core.linalg import dependent_columns
from suffice.core.model.averaged import AveragedModel, shares_of
from suffice.core.model.views import PiecewiseLinear, Plain, PowerTransformed
from suffice.core.moments import Moments
from suffice.core.table import Table
from suffice.core.table.schema import Encoding
from suffice.core.table.table import numbering_rows
from suffice.core.text import tables as notebook
from suffice.core.threads import one_blas_thread
from suffice.errors import InvalidParameterError
from suffice.estimators import predictor
from suffice.estimators.gaussian import GaussianClassifier
from suffice.persistence import gaussians as saved
from suffice.selection.search import candidates as search
from suffice.selection.search.plan import chosen
from suffice.typing import Codes


class AutoGaussian(predictor.DensityMixin, BaseEstimator):
    """Gaussian classifier that needs no tuning.

    Pooling, shrinkage, a Yeo–Johnson transform, kernel features and a temperature are
    judged by exact cross-validated log-loss, and the posteriors of the best few settings are
    averaged with weights that held-out rows choose. The best single Gaussian model stays at hand
    for densities, samples and boundaries.

    Parameters
    ----------
    kernel_features : bool, default=True
        Whether tied Gaussians over kernels at landmark rows (the Nyström method) may join.
    n_kept : int, default=2
        How many of the best settings of each view of the features (as they are, transformed,
        with kernel features) may share in the average; 1 picks the best of all.
    members : list of classifiers, optional
        Classifiers of scikit-learn's kind, with ``predict_proba``, that may join the average; a
        pair (name, classifier) names one. Each is judged on rows that it has not seen.
    categorical : list of columns, optional
        Columns of numbers that are levels, by name or position; text always is.
    random_state : int, default=0
        Seed of the folds, the samples of rows that settings are judged on, and the landmarks.

    Attributes
    ----------
    classes_ : array (K,)
    choices_ : list of Candidate
        The best settings, best first: log-loss with its standard error, error, share.
    best_estimator_ : GaussianClassifier
        The best single Gaussian of the features or their transform, fitted on all rows.
    effort_ : str
        How many rows and folds judged the settings, and which were left out for their cost.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from suffice import AutoGaussian
    >>> X, y = load_wine(return_X_y=True)
    >>> auto = AutoGaussian().fit(X, y)
    >>> auto.score(X, y) > 0.99
    True
    """

    _takes = ("categorical", "allow_nan")

    def __init__(
        self,
        *,
        kernel_features: bool = True,
        n_kept: int = 2,
        members: Any = None,
        categorical: Any = None,
        random_state: int = 0,
    ) -> None:
        predictor.keep(locals())

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Choose the settings, then learn from all rows."""
        n_kept = whole_number("n_kept", self.n_kept)
        if y is not None:
            X, y, sample_weight = predictor.labelled_rows(X, y, sample_weight)
        x, y, sample_weight = predictor.checked_table(self, X, y, sample_weight, reset=True)
        reading: Any = {
            "categorical": self.categorical,
            "names": predictor.feature_names(self),
        }
        whole = Table.of(x, y, sample_weight, missing="indicator", **reading)
        table, self.encoding_ = whole.counted().encoded()
        self.classes_ = table.classes
        require_two_classes(table.classes, table.class_weights)
        with numbering_rows(whole):
            self.varying_ = varying_features(table, self.encoding_)
        if len(self.varying_) < table.n_features:
            table = table.with_rows(table.x[:, self.varying_])
        options: Any = {"n_kept": n_kept, "kernel_features": self.kernel_features}
        options |= {"seed": self.random_state, "members": self._invited(table)}
        with one_blas_thread():
            self.choices_, self.members_, self.effort_ = chosen(table, **options)
            self.best_estimator_ = self._explained().fit(X, y, sample_weight)
        self.doubt_ = search.doubt_of(table.n_rows)
        self.frequencies_ = table.class_weights / table.class_weights.sum()
        return self

    def _invited(self, table: Table) -> dict[str, search.Learner]:  # noqa: ARG002
        """Return the classifiers of other kinds that may join, by name."""
        return named_members(self.members)

    @property
    def classifier_(self) -> Classifier:
        """The fitted classifier, free of scikit-learn; densities are of the best single model."""
        check_is_fitted(self)
        names = (
            self.encoding_.feature_names if self.encoding_ else predictor.feature_names(self)
        )
        known = self.varying_, self.doubt_, self.frequencies_, self.best_estimator_.model_
        model = AveragedModel(shares_of(self.members_), *known)
        found = Classifier.of(self.classes_, names, model, encoding=self.encoding_)
        return found.allowing_missing()

    def _state(self) -> tuple[dict[str, Any], dict[str, Any]]:
        return saved.averaged_state(self)

    def _restored(self, header: Mapping[str, Any], arrays: Mapping[str, Any]) -> Self:
        known = saved.averaged_from(header, arrays)
        predictor.set_features(self, int(header["n_features"]), header["feature_names"])
        self.classes_, self.encoding_, model = (
            known.classes,
            known.encoding,
            cast(Any, known.model),
        )
        self.doubt_, self.frequencies_ = model.doubt, model.frequencies
        self.varying_, self.effort_ = model.features, str(header.get("effort", ""))
        views, sums = saved.views_in(header, arrays), saved.moments_in(header, arrays)
        self.choices_ = [_kept(choice, views) for choice in header["choices"]]
        numbers = (c.get("view") for c in header["choices"] if c["weight"] > 0)
        kept = zip(
            (c for c in self.choices_ if c.weight > 0), model.shares, numbers, strict=True
        )
        self.members_ = tuple(
            search.Member(c, share.model, sums.get(i)) for c, share, i in kept
        )
        self.best_estimator_ = self._explained().fit_moments(
            saved.best_moments(header, arrays)
        )
        return self

    def _explained(self) -> GaussianClassifier:
        """Return the best setting that is one Gaussian per class in the features themselves."""
        gaussians = (c for c in self.choices_ if isinstance(c, search.Candidate))
        best = next(
            (c for c in gaussians if isinstance(c.view, Plain | PowerTransformed)), None
        )
        if best is None:
            return GaussianClassifier(tied=True, shrinkage=0.1, missing="indicator")
        transform = None
        if isinstance(best.view, PowerTransformed):
            width = self.encoding_.n_features if self.encoding_ else self.n_features_in_
            transform = best.view.transform.among(self.varying_, width)
            if self.encoding_:
                transform = transform.select(np.arange(self.encoding_.schema.n_numbers))
        return GaussianClassifier(
            pooling=best.pooling,
            shrinkage=best.shrinkage,
            temperature=best.temperature,
            power=transform,
            categorical=self.categorical,
            missing="indicator",
        )

    def _learnt(self) -> str:
        head = ["setting", "share", "held-out log-loss", "± from fold to fold"]
        shown = notebook.shown(self.choices_)
        rows = [[c.describe(), f"{c.weight:.0%}", c.log_loss, c.log_loss_se] for c in shown]
        return super()._learnt() + notebook.html_table(head, rows, "What is averaged", best=0)

    def explain(self) -> str:
        """Return in words what was chosen, and by how much it beat the runner-up."""
        first, *others = self.choices_
        if np.isnan(first.log_loss):
            return f"Too few rows to judge settings: {first.describe()}."
        lines = [f"Best: {first.describe()}; held-out log-loss {first.log_loss:.4f}."]
        if others:
            gap = others[0].log_loss - first.log_loss
            lines.append(
                f"It beat the runner-up ({others[0].describe()}) by {gap:.4f} "
                f"(± {first.log_loss_se:.4f} from fold to fold)."
            )
        shares = (f"{c.weight:.0%} {c.describe()}" for c in self.choices_ if c.weight > 0)
        return "\n".join([*lines, f"Averaged: {'; '.join(shares)}.", self.effort_])


PENALTIES = (100.0, 1.0, 0.01)
ADDITIVE_PENALTY, PIECES = 50.0, 10  # of each feature in additive logistic regression
_FEW_ROWS = 200  # under which no shapes are learnt
# numbers of rows and classes, up to which shapes of features, and several penalties, are tried
_FEW, _MANY = 50_000, 200_000


class AutoClassifier(AutoGaussian):
    """Automatic classifier: Gaussians, logistic regression and trees, averaged.

    The search of ``AutoGaussian``, with logistic regression, linear and additive, extra trees and
    a random forest beside it. Held-out rows choose the shares; ``explain()`` says who answers for
    what, and ``best_estimator_`` stays the best single Gaussian.

    Parameters
    ----------
    kernel_features, n_kept, members, categorical, random_state
        As of ``AutoGaussian``; ``members`` join these.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from suffice import AutoClassifier
    >>> X, y = load_wine(return_X_y=True)
    >>> AutoClassifier().fit(X, y).score(X, y) > 0.99
    True
    """

    def _invited(self, table: Table) -> dict[str, search.Learner]:
        n_numbers, seed = table.x.size * table.n_classes, self.random_state
        found: dict[str, search.Learner] = {
            "logistic regression": search.LogisticPath(
                PENALTIES if n_numbers < _MANY else (1.0,)
            ),
            "extra trees": search.TreeLearner(1, best=False, seed=seed),
            "random forest": search.TreeLearner(2, best=True, seed=seed),
        }
        if n_numbers < _FEW and table.n_rows >= _FEW_ROWS:
            pieces = PiecewiseLinear.of(table.x, PIECES * table.n_features)
            found["additive logistic regression"] = search.LogisticPath(
                (ADDITIVE_PENALTY,), pieces
            )
        return found | named_members(self.members)


def _kept(
    choice: dict[str, Any],
    views: list[Any],
) -> search.Candidate | search.OutsideCandidate:
    """Return a candidate that a file kept, its view by number."""
    rest = dict(choice)
    view = views[rest.pop("view")] if "view" in rest else Plain()
    rest.pop("linear", None)
    if "outsider" in rest:
        return search.OutsideCandidate(rest.pop("outsider"), None, 0, **rest, view=view)
    recipe = recipe_of(view, rest.pop("pooling"), rest.pop("shrinkage"))
    return search.Candidate(view, recipe, **rest)


def named_members(members: Any) -> dict[str, search.Learner]:
    """Return classifiers by name, their own where none is given."""
    found: dict[str, search.Learner] = {}
    for member in members or ():
        name, estimator = member if isinstance(member, tuple) else (None, member)
        if not hasattr(estimator, "predict_proba"):
            msg = f"member {estimator!r} states no posteriors (predict_proba): calibrate it first"
            raise InvalidParameterError(msg)
        called = type(estimator).__name__ if name is None else str(name)
        if called in found:
            msg = f"two members are called {called!r}: name them by pairs (name, classifier)"
            raise InvalidParameterError(msg)
        found[called] = search.ForeignLearner(estimator)
    return found


_FEWEST = 5  # rows that a level needs to have a feature of its own


def varying_features(table: Table, encoding: Encoding | None) -> Codes:
    """Return which features are neither constant, in most folds too, nor combinations of others."""
    storage = "pooled" if table.n_features < table.n_rows else "diagonal"
    moments = Moments.of_table(replace(table, weight=None), storage=storage, fourth=False)
    varies = moments.total_variances > 0
    if encoding is not None:
        on = table.x[:, encoding.schema.n_numbers :].sum(0)
        varies[encoding.schema.n_numbers :] &= np.minimum(on, table.n_rows - on) >= _FEWEST
    varying = np.flatnonzero(varies)
    if storage == "pooled" and len(varying) > 1:
        total = moments.pooled_scatter + moments.between_scatter
        gone = dependent_columns(total[np.ix_(varying, varying)])
        # fewer rows than features make features look like combinations of others
        if len(varying) - len(gone) < table.n_rows - 1:
            varying = np.delete(varying, gone)
    return varying if len(varying) else np.arange(table.n_features)
