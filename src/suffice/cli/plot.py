"""``suffice plot``: any figure of data, and of a model of it, in a file."""

import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import matplotlib as mpl
from sklearn.model_selection import StratifiedKFold, cross_val_predict

from suffice import plots
from suffice.cli.command import subcommand
from suffice.cli.data import Data, load_model
from suffice.cli.fit import MODELS, estimator_of, setting
from suffice.cli.options import choice, learning_data, output, several
from suffice.cli.terminal import FIGURES, Terminal, write_figure
from suffice.comparison.judging import learner_of
from suffice.errors import InvalidInputError, InvalidParameterError
from suffice.plots.style import DARK
from suffice.validation.predictions import Predictions

_APART = ("perceptron_steps", "regression_line")  # not of labelled rows alone


def _kinds() -> Iterator[tuple[str, str, str]]:
    """Yield the name of a figure, what it is of, and what it shows, in its own words."""
    for name in plots.__all__:
        figure = getattr(plots, name)
        of = next(iter(inspect.signature(figure).parameters), "") if callable(figure) else ""
        if of in ("X", "estimator", "source") and name not in _APART:
            first = str(inspect.getdoc(figure)).partition("\n")[0]
            shown = re.sub(r"^Return .*?axes(?: with|:) ", "", first)
            yield name.replace("_", "-"), of, shown


OF = {name: of for name, of, _ in _kinds()}
_LISTED = "\n".join(f"  {name:<25}{shown}" for name, _, shown in _kinds())


@subcommand(
    "plot",
    "suffice plot decision-regions iris -o regions.png",
    "suffice plot class-densities iris -m qda --set feature=petal_length -o densities.svg",
    "suffice plot confusion-matrix wine -m logistic -o confusion.png",
    "suffice plot roc sales.parquet --target churned --theme dark -o roc.pdf",
)
@click.argument("kind", type=click.Choice(list(OF)), metavar="KIND")
@learning_data
@output("The figure to write: .png, .svg or .pdf.", required=True)
@click.option("-m", "--model", default="lda", show_default=True, help="As in fit, or a model file.")
@choice("--theme", of=["light", "dark"], text="Colours of text and ground.", default="light")
@several("--set", "settings", of="NAME=VALUE", text="Any parameter of the figure, as JSON.")
def command(
    terminal: Terminal,
    /,
    kind: str,
    data: Data,
    output: Path,
    model: str,
    theme: str,
    settings: tuple[str, ...],
) -> None:
    """Draw a figure of labelled rows, or of a model fitted to them.

    Errors are of rows held out in 10 folds; those of a model file, of all rows of DATA.
    """
    if output.suffix not in FIGURES:
        raise InvalidParameterError(f"{output}: a figure is written to {', '.join(FIGURES)}")
    if "weight" in data.columns:
        raise InvalidParameterError("figures show every row alike: leave --weight out")
    mpl.use("Agg")
    draw, said = getattr(plots, kind.replace("-", "_")), dict(map(setting, settings))
    known = inspect.signature(draw).parameters
    for name in set(said) - set(known):
        raise InvalidParameterError(f"{kind} has no parameter {name!r}: it has {', '.join(known)}")
    for name in list(known)[2 if OF[kind] == "X" else 3 :]:
        if known[name].default is inspect.Parameter.empty and name not in said:
            raise InvalidParameterError(f"{kind} needs to know {name}: give it by --set")
    subject = _subject(kind, model, data)
    drawn = draw(*subject[: 2 if "y" not in known else None], theme=theme, **said)
    axes = getattr(drawn, "flat", [drawn])[0]
    write_figure(axes.figure, output, DARK.ground if theme == "dark" else "white")
    terminal.written(output, kind)


command.help = f"{inspect.cleandoc(str(command.help))}\n\n\b\nKinds:\n{_LISTED}"


def _subject(kind: str, model: str, data: Data) -> tuple[Any, ...]:
    """Return what a kind of figure is drawn of: rows, a model and rows, or predictions.

    A saved model, and errors, take the table as it is; other figures its complete numbers.
    """
    saved = Path(model).suffix == ".suffice"
    whole = OF[kind] == "source" or (saved and OF[kind] == "estimator")
    rows = data.rows() if whole else data.rows(categories=False, holes=False)
    x, y = rows.frame, rows.table.labels
    if OF[kind] == "X":
        return x, y
    if saved:
        return load_model(Path(model)), x, y
    if model not in MODELS:
        raise InvalidParameterError(f"--model {model}: use one of {', '.join(MODELS)}, or a file")
    estimator = estimator_of(MODELS[model], {})
    if OF[kind] == "estimator":
        return estimator.fit(x, y), x, y
    if not hasattr(estimator, "predict_proba"):
        raise InvalidInputError(f"{kind} needs posteriors, and {model} has none: use -m logistic")
    cv = StratifiedKFold(10, shuffle=True, random_state=0)
    estimator = learner_of(estimator, x, is_plain=False).estimator
    held_out = cross_val_predict(estimator, x, y, cv=cv, method="predict_proba")
    return (Predictions.of(y, held_out, rows.table.classes),)
