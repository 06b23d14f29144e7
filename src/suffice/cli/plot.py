"""``suffice plot``: any figure of data, and of a model of it, in a file."""

import inspect
from pathlib import Path
from typing import Any

import click

from suffice.cli.command import choice, learning_data, option, output, several, subcommand
from suffice.cli.data import Data, load_model
from suffice.cli.fit import MODELS, estimator_of, setting
from suffice.cli.terminal import Terminal, check_figure, write_figure
from suffice.core.text.lists import quoted
from suffice.errors import InvalidInputError, InvalidParameterError

# figures of labelled rows alone, and what they show; a test keeps the words those of the figures
_LISTED = """
  class-densities          the density of each class over one feature.
  coefficient-importance   the standardised coefficients of a linear classifier, largest on top.
  confusion-matrix         the confusion matrix: a row for each true class, shaded by its shares.
  cost-against-threshold   the mean cost of a row, by the posterior from which a class is called.
  decision-regions         the region of each class, boundaries, ellipses and rows.
  density-contours         contours of each class's density over two features.
  density-surface          the highest of the prior-weighted class densities over two features.
  effect-of-neighbours     the error of nearest neighbours on rows learnt from and rows held out.
  effect-of-temperature    the posterior of a class along a line, softmax(log p / T), by T.
  error-against-threshold  the error of rows that are decided, by the smallest posterior required.
  neighbourhood            the k rows nearest to a point, the circle they lie in, and their votes.
  pairs                    rows over each pair of features, with class ellipses.
  posterior-line           the posterior of each class along a line through feature space.
  posterior-surface        the posterior of a class, or of every class, over a plane.
  precision-recall         precision against recall of a class, or of each of several.
  real-against-synthetic   real rows under the diagonal, synthetic ones over it.
  reliability              the observed frequency of a class against the predicted probability.
  roc                      the ROC curve of a class, or of each of several against the rest.
"""
FOLDS = 10
KINDS = [line.split()[0] for line in _LISTED.strip().splitlines()]


@subcommand(
    "suffice plot decision-regions iris -o regions.png",
    "suffice plot class-densities iris -m qda --set feature=petal_length -o densities.svg",
    "suffice plot confusion-matrix wine -m logistic -o confusion.png",
    "suffice plot roc sales.parquet --target churned --theme dark -o roc.pdf",
)
@click.argument("kind", type=click.Choice(KINDS), metavar="KIND")
@learning_data
@output("The figure to write: .png, .svg or .pdf.", required=True)
@option("-m", "--model", text="As in fit, or a model file.", default="lda")
@choice("--theme", of=["light", "dark"], text="Colours of text and ground.", default="light")
@several("--set", "asked", of="NAME=VALUE", text="Any parameter of the figure, as JSON.")
def plot(
    terminal: Terminal,
    /,
    kind: str,
    data: Data,
    output: Path,
    model: str,
    theme: str,
    asked: Any,
) -> None:
    """Draw a figure of labelled rows, or of a model fitted to them.

    Errors are of rows held out in 10 folds; those of a model file, of all rows of DATA.
    """
    check_figure(output)
    if "weight" in data.columns:
        raise InvalidParameterError("figures show every row alike: leave --weight out")
    from suffice import plots
    from suffice.present.plots.style import DARK

    draw, said = getattr(plots, kind.replace("-", "_")), dict(map(setting, asked))
    parameters = inspect.signature(draw).parameters.items()
    known = {name: each for name, each in parameters if name not in ("ax", "theme")}
    of = next(iter(known))
    for name in set(said) - set(known):
        raise InvalidParameterError(
            f"{kind} has no parameter {name!r}: it has {', '.join(known)}"
        )
    for name in list(known)[2 if of == "X" else 3 :]:
        if known[name].default is inspect.Parameter.empty and name not in said:
            raise InvalidParameterError(f"{kind} needs to know {name}: give it by --set")
    subject = _subject(kind, of, model, data)
    drawn = draw(*subject[: 2 if "y" not in known else None], theme=theme, **said)
    axes = getattr(drawn, "flat", [drawn])[0]
    write_figure(axes.figure, output, DARK.ground if theme == "dark" else "white")
    terminal.written(output, kind)


plot.help = f"{inspect.cleandoc(str(plot.help))}\n\n\b\nKinds:{_LISTED}"


def _subject(kind: str, of: str, model: str, data: Data) -> tuple[Any, ...]:
    """Return what a kind of figure is drawn of: rows, a model and rows, or predictions."""
    # a saved model, and errors, take the table as it is; other figures its complete numbers
    saved = Path(model).suffix == ".suffice"
    whole = of == "source" or (saved and of == "estimator")
    rows = data.rows() if whole else data.rows(categories=False, allow_missing=False)
    x, y = rows.frame, rows.table.labels
    if of == "X":
        return x, y
    if saved:
        fitted = load_model(Path(model))
        names = list(getattr(fitted, "feature_names_in_", x.columns))
        if lacking := [name for name in names if name not in x.columns]:
            msg = f"{data.name} lacks the columns {quoted(lacking)} that {model} needs"
            raise InvalidInputError(msg)
        return fitted, x[names], y
    if model not in MODELS:
        raise InvalidParameterError(
            f"--model {model}: use one of {', '.join(MODELS)}, or a file"
        )
    estimator = estimator_of(MODELS[model], {})
    if of == "estimator":
        return estimator.fit(x, y), x, y
    if not hasattr(estimator, "predict_proba"):
        raise InvalidInputError(
            f"{kind} needs posteriors, and {model} has none: use -m logistic"
        )
    import numpy as np
    from sklearn.model_selection import StratifiedKFold, cross_val_predict

    from suffice.core.decision.predictions import Predictions
    from suffice.evaluate.comparison.judging import learner_of

    if max(np.unique(y, return_counts=True)[1]) < FOLDS:
        few = f"no class has {FOLDS} rows to hold out in as many folds"
        raise InvalidInputError(f"{few}: give more rows, or a file of a model that saw others")
    cv = StratifiedKFold(FOLDS, shuffle=True, random_state=0)
    estimator = learner_of(estimator, x, is_plain=False).estimator
    held_out = cross_val_predict(estimator, x, y, cv=cv, method="predict_proba")
    return (Predictions.of(y, held_out, rows.table.classes),)
