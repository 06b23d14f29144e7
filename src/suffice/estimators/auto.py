"""Classifiers that choose their own settings."""

import copy
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from suffice.core.checks import whole_number
from suffice.core.decision import Classifier
from suffice.core.decision.bayes_decision import CostsLike, decision_by
from suffice.core.estimation.estimate import settings_of_view
from suffice.core.estimation.plug_in import require_two_classes
from suffice.core.linalg import dependent_columns
from suffice.core.model.averaged import AveragedModel
from suffice.core.model.views import Plain, PowerTransformed, View
from suffice.core.moments import Moments
from suffice.core.power_transform import PowerTransform
from suffice.core.table import Table
from suffice.core.table.indicator_encoding import Encoding
from suffice.core.table.labels import has_label, label_array
from suffice.core.table.table import numbering_rows
from suffice.core.text import tables as notebook
from suffice.core.text.numbers import percent
from suffice.core.threads import one_blas_thread
from suffice.errors import InvalidParameterError
from suffice.estimators import predictor
from suffice.estimators.gaussian import GaussianClassifier
from suffice.persistence import averages as saved
from suffice.persistence.fields import State
from suffice.selection.search.candidates import (
    Candidate,
    GaussianCandidate,
    LearnerCandidate,
    Member,
    doubt_of,
    shares_of,
)
from suffice.selection.search.learners import (
    BoostedLearner,
    ForeignLearner,
    Learner,
    LogisticPath,
    TreeLearner,
)
from suffice.selection.search.plan import choose
from suffice.selection.search.view_fitting import fit_pieces
from suffice.selection.validation.fitting import Belonging
from suffice.selection.validation.time_order import require_one_order, time_codes
from suffice.selection.validation.whole_groups import row_group_codes
from suffice.typing import (
    Array,
    Codes,
    Floats,
    Labels,
    LabelsLike,
    RowsLike,
    SklearnClassifier,
    WeightsLike,
)

PENALTIES = (100.0, 1.0, 0.01)
ADDITIVE_PENALTY = 50.0
N_PIECES = 10  # pieces of each feature in additive logistic regression
_FEW_ROWS = 200  # with fewer rows, additive logistic regression is not tried
# additive logistic regression is tried if rows × features × classes is below this product
_FEW_NUMBERS = 50_000
# several penalties are tried if rows × features × classes is below this product
_MANY_NUMBERS = 200_000
_MANY_ROWS = 2_000  # boosted trees are tried with at least this many rows
_N_BOOSTINGS = 3  # number of boosted fits whose scores are averaged
_FEWEST_LEVEL_ROWS = 5  # a level with fewer rows gets no indicator feature


