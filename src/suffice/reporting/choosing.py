"""Which classifier to trust: models compared on the same folds, and the rule that picks one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from suffice.comparison import Comparison
from suffice.comparison.comparison import compared, folds_for
from suffice.comparison.judging import FromMoments, learner_of, overheard
from suffice.comparison.models import ComparedModel, parse_models
from suffice.comparison.outcome import Outcome
from suffice.errors import InvalidInputError
from suffice.estimation.settings import is_open
from suffice.estimators.auto import AutoGaussian
from suffice.estimators.gaussian import GaussianClassifier
from suffice.moments import Moments
from suffice.reporting.documented import DocumentedTable
from suffice.validation.folds import fitted
from suffice.validation.predictions import Predictions

MOST_SEARCHED = 200_000  # K d³ up to which settings are searched for within every fold
SEARCHING = ("RDA", "AutoGaussian")
OURS = (GaussianClassifier, AutoGaussian)


@dataclass(frozen=True, slots=True, eq=False)
class Judgement:
    """The models compared, and the classifier that was chosen, fitted on all rows."""

    comparison: Comparison
    outcome: Outcome  # of the chosen one
    estimator: Any  # fitted on all rows
    explained: Any  # the Gaussian classifier behind it, None where there is none
    held_out: Predictions  # of the judged rows, in their order, each while it was held out
    expected_error: float | None  # of the Gaussian classifier, were it true
    asked_for: bool  # whether a person chose it, rather than the rule

    @property
    def name(self) -> str:
        """What the chosen one is called among the models."""
        return self.outcome.name


def judge(data: DocumentedTable, sample: DocumentedTable, settings: ReportSettings) -> Judgement:
    """Return the models compared on the rows of ``sample``, and the chosen one fitted on all."""
    members = settings.members(sample)
    table = sample.table
    folds = folds_for(sample.rows, table.labels, settings.cv, table.weight, None, settings.seed)
    comparison = compared(members, folds, settings.seed, settings.progress, keep=True)
    asked = settings.estimator is not None
    outcome = comparison.outcomes[0]
    if asked:
        outcome = _outcome_of(comparison, members[0].name)
    else:
        outcome = simplest(comparison, members) or outcome
    member = next(m for m in members if m.name == outcome.name)
    with overheard():
        chosen = fitted_on(data, member.estimator)
        explained = explained_by(chosen, data)
        expected = None if explained is None else float(explained.bayes_error(20_000))
    return Judgement(
        comparison, outcome, chosen, explained, outcome.held_out.in_order(), expected, asked
    )


@dataclass(frozen=True, slots=True, eq=False)
class ReportSettings:
    """Which models are compared, and how."""

    estimator: Any = None  # chosen by a person
    models: Any = None
    cv: Any = None
    seed: int = 0
    progress: Any = None

    def members(self, data: DocumentedTable) -> tuple[ComparedModel, ...]:
        """Return who is compared; an estimator that a person chose comes first."""
        members = parse_models(self.models, self.seed)
        if self.models is None:
            members = (*_affordable(members, data), *_regularised(data))
        if self.estimator is None:
            return members
        own = parse_models([clone(self.estimator)], self.seed)[0]
        others = [m for m in members if m.name != own.name]
        return (own, *others)


def simplest(comparison: Comparison, members: tuple[ComparedModel, ...]) -> Outcome | None:
    """Return the Gaussian classifier of fewest parameters that is about as good as the best.

    As good means: its log-loss is within one standard error of the smallest, the error being that
    of the difference over folds (Nadeau & Bengio 2003).
    """
    ours = {m.name for m in members if isinstance(m.estimator, OURS)}
    judged = [o for o in comparison.outcomes if o.name in ours and np.isfinite(o.log_loss)]
    if not judged:
        return None
    best = min(judged, key=lambda o: o.log_loss)
    close = [o for o in judged if _gap_in_errors(o, best, comparison.test_ratio) <= 1]
    return min(close, key=lambda o: (o.n_parameters, o.log_loss))


def fitted_on(data: DocumentedTable, estimator: Any) -> Any:
    """Return a copy of an estimator that learnt from all rows, from moments where they suffice."""
    learner = learner_of(estimator, data.rows, is_plain=data.source is None)
    if isinstance(learner, FromMoments):
        options: dict[str, Any] = {"storage": learner.storage, "fourth": learner.fourth}
        return learner.read(Moments.of_table(data.table, **options))
    rows = data.frame if data.source is None else data.source
    return fitted(learner.estimator, rows, data.table.labels, data.table.weight)


def explained_by(fitted: Any, data: DocumentedTable) -> Any:
    """Return the single Gaussian classifier whose equations stand for a fitted one, or None.

    Whatever it chose by itself stands there as a setting. Of a mixed table it is that of the
    encoded rows.
    """
    best = getattr(fitted, "best_estimator_", fitted)
    if not isinstance(best, GaussianClassifier):
        return None
    given = best.get_params()
    left_open = [name for name, value in given.items() if is_open(value)]
    found = {name: vars(best).get(f"{name}_", given[name]) for name in left_open}
    found["power"] = best.moments_.power
    if data.source is not None:
        power = None if best.power is None else "yeo-johnson"
        found |= {"categorical": None, "missing": "marginal", "power": power}
        return clone(best).set_params(**found).fit(data.frame, data.table.labels, data.table.weight)
    return clone(best).set_params(**found).fit_moments(best.moments_)


def _affordable(
    members: tuple[ComparedModel, ...], data: DocumentedTable
) -> tuple[ComparedModel, ...]:
    """Return the members less those whose search would take minutes here."""
    if _is_searchable(data):
        return members
    return tuple(m for m in members if m.name not in SEARCHING)


def _regularised(data: DocumentedTable) -> tuple[ComparedModel, ...]:
    """Return one Gaussian that chooses its settings by search, or two by closed form."""
    if _is_searchable(data):
        left_open: dict[str, Any] = dict.fromkeys(
            ("pooling", "shrinkage", "power", "temperature"), "auto"
        )
        return (ComparedModel("GaussianClassifier (auto)", GaussianClassifier(**left_open)),)
    closed: dict[str, Any] = {"shrinkage": "oas", "temperature": "auto"}
    return (
        ComparedModel("LDA (OAS)", GaussianClassifier(tied=True, **closed)),
        ComparedModel("QDA (OAS)", GaussianClassifier(**closed)),
    )


def _is_searchable(data: DocumentedTable) -> bool:
    return data.table.n_classes * data.table.n_features**3 <= MOST_SEARCHED


def _outcome_of(comparison: Comparison, name: str) -> Outcome:
    for outcome in comparison.outcomes:
        if outcome.name == name:
            return outcome
    reason = next(f.message for f in comparison.failures if f.name == name)
    msg = f"{name} could not be judged: {reason}"
    raise InvalidInputError(msg)


def _gap_in_errors(outcome: Outcome, best: Outcome, test_ratio: float) -> float:
    """Return how many standard errors a log-loss lies over the smallest."""
    d = outcome.fold_losses[:, 1] - best.fold_losses[:, 1]
    if not d.any():
        return 0.0
    # se² = (1/F + n_test/n_train) s²
    scale = np.sqrt((1 / len(d) + test_ratio) * d.var(ddof=1))
    return float(d.mean() / scale) if scale > 0 else np.inf
