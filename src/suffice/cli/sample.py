"""``suffice sample``: rows drawn from a fitted model."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from suffice.cli.command import subcommand
from suffice.cli.options import OUTPUT, file_argument, option, output, seed_option
from suffice.cli.terminal import Terminal, write_table
from suffice.errors import InvalidInputError

if TYPE_CHECKING:
    import numpy as np
    import polars as pl

    from suffice.core.decision.classifier import Classifier

_BATCH = 100_000  # number of rows drawn at a time


@subcommand(
    "suffice sample iris.suffice -n 5 --seed 1",
    "suffice sample iris.suffice -n 5 --class virginica",
    "suffice sample iris.suffice -n 100000 -o synthetic.parquet",
)
@file_argument("model")
@option(
    "-n",
    "--number",
    section=OUTPUT,
    metavar="N",
    type=click.IntRange(min=0),
    default=1000,
    help="Number of rows.",
)
@seed_option(
    OUTPUT, "Seed of the random numbers; the same seed draws the same rows.", default=None
)
@option(
    "--class",
    "class_name",
    section=OUTPUT,
    metavar="CLASS",
    default=None,
    help="Draw rows of this class only.",
)
@option(
    "--label",
    section=OUTPUT,
    metavar="COLUMN",
    default="label",
    help="Name of the label column.",
)
@output("The file to write. By default, CSV goes to standard output.")
def sample(
    terminal: Terminal,
    /,
    model: Path,
    number: int,
    seed: int | None,
    label: str,
    class_name: str | None,
    output: Path | None,
) -> None:
    """Draw rows from a fitted model.

    For each row, the class is drawn from the priors, and the features from the density of that
    class.
    """
    from suffice.core.table.labels import label_written
    from suffice.persistence.load import load_classifier

    classifier = load_classifier(model)
    if not classifier.has_density:
        raise InvalidInputError(
            f"the model in {model} has no densities, so it cannot draw rows: fit a Gaussian "
            "model, such as lda"
        )
    if not label:
        raise InvalidInputError(
            "the label column has no name: name the column, such as --label class"
        )
    if label in classifier.columns:
        msg = f"column {label!r} is a feature: name another, such as --label class"
        raise InvalidInputError(msg)
    one_class = None if class_name is None else label_written(class_name, classifier.classes)
    draws = Draws(classifier, label, one_class)
    write_table(_lazy_table(draws, number, seed), output, terminal, number)


class Draws(NamedTuple):
    """What rows are drawn from: a model, and all of its classes or one."""

    classifier: Classifier
    label_column: str
    one_class: Hashable | None


def _lazy_table(draws: Draws, number: int, seed: int | None) -> pl.LazyFrame:
    """Return a table whose rows are drawn while it is written."""
    import numpy as np
    from polars.io.plugins import register_io_source

    rng = np.random.default_rng(seed)

    def frames(*_: object) -> Iterator[pl.DataFrame]:
        for start in range(0, number, _BATCH):
            yield _frame(draws, min(_BATCH, number - start), rng)

    # a single row shows the types of the columns
    schema = _frame(draws, 1, np.random.default_rng(0)).schema
    return register_io_source(frames, schema=schema)


def _frame(draws: Draws, number: int, rng: np.random.Generator) -> pl.DataFrame:
    """Return rows drawn from the model, with their labels in the last column."""
    import polars as pl

    classifier = draws.classifier
    rows, labels = classifier.sample(number, rng, draws.one_class)
    columns: dict[str, Any]
    if isinstance(rows, dict):  # mixed rows are columns by name
        columns = rows
    else:
        names = classifier.feature_names or [f"x{j}" for j in range(rows.shape[1])]
        columns = dict(zip(names, rows.T, strict=True))
    # otherwise polars would guess the type of a text column from its values
    texts = {name: pl.String for name, column in columns.items() if column.dtype.kind in "OU"}
    lists = {name: column.tolist() for name, column in columns.items()}
    lists[draws.label_column] = labels.tolist()
    return pl.DataFrame(lists, schema_overrides=texts)
