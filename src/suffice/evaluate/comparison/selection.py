"""The best of the models compared, and its test on rows that had no part in the choice."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from suffice.core.decision.predictions import CRITERIA
from suffice.core.progress import Wish
from suffice.core.table.matrix import taken
from suffice.errors import InvalidParameterError, require_word
from suffice.evaluate.comparison import judging
from suffice.evaluate.comparison.comparison import Comparison, compared, folds_for
from suffice.evaluate.comparison.models import parse_models
from suffice.selection.validation.folds import Split, split


@dataclass(frozen=True, eq=False, repr=False)
class Selection:
    """The classifier of least estimated loss, and its error on rows kept apart until then."""

    comparison: Comparison  # what the choice went by
    criterion: str
    estimator: Any  # the pick, fitted on all rows but the test part
    test: judging.Outcome  # the pick on the test part
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
        low, high = (100 * bound for bound in self.test_interval)
        error = f"test error {100 * self.test_error:.1f} % on {len(self.parts.test)} rows"
        return f"Selection({self.pick}: {error}, 95 % interval {low:.1f} – {high:.1f} %)"


def select(
    X: Any,
    y: Any,
    models: Any = None,
    *,
    validation: float = 0.2,
    test: float = 0.2,
    cv: int | None = None,
    criterion: str = "error",
    random_state: int = 0,
    progress: Wish = None,
) -> Selection:
    """Return the classifier of least estimated error, and its test error.

    Rows are split as by ``sf.split``. Every model learns from the training part and is judged by
    the validation part; the best then learns from both, and meets the test part once (Hastie,
    Tibshirani & Friedman 2009, *The Elements of Statistical Learning*, section 7.2).

    Parameters
    ----------
    X, y : array or frame (n, d), labels (n,)
    models
        As in ``sf.compare``.
    validation, test : float in (0, 1), default=0.2
        Shares of the rows.
    cv : int, optional
        Judge by so many folds of all rows but the test part, instead of a validation part.
    criterion : {"error", "log_loss", "brier"}
        What is to be least; ties of the error go to the lower log-loss.
    random_state, progress
        As in ``sf.compare``; the seed is that of the split, too.

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
            "test=0 leaves no rows to test the pick by: use sf.compare"
        )
    if validation == 0 and not cv:
        raise InvalidParameterError(
            "validation=0 leaves no rows to choose by: set it, or cv=10"
        )
    candidates = parse_models(models, random_state)
    parts = split(X, y, 0.0 if cv else validation, test, random_state)
    both = parts.train.rows, parts.validation.rows
    learnt_from = np.sort(np.concatenate(both))
    folds = cv or [tuple(np.searchsorted(learnt_from, rows) for rows in both)]
    X_known, y_known = taken(X, learnt_from), taken(y, learnt_from)
    judged_on = folds_for(X_known, y_known, folds, None, None, random_state)
    comparison = compared(candidates, judged_on, random_state, progress)
    known = {model.name: model for model in candidates}
    outcomes = [outcome for outcome in comparison.outcomes if outcome.name in known]
    losses = [float(outcome.means[CRITERIA.index(criterion)]) for outcome in outcomes]
    if np.isnan(losses).all():
        raise InvalidParameterError(
            f"no model has posteriors, and a {criterion}: pick by 'error'"
        )
    # of least loss; of equal ones, the one of least error
    pick = known[outcomes[int(np.nanargmin(losses))].name]
    final = folds_for(X, y, [(learnt_from, parts.test.rows)], None, None, random_state)
    with judging.overheard() as caught:
        learner = judging.learner_of(pick.estimator, X, is_plain=False)
        result = judging.judged_fold(learner, final, 0)
    notes = list(judging.notes_on(pick, final, caught))
    outcome = judging.outcome_of(pick, [result], final, notes, keep=False)
    return Selection(comparison, criterion, result[0], outcome, parts)
