"""Which classifier to use: models compared on the same folds, and the verdict on one of them."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.base import clone

from suffice.core.decision.predictions import Predictions
from suffice.core.estimation.settings import is_open
from suffice.core.moments import Moments
from suffice.errors import InvalidParameterError
from suffice.estimators.gaussian import GaussianClassifier
from suffice.evaluate.comparison import Comparison
from suffice.evaluate.comparison import models as line_up
from suffice.evaluate.comparison.comparison import MANY_ROWS, compared, folds_for, size_of
from suffice.evaluate.comparison.importance import Importance, permutation_importance
from suffice.evaluate.comparison.judging import FromMoments, Outcome, learner_of, overheard
from suffice.evaluate.comparison.learning_curve import Growth, growth
from suffice.evaluate.comparison.paired import ChoiceEstimate
from suffice.evaluate.comparison.verdict import Verdict, verdict_on
from suffice.evaluate.curves.feature_separation import separation
from suffice.evaluate.diagnostics import Calibration, calibration
from suffice.evaluate.diagnostics.data import DataChecks, data_checks
from suffice.present.report.documented import DocumentedTable
from suffice.selection.validation.folds import Folds, fitted
from suffice.typing import Codes

FAST = ("LDA", "GaussianNB", "logistic regression", "decision tree")
SEARCHING = ("RDA", "AutoGaussian")
MANY_CLASSES = 9  # beyond which curves and clouds of every class hide each other


@dataclass(frozen=True, eq=False)
class Findings:
    """All that a report is written from: rows, models compared on them, and the chosen one."""

    data: DocumentedTable
    sample: DocumentedTable  # the judged rows: all, unless there are many
    comparison: Comparison  # its reference is the chosen one
    estimator: Any  # fitted on all rows, or on those judged where that would take too long
    explained: Any  # the Gaussian classifier behind it, None where there is none
    held_out: Predictions  # of the judged rows, in their order, each while it was held out
    checks: DataChecks
    calibration: Calibration | None  # of held-out posteriors, None where there are none
    verdict: Verdict
    importance: tuple[Importance, ...]  # of the columns as they came, largest first
    growth: Growth | None  # what more rows would bring
    fast: bool  # whether simulations, importance and learning curve were left out
    learnt_from: str = "all rows"  # what the estimator was fitted to
    learnt: tuple[
        Any, ...
    ] = ()  # the chosen one as each fold learnt it, while the page is made

    @property
    def name(self) -> str:
        """What the chosen one is called among the models."""
        return self.comparison.reference

    @property
    def outcome(self) -> Outcome:
        return self.comparison[self.name]

    @property
    def names(self) -> tuple[str, ...]:
        """Classes as text, (K,)."""
        return self.sample.class_names

    @property
    def counted(self) -> str:
        """What tables of held-out rows count."""
        return "rows" if self.sample.table.weight is None else "weight of rows"

    @cached_property
    def moments(self) -> Moments:
        return Moments.of_table(self.sample.table)

    @property
    def many(self) -> bool:
        """Whether there are more classes than a chart can show."""
        return len(self.names) > MANY_CLASSES

    @cached_property
    def positive(self) -> int:
        """The class of two that is looked for: that of the verdict, or the rarer one."""
        at = self.verdict.threshold
        if at is not None:
            return int(np.flatnonzero(self.held_out.classes == at.label)[0])
        counts = np.bincount(self.held_out.truth, self.held_out.weight, len(self.names))
        return int(len(counts) - 1 - counts[::-1].argmin())

    @cached_property
    def ranked_features(self) -> Codes:
        """Features by how well they separate the classes, best first, (d,)."""
        ratio = np.nan_to_num(separation(self.moments), posinf=np.inf)
        return np.asarray(np.argsort(-ratio, kind="stable"))

    def guess(self, row: int) -> str:
        """Return the class predicted for a judged row, or that there is none."""
        k = self.held_out.predicted[row]
        return self.names[k] if k >= 0 else "none"

    def tip(self, row: int) -> str:
        """Return what is known of a judged row."""
        truth = self.names[self.held_out.truth[row]]
        return f"{self.id(row)}: {truth}, predicted {self.guess(row)}"

    def id(self, row: int) -> str:
        """Return what a person finds a judged row by."""
        return str(self.sample.ids[row])


@dataclass(frozen=True, slots=True, eq=False)
class ReportSettings:
    """Which models are compared, and how."""

    estimator: Any = None  # chosen by a person
    models: Any = None
    cv: Any = None
    seed: int = 0
    progress: Any = None
    fast: bool = False  # a first look: few models, three folds, no simulation

    def members(
        self,
        n_fits: int,
        size: line_up.FitSize,
    ) -> tuple[tuple[line_up.ComparedModel, ...], tuple[str, ...]]:
        """Return who is compared, an estimator that a person chose first; and who takes long."""
        models = FAST if self.fast and self.models is None else self.models
        members = line_up.parse_models(models, self.seed)
        left_out: tuple[str, ...] = ()
        if models is None:
            members, left_out = line_up.affordable(members, n_fits, size)
            if not {m.name for m in members} & set(SEARCHING):
                how: Any = {
                    "shrinkage": "oas",
                    "temperature": "auto",
                }  # settings without a search
                lda, qda = GaussianClassifier(tied=True, **how), GaussianClassifier(**how)
                both = ("LDA (OAS)", lda), ("QDA (OAS)", qda)
                named = tuple(line_up.ComparedModel(*each) for each in both)
                closed, slow = line_up.affordable(named, n_fits, size)
                members, left_out = (*members, *closed), (*left_out, *slow)
        if self.estimator is None:
            return members, left_out
        own = line_up.parse_models([clone(self.estimator)], self.seed)[0]
        return (own, *(m for m in members if m.name != own.name)), left_out


def judge(
    data: DocumentedTable,
    sample: DocumentedTable,
    settings: ReportSettings,
    others: DocumentedTable | None = None,
) -> Findings:
    """Return the models compared on the rows of ``sample``, and the chosen one fitted on all."""
    with overheard():  # first, since it needs memory for all rows, and models keep theirs
        checks = _checked(data)
    table = sample.table
    # other rows, if any, test the choice: three folds suffice to make it
    cv = 3 if (settings.fast or others) and settings.cv is None else settings.cv
    folds = folds_for(
        sample.rows, table.labels, cv, table.weight, sample.groups, settings.seed
    )
    _refuse_repeats(folds)
    size = size_of(folds)
    members, left_out = settings.members(len(folds.splits), size)
    comparison = compared(
        members, folds, settings.seed, settings.progress, left_out=left_out, keep=True
    )
    asked = settings.estimator is not None
    if asked:
        comparison = comparison.against(members[0].name)
    member = next(m for m in members if m.name == comparison.reference)
    learnt = sample if member.is_slow and data.table.n_rows > MANY_ROWS else data
    with overheard():
        chosen = fitted_on(learnt, member.estimator)
        trial = fitted_on(sample, member.estimator) if others and learnt is data else chosen
        tested = None if others is None else _tested(trial, others)
        explained = explained_by(chosen, data)
        importance, curve = _explored(member, comparison, folds, size, sample, settings)
    comparison, of_folds = _forgetful(comparison, line_up.n_parameters(chosen))
    held_out = comparison[comparison.reference].held_out.in_order()
    calibrated = _calibrated(held_out, 199 if settings.fast else 999)
    caveats = {
        "first": checks.caveats,
        "last": () if calibrated is None else calibrated.caveats,
    }
    verdict = verdict_on(comparison, chosen=not asked, tested=tested, **caveats)
    rows = "all rows" if learnt is data else f"a sample of {sample.table.n_rows:,} rows"
    told: Any = (comparison, chosen, explained, held_out, checks, calibrated)
    more: Any = (verdict, importance, curve, settings.fast, rows, of_folds)
    return Findings(data, sample, *told, *more)


def _refuse_repeats(folds: Folds) -> None:
    """Raise unless every row is held out once, as what the page says of rows supposes."""
    times = np.bincount(
        np.concatenate([test for _, test in folds.splits]), None, len(folds.codes)
    )
    for row in np.flatnonzero(times != 1)[:1]:
        how = f"row {row} is held out {times[row]} times by cv"
        msg = f"a report judges every row once, and {how}: use folds, such as StratifiedKFold"
        raise InvalidParameterError(msg)


def _checked(data: DocumentedTable) -> DataChecks:
    rows, dates = data.source, [p.name for p in data.profiles if p.kind == "date"]
    found = data_checks(data.table if rows is None else rows, data.table.labels, dates)
    return found if data.groups is None else replace(found, together="")


def _tested(trial: Any, others: DocumentedTable) -> ChoiceEstimate:
    """Return how often a model is wrong about rows that it did not learn from."""
    wrong = np.asarray(trial.predict(others.asked)) != others.table.labels
    return ChoiceEstimate.of_rows(wrong, others.table.weights)


def _explored(
    member: line_up.ComparedModel,
    comparison: Comparison,
    folds: Folds,
    size: line_up.FitSize,
    sample: DocumentedTable,
    settings: ReportSettings,
) -> tuple[tuple[Importance, ...], Growth | None]:
    """Return which columns the chosen model needs, and what more rows would bring."""
    if settings.fast:
        return (), None
    own, seed = comparison[member.name], settings.seed
    # as many repeats as a few seconds have time for
    one = max(line_up.seconds_to_fit(member.name, size), 1e-10 * size.columns**3, 1e-3)
    n_repeats = int(np.clip(0.5 / one, 3, 8))
    unclear = one > 1 or sample.groups is not None  # more rows of known groups, or new ones?
    curve = None if unclear else growth(member, folds, own, n_repeats=n_repeats, seed=seed)
    return permutation_importance(member, own, folds, sample.columns, seed), curve


def _forgetful(comparison: Comparison, size: float) -> tuple[Comparison, tuple[Any, ...]]:
    """Return a comparison with the size of the chosen one, its folds' classifiers taken out."""
    sizes = {o.name: o.n_parameters for o in comparison.outcomes} | {
        comparison.reference: size
    }
    forgot = [replace(o, learnt=(), n_parameters=sizes[o.name]) for o in comparison.outcomes]
    return replace(comparison, outcomes=tuple(forgot)), comparison[comparison.reference].learnt


