"""``suffice sample``: rows from a model."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from suffice.cli.command import subcommand
from suffice.cli.options import file_argument, output, seed
from suffice.cli.terminal import Terminal, write_table

if TYPE_CHECKING:
    import polars as pl

    from suffice.decision import Classifier

_AT_ONCE = 100_000


@subcommand(
    "sample",
    "suffice sample iris.suffice -n 5 --seed 1",
    "suffice sample iris.suffice -n 100000 -o synthetic.parquet",
)
@file_argument("model")
@click.option("-n", "--number", type=click.IntRange(min=0), default=1000, show_default=True)
@seed("For the same rows again.", None)
@click.option("--label", default="label", show_default=True, help="Name of the label column.")
@output("The file to write; without it CSV goes to standard output.")
def command(
    terminal: Terminal, /, model: Path, number: int, seed: int | None, label: str, output: Path
) -> None:
    """Draw rows from a fitted model.

    A class is drawn from the priors, then a row from the density of the class.
    """
    from suffice.errors import InvalidInputError
    from suffice.files import load_classifier

    fitted = load_classifier(model)
    if not fitted.has_density:
        msg = f"{model} holds a model which has no densities: fit a Gaussian one, such as lda"
        raise InvalidInputError(msg)
    write_table(_drawn(fitted, number, seed, label), output, terminal)
    if output is not None:
        terminal.written(output, f"{number:,} rows", rows=number)


def _drawn(fitted: Classifier, number: int, seed: int | None, label: str) -> pl.LazyFrame:
    """Return the rows as a lazy table that is drawn while it is written."""
    import numpy as np
    from polars.io.plugins import register_io_source

    rng = np.random.default_rng(seed)

    def frames(*_: Any) -> Iterator[pl.DataFrame]:
        for start in range(0, number, _AT_ONCE):
            yield _frame(fitted, min(_AT_ONCE, number - start), rng, label)

    schema = _frame(fitted, 1, np.random.default_rng(0), label).schema
    return register_io_source(frames, schema=schema)


def _frame(fitted: Classifier, number: int, rng: Any, label: str) -> pl.DataFrame:
    import polars as pl

    x, y = fitted.sample(number, rng)
    names = fitted.feature_names or [f"x{j}" for j in range(x.shape[1])]
    columns = dict(zip(names, x.T, strict=True))
    return pl.DataFrame({**columns, label: y.tolist()})