class AutoGaussian(predictor.DensityMixin, BaseEstimator):
    """Gaussian classifier that needs no tuning.

    ``fit`` chooses pooling, shrinkage, a Yeo–Johnson transform, kernel features and a temperature
    by exact cross-validated log-loss. It averages the posteriors of the best few settings, with
    weights chosen on held-out rows. Densities, samples and boundaries come from the best single
    Gaussian model.

    Parameters
    ----------
    kernel_features : bool, default=True
        Whether tied Gaussians over kernels at landmark rows (the Nyström method) may enter the
        average.
    n_kept : int, default=2
        How many of the best settings for each form of the features (original, transformed, with
        kernel features) may enter the average. With 1, the single best setting is the model.
    members : list of classifiers, optional
        scikit-learn classifiers with ``predict_proba`` that may enter the average. Pass a pair
        (name, classifier) to name a classifier. Each is evaluated on held-out rows.
    categorical : list of columns, optional
        Columns whose numbers are codes of categories, by name or position; text columns are
        always categorical.
    costs : array (K, K), {(action, truth): cost} or Costs, optional
        Cost of predicting ``action`` when ``truth`` holds; by default every error costs 1. Costs
        change the predictions, but neither the posteriors nor the choice of settings.
    random_state : int, default=0
        Seed of the folds, the samples of rows that settings are evaluated on, and the landmarks.

    Attributes
    ----------
    classes_ : array (K,)
    choices_ : list of candidates
        The best settings, best first. Each has its log-loss with a standard error, its error, and
        its weight in the average.
    best_estimator_ : GaussianClassifier
        The best single Gaussian for the features, original or transformed, fitted to all rows.
    temperature_ : float
        The temperature of the average, chosen on held-out rows. Below 1, the posteriors are more
        confident than the mean of the members' posteriors.
    effort_ : str
        How many rows and folds were used to evaluate the settings, and which settings were skipped
        to save time.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from suffice import AutoGaussian
    >>> X, y = load_wine(return_X_y=True)
    >>> auto = AutoGaussian().fit(X, y)
    >>> auto.score(X, y) > 0.99
    True
    """

    classes_: Labels  # (K,)
    n_features_in_: int
    choices_: list[Candidate]  # best first
    members_: tuple[Member, ...]  # the choices with positive weight, fitted
    best_estimator_: GaussianClassifier
    temperature_: float
    effort_: str
    encoding_: Encoding | None  # encoding of a mixed table
    _varying: Codes  # indices of the features that the members read
    _doubt: float  # ε, the weight of the class frequencies in the average
    _frequencies: Floats  # frequencies of the classes  (K,)
    _takes_categories = True
    _takes_missing = True

    def __init__(
        self,
        *,
        kernel_features: bool = True,
        n_kept: int = 2,
        members: Sequence[SklearnClassifier | tuple[str, SklearnClassifier]] | None = None,
        categorical: Sequence[str | int] | None = None,
        costs: CostsLike = None,
        random_state: int = 0,
    ) -> None:
        self.kernel_features = kernel_features
        self.n_kept = n_kept
        self.members = members
        self.categorical = categorical
        self.costs = costs
        self.random_state = random_state

    def fit(
        self,
        X: RowsLike,
        y: LabelsLike,
        sample_weight: WeightsLike = None,
        *,
        groups: LabelsLike | None = None,
        time: LabelsLike | None = None,
    ) -> Self:
        """Choose the settings, then fit to all rows.

        With ``groups`` (n,), settings are evaluated on folds of whole groups. With ``time`` (n,),
        settings are evaluated on blocks of later rows, with models fitted to all earlier rows.
        """
        n_kept = whole_number("n_kept", self.n_kept)
        belonging = Belonging()
        if y is not None:
            belonging = _belonging_of_labelled(y, groups, time)
            X, y, sample_weight = predictor.labelled_rows(X, y, sample_weight)
        x, labels, weight = predictor.checked_table(self, X, y, sample_weight, reset=True)
        whole = Table.of(
            x,
            labels,
            weight,
            missing="indicator",
            categorical=self.categorical,
            names=predictor.feature_names(self),
        )
        table, self.encoding_ = whole.counted().encoded()
        if whole.weight is not None:
            belonging = belonging.take(whole.weight > 0)
        self.classes_ = table.classes
        require_two_classes(table.classes, table.class_weights)
        decision_by(self.costs, table.classes)  # raises an error if the costs are impossible
        with numbering_rows(whole):
            self._varying = varying_features(table, self.encoding_)
        if len(self._varying) < table.n_features:
            table = table.with_rows(table.x[:, self._varying])
        with one_blas_thread():
            choice = choose(
                table,
                kernel_features=self.kernel_features,
                n_kept=n_kept,
                seed=self.random_state,
                learners=self._learners(table),
                belonging=belonging,
            )
            self.choices_ = choice.candidates
            self.members_ = choice.members
            self.temperature_ = choice.temperature
            self.effort_ = choice.effort
            self.best_estimator_ = self._best_gaussian().fit(X, labels, weight)
        self._doubt = doubt_of(table.n_rows)
        self._frequencies = table.class_weights / table.class_weights.sum()
        return self

    def _learners(self, table: Table) -> dict[str, Learner]:  # noqa: ARG002
        """Return the classifiers other than Gaussians that may enter the average, by name."""
        return named_learners(self.members)

    @property
    def model_(self) -> Classifier:
        """The fitted classifier, without scikit-learn; it has the best Gaussian's densities."""
        check_is_fitted(self)
        if self.encoding_ is None:
            names = predictor.feature_names(self)
        else:
            names = self.encoding_.feature_names
        model = AveragedModel(
            shares=shares_of(self.members_),
            features=self._varying,
            doubt=self._doubt,
            frequencies=self._frequencies,
            best=self.best_estimator_.model_.density,
            temperature=self.temperature_,
        )
        classifier = Classifier.of(
            self.classes_, names, model, encoding=self.encoding_, costs=self.costs
        )
        return classifier.allowing_missing()

    def with_costs(self, costs: CostsLike) -> Self:
        """Return a copy with other costs, without a refit; the posteriors stay the same."""
        check_is_fitted(self)
        decision_by(costs, self.classes_)  # raises an error if the costs are impossible
        changed = copy.copy(self)
        changed.costs = costs
        return changed

    @property
    def feature_importances_(self) -> Floats:
        """Share of the divergence between the classes that is lost without each column, (d,).

        The densities are those of ``best_estimator_``, the best single Gaussian.
        """
        importances: Floats = self.best_estimator_.feature_importances_
        return importances

    def _state(self) -> State:
        return saved.averaged_state(self)

    def _restored(self, header: Mapping[str, Any], arrays: Mapping[str, Array]) -> Self:
        classifier = saved.averaged_from(header, arrays)
        model = classifier.model
        assert isinstance(model, AveragedModel)
        predictor.set_features(self, int(header["n_features"]), header["feature_names"])
        self.classes_ = classifier.classes
        self.encoding_ = classifier.encoding
        self._doubt = model.doubt
        self._frequencies = model.frequencies
        self._varying = model.features
        self.temperature_ = model.temperature
        self.effort_ = str(header["effort"])
        views = saved.views_in(header, arrays)
        moments = saved.moments_in(header, arrays)  # by the number of their view
        self.choices_ = []
        members = []
        shares = iter(model.shares)
        for choice in header["choices"]:
            candidate = _candidate_from(choice, views)
            self.choices_.append(candidate)
            if candidate.weight > 0:
                member = Member(candidate, next(shares).model, moments.get(choice["view"]))
                members.append(member)
        self.members_ = tuple(members)
        best_moments = saved.best_moments(header, arrays)
        self.best_estimator_ = self._best_gaussian().fit_moments(best_moments)
        return self

    def _best_gaussian(self) -> GaussianClassifier:
        """Return an unfitted Gaussian classifier with the best setting that adds no features."""
        for candidate in self.choices_:
            if not isinstance(candidate, GaussianCandidate):
                continue
            if isinstance(candidate.view, Plain | PowerTransformed):
                return GaussianClassifier(
                    pooling=candidate.pooling,
                    shrinkage=candidate.shrinkage,
                    temperature=candidate.temperature,
                    power=self._transform_of(candidate.view),
                    categorical=self.categorical,
                    missing="indicator",
                )
        return GaussianClassifier(tied=True, shrinkage=0.1, missing="indicator")

    def _transform_of(self, view: Plain | PowerTransformed) -> PowerTransform | None:
        """Return the power transform of a view as a transform of all numeric columns."""
        if isinstance(view, Plain):
            return None
        if self.encoding_ is None:
            return view.transform.among(self._varying, self.n_features_in_)
        transform = view.transform.among(self._varying, self.encoding_.n_features)
        return transform.select(np.arange(self.encoding_.schema.n_numbers))

    def _learnt(self) -> str:
        head = ["setting", "share", "held-out log-loss", "± from fold to fold"]
        rows = [
            [choice.describe(), f"{choice.weight:.0%}", choice.log_loss, choice.log_loss_se]
            for choice in notebook.first_rows(self.choices_)
        ]
        return super()._learnt() + notebook.html_table(head, rows, "What is averaged", best=0)

    def explain(self) -> str:
        """Return, as text, the chosen setting, its lead on the runner-up, and the average."""
        first, *others = self.choices_
        if np.isnan(first.log_loss):
            return f"There are too few rows to compare settings. Used: {first.describe()}."
        lines = [
            f"The best setting is: {first.describe()}.",
            f"Its held-out log-loss is {first.log_loss:.4f} (standard error "
            f"{first.log_loss_se:.4f}).",
        ]
        if others:
            gap = others[0].log_loss - first.log_loss
            lines.append(
                f"The log-loss of the runner-up is {gap:.4f} higher: {others[0].describe()}."
            )
        averaged = [choice for choice in self.choices_ if choice.weight > 0]
        if len(averaged) > 1:
            lines.append(
                f"The posteriors of {len(averaged)} settings are averaged, with weights:"
            )
            lines.extend(f"{percent(c.weight):>8}  {c.describe()}" for c in averaged)
        if self.temperature_ != 1:
            lines.append(f"The temperature of the average is {self.temperature_:.3g}.")
        lines.append(self.effort_)
        return "\n".join(lines)