def _calibrated(rows: Predictions, simulations: int) -> Calibration | None:
    if rows.logs is None:
        return None
    p = rows.posteriors / rows.posteriors.sum(1, keepdims=True)
    return calibration(rows.labels, p, rows.classes, simulations=simulations)


def fitted_on(data: DocumentedTable, estimator: Any) -> Any:
    """Return a copy of an estimator that learnt from all rows, from moments where they suffice."""
    learner = learner_of(estimator, data.rows, is_plain=data.source is None)
    if isinstance(learner, FromMoments):
        options: dict[str, Any] = {"storage": learner.storage, "fourth": learner.fourth}
        return learner.read(Moments.of_table(data.table, **options))
    rows = data.frame if data.source is None else data.source
    return fitted(learner.estimator, rows, data.table.labels, data.table.weight)


def explained_by(fitted: Any, data: DocumentedTable) -> Any:
    """Return the single Gaussian classifier whose equations stand for a fitted one, or None."""
    best = getattr(fitted, "best_estimator_", fitted)
    if not isinstance(best, GaussianClassifier):
        return None
    given = best.get_params().items()  # whatever it chose by itself becomes a setting
    found = {
        name: vars(best).get(f"{name}_", value) for name, value in given if is_open(value)
    }
    found["power"] = best.moments_.power
    if data.source is not None:  # that of the encoded rows
        power = None if best.power is None else "yeo-johnson"
        found |= {"categorical": None, "missing": "marginal", "power": power}
        return (
            clone(best)
            .set_params(**found)
            .fit(data.frame, data.table.labels, data.table.weight)
        )
    return clone(best).set_params(**found).fit_moments(best.moments_)
