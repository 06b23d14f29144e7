"""``suffice.compare``: errors, losses, sizes and speeds of classifiers on the same folds."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from html import escape
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np

from suffice.core.progress import Wish
from suffice.core.table.labels import as_labels
from suffice.core.table.matrix import is_complete, taken
from suffice.core.text.lists import listed
from suffice.core.text.numbers import NOTHING, cell, p_value
from suffice.core.text.tables import Row, Tabled, html_table, rich_table, text_lines
from suffice.errors import InvalidInputError
from suffice.estimators.encoder import TableEncoder
from suffice.evaluate.comparison.caveats import (
    Caveat,
    caveats_of_choice,
    caveats_of_copies,
    caveats_of_counts,
    caveats_of_error,
    caveats_of_posteriors,
    caveats_of_rows,
    caveats_of_splits,
    leaking_columns,
)
from suffice.evaluate.comparison.copied_rows import CopiesEffect, copies_effect
from suffice.evaluate.comparison.fit_times import FitSize, SlowModel, affordable
from suffice.evaluate.comparison.judging import (
    Case,
    Failure,
    Outcome,
    expected_seconds,
    judged,
)
from suffice.evaluate.comparison.models import (
    CONSTANT,
    ComparedModel,
    ModelsLike,
    installed_boosters,
    parse_models,
)
from suffice.evaluate.comparison.paired import (
    LOSSES,
    ChoiceEstimate,
    Difference,
    Loss,
    RowLosses,
    choice_estimate,
)
from suffice.evaluate.comparison.real_errors import RealErrors, Split, real_errors
from suffice.evaluate.comparison.verdict import verdict_in_words
from suffice.selection.validation.fold_rows import FoldsLike
from suffice.selection.validation.folds import Folds
from suffice.typing import Array, Labels, LabelsLike, RowsLike, WeightsLike

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderableType

MANY_ROWS = 50_000  # with more rows than this, slow models are evaluated on a sample
SAMPLE_ROWS = 20_000  # number of rows in that sample
MANY_FOLDED = 2_000  # with at least this many rows, there are five folds by default
# columns omitted on a narrow terminal, the least useful first
_DROPPED_COLUMNS = (
    "approach",
    "calib.",
    "predict",
    "Brier",
    "params",
    "AUC",
    "fit",
    "95 %",
    "log-loss",
)


@dataclass(frozen=True, eq=False, repr=False)
class Comparison(Tabled):
    """The error, losses, size and speed of every model, measured on the same folds."""

    outcomes: tuple[Outcome, ...]  # lowest error first
    failures: tuple[Failure, ...]
    slow: tuple[
        SlowModel, ...
    ]  # default models that were not compared because they take too long
    classes: Labels  # (K,)
    n_rows: int
    n_folds: int
    protocol: str  # description of the folds
    # the model that all others are compared with; by default the recommended one
    reference: str
    is_chosen: bool = True  # whether the rule, and not the user, chose the reference
    copies: CopiesEffect | None = (
        None  # number of identical rows, and their effect on the error
    )
    data_caveats: tuple[Caveat, ...] = ()  # reasons to doubt the data
    split: Split = "random rows"  # how rows are held out
    # errors of the reference for this kind of split and others
    real_errors: RealErrors | None = None

    @property
    def left_out(self) -> tuple[str, ...]:
        """Default models that were not compared, with the reason."""
        return tuple(model.sentence for model in self.slow)

    @property
    def best(self) -> str:
        """Name of the model with the lowest error."""
        return self.outcomes[0].name

    @property
    def baseline(self) -> Outcome:
        """The constant classifier, which predicts the class frequencies for every row."""
        return self[CONSTANT]

    def __getitem__(self, name: str) -> Outcome:
        for outcome in self.outcomes:
            if outcome.name == name:
                return outcome
        for failure in self.failures:
            if failure.name == name:
                raise InvalidInputError(f"{name} has no result: {failure.message}")
        names = ", ".join(repr(outcome.name) for outcome in self.outcomes)
        raise InvalidInputError(
            f"there is no model {name!r} in this comparison: the models are {names}"
        )

    @cached_property
    def row_losses(self) -> RowLosses:
        """The losses of all models, row by row."""
        return RowLosses.of(self.outcomes)

    @cached_property
    def choice(self) -> ChoiceEstimate | None:
        """The error if every fold repeats the choice; None if the user chose the reference."""
        return choice_estimate(self.row_losses) if self.is_chosen else None

    def against(self, name: str) -> Self:
        """Return the comparison with another model as the reference."""
        return replace(self, reference=self[name].name, is_chosen=False, real_errors=None)

    def differences(self, loss: Loss = "error") -> tuple[Difference, ...]:
        """Return the differences of all other models from the reference in one loss."""
        others = [outcome.name for outcome in self.outcomes if outcome.name != self.reference]
        return tuple(self.difference(name, loss) for name in others)

    def difference(self, model: str, loss: Loss = "error") -> Difference:
        """Return the difference of one model from the reference."""
        losses = self.row_losses
        names = losses.names
        return losses.difference(
            LOSSES.index(loss), names.index(model), names.index(self.reference)
        )

    @property
    def verdict(self) -> str:
        """The recommendation and the significant differences as text, at an adjusted 5 % level."""
        return verdict_in_words(self)

    @property
    def caveats(self) -> tuple[Caveat, ...]:
        """Reasons to doubt the model: leaks, copies, bad posteriors, rare classes."""
        model = self[self.reference]
        constant = self.baseline
        is_worse = self.difference(constant.name, "log_loss").verdict == "better"
        return (
            *self.data_caveats,
            *caveats_of_copies(self.copies),
            *caveats_of_posteriors(
                model.name,
                model.log_loss,
                constant.log_loss,
                model.n_rows,
                significant=is_worse,
            ),
            *caveats_of_choice(model.name, model.error, self.choice),
            *caveats_of_splits(self.real_errors),
            *caveats_of_counts(model.held_out),
            *caveats_of_error(model.error if self.choice is None else self.choice.error),
        )

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes on single models: samples, warnings and failures."""
        notes = [f"{o.name}: {note}" for o in self.outcomes for note in o.notes]
        # A column that reveals the class is constant within a class. A caveat explains it, so the
        # warnings about singular covariances are omitted.
        if not leaking_columns(self.data_caveats):
            notes += [
                f"{o.name}: {note}" for o in self.outcomes for note in o.singular_warnings
            ]
        notes += failures_in_words(self.failures)
        return tuple(notes)

    def rows(self) -> list[Row]:
        """Return a mapping per model, lowest error first; models that failed come last."""
        differences = {difference.model: difference for difference in self.differences()}
        rows = [_row(outcome, differences.get(outcome.name)) for outcome in self.outcomes]
        for failure in self.failures:
            row: Row = dict.fromkeys(rows[0], np.nan)
            row["model"] = failure.name
            row["n_rows"] = 0
            row["failure"] = failure.message
            rows.append(row)
        return rows

    def to_frame(self) -> Any:
        """Return ``rows()`` as a pandas frame, indexed by model."""
        return super().to_frame().set_index("model")

    def plot(self, *, theme: Literal["light", "dark"] = "light") -> Array:
        """Draw errors with intervals in one panel and log-losses in another; return the axes."""
        from suffice.present.plots.comparisons import comparison_figure

        return comparison_figure(self, theme)

    def __repr__(self) -> str:
        model = self[self.reference]
        n_models = len(self.outcomes) + len(self.failures)
        return (
            f"Comparison({n_models} models × {self.n_folds} folds; recommended: {model.name}: "
            f"error {model.error:.4f}, log-loss {model.log_loss:.4f})"
        )

    def __str__(self) -> str:
        cells = [_cells(row) for row in self.rows()]
        lines = text_lines(list(cells[0]), [list(line.values()) for line in cells])
        return "\n".join([self._heading(), "", *lines, "", *self._paragraphs()])

    def _repr_html_(self) -> str:
        rows = self.rows()
        cells = [_cells(row) for row in rows]
        lines = [list(line.values()) for line in cells]
        recommended = [row["model"] for row in rows].index(self.reference)
        table = html_table(list(cells[0]), lines, self._heading(), best=recommended)
        return table + "".join(f"<p>{escape(line)}</p>" for line in self._paragraphs())

    def __rich_console__(
        self,
        _: "Console",
        options: "ConsoleOptions",
    ) -> "Iterator[RenderableType]":
        """Yield the table, without columns that do not fit the terminal, and the text below it."""
        from rich.text import Text

        rows = self.rows()
        cells = [_cells(row) for row in rows]
        shown = list(cells[0])
        widths = {name: len(name) for name in shown}
        for cells_by_name in cells:
            for name, text in cells_by_name.items():
                widths[name] = max(widths[name], len(text))
        for heading in _DROPPED_COLUMNS:
            if sum(widths[name] + 2 for name in shown) < options.max_width:
                break
            shown.remove(heading)
        yield Text(self._heading(), style="italic")
        lines = []
        for cells_by_name in cells:
            line = [cells_by_name[name] for name in shown]
            lines.append(line)
        yield rich_table(shown, lines, range(1, len(shown)), [_style(row) for row in rows])
        verdict, *notes = self._paragraphs()
        yield Text(verdict)
        for note in notes:
            yield Text(note, style="dim")

    def _heading(self) -> str:
        return f"{self.n_rows:,} rows of {len(self.classes)} classes; {self.protocol}"

    def _paragraphs(self) -> list[str]:
        """Return the text below the table: the verdict, then the notes."""
        left_out = [f"Not compared: {sentence}." for sentence in self.left_out]
        caveats = [f"Caution: {caveat.sentence}" for caveat in self.caveats]
        splits: list[str] = []
        if self.real_errors is not None and not self.real_errors.headline.is_worse:
            splits = [self.real_errors.sentence]
        return [self.verdict, *splits, *caveats, *self.notes, *left_out]


