"""``suffice lecture``: a page on LDA and logistic regression for the user's own table."""

from __future__ import annotations

from pathlib import Path

import click

from suffice.cli.command import subcommand
from suffice.cli.data import Data
from suffice.cli.options import OUTPUT, VALIDATION, flag, learning_data, option, output
from suffice.cli.terminal import Terminal
from suffice.cli.unused_path import unused_path
from suffice.errors import InvalidParameterError


@subcommand(
    "suffice lecture iris",
    "suffice lecture exam -o exam.html",
    "suffice lecture sales.parquet --target churned",
    reports_unused=True,
)
@learning_data
@option(
    "--cv",
    section=VALIDATION,
    metavar="K",
    type=click.IntRange(2),
    default=10,
    help="Number of folds.",
)
@flag("--force", section=OUTPUT, help="Replace an existing page.")
@output("The page to write, by default lecture-DATA.html.")
def lecture(
    terminal: Terminal,
    /,
    data: Data,
    cv: int,
    output: Path | None,
    *,
    force: bool,
) -> None:
    """Write a page that teaches LDA and logistic regression on your own table.

    The page shows the fitted parameters, the hyperplanes and the posteriors of both models, and
    compares generative with discriminative models. All features must be numeric.
    """
    if "weight" in data.columns:
        raise InvalidParameterError("a lecture does not use row weights: leave out --weight")
    from suffice.persistence.archive import replacing
    from suffice.present.lecture import lecture as make_lecture

    rows = data.rows(categories=False, allow_missing=False)
    title = "standard input" if data.name == "-" else Path(data.name).stem
    page = make_lecture(rows.frame, rows.table.labels, title, cv)
    stem = "".join(c if c.isalnum() or c in "-_." else "_" for c in title)
    path = output or Path(f"lecture-{stem}.html")
    if output is None and not force:
        path = unused_path(path, terminal)
    with replacing(path) as file:
        file.write(page.html().encode())
    terminal.written(path, "the lecture; open it in a browser")
