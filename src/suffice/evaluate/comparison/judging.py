"""What held-out rows say of a model that is read from moments, or fitted again, fold by fold."""

import threading
import time
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
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

from suffice.core.decision.predictions import (
    Predictions,
    among_classes,
    effective_rows,
    wilson,
)
from suffice.core.moments import Moments
from suffice.core.progress import Progress, Wish
from suffice.core.table.matrix import is_complete, taken
from suffice.core.threads import usable_cores
from suffice.estimators.encoder import TableEncoder, takes
from suffice.evaluate.comparison import models
from suffice.evaluate.curves.reliability import BINS, reliability
from suffice.evaluate.curves.thresholds import mean_area
from suffice.selection.processes import computed_ahead, worker_processes
from suffice.selection.validation.cross_validation import is_read_from_moments
from suffice.selection.validation.fitting import fitted, weight_name
from suffice.selection.validation.folds import Folds
from suffice.typing import Codes, Floats

_SMALL = 1 << 20  # numbers in X below which threads of BLAS only wait for each other
_MANY = 5_000  # rows from which a forest gains by threads
_LONG = 2.0  # seconds of all fits from which another process is worth its start
_ONE_AT_A_TIME = threading.RLock()  # the filters of warnings belong to the whole process


@dataclass(frozen=True, slots=True, eq=False)
class Failure:
    """A model that could not be judged, and why."""

    name: str
    message: str


@dataclass(frozen=True, slots=True, eq=False)
class Outcome:
    """What held-out rows say of one model: all losses are means over these rows."""

    name: str
    row_losses: Floats  # error, log-loss, Brier; NaN without posteriors  (3, m)
    auc: float  # one class against the rest, mean over classes
    calibration_error: float  # of the most probable class
    n_parameters: float  # mean over folds, NaN where it has none
    fit_seconds: float  # for one fold, median over folds
    predict_seconds: float  # for the held-out rows of one fold, median over folds
    is_generative: bool  # whether it models the features of each class
    is_readable: bool  # whether its rule can be written down: an equation, or one tree
    held_out: Predictions  # fold after fold, with posteriors only where they were kept
    folds: Codes  # of the held-out rows  (m,)
    overlap: float  # rows judged by for each row that a fold learns from; 0 of one fold
    learnt: tuple[Any, ...]  # the classifier of each fold, where they were kept
    notes: tuple[str, ...]
    groups: Codes | None = None  # of the held-out rows  (m,)

    @property
    def means(self) -> Floats:
        """Mean error, log-loss and Brier score over held-out rows, shape (3,)."""
        return np.asarray(np.average(self.row_losses, axis=1, weights=self.held_out.weights))

    @property
    def fold_losses(self) -> Floats:
        """Mean error, log-loss and Brier score of each fold, (F, 3)."""
        w = self.held_out.weights
        sums = [np.bincount(self.folds, w * each) for each in self.row_losses]
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
        """Different rows that it was judged by."""
        return len(np.unique(self.held_out.rows))

    @property
    def units(self) -> Codes:
        """What errs by itself: each row, or each group of rows, (m,)."""
        return self.held_out.rows if self.groups is None else self.groups

    @property
    def effective_rows(self) -> float:
        """Independent rows that would tell the error as exactly (Nadeau & Bengio 2003)."""
        _, first, at = np.unique(self.units, return_index=True, return_inverse=True)
        w, grouped = (
            self.held_out.weights / self.held_out.weights.mean(),
            self.groups is not None,
        )
        sums, total = np.bincount(at, w * self.row_losses[0]), np.bincount(at, w)
        weights = np.asarray(total if grouped else w[first], np.float64)
        return effective_rows(sums / total, weights, self.overlap, grouped=grouped)

    @property
    def interval(self) -> tuple[float, float]:
        """Wilson's 95 % interval of the error, by the effective number of rows."""
        low, high = map(float, wilson(np.array(self.error), np.array(self.effective_rows)))
        return low, high

    @property
    def rank(self) -> tuple[float, float, str]:
        """What models are sorted by: error, then log-loss, then name."""
        return self.error, np.nan_to_num(self.log_loss, nan=np.inf), self.name


@contextmanager
def overheard() -> Iterator[list[warnings.WarningMessage]]:
    """Collect the warnings raised meanwhile."""
    with _ONE_AT_A_TIME, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield caught