def _style(row: Row) -> str:
    if row["failure"]:
        return "red"
    if np.isnan(row["p_adjusted"]):  # NaN in the row of the reference
        return "bold"
    return ""


def _row(outcome: Outcome, difference: Difference | None) -> Row:
    """Return the row of a model; the difference from the reference is NaN for itself."""
    if difference is None:
        difference = Difference(
            outcome.name, "error", mean=np.nan, low=np.nan, high=np.nan, p_value=np.nan
        )
    error, log_loss, brier = outcome.means.tolist()
    error_se, log_loss_se, brier_se = outcome.standard_errors.tolist()
    low, high = outcome.interval
    approach = "generative" if outcome.is_generative else "discriminative"
    if outcome.is_of_both_kinds:
        approach = "both"
    if outcome.name == CONSTANT:
        approach = "neither"
    return {
        "model": outcome.name,
        "approach": approach,
        "error": error,
        "error_se": error_se,
        "error_low": low,
        "error_high": high,
        "log_loss": log_loss,
        "log_loss_se": log_loss_se,
        "brier": brier,
        "brier_se": brier_se,
        "calibration_error": outcome.calibration_error,
        "auc": outcome.auc,
        "n_parameters": outcome.n_parameters,
        "fit_seconds": outcome.fit_seconds,
        "predict_seconds": outcome.predict_seconds,
        "error_difference": difference.mean,
        "error_difference_low": difference.low,
        "error_difference_high": difference.high,
        "p_adjusted": difference.p_value,
        "n_rows": outcome.n_rows,
        "failure": "",
    }