class AutoClassifier(AutoGaussian):
    """Classifier that averages Gaussians, logistic regression and trees, and needs no tuning.

    The candidates are those of ``AutoGaussian``, linear and additive logistic regression, extra
    trees, a random forest and, with at least 2,000 rows, boosted trees. Their weights in the
    average are chosen on held-out rows. ``explain()`` lists the weights, and ``best_estimator_`` is
    the best single Gaussian.

    Parameters
    ----------
    kernel_features, n_kept, members, categorical, costs, random_state
        As in ``AutoGaussian``. ``members`` are candidates in addition to the classifiers above.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from suffice import AutoClassifier
    >>> X, y = load_wine(return_X_y=True)
    >>> AutoClassifier().fit(X, y).score(X, y) > 0.99
    True
    """

    def _learners(self, table: Table) -> dict[str, Learner]:
        n_numbers = table.x.size * table.n_classes
        penalties = PENALTIES if n_numbers < _MANY_NUMBERS else (1.0,)
        seed = self.random_state
        learners: dict[str, Learner] = {
            "logistic regression": LogisticPath(penalties),
            "extra trees": TreeLearner(min_leaf_rows=1, random_forest=False, seed=seed),
            "random forest": TreeLearner(min_leaf_rows=2, random_forest=True, seed=seed),
        }
        if n_numbers < _FEW_NUMBERS and table.n_rows >= _FEW_ROWS:
            pieces = fit_pieces(table.x, N_PIECES * table.n_features)
            additive = LogisticPath((ADDITIVE_PENALTY,), pieces)
            learners["additive logistic regression"] = additive
        if table.n_rows >= _MANY_ROWS:
            learners["boosted trees"] = BoostedLearner(n_repeats=_N_BOOSTINGS, seed=seed)
        return learners | named_learners(self.members)


