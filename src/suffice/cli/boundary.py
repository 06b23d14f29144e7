"""``suffice boundary``: where two classes are equally probable."""

from pathlib import Path
from typing import Any

import click

from suffice.cli.command import subcommand
from suffice.cli.options import file_argument
from suffice.cli.terminal import Terminal


@subcommand(
    "boundary",
    "suffice boundary iris.suffice versicolor virginica",
    "suffice boundary iris.suffice setosa virginica --latex",
)
@file_argument("model")
@click.argument("class_a", metavar="A")
@click.argument("class_b", metavar="B")
@click.option("--digits", type=click.IntRange(1, 17), default=4, show_default=True)
@click.option("--latex", is_flag=True, help="Write the equation in LaTeX.")
def command(
    terminal: Terminal, /, model: Path, class_a: str, class_b: str, digits: int, *, latex: bool
) -> None:
    """Print where two classes are equally probable.

    The left-hand side is positive where A is the more probable.
    """
    from suffice.cli.data import able, load_model
    from suffice.table.labels import label_written

    fitted = able(load_model(model), "boundary", model, "fit one model, such as lda or qda")
    labels = [label_written(text, fitted.classes_) for text in (class_a, class_b)]
    border = fitted.boundary(*labels)
    text = border.latex(digits) if latex else border.equation(digits)
    document = {"kind": type(border).__name__, "labels": labels, "equation": text}
    terminal.result({**document, **_numbers(border)}, text)


def _numbers(border: Any) -> dict[str, Any]:
    """Return the arrays a boundary is made of."""
    from dataclasses import fields

    values = {field.name: getattr(border, field.name) for field in fields(border)}
    return {name: value for name, value in values.items() if hasattr(value, "tolist")}