def notes_on(
    model: models.ComparedModel,
    folds: Folds,
    caught: Sequence[Any],
) -> Iterator[str]:
    """Yield whether weights are ignored, and the first warning of each category, with how many."""
    weighted = (
        hasattr(model.estimator, "fit_moments") or weight_name(model.estimator) is not None
    )
    if folds.weight is not None and not weighted:
        yield "learns without weights: its fit takes none"
    for category, n in Counter(warning.category for warning in caught).items():
        first = next(each.message for each in caught if each.category is category)
        yield " ".join(str(first).split()) + (f" ({n} times)" if n > 1 else "")


@dataclass(frozen=True, slots=True, eq=False)
class FromMoments:
    """Read from the moments of the other folds: no row is seen twice, and nothing is fitted."""

    estimator: Any
    storage: str
    fourth: bool

    def learn(self, folds: Folds, fold: int) -> tuple[Any, float]:
        """Return the classifier of the rows outside a fold, and the seconds it took."""
        trains, seconds = folds.moments(self.storage, fourth=self.fourth)
        started = time.perf_counter()
        learnt = self.read(trains[fold])
        return learnt, time.perf_counter() - started + seconds

    def shown(self, folds: Folds, at: Codes) -> Any:
        """Return rows as numbers."""
        return folds.table.x[at]

    def read(self, moments: Moments) -> Any:
        return clone(self.estimator).fit_moments(moments)


@dataclass(frozen=True, slots=True, eq=False)
class ByFitting:
    """Fitted to the rows of the other folds."""

    estimator: Any

    def learn(self, folds: Folds, fold: int) -> tuple[Any, float]:
        rows = folds.training(fold)
        started = time.perf_counter()
        return fitted(self.estimator, *rows), time.perf_counter() - started

    def shown(self, folds: Folds, at: Codes) -> Any:
        """Return rows as the kind of table they came in."""
        return taken(folds.X, at)


def learner_of(estimator: Any, X: Any, *, is_plain: bool) -> FromMoments | ByFitting:
    """Return how an estimator learns, one that takes only numbers from a table encoded."""
    if not is_plain:
        known = takes(estimator, X, has_gaps=not is_complete(X).all())
        return ByFitting(estimator if known else make_pipeline(TableEncoder(), estimator))
    if not hasattr(estimator, "fit_moments"):
        return ByFitting(estimator)
    if not hasattr(estimator, "resolved_settings"):
        return FromMoments(estimator, "auto", fourth=False)
    if estimator.power is not None or not is_read_from_moments(estimator):
        return ByFitting(estimator)
    settings = estimator.settings()
    storage = "auto" if settings.storage == "pooled" else settings.storage
    return FromMoments(estimator, storage, fourth=settings.needs_fourth)


class Case(NamedTuple):
    """A model, the folds it is judged on, and what to say of these."""

    model: models.ComparedModel
    folds: Folds
    note: str = ""

    def learner(self) -> FromMoments | ByFitting:
        return learner_of(self.model.estimator, self.folds.X, is_plain=self.folds.is_plain)


def judged(
    cases: Sequence[Case],
    progress: Wish,
    what: str,
    *,
    keep: bool = False,
) -> list[Outcome | Failure]:
    """Return what the folds say of each model, or why nothing can be said."""
    able = [at for at, case in enumerate(cases) if case.model.travels]
    tasks = [(at, fold) for at in able for fold in range(len(cases[at].folds.splits))]
    with (
        Progress(progress, sum(len(case.folds.splits) for case in cases), what) as steps,
        _workers_for(cases),
        computed_ahead(_judged_elsewhere, (cases, keep, get_config()), tasks) as found,
    ):
        return [_judged(at, case, found, steps, keep=keep) for at, case in enumerate(cases)]


@contextmanager
def _workers_for(cases: Sequence[Case]) -> Iterator[None]:
    """Give small tables one thread, or other processes if models take long; forests all cores."""
    folds = cases[0].folds
    n, d = len(folds.codes), getattr(folds.X, "shape", (0, 1))[1]
    size = models.FitSize(n, d, len(folds.classes))
    times = (len(c.folds.splits) * models.seconds_to_fit(c.model.name, size) for c in cases)
    long = sum(times) > _LONG
    small, many = n * d < _SMALL, n >= _MANY
    cores = parallel_config("threading", n_jobs=usable_cores()) if many else nullcontext()
    with (
        threadpool_limits(1 if small else None),
        cores,
        worker_processes(when=small and not many and long),
    ):
        yield


