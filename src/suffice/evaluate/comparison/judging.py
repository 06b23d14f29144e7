"""Evaluate models on held-out rows, fold by fold, from moments or by fitting to rows."""

import threading
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from joblib import parallel_config
from scipy.special import log_softmax
from sklearn import config_context, get_config
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from threadpoolctl import threadpool_limits

from suffice.core.decision import error_intervals
from suffice.core.decision.predictions import Predictions, among_classes
from suffice.core.moments import Moments
from suffice.core.progress import Progress, Wish
from suffice.core.table.matrix import is_complete, taken
from suffice.core.text.lists import quote
from suffice.core.threads import at_most, usable_cores
from suffice.errors import DegenerateDataWarning, SufficeError
from suffice.estimators.encoder import TableEncoder, takes
from suffice.evaluate.comparison.fit_times import FitSize, seconds_to_fit
from suffice.evaluate.comparison.model_size import is_readable, n_parameters
from suffice.evaluate.comparison.models import ComparedModel
from suffice.evaluate.curves.reliability import BINS, reliability
from suffice.evaluate.curves.thresholds import mean_area
from suffice.selection.processes import computed_ahead, n_running_workers, worker_processes
from suffice.selection.validation.cross_validation import is_read_from_moments
from suffice.selection.validation.fitting import fitted, is_gaussian, weight_name
from suffice.selection.validation.folds import Folds
from suffice.typing import Codes, Floats, RowsLike, SklearnClassifier

_SMALL = 1 << 20  # with fewer numbers in X, processes gain more than BLAS threads
_MANY = 5_000  # with at least this many rows, threads make a forest faster
_LONG = 2.0  # seconds; worker processes are started if all fits together take longer
_ONE_AT_A_TIME = threading.RLock()  # all threads share the warning filters


@dataclass(frozen=True, slots=True, eq=False)
class Failure:
    """A model that could not be evaluated, and the reason."""

    name: str
    message: str


@dataclass(frozen=True, slots=True, eq=False)
class Outcome:
    """The result of one model on held-out rows."""

    name: str
    row_losses: Floats  # error, log-loss, Brier; NaN without posteriors  (3, m)
    auc: float  # area under the ROC curve of each class against the rest, mean over classes
    calibration_error: float  # calibration error of the most probable class
    n_parameters: float  # mean over folds; NaN if unknown
    fit_seconds: float  # seconds to fit one fold, median over folds
    # seconds to predict the held-out rows of one fold, median over folds
    predict_seconds: float
    is_generative: bool  # whether the model has a density of the features of each class
    is_readable: bool  # whether the model can be written down as an equation or one tree
    # rows of the first fold, then of the next; posteriors only if they were kept
    held_out: Predictions
    folds: Codes  # fold of each held-out row  (m,)
    # ρ n / n_train; 0 for one fold. The training sets of folds share rows. The variance of a mean
    # is therefore σ² (1/n + ρ/n_train) = σ²/n (1 + ρ n/n_train). Nadeau & Bengio (2003) set ρ = 1;
    # here, ``ComparedModel.training_share`` is the ρ of a model.
    overlap: float
    learnt: tuple[Any, ...]  # classifier of each fold, if classifiers were kept
    notes: tuple[str, ...]
    groups: Codes | None = None  # group of each held-out row  (m,)
    singular_warnings: tuple[str, ...] = ()  # warnings about singular covariances
    # whether the model may average generative and discriminative models
    is_of_both_kinds: bool = False

    @property
    def means(self) -> Floats:
        """Mean error, log-loss and Brier score over the held-out rows, shape (3,)."""
        return np.asarray(np.average(self.row_losses, axis=1, weights=self.held_out.weights))

    @property
    def fold_losses(self) -> Floats:
        """Mean error, log-loss and Brier score of each fold, (F, 3)."""
        w = self.held_out.weights
        sums = [np.bincount(self.folds, w * losses) for losses in self.row_losses]
        return np.stack(sums, axis=1) / np.bincount(self.folds, w)[:, None]

    @property
    def standard_errors(self) -> Floats:
        """Standard errors of the means, shape (3,)."""
        squares = np.square(self.row_losses - self.means[:, None])
        variances = np.average(squares, axis=1, weights=self.held_out.weights)
        return np.asarray(np.sqrt(variances / self.effective_rows))

    @property
    def error(self) -> float:
        return float(self.means[0])

    @property
    def log_loss(self) -> float:
        return float(self.means[1])

    @property
    def n_rows(self) -> int:
        """Number of distinct rows that the model was evaluated on."""
        return len(np.unique(self.held_out.rows))

    @property
    def units(self) -> Codes:
        """Number of the independent unit of each held-out row: its group, or the row, (m,)."""
        return self.held_out.rows if self.groups is None else self.groups

    @property
    def effective_rows(self) -> float:
        """Number of independent rows that would give the same standard error."""
        _, first, unit_of = np.unique(self.units, return_index=True, return_inverse=True)
        w = self.held_out.weights / self.held_out.weights.mean()
        totals = np.bincount(unit_of, w)
        errors = np.bincount(unit_of, w * self.row_losses[0]) / totals
        if self.groups is None:
            return error_intervals.effective_rows(errors, w[first], self.overlap)
        return error_intervals.effective_rows(
            errors, np.asarray(totals, np.float64), self.overlap, grouped=True
        )

    @property
    def interval(self) -> tuple[float, float]:
        """Wilson's 95 % interval of the error, from the effective number of rows."""
        low, high = error_intervals.wilson(np.array(self.error), np.array(self.effective_rows))
        return float(low), float(high)

    @property
    def rank(self) -> tuple[float, float, str]:
        """Sort key of models: the error, then the log-loss, then the name."""
        return self.error, np.nan_to_num(self.log_loss, nan=np.inf), self.name