def _cells(row: Row) -> dict[str, str]:
    """Return the table cells of a model by column heading."""
    if row["failure"]:
        approach = interval = p = NOTHING
        error = "failed"
    else:
        approach = row["approach"]
        error = f"{100 * row['error']:.1f} %"
        interval = f"{100 * row['error_low']:.1f} – {100 * row['error_high']:.1f}"
        # the reference is not tested against itself
        p = "" if np.isnan(row["p_adjusted"]) else p_value(row["p_adjusted"])
    return {
        "model": row["model"],
        "approach": approach,
        "error": error,
        "95 %": interval,
        "log-loss": cell(row["log_loss"], "loss"),
        "Brier": cell(row["brier"], "loss"),
        "calib.": cell(row["calibration_error"], "loss"),
        "AUC": cell(row["auc"], "loss"),
        "params": cell(row["n_parameters"], "count"),
        "fit": cell(row["fit_seconds"], "seconds"),
        "predict": cell(row["predict_seconds"], "seconds"),
        "p": p,
    }


def compare(
    X: RowsLike,
    y: LabelsLike,
    models: ModelsLike = None,
    cv: FoldsLike | None = 10,
    *,
    sample_weight: WeightsLike = None,
    groups: LabelsLike | None = None,
    time: LabelsLike | None = None,
    random_state: int = 0,
    progress: Wish = None,
) -> Comparison:
    """Return the error, losses, size and speed of every classifier, on the same folds.

    Gaussian classifiers and least squares are not fitted to rows. One pass collects the sums of
    each fold, and each model is computed from the sums of the other folds. All other models are
    fitted once for each fold, for small tables in parallel processes. Tests allow for training rows
    that folds share (Nadeau & Bengio 2003, *Machine Learning* 52, 239–281).

    Parameters
    ----------
    X, y : array or frame (n, d), labels (n,)
        For models that take only numbers, categories become indicators. Missing values are replaced
        with means and marked by indicators.
    models : names, estimators, or a mapping of names to them, optional
        Classifiers with scikit-learn's interface, or names. The default ones are LDA, QDA,
        GaussianNB, RDA, AutoGaussian, AutoClassifier, logistic regression, least squares, nearest
        neighbours, RBF-SVM, decision tree, random forest, gradient boosting, and LightGBM, XGBoost
        and CatBoost if they are installed. "perceptron" is compared only if named. A constant
        classifier is always added.
    cv : int, splitter or iterable of (train, test), default=10
        An integer is a number of stratified folds, shuffled with ``random_state``. With
        ``groups``, folds hold out whole groups. A class with fewer rows than folds is absent from
        some folds. None means ten folds, or five with at least 2,000 rows.
    sample_weight, groups : arrays (n,), optional
        Weights are used in training, if the model accepts them, and in all losses.
    time : array (n,), optional
        Numbers or dates. The rows are divided into ``cv`` + 1 blocks by time. Each block except the
        first is predicted by models fitted to all earlier blocks.
    random_state : int, default=0
        Seed of the folds and of the default models.
    progress : bool or function, optional
        Whether to show a progress bar, which appears after a second. By default it is shown on a
        terminal. A function is called with the number of finished steps and the total number of
        steps.

    Returns
    -------
    Comparison
        ``to_frame()`` has a row per model, lowest error first. It holds means over held-out rows
        with standard errors and intervals, and differences from the recommended model on the same
        rows. ``p_adjusted`` is the p-value of a difference, adjusted for the number of pairs. With
        more than 50,000 rows, slow models are evaluated on a sample, and ``notes`` names them.
        Default models that would take too long are left out, and ``left_out`` names them.

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
    GaussianNB  0.028  0.998
    constant    0.601  0.500
    """
    named = parse_models(models, random_state)
    folds = folds_for(X, y, cv, sample_weight, groups, random_state, time)
    slow: tuple[SlowModel, ...] = ()
    if models is None:
        named = (*named, *installed_boosters(random_state))
        named, slow = affordable(named, len(folds.splits), size_of(folds))
    split: Split = "random rows"
    if groups is not None:
        split = "unseen groups"
    elif time is not None:
        split = "the future"
    result = compared(named, folds, random_state, progress, slow=slow, split=split)
    is_ordered = groups is not None or time is not None
    result = replace(result, data_caveats=caveats_of_rows(X, y, grouped=is_ordered))
    if not is_ordered:
        return result
    member = next(model for model in named if model.name == result.reference)
    errors = real_errors(
        member,
        X,
        y,
        sample_weight=sample_weight,
        groups=groups,
        time=time,
        seed=random_state,
        judged={result.split: result[member.name]},
    )
    return replace(result, real_errors=errors)


