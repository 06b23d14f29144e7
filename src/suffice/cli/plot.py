"""``suffice plot``: any figure of data, and of a model of it, in a file."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from suffice.archive import replacing
from suffice.cli.command import subcommand
from suffice.cli.options import choice, learning_data, output, several
from suffice.cli.terminal import Terminal
from suffice.errors import InvalidInputError, InvalidParameterError

if TYPE_CHECKING:
    from suffice.cli.data import Data

FORMS = (".pdf", ".png", ".svg")
OF_ROWS = {
    "pairs": "Rows over each pair of features, with class ellipses.",
    "effect-of-neighbours": "Error of nearest neighbours by their number.",
}
OF_MODELS = {
    "decision-regions": "The region of each class, boundaries, ellipses and rows.",
    "class-densities": "The density of each class over one feature.",
    "density-contours": "Contours of each class's density over two features.",
    "density-surface": "The highest of the class densities over two features, in 3-D.",
    "posterior-line": "The posterior of each class along a line.",
    "posterior-surface": "The posterior of a class, or of every class, over a plane, in 3-D.",
    "effect-of-temperature": "The posterior of a class along a line, by temperature.",
    "real-against-synthetic": "Rows beside as many drawn from the model.",
    "mahalanobis-qq": "Distances from the class means against those of a Gaussian.",
    "coefficient-importance": "Coefficients per standard deviation of their features.",
}
OF_ERRORS = {
    "confusion-matrix": "True classes against predicted ones.",
    "roc": "True against false positive rate.",
    "precision-recall": "Precision against recall.",
    "reliability": "Observed frequencies against predicted probabilities.",
    "error-against-threshold": "Error of rows that are decided, by the posterior required.",
    "cost-against-threshold": "Mean cost of a row, by the posterior from which a class is called.",
    "temperature-loss": "Log-loss by the temperature of the posteriors.",
}
KINDS: Mapping[str, str] = OF_MODELS | OF_ERRORS | OF_ROWS


@subcommand(
    "plot",
    "suffice plot decision-regions iris -o regions.png",
    "suffice plot class-densities iris -m qda --set feature=petal_length -o densities.svg",
    "suffice plot confusion-matrix wine -m logistic -o confusion.png",
    "suffice plot roc sales.parquet --target churned --theme dark -o roc.pdf",
)
@click.argument("kind", type=click.Choice(list(KINDS)), metavar="KIND")
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
    from suffice.cli.fit import setting

    if output.suffix not in FORMS:
        raise InvalidParameterError(f"{output}: a figure is written to {', '.join(FORMS)}")
    if "weight" in data.columns:
        raise InvalidParameterError("figures show every row alike: leave --weight out")
    import matplotlib as mpl

    mpl.use("Agg")
    from suffice import plots

    draw, said = getattr(plots, kind.replace("-", "_")), dict(map(setting, settings))
    known = inspect.signature(draw).parameters
    for name in set(said) - set(known):
        raise InvalidParameterError(f"{kind} has no parameter {name!r}: it has {', '.join(known)}")
    subject = _subject(kind, model, data)
    drawn = draw(*subject[: 2 if "y" not in known else None], theme=theme, **said)
    axes = getattr(drawn, "flat", [drawn])[0]
    write_figure(axes.figure, output, plots.DARK.ground if theme == "dark" else "white")
    terminal.written(output, kind)


_LISTED = "\n".join(f"  {kind:<25}{line}" for kind, line in KINDS.items())
command.help = f"{inspect.cleandoc(str(command.help))}\n\n\b\nKinds:\n{_LISTED}"


def _subject(kind: str, model: str, data: Data) -> tuple[Any, ...]:
    """Return what a kind of figure is drawn of: rows, a model and rows, or predictions."""
    rows = data.rows(categories=False, holes=False)
    x, y = rows.frame, rows.table.labels
    if kind in OF_ROWS:
        return x, y
    if Path(model).suffix == ".suffice":
        from suffice.cli.data import load_model

        return load_model(Path(model)), x, y
    from suffice.cli.fit import MODELS, estimator_of

    if model not in MODELS:
        raise InvalidParameterError(f"--model {model}: use one of {', '.join(MODELS)}, or a file")
    estimator = estimator_of(MODELS[model], {})
    if kind in OF_MODELS:
        return estimator.fit(x, y), x, y
    if not hasattr(estimator, "predict_proba"):
        raise InvalidInputError(f"{kind} needs posteriors, and {model} has none: use -m logistic")
    from sklearn.model_selection import StratifiedKFold, cross_val_predict

    from suffice.validation.predictions import Predictions

    cv = StratifiedKFold(10, shuffle=True, random_state=0)
    held_out = cross_val_predict(estimator, x.to_numpy(), y, cv=cv, method="predict_proba")
    return (Predictions.of(y, held_out, rows.table.classes),)


def write_figure(figure: Any, path: Path, ground: str = "white") -> None:
    """Write a figure in the format of its extension; the file is whole or as it was."""
    with replacing(path) as file:
        figure.savefig(file, format=path.suffix.removeprefix("."), dpi=160, facecolor=ground)