def _belonging_of_labelled(
    y: LabelsLike,
    groups: LabelsLike | None,
    time: LabelsLike | None,
) -> Belonging:
    """Return the groups or the times of the rows that have a label; raise if they are unusable."""
    require_one_order(groups, time)
    if groups is None and time is None:
        return Belonging()
    labels = label_array(y)
    is_labelled = has_label(labels)
    if time is not None:
        return Belonging(time=time_codes(time, len(labels))).take(is_labelled)
    values = np.asarray(groups)
    if values.shape != labels.shape:
        return Belonging(groups=row_group_codes(values, labels))  # this raises an error
    return Belonging(groups=row_group_codes(values[is_labelled], labels[is_labelled]))


def _candidate_from(choice: Mapping[str, Any], views: Sequence[View]) -> Candidate:
    """Return a candidate that was loaded from a file."""
    view = views[choice["view"]]
    if "outsider" in choice:
        return LearnerCandidate(
            name=choice["outsider"],
            learner=None,
            setting=0,
            temperature=choice["temperature"],
            error=choice["error"],
            log_loss=choice["log_loss"],
            log_loss_se=choice["log_loss_se"],
            weight=choice["weight"],
            view=view,
        )
    return GaussianCandidate(
        view=view,
        settings=settings_of_view(view, choice["pooling"], choice["shrinkage"]),
        temperature=choice["temperature"],
        error=choice["error"],
        log_loss=choice["log_loss"],
        log_loss_se=choice["log_loss_se"],
        weight=choice["weight"],
    )


def named_learners(
    members: Sequence[SklearnClassifier | tuple[str, SklearnClassifier]] | None,
) -> dict[str, Learner]:
    """Return users' classifiers by name; a classifier without a name gets the name of its class."""
    learners: dict[str, Learner] = {}
    for member in members or ():
        if isinstance(member, tuple):
            name, estimator = member
        else:
            name = None
            estimator = member
        if not hasattr(estimator, "predict_proba"):
            raise InvalidParameterError(
                f"member {estimator!r} has no predict_proba, so it cannot be averaged: calibrate "
                "it first, for example with CalibratedClassifierCV"
            )
        name = type(estimator).__name__ if name is None else str(name)
        if name in learners:
            raise InvalidParameterError(
                f"two members are called {name!r}: name them by pairs (name, classifier)"
            )
        learners[name] = ForeignLearner(estimator)
    return learners


def varying_features(table: Table, encoding: Encoding | None) -> Codes:
    """Return the indices of features that vary in most folds and are not combinations of others."""
    storage = "pooled" if table.n_features < table.n_rows else "diagonal"
    moments = Moments.of_table(replace(table, weight=None), storage=storage, fourth=False)
    varies = moments.total_variances > 0
    if encoding is not None:
        n_numbers = encoding.schema.n_numbers
        n_on = table.x[:, n_numbers:].sum(0)
        n_rarer = np.minimum(n_on, table.n_rows - n_on)
        varies[n_numbers:] &= n_rarer >= _FEWEST_LEVEL_ROWS
    varying = np.flatnonzero(varies)
    if storage == "pooled" and len(varying) > 1:
        total = moments.pooled_scatter + moments.between_scatter
        dependent = dependent_columns(total[np.ix_(varying, varying)])
        # With fewer rows than features, every feature looks like a combination of others.
        if len(varying) - len(dependent) < table.n_rows - 1:
            varying = np.delete(varying, dependent)
    return varying if len(varying) else np.arange(table.n_features)