def size_of(folds: Folds) -> FitSize:
    """Return the size of the table that each fold is fitted to, at most ``SAMPLE_ROWS`` rows."""
    n_rows = min(len(folds.splits[0][0]), SAMPLE_ROWS)
    n_classes = len(folds.classes)
    if folds.is_plain:
        return FitSize(n_rows, np.shape(folds.X)[1], n_classes)
    head = taken(folds.X, np.arange(min(len(folds.codes), SAMPLE_ROWS)))
    encoding = TableEncoder().fit(head).encoding_
    n_incomplete = 0 if is_complete(head).all() else len(encoding.schema.numbers)
    return FitSize(n_rows, len(encoding.kept), n_classes, n_incomplete)


def folds_for(
    X: RowsLike,
    y: LabelsLike,
    cv: FoldsLike | None,
    sample_weight: WeightsLike,
    groups: LabelsLike | None,
    seed: int,
    time: LabelsLike | None = None,
) -> Folds:
    """Return the folds that every model is evaluated on."""
    if cv is None:
        cv = 10 if len(as_labels(y)) < MANY_FOLDED else 5
        if groups is not None:
            n_groups = len(set(np.asarray(groups).tolist()))
            cv = min(cv, max(n_groups, 2))
    return Folds.of(X, y, cv, sample_weight, groups, time=time, seed=seed)