def _judged(
    at: int,
    case: Case,
    found: Any,
    steps: Progress,
    *,
    keep: bool,
) -> Outcome | Failure:
    """Return what the folds say of a model, each by another process or else by this one."""
    model, folds, note = case
    results: list[Any] = []
    steps.begin(model.name)
    try:
        with overheard() as caught:
            learner = case.learner()
            for fold in range(len(folds.splits)):
                known, warned = found((at, fold)) or (None, ())
                for each in warned:
                    warnings.warn(each, stacklevel=1)
                results.append(known or judged_fold(learner, folds, fold))
                steps.step()
    except Exception as error:
        text = " ".join(str(error).split()) or "no reason given"
        where = f" (fold {len(results) + 1})" if results else ""
        steps.step(len(folds.splits) - len(results))
        return Failure(model.name, f"{type(error).__name__}: {text}{where}")
    notes = [note, *notes_on(model, folds, caught)]
    return outcome_of(model, results, folds, list(filter(None, notes)), keep=keep)


def _judged_elsewhere(what: Any, task: tuple[int, int]) -> tuple[Any, list[Any]]:
    """Return what a fold says of a model, and the warnings it gave, in a process that helps."""
    (cases, keep, config), (at, fold) = what, task
    with config_context(**config), overheard() as caught:
        learnt, *rest = judged_fold(cases[at].learner(), cases[at].folds, fold)
    return (learnt if keep else None, *rest), [each.message for each in caught]


def judged_fold(learner: FromMoments | ByFitting, folds: Folds, fold: int) -> tuple[Any, ...]:
    """Return classifier, predictions, ranking scores, sizes, seconds of fit and of prediction."""
    learnt, fit_seconds = learner.learn(folds, fold)
    shown = learner.shown(folds, folds.splits[fold][1])
    started = time.perf_counter()
    labels = learnt.predict(shown)
    seconds = fit_seconds, time.perf_counter() - started
    held = folds.predictions(fold, learnt, shown, labels)
    scores = _decision_scores(learnt, shown, folds) if held.logs is None else held.logs
    return (
        learnt,
        held,
        scores,
        models.n_parameters(learnt),
        models.is_readable(learnt),
        *seconds,
    )


def outcome_of(
    model: models.ComparedModel,
    results: Sequence[Any],
    folds: Folds,
    notes: Sequence[str],
    *,
    keep: bool,
) -> Outcome:
    """Return what all folds say of a model; classifiers and posteriors are kept if asked."""
    learnt, parts, scores, sizes, readable, fits, predictions = zip(*results, strict=True)
    held_out = Predictions.joined(parts)
    return Outcome(
        model.name,
        held_out.row_losses,
        _area(held_out, scores),
        _calibration_error(held_out),
        float(np.rint(np.mean(sizes))),
        float(np.median(fits)),
        float(np.median(predictions)),
        model.is_generative,
        readable[0],
        held_out if keep else replace(held_out, logs=None),
        np.repeat(np.arange(len(parts)), [len(part.rows) for part in parts]),
        folds.overlap,
        learnt if keep else (),
        tuple(notes),
        None if folds.groups is None else folds.groups[held_out.rows],
    )


def _area(held_out: Predictions, scores: Sequence[Floats | None]) -> float:
    """Return the area under the ROC curve of all held-out rows, mean over classes."""
    known = [each for each in scores if each is not None]
    if len(known) < len(scores):
        return np.nan
    if all((each == each[0]).all() for each in known):
        return 0.5  # a constant ranks nothing, though its constants differ between folds
    return mean_area(held_out.truth, np.concatenate(known), held_out.weight)


def _calibration_error(held_out: Predictions) -> float:
    """Return Σ_b (w_b / w) |observed − stated|, bins of the most probable class's posterior."""
    if held_out.logs is None:
        return np.nan
    stated = np.exp(held_out.logs.max(1)).clip(max=1)
    return reliability(held_out.right, stated, held_out.weights, bins=BINS).calibration_error


def _decision_scores(learnt: Any, x: Any, folds: Folds) -> Floats | None:
    """Return a score of each class by the decision function, None where there is no such."""
    if not hasattr(learnt, "decision_function"):
        return None
    scores = np.asarray(learnt.decision_function(x), np.float64)
    if scores.ndim == 1:
        scores = np.stack([-scores, scores], axis=1)
    elif scores.shape[1] != len(learnt.classes_):
        return None
    else:  # only differences of a row's scores count: log softmax makes rows comparable
        scores = log_softmax(scores, axis=1)
    return among_classes(scores, learnt, folds.classes)
