"""Compare models for a report, choose one, and study it."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

from suffice.core.decision.predictions import Predictions
from suffice.core.memory import return_freed_memory
from suffice.core.moments import Moments
from suffice.core.progress import Wish
from suffice.errors import InvalidParameterError
from suffice.estimators.gaussian import GaussianClassifier
from suffice.estimators.gaussian_estimator import GaussianEstimator
from suffice.evaluate.comparison import Comparison
from suffice.evaluate.comparison.caveats import caveats_of_checks
from suffice.evaluate.comparison.comparison import MANY_ROWS, compared, folds_for, size_of
from suffice.evaluate.comparison.fit_times import (
    FitSize,
    SlowModel,
    affordable,
    seconds_to_fit,
)
from suffice.evaluate.comparison.importance import (
    MOST_COLUMNS,
    FoldRises,
    Importance,
    Shuffling,
    permutation_importance,
)
from suffice.evaluate.comparison.judging import (
    FromMoments,
    Outcome,
    learner_of,
    recorded_warnings,
)
from suffice.evaluate.comparison.learning_curve import Growth, growth
from suffice.evaluate.comparison.model_size import n_parameters
from suffice.evaluate.comparison.models import (
    ComparedModel,
    ModelsLike,
    installed_boosters,
    parse_models,
)
from suffice.evaluate.comparison.paired import ChoiceEstimate
from suffice.evaluate.comparison.real_errors import real_errors, suggested_groups
from suffice.evaluate.comparison.verdict import Verdict, verdict_on
from suffice.evaluate.curves.feature_separation import separation
from suffice.evaluate.diagnostics import Calibration, calibration
from suffice.evaluate.diagnostics.data import DataChecks, data_checks
from suffice.present.report.documented_table import DocumentedTable
from suffice.selection.processes import computed_ahead
from suffice.selection.validation.fitting import fitted
from suffice.selection.validation.fold_rows import FoldsLike
from suffice.selection.validation.folds import Folds
from suffice.typing import Codes, LabelsLike, SklearnClassifier

FAST_MODELS = ("LDA", "GaussianNB", "logistic regression", "decision tree", "random forest")
# models that choose their own regularisation by a search
SEARCHING_MODELS = ("RDA", "AutoGaussian")
MANY_CLASSES = 9  # with more classes, curves and dots in one chart would hide each other


@dataclass(frozen=True, eq=False)
class Findings:
    """What a report is written from: the rows, the compared models, and the chosen model."""

    data: DocumentedTable
    sample: DocumentedTable  # the evaluated rows: all rows, or a sample if there are many
    comparison: Comparison  # comparison of the models; its reference is the chosen model
    # the chosen model, fitted to all rows, or to the evaluated rows if all take too long
    estimator: Any
    # a Gaussian classifier with the same equations as the chosen model, if there is one
    gaussian: Any
    held_out: Predictions  # held-out predictions of the evaluated rows, in row order
    checks: DataChecks
    # calibration of held-out posteriors; None without posteriors
    calibration: Calibration | None
    verdict: Verdict
    importance: tuple[Importance, ...]  # importance of the original columns, largest first
    growth: Growth | None  # the expected error with more rows
    fast: bool  # whether simulations, importance and the learning curve were left out
    why_no_curve: str = ""  # a sentence on why there is no learning curve
    learnt_from: str = "all rows"  # phrase on the rows that the estimator was fitted to
    # the classifier of each fold, kept only until the page is made
    fold_models: tuple[Any, ...] = ()

    @property
    def name(self) -> str:
        """Name of the chosen model."""
        return self.comparison.reference

    @property
    def outcome(self) -> Outcome:
        """Held-out result of the chosen model."""
        return self.comparison[self.name]

    @property
    def class_names(self) -> tuple[str, ...]:
        """Classes as text, (K,)."""
        return self.sample.class_names

    @property
    def counted(self) -> str:
        """The unit of tables of held-out rows: "rows", or the weight of rows."""
        return "rows" if self.sample.table.weight is None else "weight of rows"

    @cached_property
    def moments(self) -> Moments:
        return Moments.of_table(self.sample.table)

    @property
    def has_many_classes(self) -> bool:
        """Whether there are more classes than one chart can show."""
        return len(self.class_names) > MANY_CLASSES

    @cached_property
    def positive(self) -> int:
        """The positive class: that of the threshold in the verdict, or else the rarer of two."""
        threshold = self.verdict.threshold
        if threshold is not None:
            return int(np.flatnonzero(self.held_out.classes == threshold.label)[0])
        counts = np.bincount(self.held_out.truth, self.held_out.weight, len(self.class_names))
        rarest = np.flatnonzero(counts == counts.min())
        return int(rarest[-1])

    @cached_property
    def ranked_features(self) -> Codes:
        """Indices of the features, those that separate the classes best first, (d,)."""
        ratio = np.nan_to_num(separation(self.moments), posinf=np.inf)
        return np.asarray(np.argsort(-ratio, kind="stable"))

    def predicted_class(self, row: int) -> str:
        """Return the predicted class of an evaluated row, or a note that there is none."""
        k = self.held_out.predicted[row]
        return self.class_names[k] if k >= 0 else "none"

    def tip(self, row: int) -> str:
        """Return the id, the true class and the predicted class of an evaluated row."""
        truth = self.class_names[self.held_out.truth[row]]
        return f"{self.id(row)}: {truth}, predicted {self.predicted_class(row)}"

    def id(self, row: int) -> str:
        """Return the id or number that identifies an evaluated row."""
        return str(self.sample.ids[row])


@dataclass(frozen=True, slots=True, eq=False)
class ReportSettings:
    """Which models a report compares, and how."""

    # The model to report on, if the user chooses it.
    estimator: SklearnClassifier | None = None
    models: ModelsLike = None  # names, estimators or a mapping of both
    cv: FoldsLike | None = None  # number of folds, a scikit-learn splitter, or splits
    seed: int = 0
    progress: Wish = None
    # whether to make a first look only, with few models, three folds and no simulations
    fast: bool = False

    def members(
        self,
        n_fits: int,
        size: FitSize,
    ) -> tuple[tuple[ComparedModel, ...], tuple[SlowModel, ...]]:
        """Return the models to compare, a given estimator first, and models that take too long."""
        models = self.models
        is_first_look = models is None and self.fast
        if is_first_look:
            models = FAST_MODELS
        members = parse_models(models, self.seed)
        slow: tuple[SlowModel, ...] = ()
        if is_first_look:
            members, slow = affordable(members, n_fits, size)
        if models is None:
            members = (*members, *installed_boosters(self.seed))
            members, slow = affordable(members, n_fits, size)
            if not any(member.name in SEARCHING_MODELS for member in members):
                closed, too_slow = affordable(_models_without_search(), n_fits, size)
                members = (*members, *closed)
                slow = (*slow, *too_slow)
        if self.estimator is None:
            return members, slow
        given = parse_models([clone(self.estimator)], self.seed)[0]
        others = [member for member in members if member.name != given.name]
        return (given, *others), slow


def _models_without_search() -> tuple[ComparedModel, ...]:
    """Return regularised models whose settings need no search."""
    lda = GaussianClassifier(tied=True, shrinkage="oas", temperature="auto")
    qda = GaussianClassifier(shrinkage="oas", temperature="auto")
    return (
        ComparedModel("LDA (OAS)", lda),
        ComparedModel("QDA (OAS)", qda),
    )


def judge(
    data: DocumentedTable,
    sample: DocumentedTable,
    settings: ReportSettings,
    others: DocumentedTable | None = None,
) -> Findings:
    """Return the findings: models compared on ``sample``, and the chosen one fitted to ``data``."""
    # The checks come before the models, because they need memory for all rows.
    checks = _data_checks(data)
    return_freed_memory()
    folds = _folds(sample, settings, are_there_others=others is not None)
    members, slow = settings.members(len(folds.splits), size_of(folds))
    comparison = compared(
        members,
        folds,
        settings.seed,
        settings.progress,
        slow=slow,
        keep=True,
        split="random rows" if data.groups is None else "unseen groups",
    )
    if settings.estimator is not None:
        comparison = comparison.against(members[0].name)
    member = next(m for m in members if m.name == comparison.reference)
    comparison = _with_real_errors(comparison, member, sample, settings.seed)
    checks = _without_answered_hint(checks, comparison)
    comparison = _with_data_caveats(comparison, checks, data)
    fits_sample_only = member.is_slow and data.table.n_rows > MANY_ROWS
    rows = _Rows(sample if fits_sample_only else data, sample, others)
    with recorded_warnings():
        study = _studied(member, comparison[member.name], folds, rows, settings)
        gaussian = gaussian_behind(study.estimator, data)
    why_no_curve = ""
    if study.growth is None and not settings.fast:
        why_no_curve = _why_no_curve(member, folds, has_groups=sample.groups is not None)
    fold_models = comparison[member.name].learnt
    comparison = _without_fold_models(comparison, n_parameters(study.estimator))
    held_out = comparison[member.name].held_out.in_order()
    calibrated = _calibration(held_out, simulations=199 if settings.fast else 999)
    verdict = verdict_on(
        comparison,
        chosen=settings.estimator is None,
        tested=study.tested,
        last=() if calibrated is None else calibrated.caveats,
    )
    return Findings(
        data=data,
        sample=sample,
        comparison=comparison,
        estimator=study.estimator,
        gaussian=gaussian,
        held_out=held_out,
        checks=checks,
        calibration=calibrated,
        verdict=verdict,
        importance=study.importance,
        growth=study.growth,
        why_no_curve=why_no_curve,
        fast=settings.fast,
        learnt_from=f"a sample of {len(sample.ids):,} rows"
        if fits_sample_only
        else "all rows",
        fold_models=fold_models,
    )


class _Rows(NamedTuple):
    """The rows that the chosen model is fitted to, the rows it is evaluated on, and others."""

    fitted: DocumentedTable
    sample: DocumentedTable
    others: DocumentedTable | None  # rows that were not used for the choice of the model


class _Study(NamedTuple):
    """The fitted chosen model, and results that are computed for this model only."""

    estimator: Any
    tested: ChoiceEstimate | None  # error on other rows; None if there are no other rows
    importance: tuple[Importance, ...]
    growth: Growth | None


def _studied(
    member: ComparedModel,
    outcome: Outcome,
    folds: Folds,
    rows: _Rows,
    settings: ReportSettings,
) -> _Study:
    """Return the fitted chosen model, its error on other rows, and importances of columns."""
    learning_curve = None
    importance: tuple[Importance, ...] = ()
    if not settings.fast:
        has_groups = rows.sample.groups is not None
        learning_curve = _learning_curve(
            member, outcome, folds, settings.seed, has_groups=has_groups
        )
    shuffling = None
    tasks: list[int | None] = []
    if not settings.fast and outcome.learnt and len(rows.sample.columns) <= MOST_COLUMNS:
        n_columns = len(rows.sample.columns)
        shuffling = Shuffling.of(member, outcome, folds, n_columns, settings.seed)
        tasks.extend(range(len(folds.splits)))
    has_test = rows.others is not None and rows.fitted is not rows.sample
    if has_test:
        # the test on other rows comes last, because other processes begin with the last task
        tasks.append(None)
    shared = _SharedStudy(member.estimator, rows.sample, rows.others, shuffling)
    # other processes do some of these tasks while this one fits the model to all rows
    with computed_ahead(_study_part, shared, tasks if member.travels else []) as computed:
        estimator = fitted_on(rows.fitted, member.estimator)
        if shuffling is not None:

            def rises_of(fold: int) -> FoldRises | None:
                part = computed(fold)
                return None if part is None else part.rises

            importance = permutation_importance(
                member, outcome, folds, rows.sample.columns, settings.seed, computed=rises_of
            )
        tested = None
        if has_test:
            part = computed(None) or _study_part(shared, None)
            tested = part.tested
        elif rows.others is not None:
            tested = _error_on(rows.others, estimator)
    return _Study(estimator, tested, importance, learning_curve)


class _SharedStudy(NamedTuple):
    """What a process needs for a part of the study of the chosen model."""

    estimator: SklearnClassifier
    sample: DocumentedTable
    others: DocumentedTable | None
    shuffling: Shuffling | None


class _StudyPart(NamedTuple):
    """The result of a part of the study: rises of losses on a fold, or the error on other rows."""

    rises: FoldRises | None = None
    tested: ChoiceEstimate | None = None


def _study_part(shared: _SharedStudy, fold: int | None) -> _StudyPart:
    """Shuffle the columns of a fold; if ``fold`` is None, test the model on other rows."""
    if fold is not None and shared.shuffling is not None:
        return _StudyPart(rises=shared.shuffling.rises(fold))
    if shared.others is None:
        return _StudyPart()
    model = fitted_on(shared.sample, shared.estimator)
    return _StudyPart(tested=_error_on(shared.others, model))


def _with_data_caveats(
    comparison: Comparison, checks: DataChecks, data: DocumentedTable
) -> Comparison:
    caveats = caveats_of_checks(checks, grouped=data.groups is not None)
    return replace(comparison, data_caveats=caveats)


def _without_answered_hint(checks: DataChecks, comparison: Comparison) -> DataChecks:
    """Return the checks without a hint at groups or dates for which the error was measured."""
    errors = comparison.real_errors
    if errors is None:
        return checks
    splits = {each.split for each in errors.errors}
    is_date_answered = checks.has_dates and "the future" in splits
    hints_at_groups = checks.together.endswith(f"--groups {errors.groups_name}")
    if is_date_answered or (hints_at_groups and "unseen groups" in splits):
        return replace(checks, together="")
    return checks


def _with_real_errors(
    comparison: Comparison, member: ComparedModel, sample: DocumentedTable, seed: int
) -> Comparison:
    """Return a comparison with the errors for unseen groups and later rows, if possible.

    If the user gives no groups, a column that seems to identify persons or sites is used. If the
    user gives no times, the first date column is used.
    """
    complete = {p.name: p for p in sample.profiles if p.kind != "date" and not p.empty.any()}
    used = {
        name: sample.identities(p)
        for name, p in complete.items()
        if not p.kind.startswith("not used")
    }
    dates = [p for p in sample.profiles if p.kind == "date" and not p.empty.any()]
    groups: LabelsLike | None = sample.groups
    groups_name = sample.groups_name
    proposed = suggested_groups(used)
    if groups is None and proposed is not None:
        groups = used[proposed]
        groups_name = proposed
    time: LabelsLike | None = sample.time
    if time is None and dates:
        time = dates[0].values
    if groups is None and time is None:
        return comparison
    with recorded_warnings():
        errors = real_errors(
            member,
            sample.rows,
            sample.table.labels,
            sample_weight=sample.table.weight,
            groups=groups,
            time=time,
            seed=seed,
            judged={comparison.split: comparison[member.name]},
        )
    return replace(comparison, real_errors=replace(errors, groups_name=groups_name))


def _folds(
    sample: DocumentedTable,
    settings: ReportSettings,
    *,
    are_there_others: bool,
) -> Folds:
    """Return folds that hold out every row once, as the sentences on the page say."""
    cv = settings.cv
    # three folds suffice for the choice if other rows test it
    if cv is None and (settings.fast or are_there_others):
        cv = 3
    table = sample.table
    folds = folds_for(
        sample.rows, table.labels, cv, table.weight, sample.groups, settings.seed
    )
    held_out_rows = np.concatenate([test for _, test in folds.splits])
    times = np.bincount(held_out_rows, minlength=len(folds.codes))
    repeated = np.flatnonzero(times != 1)
    if len(repeated):
        row = repeated[0]
        msg = (
            f"row {row} is held out {times[row]} times by cv, but a report judges every row once: "
            "use folds, such as StratifiedKFold"
        )
        raise InvalidParameterError(msg)
    return folds


def _data_checks(data: DocumentedTable) -> DataChecks:
    dates = [profile.name for profile in data.profiles if profile.kind == "date"]
    rows = data.table if data.source is None else data.source
    with recorded_warnings():
        checks = data_checks(rows, data.table.labels, dates)
    if data.groups is not None:  # folds already hold out whole groups
        checks = replace(checks, together="")
    return checks


def _error_on(others: DocumentedTable, fitted_model: SklearnClassifier) -> ChoiceEstimate:
    """Return the error of a model on rows that it was not trained on."""
    wrong = np.asarray(fitted_model.predict(others.named_rows)) != others.table.labels
    return ChoiceEstimate.of_rows(wrong, others.table.weights)


def _learning_curve(
    member: ComparedModel, outcome: Outcome, folds: Folds, seed: int, *, has_groups: bool
) -> Growth | None:
    """Return the expected error with more rows; None if a fit is slow or rows have groups."""
    # with groups, it is unknown whether more rows would come from the same groups
    if has_groups or _seconds_to_fit(member, folds) > 1:
        return None
    # 3 to 8 repeats, so that the curve takes a few seconds
    n_repeats = int(np.clip(0.5 / _seconds_to_fit(member, folds), 3, 8))
    return growth(member, folds, outcome, n_repeats=n_repeats, seed=seed)


def _why_no_curve(member: ComparedModel, folds: Folds, *, has_groups: bool) -> str:
    if has_groups:
        return (
            "There is no learning curve, because more rows of known groups say nothing about new "
            "groups."
        )
    if _seconds_to_fit(member, folds) > 1:
        return (
            f"There is no learning curve, because it takes too long to fit {member.name} to parts "
            "of the rows."
        )
    return (
        "There is no learning curve, because the table is too small to fit the model to parts of "
        "it."
    )


def _seconds_to_fit(member: ComparedModel, folds: Folds) -> float:
    size = size_of(folds)
    return max(seconds_to_fit(member.name, size), 1e-10 * size.columns**3, 1e-3)


def _without_fold_models(comparison: Comparison, n_parameters: float) -> Comparison:
    """Return a comparison without classifiers, with the number of parameters of the final model."""
    outcomes = []
    for outcome in comparison.outcomes:
        if outcome.name == comparison.reference:
            outcomes.append(replace(outcome, learnt=(), n_parameters=n_parameters))
        else:
            outcomes.append(replace(outcome, learnt=()))
    return replace(comparison, outcomes=tuple(outcomes))


def _calibration(held_out: Predictions, simulations: int) -> Calibration | None:
    if held_out.logs is None:
        return None
    posteriors = held_out.posteriors
    normalised = posteriors / posteriors.sum(1, keepdims=True)
    return calibration(
        held_out.labels,
        normalised,
        held_out.classes,
        sample_weight=held_out.weight,
        simulations=simulations,
    )


def fitted_on(data: DocumentedTable, estimator: SklearnClassifier) -> SklearnClassifier:
    """Return a copy of an estimator, fitted to all rows, or to their moments if these suffice."""
    learner = learner_of(estimator, data.rows, is_plain=data.source is None)
    if isinstance(learner, FromMoments):
        moments = Moments.of_table(data.table, storage=learner.storage, fourth=learner.fourth)
        return learner.read(moments)
    return fitted(learner.estimator, data.named_rows, data.table.labels, data.table.weight)


def gaussian_behind(
    fitted_model: SklearnClassifier,
    data: DocumentedTable,
) -> GaussianEstimator | None:
    """Return a Gaussian classifier with the same equations as a fitted model, if there is one."""
    best = getattr(fitted_model, "best_estimator_", fitted_model)
    if not isinstance(best, GaussianEstimator):
        return None
    gaussian: GaussianEstimator = clone(best)
    # use the values of settings that were "auto"
    chosen = best.settings_
    left_open = best.settings().open_settings
    if "pooling" in left_open:
        gaussian.set_params(pooling=chosen.pooling)
    if "shrinkage" in left_open:
        gaussian.set_params(shrinkage=chosen.shrinkage)
    if "temperature" in left_open:
        gaussian.set_params(temperature=chosen.temperature)
    if data.source is None:
        gaussian.set_params(power=best.moments_.power)
        return gaussian.fit_moments(best.moments_)
    # mixed rows need a Gaussian classifier of the encoded rows
    power = None if best.power is None else "yeo-johnson"
    gaussian.set_params(categorical=None, missing="marginal", power=power)
    return gaussian.fit(data.frame, data.table.labels, data.table.weight)
