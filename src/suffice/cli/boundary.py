"""``suffice boundary``: the equation where two classes are equally probable."""

from pathlib import Path

import click

from suffice.cli.command import subcommand
from suffice.cli.data import load_model, require_method
from suffice.cli.options import OUTPUT, file_argument, flag, option
from suffice.cli.terminal import Terminal


@subcommand(
    "suffice boundary iris.suffice versicolor virginica",
    "suffice boundary iris.suffice setosa virginica --latex",
)
@file_argument("model")
@click.argument("class_a", metavar="A")
@click.argument("class_b", metavar="B")
@option(
    "--digits",
    section=OUTPUT,
    metavar="N",
    type=click.IntRange(1, 17),
    default=4,
    help="Significant digits of the coefficients.",
)
@flag("--latex", section=OUTPUT, help="Write the equation in LaTeX.")
def boundary(
    terminal: Terminal,
    /,
    model: Path,
    class_a: str,
    class_b: str,
    digits: int,
    *,
    latex: bool,
) -> None:
    """Print where two classes are equally probable.

    The left-hand side is positive where A is more probable.
    """
    from suffice.core.model.geometry.hyperplane import Hyperplane
    from suffice.core.table.labels import label_written

    fitted = require_method(
        load_model(model), "boundary", model, "fit one model, such as lda or qda"
    )
    a = label_written(class_a, fitted.classes_)
    b = label_written(class_b, fitted.classes_)
    surface = fitted.boundary(a, b)
    equation = surface.latex(digits) if latex else surface.equation(digits)
    document: dict[str, object] = {
        "kind": type(surface).__name__,
        "labels": [a, b],
        "feature_names": surface.feature_names,
        "equation": equation,
    }
    if isinstance(surface, Hyperplane):
        document["w"] = surface.w
        document["w_0"] = surface.w_0
    else:
        document["A"] = surface.A
        document["b"] = surface.b
        document["c"] = surface.c
    terminal.result(document, equation)
