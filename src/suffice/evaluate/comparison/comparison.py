"""Classifiers of every kind side by side, on the same seeded folds."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from html import escape
from typing import Any, Literal, Self

import numpy as np

from suffice.core.progress import Wish
from suffice.core.table.matrix import is_complete, taken
from suffice.core.text.numbers import NOTHING, cell, p_value
from suffice.core.text.tables import Row, Tabled, html_table, rich_table, text_lines
from suffice.errors import InvalidInputError
from suffice.estimators.encoder import TableEncoder
from suffice.evaluate.comparison.judging import Case, Failure, Outcome, judged
from suffice.evaluate.comparison.models import (
    CONSTANT,
    ComparedModel,
    FitSize,
    affordable,
    parse_models,
)
from suffice.evaluate.comparison.paired import LOSSES, Difference, RowLosses
from suffice.evaluate.comparison.verdict import verdict_in_words
from suffice.selection.validation.folds import Folds
from suffice.typing import Array, Labels

MANY_ROWS = 50_000  # above this, slow models are judged on a sample
MANY_FOLDED = 2_000  # rows from which five folds suffice
SAMPLE_ROWS = 20_000  # of so many rows
_AS_THEY_ARE = ("calibration_error", "auc", "n_parameters", "fit_seconds", "predict_seconds")
# in a narrow terminal these go, the least needed first
_DROPPED = (
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
    """Error, probabilistic losses, size and speed of every model, on the same folds."""

    outcomes: tuple[Outcome, ...]  # lowest error first
    failures: tuple[Failure, ...]
    left_out: tuple[str, ...]  # models that would take too long, with the time
    classes: Labels  # (K,)
    n_rows: int
    n_folds: int
    protocol: str  # the folds in words
    reference: str  # the model that all others are compared with: the recommended one

    @property
    def best(self) -> str:
        """Name of the model of lowest error."""
        return self.outcomes[0].name

    @property
    def baseline(self) -> Outcome:
        """The constant classifier, which states the class frequencies for every row."""
        return self[CONSTANT]

    def __getitem__(self, name: str) -> Outcome:
        for outcome in self.outcomes:
            if outcome.name == name:
                return outcome
        reason = next(
            (f.message for f in self.failures if f.name == name), "it is not compared"
        )
        raise InvalidInputError(f"{name} was not judged: {reason}")

    @cached_property
    def row_losses(self) -> RowLosses:
        """The losses of all models, row by row."""
        return RowLosses.of(self.outcomes)

    def against(self, name: str) -> Self:
        """Return the comparison with another model as the reference."""
        return replace(self, reference=self[name].name)

    def differences(self, loss: str = "error") -> tuple[Difference, ...]:
        """Return how every other model differs from the reference in "error" or "log_loss"."""
        rows = self.row_losses
        at = rows.names.index(self.reference)
        others = (m for m in range(len(rows.names)) if m != at)
        return tuple(rows.difference(LOSSES.index(loss), m, at) for m in others)

    @property
    def verdict(self) -> str:
        """The outcome in words, by adjusted p-values at the 5 % level."""
        return verdict_in_words(self)

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader should know of single models: samples, warnings, failures."""
        said = [f"{o.name}: {note}" for o in self.outcomes for note in o.notes]
        return (*said, *(f"{f.name} failed: {f.message}" for f in self.failures))

    def rows(self) -> list[dict[str, Any]]:
        """Return a mapping per model, lowest error first, failed ones last."""
        tested = {difference.model: difference for difference in self.differences()}
        judged = [_row(o, tested.get(o.name)) for o in self.outcomes]
        empty = dict.fromkeys(judged[0], np.nan)
        named = ({"model": f.name, "n_rows": 0, "failure": f.message} for f in self.failures)
        return judged + [empty | each for each in named]

    def to_frame(self) -> Any:
        """Return ``rows()`` as a pandas frame, indexed by model."""
        return super().to_frame().set_index("model")

    def plot(self, *, theme: Literal["light", "dark"] = "light") -> Array:
        """Draw errors with intervals, and log-losses beside them; return the two axes."""
        from suffice.present.plots.comparisons import comparison_figure

        return comparison_figure(self, theme)

    def __repr__(self) -> str:
        own, n_models = self[self.reference], len(self.outcomes) + len(self.failures)
        told = f"{own.name}: error {own.error:.4f}, log-loss {own.log_loss:.4f}"
        return f"Comparison({n_models} models × {self.n_folds} folds; recommended: {told})"

    def __str__(self) -> str:
        cells = [_cells(row) for row in self.rows()]
        lines = text_lines(list(cells[0]), [list(line.values()) for line in cells])
        return "\n".join([self._heading(), "", *lines, "", *self._below()])

    def _repr_html_(self) -> str:
        cells = [_cells(row) for row in self.rows()]
        table = html_table(
            list(cells[0]), [list(line.values()) for line in cells], self._heading()
        )
        return table + "".join(f"<p>{escape(line)}</p>" for line in self._below())

    def __rich_console__(self, _: Any, options: Any) -> Iterator[Any]:
        """Yield the columns that a terminal has room for, and the verdict; the reference bold."""
        from rich.text import Text

        rows = self.rows()
        cells = [_cells(row) for row in rows]
        shown = list(cells[0])
        wide = {name: max(len(name), *(len(line[name]) for line in cells)) for name in shown}
        for heading in _DROPPED:
            if sum(wide[name] + 2 for name in shown) < options.max_width:
                break
            shown.remove(heading)
        yield Text(self._heading(), style="italic")
        lines = [[line[name] for name in shown] for line in cells]
        plain = ["" if np.isfinite(r["p_adjusted"]) else "bold" for r in rows]
        styles = [
            "red" if r["failure"] else style for r, style in zip(rows, plain, strict=True)
        ]
        yield rich_table(shown, lines, range(1, len(shown)), styles)
        verdict, *notes = self._below()
        yield from (Text(verdict), *(Text(note, style="dim") for note in notes))

    def _heading(self) -> str:
        return f"{self.n_rows:,} rows of {len(self.classes)} classes; {self.protocol}"

    def _below(self) -> list[str]:
        left_out = (f"left out for time: {name}" for name in self.left_out)
        return [self.verdict, *self.notes, *left_out]


