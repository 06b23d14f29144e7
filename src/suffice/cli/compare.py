"""``suffice compare``: a comparison of classifiers in the terminal."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

import suffice
from suffice.cli.command import subcommand
from suffice.cli.data import Data
from suffice.cli.options import (
    MODEL,
    VALIDATION,
    fold_options,
    learning_data,
    other_output,
    output,
    seed_option,
    several,
    time_option,
)
from suffice.cli.report import start_helpers
from suffice.cli.terminal import Terminal, check_figure, write_figure
from suffice.errors import InvalidParameterError

if TYPE_CHECKING:
    from suffice.evaluate.comparison import Comparison
    from suffice.typing import SklearnClassifier


@subcommand(
    "suffice compare iris",
    "suffice compare wine --cv 5 --plot wine.png",
    "suffice compare wine -m lda -m qda -m 'random forest'",
    "suffice compare wine --add sklearn.svm.SVC",
    reports_unused=True,
)
@learning_data
@several(
    "-m",
    "--model",
    "models",
    section=MODEL,
    metavar="NAME",
    help="A model to compare; repeat for more. By default, about a dozen models are compared.",
)
@several(
    "--add",
    "added",
    section=MODEL,
    metavar="CLASS",
    help="Another classifier by import path, such as sklearn.svm.SVC; repeat for more.",
)
@fold_options
@time_option
@seed_option(VALIDATION, "Seed of the folds.")
@output("A file to write the table to.")
@other_output("--plot", "A figure to draw: .png, .svg or .pdf.")
def compare(
    terminal: Terminal,
    /,
    data: Data,
    models: tuple[str, ...],
    added: tuple[str, ...],
    cv: int | None,
    groups: str | None,
    time: str | None,
    seed: int,
    output: Path | None,
    plot: Path | None,
) -> None:
    """Compare classifiers by cross-validation."""
    from suffice.selection.validation.time_order import require_one_order

    check_figure(plot)
    if not models:
        start_helpers(data)
    require_one_order(groups, time)
    rows = data.rows(groups or time, for_fitting=True)
    result = suffice.compare(
        rows.frame,
        rows.table.labels,
        _chosen_models(models, added, seed),
        cv,
        sample_weight=rows.table.weight,
        groups=None if groups is None else rows.kept.get_column(groups),
        time=None if time is None else rows.kept.get_column(time).to_numpy(),
        random_state=seed,
        progress=False if terminal.quiet else None,
    )
    if output is not None:
        import polars as pl

        from suffice.data.formats.writing import write_table

        write_table(pl.DataFrame(result.rows()).lazy(), output)
    if plot is not None:
        write_figure(result.plot()[0].figure, plot)
    _print_comparison(result, terminal)


def _chosen_models(
    names: tuple[str, ...],
    added: tuple[str, ...],
    seed: int,
) -> dict[str, SklearnClassifier] | None:
    """Return the models by name, including added ones; None for the default models."""
    if not names and not added:
        return None
    from suffice.evaluate.comparison.models import parse_models

    models: dict[str, SklearnClassifier] = {}
    for member in parse_models(list(names) or None, seed):
        models[member.name] = member.estimator
    for path in added:
        models[path.rpartition(".")[2]] = _imported(path)
    return models


def _imported(path: str) -> SklearnClassifier:
    """Return an instance of the class with an import path, with default settings."""
    module, _, name = path.rpartition(".")
    try:
        estimator: SklearnClassifier = getattr(importlib.import_module(module), name)()
    except (ImportError, AttributeError, ValueError, TypeError) as error:
        msg = (
            f"--add {path}: {error}; give the import path of a class, such as sklearn.svm.SVC"
        )
        raise InvalidParameterError(msg) from error
    return estimator


def _print_comparison(result: Comparison, terminal: Terminal) -> None:
    if terminal.json:
        from suffice.evaluate.comparison.verdict import choice_document

        document = {
            "models": result.rows(),
            "best": result.best,
            "recommended": result.reference,
            "verdict": result.verdict,
            "choice": choice_document(result.choice),
            "real_errors": None
            if result.real_errors is None
            else result.real_errors.document(),
            "caveats": [caveat.document() for caveat in result.caveats],
            "notes": list(result.notes),
            "left_out": list(result.left_out),
        }
        terminal.result(document)
        return
    if sys.stdout.isatty():
        from rich.console import Console

        Console(file=sys.stdout, highlight=False).print(result)
    else:
        terminal.result({}, str(result))
    if terminal.unused_remark and not terminal.quiet:
        click.echo(f"compared{terminal.unused_remark}", err=True)