def compared(
    models: tuple[ComparedModel, ...],
    folds: Folds,
    seed: int,
    progress: Wish = None,
    *,
    slow: tuple[SlowModel, ...] = (),
    keep: bool = False,
    split: Split = "random rows",
) -> Comparison:
    """Return the comparison of models on folds; ``keep`` keeps their posteriors and classifiers."""
    if all(model.name != CONSTANT for model in models):
        models = (*models, *parse_models(CONSTANT, seed))
    cases = _longest_outside(_cases(models, folds, seed))
    results = judged(cases, progress, "compare", keep=keep)
    outcomes = [result for result in results if isinstance(result, Outcome)]
    outcomes.sort(key=lambda outcome: outcome.rank)
    failures = [result for result in results if isinstance(result, Failure)]
    failures.sort(key=lambda failure: failure.name)
    if failures and all(outcome.name == CONSTANT for outcome in outcomes):
        reasons = "; ".join(failures_in_words(failures))
        raise InvalidInputError(f"no model could be evaluated. {reasons}")
    losses = RowLosses.of(outcomes)
    reference = losses.names[losses.recommended()]
    return Comparison(
        outcomes=tuple(outcomes),
        failures=tuple(failures),
        slow=slow,
        classes=folds.classes,
        n_rows=len(folds.judged_rows),
        n_folds=len(folds.splits),
        protocol=folds.protocol,
        reference=reference,
        copies=_copies_effect(cases, outcomes, reference, seed),
        split=split,
    )


def _longest_outside(cases: Sequence[Case]) -> list[Case]:
    """Return the cases in an order with the longest fits at both ends.

    This process begins with the first case and the workers with the last. They meet at short fits,
    so no process waits long for another.
    """
    ranked = sorted(cases, key=expected_seconds, reverse=True)
    return [*ranked[::2], *reversed(ranked[1::2])]


def failures_in_words(failures: Sequence[Failure]) -> list[str]:
    """Return a sentence for each reason of a failure, with all models that failed for it."""
    names: dict[str, list[str]] = {}
    for failure in failures:
        names.setdefault(failure.message, []).append(failure.name)
    return [f"{listed(each, len(each))} failed: {message}" for message, each in names.items()]


def _copies_effect(
    cases: Sequence[Case],
    outcomes: Sequence[Outcome],
    reference: str,
    seed: int,
) -> CopiesEffect | None:
    case = next(case for case in cases if case.model.name == reference)
    outcome = next(outcome for outcome in outcomes if outcome.name == reference)
    return copies_effect(case, outcome.error, seed)


def _cases(models: tuple[ComparedModel, ...], folds: Folds, seed: int) -> list[Case]:
    """Return each model with its folds; in a large table, slow models get a sample of the rows."""
    n_rows = len(folds.judged_rows)
    if n_rows <= MANY_ROWS:
        return [Case(model, folds) for model in models]
    sample = folds.sampled(SAMPLE_ROWS, seed)
    note = (
        f"evaluated on a stratified sample of {len(sample.judged_rows):,} of {n_rows:,} rows"
    )
    return [
        Case(model, sample, note) if model.is_slow else Case(model, folds) for model in models
    ]