def _row(outcome: Outcome, difference: Difference | None) -> dict[str, Any]:
    error, log_loss, brier = outcome.means.tolist()
    error_se, log_loss_se, brier_se = outcome.standard_errors.tolist()
    low, high = outcome.interval
    d = difference or Difference(outcome.name, "error", *[np.nan] * 4)
    approach = "generative" if outcome.is_generative else "discriminative"
    return {
        "model": outcome.name,
        "approach": "neither" if outcome.name == CONSTANT else approach,
        "error": error,
        "error_se": error_se,
        "error_low": low,
        "error_high": high,
        "log_loss": log_loss,
        "log_loss_se": log_loss_se,
        "brier": brier,
        "brier_se": brier_se,
        **{name: getattr(outcome, name) for name in _AS_THEY_ARE},
        "error_difference": d.mean,
        "error_difference_low": d.low,
        "error_difference_high": d.high,
        "p_adjusted": d.p_value,
        "n_rows": outcome.n_rows,
        "failure": "",
    }


def _cells(row: Row) -> dict[str, str]:
    """Return what a table shows of a model, by heading."""
    failed, p = bool(row["failure"]), row["p_adjusted"]
    error, low, high = (
        f"{100 * row[name]:.1f}" for name in ("error", "error_low", "error_high")
    )
    return {
        "model": row["model"],
        "approach": NOTHING if failed else row["approach"],
        "error": "failed" if failed else f"{error} %",
        "95 %": NOTHING if failed else f"{low} – {high}",
        "log-loss": cell(row["log_loss"], "loss"),
        "Brier": cell(row["brier"], "loss"),
        "calib.": cell(row["calibration_error"], "loss"),
        "AUC": cell(row["auc"], "loss"),
        "params": cell(row["n_parameters"], "count"),
        "fit": cell(row["fit_seconds"], "seconds"),
        "predict": cell(row["predict_seconds"], "seconds"),
        "p": NOTHING if failed else "" if np.isnan(p) else p_value(p),
    }


