"""One seeded protocol for a whole line-up of classifiers."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any

from threadpoolctl import threadpool_limits

from suffice.comparison.comparison import Comparison
from suffice.comparison.judging import judged
from suffice.comparison.models import parse_models
from suffice.comparison.outcome import Failure, Outcome
from suffice.comparison.task import Task
from suffice.errors import InvalidInputError
from suffice.progress import Progress

if TYPE_CHECKING:
    from suffice.comparison.models import Member
    from suffice.progress import Wish

MANY_ROWS = 50_000  # above this, slow members are judged on a sample
SAMPLE_ROWS = 20_000  # of so many rows
_SMALL = 1 << 20  # numbers in X below which threads of BLAS only wait for each other


def compare(
    X: Any,
    y: Any,
    models: Any = None,
    cv: Any = 10,
    *,
    sample_weight: Any = None,
    groups: Any = None,
    missing: str = "drop",
    random_state: int = 0,
    progress: Wish = None,
) -> Comparison:
    """Return error, losses, size and speed of every classifier of a line-up, on the same folds.

    Gaussian classifiers and least squares are never fitted again: one pass collects the sums of
    every fold, and each is read from the sums of the others. All else is fitted for every fold.

    Parameters
    ----------
    X, y : array or frame (n, d), labels (n,)
    models : names, estimators, or a mapping of names to them, optional
        Any classifiers of scikit-learn's kind, or names of the default line-up: LDA, QDA,
        GaussianNB, RDA, AutoGaussian, logistic regression, perceptron (averaged), least squares,
        five nearest neighbours in standard units (uniform and distance weights), decision tree
        and random forest.
    cv : int, splitter or iterable of (train, test), default=10
        A number means stratified folds, shuffled by ``random_state``; of whole groups, where
        ``groups`` are given.
    sample_weight, groups : arrays (n,), optional
        Weights count in training, where a member can use them, and in all losses.
    missing : {"drop", "keep"}
        Whether rows with missing values are left out for all, or left to each member.
    random_state : int, default=0
        Seed of the folds and of the default members.
    progress : bool or function, optional
        Whether to show a bar; by default on a terminal. It appears after a second. A function is
        called with the number of steps done and of all.

    Returns
    -------
    Comparison
        Its frame has a row per model, least error first, with the columns: ``error``,
        ``log_loss`` and ``brier``, means over folds, and their standard errors ``…_se``;
        ``error_low`` and ``error_high``, Wilson's 95 % interval; ``calibration_error`` of the most
        probable class, in 15 bins; ``auc``, one class against the rest; ``n_parameters``;
        ``fit_seconds`` and ``predict_seconds``, of the median fold; ``p_value`` of the corrected
        resampled t test against the best, ``p_adjusted`` for the number of tests (Holm);
        ``n_rows`` judged by; ``failure``, why a member could not be judged. Members without
        posteriors have no log-loss, Brier score and calibration error.

    Notes
    -----
    Of more than 50,000 rows, members that are slow (neighbours, trees, forests, the perceptron)
    are judged on a stratified sample of 20,000 within the same folds; the notes say so. They are
    tested against the best on the rows of the sample.

    References
    ----------
    Nadeau & Bengio (2003), *Machine Learning* 52, 239–281.

    Examples
    --------
    >>> import suffice as sf
    >>> from sklearn.datasets import load_wine
    >>> result = sf.compare(*load_wine(return_X_y=True), ["LDA", "QDA", "NB"], cv=5)
    >>> result.to_frame()[["error", "auc"]].round(3)
                error    auc
    model
    LDA         0.006  1.000
    QDA         0.011  1.000
    GaussianNB  0.028  0.999
    """
    members = parse_models(models, random_state)
    task = Task.of(X, y, cv, sample_weight, groups, random_state, missing)
    return compared(members, task, random_state, progress)


def compared(
    members: tuple[Member, ...], task: Task, seed: int, progress: Wish = None
) -> Comparison:
    """Return the members judged on a task."""
    n_folds = len(task.splits)
    small = task.sampled(SAMPLE_ROWS, seed) if task.n_rows > MANY_ROWS else None
    results: list[Outcome | Failure] = []
    with Progress(progress, len(members) * n_folds, "compare") as steps, single_threaded(task):
        for at, member in enumerate(members):
            steps.begin(member.name)
            on: Task = task
            notes: tuple[str, ...] = ()
            if small is not None and member.is_slow:
                on, notes = small, (_sample_note(small, task),)
            results.append(judged(member, on, steps.step, notes))
            steps.reach((at + 1) * n_folds)
    return _comparison(results, task)


def _comparison(results: list[Outcome | Failure], task: Task) -> Comparison:
    outcomes = sorted((r for r in results if isinstance(r, Outcome)), key=lambda o: o.rank)
    failures = sorted((r for r in results if isinstance(r, Failure)), key=lambda f: f.name)
    if not outcomes:
        reasons = "; ".join(f"{f.name}: {f.message}" for f in failures)
        msg = f"no member of the line-up could be judged. {reasons}"
        raise InvalidInputError(msg)
    return Comparison(
        tuple(outcomes),
        tuple(failures),
        task.classes,
        task.n_rows,
        len(task.splits),
        task.test_ratio,
        task.protocol,
    )


def _sample_note(small: Task, task: Task) -> str:
    return f"judged on a stratified sample of {small.n_rows:,} of {task.n_rows:,} rows"


def single_threaded(task: Task) -> AbstractContextManager[Any]:
    """Return a limit to one thread of BLAS and OpenMP for small tables."""
    size = len(task.labels) * getattr(task.X, "shape", (0, 1))[1]
    return threadpool_limits(1) if size < _SMALL else nullcontext()