@contextmanager
def recorded_warnings() -> Iterator[list[warnings.WarningMessage]]:
    """Collect the warnings raised inside this context."""
    with _ONE_AT_A_TIME, warnings.catch_warnings(record=True) as recorded:
        warnings.simplefilter("always")
        yield recorded


@dataclass(frozen=True, slots=True, eq=False)
class FromMoments:
    """Computes the classifier of a fold from the moments of the other folds, not from rows."""

    estimator: SklearnClassifier
    storage: str
    fourth: bool

    def learn(self, folds: Folds, fold: int) -> tuple[SklearnClassifier, float]:
        """Return the classifier of the rows outside a fold, and the seconds of computing it."""
        moments, seconds_of_sums = folds.moments(self.storage, fourth=self.fourth)
        started = time.perf_counter()
        learnt = self.read(moments[fold])
        return learnt, time.perf_counter() - started + seconds_of_sums

    def rows_to_predict(self, folds: Folds, at: Codes) -> RowsLike:
        """Return the rows with positions ``at`` as numbers."""
        rows: RowsLike = folds.table.x[at]
        return rows

    def read(self, moments: Moments) -> SklearnClassifier:
        """Return the classifier computed from moments."""
        learnt: SklearnClassifier = clone(self.estimator).fit_moments(moments)
        return learnt


@dataclass(frozen=True, slots=True, eq=False)
class ByFitting:
    """Fits the classifier of a fold to the rows of the other folds."""

    estimator: SklearnClassifier

    def learn(self, folds: Folds, fold: int) -> tuple[SklearnClassifier, float]:
        """Return the classifier of the rows outside a fold, and the seconds of fitting it."""
        rows, labels, weight = folds.training(fold)
        started = time.perf_counter()
        learnt = fitted(self.estimator, rows, labels, weight, folds.belonging(fold))
        return learnt, time.perf_counter() - started

    def rows_to_predict(self, folds: Folds, at: Codes) -> RowsLike:
        """Return the rows with positions ``at`` as the kind of table that the user passed."""
        rows: RowsLike = taken(folds.X, at)
        return rows


def learner_of(
    estimator: SklearnClassifier,
    X: RowsLike,
    *,
    is_plain: bool,
) -> FromMoments | ByFitting:
    """Return how an estimator is trained; a table is encoded for one that takes only numbers."""
    if not is_plain:
        if takes(estimator, X, has_gaps=not is_complete(X).all()):
            return ByFitting(estimator)
        return ByFitting(make_pipeline(TableEncoder(), estimator))
    if not hasattr(estimator, "fit_moments"):
        return ByFitting(estimator)
    if not is_gaussian(estimator):
        return FromMoments(estimator, "auto", fourth=False)
    if estimator.power is not None or not is_read_from_moments(estimator):
        return ByFitting(estimator)
    settings = estimator.settings()
    storage = "auto" if settings.storage == "pooled" else settings.storage
    return FromMoments(estimator, storage, fourth=settings.needs_fourth)


class Case(NamedTuple):
    """A model and the folds it is evaluated on."""

    model: ComparedModel
    folds: Folds
    note: str = ""  # which rows the folds contain, if these are a sample

    def learner(self) -> FromMoments | ByFitting:
        return learner_of(self.model.estimator, self.folds.X, is_plain=self.folds.is_plain)


class FoldResult(NamedTuple):
    """The result of a model on one fold."""

    learnt: Any  # the classifier; None if another process fitted it and no caller needs it
    held_out: Predictions
    scores: (
        Floats | None
    )  # class scores by which rows can be ranked (m, K); None if there are none
    n_parameters: float
    is_readable: bool
    fit_seconds: float
    predict_seconds: float


