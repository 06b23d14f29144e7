"""``suffice compare``: models compared in the terminal."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from suffice.cli.command import subcommand
from suffice.cli.options import folds, learning_data, output, seed, several
from suffice.cli.terminal import FIGURES, Terminal, write_figure, write_table
from suffice.errors import InvalidParameterError

if TYPE_CHECKING:
    from suffice.cli.data import Data
    from suffice.comparison import Comparison


@subcommand(
    "compare",
    "suffice compare iris",
    "suffice compare wine --cv 5 --plot wine.png",
    "suffice compare wine -m lda -m qda -m 'random forest'",
    "suffice compare wine --add sklearn.svm.SVC",
)
@learning_data
@folds
@several("-m", "--model", "models", of="NAME", text="Only these; repeatable.")
@several("--add", "added", of="CLASS", text="Add by import path, such as sklearn.svm.SVC.")
@seed("Of the folds.")
@output("Also draw it: .png, .svg or .pdf.", option="--plot")
@output("Also write the table to this file.")
def command(
    terminal: Terminal,
    /,
    data: Data,
    cv: int | None,
    models: tuple[str, ...],
    added: tuple[str, ...],
    seed: int,
    plot: Path | None,
    output: Path | None,
) -> None:
    """Compare classifiers by cross-validation."""
    if plot is not None and plot.suffix not in FIGURES:
        raise InvalidParameterError(f"--plot {plot}: a figure is written to {', '.join(FIGURES)}")
    rows = data.rows()
    from suffice.comparison import compare

    result = compare(
        rows.frame,
        rows.table.labels,
        chosen_models(models, added, seed),
        cv,
        sample_weight=rows.table.weight,
        random_state=seed,
        progress=False if terminal.quiet else None,
    )
    if output is not None:
        import polars as pl

        write_table(pl.DataFrame(result.rows()).lazy(), output, terminal)
    if plot is not None:
        import matplotlib as mpl

        mpl.use("Agg")
        write_figure(result.plot()[0].figure, plot)
    _tell(result, terminal)


def chosen_models(models: tuple[str, ...], added: tuple[str, ...], seed: int) -> Any:
    """Return the models by name, the default ones if none is given, and those added."""
    if not models and not added:
        return None
    from suffice.comparison.models import parse_models

    named = parse_models(list(models) or None, seed)
    others = {path.rpartition(".")[2]: _imported(path) for path in added}
    return {member.name: member.estimator for member in named} | others


def _imported(path: str) -> Any:
    """Return an instance of the class at an import path, with its default settings."""
    module, _, name = path.rpartition(".")
    try:
        return getattr(importlib.import_module(module), name)()
    except (ImportError, AttributeError, ValueError, TypeError) as error:
        msg = f"--add {path}: {error}; give the import path of a class, such as sklearn.svm.SVC"
        raise InvalidParameterError(msg) from error


def _tell(result: Comparison, terminal: Terminal) -> None:
    if terminal.json:
        said = {
            "best": result.best,
            "recommended": result.reference,
            "verdict": result.verdict,
            "notes": list(result.notes),
            "left_out": list(result.left_out),
        }
        terminal.result({"models": result.rows(), **said})
    elif sys.stdout.isatty():
        from rich.console import Console

        Console(file=sys.stdout, highlight=False).print(result)
    else:
        terminal.result({}, str(result))
    if terminal.closing and not (terminal.quiet or terminal.json):
        click.echo(f"compared{terminal.closing}", err=True)
