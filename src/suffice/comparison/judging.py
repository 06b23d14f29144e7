"""Models judged one after another on the same folds: read from moments, or fitted again."""

import threading
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import log_softmax
from sklearn.base import clone
from sklearn.pipeline import make_pipeline

from suffice.comparison.models import ComparedModel, is_readable, n_parameters
from suffice.comparison.outcome import Failure, FoldResult, Outcome, outcome_of
from suffice.estimation.settings import is_open
from suffice.estimators.encoder import TableEncoder, takes
from suffice.moments import Moments
from suffice.table.matrix import is_complete, taken
from suffice.typing import Codes, Floats
from suffice.validation.folds import Folds, fitted, weight_name
from suffice.validation.predictions import placed

_CHOSEN_FROM_ROWS = ("pooling", "shrinkage", "temperature")  # where they are "auto"
_ONE_AT_A_TIME = threading.RLock()  # the filters of warnings belong to the whole process


@contextmanager
def overheard() -> Iterator[list[warnings.WarningMessage]]:
    """Collect the warnings raised meanwhile."""
    with _ONE_AT_A_TIME, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield caught


def in_short(caught: Sequence[warnings.WarningMessage]) -> list[str]:
    """Return the first warning of each category, with how often it came."""
    times = Counter(warning.category for warning in caught)
    first: dict[type[Warning], str] = {}
    for warning in caught:
        first.setdefault(warning.category, " ".join(str(warning.message).split()))
    return [
        text if times[category] == 1 else f"{text} ({times[category]} times)"
        for category, text in first.items()
    ]


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
        """Return the classifier of the rows that were summed up."""
        return clone(self.estimator).fit_moments(moments)


@dataclass(frozen=True, slots=True, eq=False)
class ByFitting:
    """Fitted to the rows of the other folds."""

    estimator: Any

    def learn(self, folds: Folds, fold: int) -> tuple[Any, float]:
        """Return the classifier of the rows outside a fold, and the seconds it took."""
        rows = folds.training(fold)
        started = time.perf_counter()
        return fitted(self.estimator, *rows), time.perf_counter() - started

    def shown(self, folds: Folds, at: Codes) -> Any:
        """Return rows as the kind of table they came in."""
        return taken(folds.X, at)


def learner_of(estimator: Any, X: Any, *, is_plain: bool) -> FromMoments | ByFitting:
    """Return how an estimator learns: from moments, if they hold all it needs.

    One that takes only numbers gets a table of other kinds encoded.
    """
    if not is_plain:
        known = takes(estimator, X, has_gaps=not is_complete(X).all())
        return ByFitting(estimator if known else make_pipeline(TableEncoder(), estimator))
    if not hasattr(estimator, "fit_moments"):
        return ByFitting(estimator)
    settings = estimator.get_params(deep=False)
    open_settings = [settings.get(name) for name in _CHOSEN_FROM_ROWS]
    if settings.get("power") is not None or any(map(is_open, open_settings)):
        return ByFitting(estimator)
    if not hasattr(estimator, "recipe"):
        return FromMoments(estimator, "auto", fourth=False)
    recipe = estimator.recipe()
    storage = "auto" if recipe.storage == "pooled" else recipe.storage
    return FromMoments(estimator, storage, fourth=recipe.needs_fourth)


def judged(
    model: ComparedModel,
    folds: Folds,
    step: Callable[[], None],
    notes: tuple[str, ...] = (),
    *,
    keep: bool = False,
) -> Outcome | Failure:
    """Return what the folds say of a model, or why nothing can be said."""
    results: list[FoldResult] = []
    try:
        with overheard() as caught:
            learner = learner_of(model.estimator, folds.X, is_plain=folds.is_plain)
            for fold in range(len(folds.splits)):
                results.append(judged_fold(learner, folds, fold))
                step()
    except Exception as error:
        return Failure(model.name, _message(error, len(results)))
    return outcome_of(
        model.name,
        results,
        is_generative=model.is_generative,
        is_readable=is_readable(results[0].learnt),
        overlap=folds.overlap,
        notes=(*notes, *_unweighted(model.estimator, folds), *in_short(caught)),
        keep=keep,
    )


def judged_fold(learner: FromMoments | ByFitting, folds: Folds, fold: int) -> FoldResult:
    """Return what the rows of a fold say of the classifier of the rows outside it."""
    learnt, fit_seconds = learner.learn(folds, fold)
    shown = learner.shown(folds, folds.splits[fold][1])
    started = time.perf_counter()
    labels = learnt.predict(shown)
    predict_seconds = time.perf_counter() - started
    held = folds.predictions(fold, learnt, shown, labels)
    scores = _decision_scores(learnt, shown, folds) if held.logs is None else held.logs
    return FoldResult(learnt, held, scores, n_parameters(learnt), fit_seconds, predict_seconds)


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
    return placed(scores, learnt, folds.classes)


def _message(error: Exception, fold: int) -> str:
    text = " ".join(str(error).split()) or "no reason given"
    return f"{type(error).__name__}: {text}" + (f" (fold {fold + 1})" if fold else "")


def _unweighted(estimator: Any, folds: Folds) -> tuple[str, ...]:
    weighted = hasattr(estimator, "fit_moments") or weight_name(estimator) is not None
    if folds.weight is None or weighted:
        return ()
    return ("learns without weights: its fit takes none",)