Task = tuple[int, int]  # index of a case, and index of one of its folds
# what a worker needs: the cases, whether to keep classifiers, and scikit-learn's configuration
Work = tuple[Sequence[Case], bool, dict[str, object]]
Answer = tuple[FoldResult, list[Warning | str]]  # result and warnings from another process


def judged(
    cases: Sequence[Case],
    progress: Wish,
    what: str,
    *,
    keep: bool = False,
) -> list[Outcome | Failure]:
    """Return the result of each model, or the reason why it could not be evaluated."""
    tasks = [
        (at, fold)
        for at, case in enumerate(cases)
        if case.model.travels
        for fold in range(len(case.folds.splits))
    ]
    n_steps = sum(len(case.folds.splits) for case in cases)
    work: Work = (cases, keep, get_config())
    with (
        Progress(progress, n_steps, what) as steps,
        _workers_for(cases),
        computed_ahead(_judged_elsewhere, work, tasks) as answer_to,
    ):
        return [
            _judged(at, case, answer_to, steps, keep=keep) for at, case in enumerate(cases)
        ]


@contextmanager
def _workers_for(cases: Sequence[Case]) -> Iterator[None]:
    """Use worker processes for long fits of small tables, and all cores for large forests."""
    folds = cases[0].folds
    n_rows = len(folds.codes)
    is_small = n_rows * getattr(folds.X, "shape", (0, 1))[1] < _SMALL
    seconds = sum(len(case.folds.splits) * expected_seconds(case) for case in cases)
    with worker_processes(when=is_small and seconds > _LONG):
        # each worker uses one core
        n_threads = max(usable_cores() // (1 + n_running_workers()), 1)
        forest_threads = (
            parallel_config("threading", n_jobs=n_threads)
            if n_rows >= _MANY
            else nullcontext()
        )
        with (
            at_most(n_threads if n_running_workers() else None),
            threadpool_limits(1 if is_small else None),
            forest_threads,
        ):
            yield


def expected_seconds(case: Case) -> float:
    """Return the estimated time to fit a model to one fold; 0 if it is not known."""
    folds = case.folds
    n_columns = getattr(folds.X, "shape", (0, 1))[1]
    return seconds_to_fit(
        case.model.name, FitSize(len(folds.codes), n_columns, len(folds.classes))
    )


def _judged(
    at: int,
    case: Case,
    answer_to: Callable[[Task], Answer | None],
    steps: Progress,
    *,
    keep: bool,
) -> Outcome | Failure:
    """Return the result of a model, from worker processes for some folds, else computed here."""
    folds = case.folds
    results: list[FoldResult] = []
    steps.begin(case.model.name)
    try:
        with recorded_warnings() as recorded:
            learner = case.learner()
            for fold in range(len(folds.splits)):
                answer = answer_to((at, fold))
                if answer is None:
                    results.append(judged_fold(learner, folds, fold))
                else:
                    result, messages = answer
                    for message in messages:
                        warnings.warn(message, stacklevel=1)
                    results.append(result)
                steps.step()
    except Exception as error:
        steps.step(len(folds.splits) - len(results))
        return Failure(case.model.name, _why_failed(error, folds, len(results)))
    return outcome_of(case, results, recorded, keep=keep)


def _why_failed(error: Exception, folds: Folds, fold: int) -> str:
    """Return the reason of a failure: a single class in training, or the message of the error."""
    rows = folds.splits[fold][0]
    if folds.weight is not None:
        rows = rows[folds.weight[rows] > 0]
    present = np.unique(folds.codes[rows])
    if len(present) == 1:
        advice = "Choose folds with rows of several classes outside each fold"
        if np.bincount(folds.codes, minlength=len(folds.classes)).min() < 2:
            advice = "Collect at least 2 rows of every class"
        return (
            f"all training rows of fold {fold + 1} belong to class "
            f"{quote(folds.classes[present[0]])}, but a classifier needs rows of at least 2 "
            f"classes. {advice}"
        )
    reason = " ".join(str(error).split()) or "no reason given"
    message = (
        reason if isinstance(error, SufficeError) else f"{type(error).__name__}: {reason}"
    )
    return f"{message} (fold {fold + 1})" if fold else message


def _judged_elsewhere(work: Work, task: Task) -> Answer:
    """Return the result of a fold, and its warnings. Worker processes call this function."""
    cases, keep, configuration = work
    at, fold = task
    with config_context(**configuration), recorded_warnings() as recorded:
        result = judged_fold(cases[at].learner(), cases[at].folds, fold)
    if not keep:
        result = result._replace(learnt=None)
    return result, [warning.message for warning in recorded]


def judged_fold(learner: FromMoments | ByFitting, folds: Folds, fold: int) -> FoldResult:
    """Return the result of a model on the rows of a fold, trained on the other folds."""
    learnt, fit_seconds = learner.learn(folds, fold)
    shown = learner.rows_to_predict(folds, folds.splits[fold][1])
    started = time.perf_counter()
    labels = learnt.predict(shown)
    predict_seconds = time.perf_counter() - started
    held_out = folds.predictions(fold, learnt, shown, labels)
    scores = held_out.logs
    if scores is None:
        scores = _decision_scores(learnt, shown, folds)
    return FoldResult(
        learnt=learnt,
        held_out=held_out,
        scores=scores,
        n_parameters=n_parameters(learnt),
        is_readable=is_readable(learnt),
        fit_seconds=fit_seconds,
        predict_seconds=predict_seconds,
    )


def outcome_of(
    case: Case,
    results: Sequence[FoldResult],
    recorded: Sequence[warnings.WarningMessage],
    *,
    keep: bool,
) -> Outcome:
    """Return the result of a model on all folds, with classifiers and posteriors if ``keep``.

    The recorded warnings become the notes of the result.
    """
    model, folds, note = case
    notes = [note] if note else []
    if folds.weight is not None and not _takes_weights(model.estimator):
        notes.append("ignores sample weights: its fit does not accept them")
    singular = [each for each in recorded if each.category is DegenerateDataWarning]
    others = [each for each in recorded if each.category is not DegenerateDataWarning]
    held_out = Predictions.joined([result.held_out for result in results])
    fold_sizes = [len(result.held_out.rows) for result in results]
    return Outcome(
        name=model.name,
        row_losses=held_out.row_losses,
        auc=_area(held_out, [result.scores for result in results]),
        calibration_error=_calibration_error(held_out),
        n_parameters=float(np.rint(np.mean([result.n_parameters for result in results]))),
        fit_seconds=float(np.median([result.fit_seconds for result in results])),
        predict_seconds=float(np.median([result.predict_seconds for result in results])),
        is_generative=model.is_generative,
        is_readable=results[0].is_readable,
        held_out=held_out if keep else replace(held_out, logs=None),
        folds=np.repeat(np.arange(len(results)), fold_sizes),
        overlap=model.training_share * folds.overlap,
        learnt=tuple(result.learnt for result in results) if keep else (),
        notes=(*notes, *_first_messages(others)),
        groups=None if folds.groups is None else folds.groups[held_out.rows],
        singular_warnings=tuple(_first_messages(singular)),
        is_of_both_kinds=model.is_of_both_kinds,
    )


def _takes_weights(estimator: SklearnClassifier) -> bool:
    return hasattr(estimator, "fit_moments") or weight_name(estimator) is not None


def _first_messages(recorded: Sequence[warnings.WarningMessage]) -> list[str]:
    """Return the first warning of each category, with the number of warnings of the category."""
    messages = []
    for category, times in Counter(warning.category for warning in recorded).items():
        first = next(warning for warning in recorded if warning.category is category)
        message = " ".join(str(first.message).split())
        messages.append(message if times == 1 else f"{message} ({times} times)")
    return messages


def _area(held_out: Predictions, scores: Sequence[Floats | None]) -> float:
    """Return the area under the ROC curve of each class against the rest, mean over classes."""
    fold_scores = [each for each in scores if each is not None]
    if len(fold_scores) < len(scores):
        return np.nan
    if all((each == each[0]).all() for each in fold_scores):
        return 0.5  # the constant differs between folds, but does not rank the rows of a fold
    return mean_area(held_out.truth, np.concatenate(fold_scores), held_out.weight)


def _calibration_error(held_out: Predictions) -> float:
    """Return Σ_b (w_b / w) |observed_b − stated_b| over bins b of the rows' largest posteriors."""
    if held_out.logs is None:
        return np.nan
    stated = np.exp(held_out.logs.max(1)).clip(max=1)
    return reliability(held_out.right, stated, held_out.weights, bins=BINS).calibration_error


def _decision_scores(learnt: SklearnClassifier, x: RowsLike, folds: Folds) -> Floats | None:
    """Return the decision function as one score per class; None if there is none."""
    if not hasattr(learnt, "decision_function"):
        return None
    scores = np.asarray(learnt.decision_function(x), np.float64)
    if scores.ndim == 1:
        scores = np.stack([-scores, scores], axis=1)
    elif scores.shape[1] != len(learnt.classes_):
        return None
    else:
        # Only differences between the scores of a row have a meaning. The log softmax makes scores
        # comparable between rows.
        scores = log_softmax(scores, axis=1)
    return among_classes(scores, learnt, folds.classes)