def compare(
    X: Any,
    y: Any,
    models: Any = None,
    cv: Any = 10,
    *,
    sample_weight: Any = None,
    groups: Any = None,
    random_state: int = 0,
    progress: Wish = None,
) -> Comparison:
    """Return error, losses, size and speed of every classifier, on the same folds.

    Gaussian classifiers and least squares are never fitted again: one pass collects the sums of
    every fold, and each is read from the sums of the others. All else is fitted for every fold, of
    small tables by other processes too. Nadeau & Bengio (2003), *Machine Learning* 52, 239–281.

    Parameters
    ----------
    X, y : array or frame (n, d), labels (n,)
        Models that take only numbers get categories as indicators, and empty cells filled and
        marked by indicators.
    models : names, estimators, or a mapping of names to them, optional
        Any classifiers of scikit-learn's kind, or names of the default ones: LDA, QDA,
        GaussianNB, RDA, AutoGaussian, logistic regression, least squares, nearest neighbours,
        RBF-SVM, decision tree, random forest and gradient boosting. A constant one is always added.
    cv : int, splitter or iterable of (train, test), default=10
        A number means stratified folds, shuffled by ``random_state``; of whole groups, where
        ``groups`` are given. A class of fewer rows is absent from some. None means ten folds,
        five from 2,000 rows on.
    sample_weight, groups : arrays (n,), optional
        Weights count in training, where a model can use them, and in all losses.
    random_state : int, default=0
        Seed of the folds and of the default models.
    progress : bool or function, optional
        Whether to show a bar; by default on a terminal. It appears after a second. A function is
        called with the number of steps done and of all.

    Returns
    -------
    Comparison
        Its frame has a row per model, lowest error first: means over held-out rows, standard
        errors and intervals, the difference from the recommended model on the same rows, and
        ``p_adjusted`` for the number of models. Of more than 50,000 rows, slow models are judged
        on a sample; default models that would take too long are left out: its notes say so.

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
    folds = folds_for(X, y, cv, sample_weight, groups, random_state)
    left_out: tuple[str, ...] = ()
    if models is None:
        named, left_out = affordable(named, len(folds.splits), size_of(folds))
    return compared(named, folds, random_state, progress, left_out=left_out)


def size_of(folds: Folds) -> FitSize:
    """Return the size of one fit."""
    n, k = min(len(folds.splits[0][0]), SAMPLE_ROWS), len(folds.classes)
    if folds.is_plain:
        return FitSize(n, np.shape(folds.X)[1], k)
    few = taken(folds.X, np.arange(min(len(folds.codes), SAMPLE_ROWS)))
    encoding = TableEncoder().fit(few).encoding_
    holed = 0 if is_complete(few).all() else len(encoding.schema.numbers)
    return FitSize(n, len(encoding.kept), k, holed)


def folds_for(X: Any, y: Any, cv: Any, sample_weight: Any, groups: Any, seed: int) -> Folds:
    """Return the folds that every model is judged on."""
    if cv is None:
        cv = 10 if len(y) < MANY_FOLDED else 5
        cv = cv if groups is None else min(cv, max(len(set(groups)), 2))
    return Folds.of(X, y, cv, sample_weight, groups, seed=seed)


def compared(
    models: tuple[ComparedModel, ...],
    folds: Folds,
    seed: int,
    progress: Wish = None,
    *,
    left_out: tuple[str, ...] = (),
    keep: bool = False,
) -> Comparison:
    """Return all models judged on the same folds; kept are posteriors and classifiers, if asked."""
    if all(model.name != CONSTANT for model in models):
        models = (*models, *parse_models(CONSTANT, seed))
    n_folds, n_rows = len(folds.splits), len(folds.judged_rows)
    small = folds.sampled(SAMPLE_ROWS, seed) if n_rows > MANY_ROWS else None
    cases = [Case(model, folds) for model in models]
    if small is not None:
        few = f"judged on a stratified sample of {len(small.judged_rows):,} of {n_rows:,} rows"
        cases = [Case(m, small, few) if m.is_slow else Case(m, folds) for m in models]
    results = judged(cases, progress, "compare", keep=keep)
    outcomes = sorted((r for r in results if isinstance(r, Outcome)), key=lambda o: o.rank)
    failures = sorted((r for r in results if isinstance(r, Failure)), key=lambda f: f.name)
    if failures and all(o.name == CONSTANT for o in outcomes):
        reasons = "; ".join(f"{f.name}: {f.message}" for f in failures)
        raise InvalidInputError(f"none of the models could be judged. {reasons}")
    rows = RowLosses.of(outcomes)
    how = (folds.classes, n_rows, n_folds, folds.protocol, rows.names[rows.recommended()])
    return Comparison(tuple(outcomes), tuple(failures), left_out, *how)
