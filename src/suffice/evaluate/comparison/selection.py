"""``suffice.select``: the best of several models, and its error on a separate test part."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from suffice.core.decision.predictions import CRITERIA
from suffice.core.progress import Wish
from suffice.core.table.matrix import taken
from suffice.errors import InvalidParameterError, require_word
from suffice.evaluate.comparison.comparison import Comparison, compared, folds_for
from suffice.evaluate.comparison.judging import (
    Case,
    Outcome,
    judged_fold,
    learner_of,
    outcome_of,
    recorded_warnings,
)
from suffice.evaluate.comparison.models import ComparedModel, ModelsLike, parse_models
from suffice.selection.validation.fold_rows import FoldsLike
from suffice.selection.validation.splitting import Split, split
from suffice.typing import LabelsLike, RowsLike


@dataclass(frozen=True, eq=False, repr=False)
class Selection:
    """The classifier with the lowest estimated loss, and its error on the test part."""

    comparison: Comparison  # the comparison that led to the choice
    criterion: str
    estimator: Any  # the pick, fitted to all rows except the test part
    test: Outcome  # result of the pick on the test part
    parts: Split

    @property
    def pick(self) -> str:
        """Name of the classifier that was picked."""
        return self.test.name

    @property
    def test_error(self) -> float:
        """Error of the pick on the test part."""
        return self.test.error

    @property
    def test_interval(self) -> tuple[float, float]:
        """Wilson's 95 % interval of the test error."""
        return self.test.interval

    def __repr__(self) -> str:
        low, high = self.test_interval
        return (
            f"Selection({self.pick}: test error {100 * self.test_error:.1f} % on "
            f"{len(self.parts.test)} rows, 95 % interval {100 * low:.1f} – {100 * high:.1f} %)"
        )


def select(
    X: RowsLike,
    y: LabelsLike,
    models: ModelsLike = None,
    *,
    validation: float = 0.2,
    test: float = 0.2,
    cv: int | None = None,
    criterion: str = "error",
    random_state: int = 0,
    progress: Wish = None,
) -> Selection:
    """Return the classifier with the lowest estimated error, and its test error.

    Rows are split as by ``sf.split``. Every model is fitted to the training part and evaluated on
    the validation part; the best is then fitted to both parts, and evaluated once on the test part
    (Hastie, Tibshirani & Friedman 2009, *The Elements of Statistical Learning*, section 7.2).

    Parameters
    ----------
    X, y : array or frame (n, d), labels (n,)
    models
        As in ``sf.compare``.
    validation, test : float in (0, 1), default=0.2
        Shares of the rows in the validation and test parts.
    cv : int, optional
        If given, models are evaluated by this number of folds of all rows except the test part,
        instead of a validation part.
    criterion : {"error", "log_loss", "brier"}
        Loss that the pick minimises. Among equal errors, the log-loss decides.
    random_state, progress
        As in ``sf.compare``; the same seed also splits the rows.

    Examples
    --------
    >>> import suffice as sf
    >>> from sklearn.datasets import load_wine
    >>> X, y = load_wine(return_X_y=True)
    >>> chosen = sf.lectures.select(X, y, ["LDA", "tree"])
    >>> chosen.pick, len(chosen.parts.test)
    ('LDA', 36)
    """
    require_word(criterion, CRITERIA, "criterion")
    if test == 0:
        raise InvalidParameterError(
            "test=0 leaves no rows to test the chosen model on: use sf.compare"
        )
    if validation == 0 and not cv:
        raise InvalidParameterError(
            "validation=0 leaves no rows to choose the model on: give validation a share of the "
            "rows, or set cv=10"
        )
    candidates = parse_models(models, random_state)
    parts = split(X, y, 0.0 if cv else validation, test, random_state)
    learnable = np.sort(np.concatenate([parts.train.rows, parts.validation.rows]))
    learnable_folds: FoldsLike | None = cv
    if not cv:
        train = np.searchsorted(learnable, parts.train.rows)
        held_out = np.searchsorted(learnable, parts.validation.rows)
        learnable_folds = [(train, held_out)]
    folds = folds_for(
        taken(X, learnable), taken(y, learnable), learnable_folds, None, None, random_state
    )
    comparison = compared(candidates, folds, random_state, progress)
    pick = _pick(candidates, comparison, criterion)
    final = folds_for(X, y, [(learnable, parts.test.rows)], None, None, random_state)
    with recorded_warnings() as recorded:
        learner = learner_of(pick.estimator, X, is_plain=False)
        result = judged_fold(learner, final, 0)
    return Selection(
        comparison=comparison,
        criterion=criterion,
        estimator=result.learnt,
        test=outcome_of(Case(pick, final), [result], recorded, keep=False),
        parts=parts,
    )


def _pick(
    candidates: tuple[ComparedModel, ...],
    comparison: Comparison,
    criterion: str,
) -> ComparedModel:
    """Return the candidate with the lowest loss; of equals, the one with the lowest error."""
    by_name = {model.name: model for model in candidates}
    outcomes = [outcome for outcome in comparison.outcomes if outcome.name in by_name]
    losses = [float(outcome.means[CRITERIA.index(criterion)]) for outcome in outcomes]
    if np.isnan(losses).all():
        raise InvalidParameterError(
            f"no model has posteriors, which a {criterion} needs: choose by 'error'"
        )
    return by_name[outcomes[int(np.nanargmin(losses))].name]
