"""``suffice plot``: a figure of data, or of a model of it, in a file."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

import suffice
from suffice.cli.command import subcommand
from suffice.cli.data import Data, load_model
from suffice.cli.models import MODELS, estimator_from_words, parse_settings
from suffice.cli.options import (
    FIGURE,
    MODEL,
    choice,
    is_given,
    learning_data,
    option,
    output,
    several,
)
from suffice.cli.terminal import Terminal, check_figure, write_figure
from suffice.core.text.lists import quoted
from suffice.errors import InvalidInputError, InvalidParameterError

if TYPE_CHECKING:
    from suffice.core.decision.predictions import Predictions
    from suffice.data.rows.loading import Chunk
    from suffice.typing import SklearnClassifier

FOLDS = 10
# parameters of figures that the command passes, so that users cannot set them
_FILLED_IN = ("source", "estimator", "X", "y", "sample_weight", "theme", "ax")


@dataclass(frozen=True, slots=True)
class FigureKind:
    """A figure of ``suffice.plots``, and what it is drawn from."""

    drawn_from: Literal["rows", "model", "errors"]
    shows: str  # the end of the first line of the function's docstring
    # returns the function that draws the figure; the import of matplotlib waits until the call
    function: Callable[[], Callable[..., Any]]


KINDS = {
    "class-densities": FigureKind(
        drawn_from="model",
        shows="the density of each class over one feature.",
        function=lambda: suffice.plots.class_densities,
    ),
    "coefficient-importance": FigureKind(
        drawn_from="model",
        shows="the standardised coefficients of a linear classifier, largest on top.",
        function=lambda: suffice.plots.coefficient_importance,
    ),
    "confusion-matrix": FigureKind(
        drawn_from="errors",
        shows="the confusion matrix, with a row for each true class.",
        function=lambda: suffice.plots.confusion_matrix,
    ),
    "cost-against-threshold": FigureKind(
        drawn_from="errors",
        shows="the mean cost of a row against the threshold on the posterior of a class.",
        function=lambda: suffice.plots.cost_against_threshold,
    ),
    "decision-regions": FigureKind(
        drawn_from="model",
        shows="the region of each class, boundaries, ellipses and rows.",
        function=lambda: suffice.plots.decision_regions,
    ),
    "density-contours": FigureKind(
        drawn_from="model",
        shows="contours of each class's density over two features.",
        function=lambda: suffice.plots.density_contours,
    ),
    "density-surface": FigureKind(
        drawn_from="model",
        shows="the highest of the prior-weighted class densities over two features.",
        function=lambda: suffice.plots.density_surface,
    ),
    "effect-of-neighbours": FigureKind(
        drawn_from="rows",
        shows="the error of nearest neighbours on training and on held-out rows.",
        function=lambda: suffice.plots.effect_of_neighbours,
    ),
    "effect-of-temperature": FigureKind(
        drawn_from="model",
        shows="the posterior of a class along a line, softmax(log p / T), for several T.",
        function=lambda: suffice.plots.effect_of_temperature,
    ),
    "error-against-threshold": FigureKind(
        drawn_from="errors",
        shows="the error of the rows that are not rejected, against the threshold.",
        function=lambda: suffice.plots.error_against_threshold,
    ),
    "neighbourhood": FigureKind(
        drawn_from="rows",
        shows="the k rows nearest to a point, the circle they lie in, and their votes.",
        function=lambda: suffice.plots.neighbourhood,
    ),
    "pairs": FigureKind(
        drawn_from="rows",
        shows="scatter plots of each pair of features, with class ellipses.",
        function=lambda: suffice.plots.pairs,
    ),
    "posterior-line": FigureKind(
        drawn_from="model",
        shows="the posterior of each class along a line through feature space.",
        function=lambda: suffice.plots.posterior_line,
    ),
    "posterior-surface": FigureKind(
        drawn_from="model",
        shows="the posterior of a class, or the greatest posterior, over a plane.",
        function=lambda: suffice.plots.posterior_surface,
    ),
    "precision-recall": FigureKind(
        drawn_from="errors",
        shows="precision against recall of a class, or of each of several classes.",
        function=lambda: suffice.plots.precision_recall,
    ),
    "real-against-synthetic": FigureKind(
        drawn_from="model",
        shows="real rows below the diagonal, synthetic rows above it.",
        function=lambda: suffice.plots.real_against_synthetic,
    ),
    "reliability": FigureKind(
        drawn_from="errors",
        shows="the observed frequency of a class against the predicted probability.",
        function=lambda: suffice.plots.reliability,
    ),
    "roc": FigureKind(
        drawn_from="errors",
        shows="the ROC curve of a class, or of each of several classes against the rest.",
        function=lambda: suffice.plots.roc,
    ),
}


@subcommand(
    "suffice plot decision-regions iris -o regions.png",
    "suffice plot class-densities iris -m qda --set feature=petal_length -o densities.svg",
    "suffice plot confusion-matrix wine -m logistic -o confusion.png",
    "suffice plot roc sales.parquet --target churned --theme dark -o roc.pdf",
    reports_unused=True,
    kinds={name: kind.shows for name, kind in KINDS.items()},
)
@click.argument("kind", type=click.Choice(list(KINDS)), metavar="KIND")
@learning_data
@option(
    "-m",
    "--model",
    section=MODEL,
    metavar="NAME",
    default="lda",
    help="A model to fit, as in suffice fit, or a model file.",
)
@choice(
    "--theme",
    section=FIGURE,
    of=["light", "dark"],
    default="light",
    help="Colours of text and background.",
)
@several(
    "--set",
    section=FIGURE,
    metavar="NAME=VALUE",
    help="Set any parameter of the figure; VALUE is JSON or a word. Repeat for more.",
)
@output("The figure to write: .png, .svg or .pdf.", required=True)
def plot(
    terminal: Terminal,
    /,
    kind: str,
    data: Data,
    model: str,
    theme: str,
    set: tuple[str, ...],
    output: Path,
) -> None:
    """Draw a figure of labelled rows, or of a model fitted to them.

    Figures of errors use rows held out in 10 folds. If -m is a model file, they use all rows of
    DATA.
    """
    check_figure(output)
    if "weight" in data.columns:
        raise InvalidParameterError("figures do not use row weights: leave out --weight")
    if KINDS[kind].drawn_from == "rows" and is_given(click.get_current_context(), "model"):
        raise click.UsageError(f"{kind} shows rows without a model: leave out --model")
    from suffice.present.plots.style import style_of

    draw = KINDS[kind].function()
    parameters = inspect.signature(draw).parameters
    settings = parse_settings(set)
    _check_settings(kind, parameters, settings)
    arguments = _arguments(kind, model, data)
    if "y" not in parameters:
        arguments = arguments[:2]  # this figure takes no labels
    drawn = draw(*arguments, theme=theme, **settings)
    first_axes = drawn.flat[0] if hasattr(drawn, "flat") else drawn
    style = style_of("dark" if theme == "dark" else "light")
    first_axes.figure.supxlabel(
        _caption(kind, model, data), x=0.01, ha="left", fontsize=8, color=style.soft
    )
    background = "white" if theme == "light" else style_of("dark").ground
    write_figure(first_axes.figure, output, background)
    terminal.written(output, kind)


def _caption(kind: str, model: str, data: Data) -> str:
    """Return a caption with the model, the rows, and whether the rows were held out."""
    drawn_from = KINDS[kind].drawn_from
    if drawn_from == "rows":
        return f"rows of {data.name}"
    if Path(model).suffix == ".suffice":
        return f"model {Path(model).name}, rows of {data.name}"
    if drawn_from == "model":
        return f"model {model}, fitted to all rows of {data.name}"
    return f"model {model}, rows of {data.name} held out in {FOLDS} folds"


def _check_settings(
    kind: str,
    parameters: Mapping[str, inspect.Parameter],
    settings: Collection[str],
) -> None:
    """Raise if a setting is not a parameter of the figure, or if a required one is missing."""
    free = [name for name in parameters if name not in _FILLED_IN]
    for name in settings:
        if name not in free:
            msg = (
                f"{kind} has no parameter {name!r}: it has {', '.join(free) or 'none to set'}"
            )
            raise InvalidParameterError(msg)
    for name in free:
        if parameters[name].default is inspect.Parameter.empty and name not in settings:
            msg = f"{kind} needs the parameter {name!r}: give it by --set {name}=VALUE"
            raise InvalidParameterError(msg)


def _arguments(kind: str, model: str, data: Data) -> tuple[object, ...]:
    """Return the input of a figure: rows, a fitted model with rows, or predictions."""
    drawn_from = KINDS[kind].drawn_from
    if drawn_from == "rows":
        rows = data.rows(categories=False, allow_missing=False)
        return rows.frame, rows.table.labels
    if Path(model).suffix == ".suffice":
        return _model_file_and_rows(model, data)
    if model not in MODELS:
        msg = f"--model {model}: use one of {', '.join(MODELS)}, or a file"
        raise InvalidParameterError(msg)
    estimator = estimator_from_words(model, {})
    if drawn_from == "model":
        rows = data.rows(categories=False, allow_missing=False)
        fitted = estimator.fit(rows.frame, rows.table.labels)
        return fitted, rows.frame, rows.table.labels
    if not hasattr(estimator, "predict_proba"):
        msg = f"{kind} needs posteriors, and {model} has none: use -m logistic"
        raise InvalidInputError(msg)
    return (_held_out_predictions(estimator, data.rows()),)


def _model_file_and_rows(model: str, data: Data) -> tuple[object, ...]:
    """Return the model in a file, rows with the columns of its fit, and their labels."""
    rows = data.rows()
    fitted = load_model(Path(model))
    names = list(getattr(fitted, "feature_names_in_", rows.frame.columns))
    lacking = [name for name in names if name not in rows.frame.columns]
    if lacking:
        msg = (
            f"{data.name} does not have the columns {quoted(lacking)} that {model} was fitted "
            "to: pass rows with these columns"
        )
        raise InvalidInputError(msg)
    return fitted, rows.frame[names], rows.table.labels


def _held_out_predictions(estimator: SklearnClassifier, rows: Chunk) -> Predictions:
    """Return an estimator's predictions for rows held out in folds."""
    import numpy as np
    from sklearn.model_selection import StratifiedKFold, cross_val_predict

    from suffice.core.decision.predictions import Predictions
    from suffice.evaluate.comparison.judging import learner_of

    labels = rows.table.labels
    _, counts = np.unique(labels, return_counts=True)
    if counts.max() < FOLDS:
        msg = (
            f"no class has the {FOLDS} rows that {FOLDS} folds need: pass more rows, or a "
            "model file that was fitted to other rows"
        )
        raise InvalidInputError(msg)
    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=0)
    learner = learner_of(estimator, rows.frame, is_plain=False).estimator
    posteriors = cross_val_predict(
        learner, rows.frame, labels, cv=folds, method="predict_proba"
    )
    return Predictions.of(labels, posteriors, rows.table.classes)
