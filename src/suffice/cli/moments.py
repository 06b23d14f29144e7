"""``suffice summarize``, ``merge`` and ``forget``: rows to moments, and moments to moments."""

from __future__ import annotations

import functools
import operator
from hashlib import sha256
from pathlib import Path
from typing import Any

import click

import suffice
from suffice.cli.command import file_argument, learning_data, output, subcommand, sums_options
from suffice.cli.data import Data, able, load_moments
from suffice.cli.terminal import Terminal
from suffice.errors import InvalidParameterError


@subcommand(
    "suffice summarize iris -o iris.moments",
    "suffice summarize 'site-a/*.parquet' --target label -o site-a.moments",
    "suffice summarize 'data/*.parquet' --target y --checkpoint scan.moments -o y.moments",
    "suffice summarize 'data/*.parquet' --target y --cluster tcp://HOST:8786 -o y.moments",
    "cat rows.csv | suffice summarize - --target label -o rows.moments",
)
@learning_data
@output("The moments file to write.", required=True)
@sums_options
@output("Remember in FILE what is counted, and resume from there.", option="--checkpoint")
@click.option(
    "--cluster", metavar="ADDRESS", help="Sum on the Dask cluster of this scheduler."
)
@click.option("--device", metavar="NAME", help="Sum on this device of PyTorch, such as cuda.")
def summarize(terminal: Terminal, /, data: Data, output: Path, **options: Any) -> None:
    """Save the sums of labelled rows: all a Gaussian model needs.

    One pass in bounded memory. The file holds class weights, means and scatters, no rows.
    """
    moments = data.moments(terminal, client=options.pop("cluster"), **options)
    moments.save(output)
    facts = {"classes": moments.classes, "features": moments.feature_names}
    terminal.written(output, repr(moments), rows=int(moments.counts.sum()), **facts)


@subcommand(
    "suffice merge site-a.moments site-b.moments -o all.moments",
    "suffice merge site-*.moments -o all.moments",
)
@file_argument("files", nargs=-1, required=True)
@output("The moments file to write.", required=True)
def merge(terminal: Terminal, /, files: tuple[Path, ...], output: Path) -> None:
    """Add up the sums of several files.

    FILES are moments or models of the same columns; the order does not matter.
    """
    seen: dict[Any, Path] = {}
    for file in files:
        if (twin := seen.setdefault(file.resolve(), file)) is not file:
            msg = (
                f"{file} is named twice ({twin}), and its rows would count twice: name it once"
            )
            raise InvalidParameterError(msg)
    parts = [load_moments(file) for file in files]
    for file, part in zip(files, parts, strict=True):
        if part.counts.any() and (same := seen.setdefault(_digest(part), file)) is not file:
            terminal.note(f"{file} holds the same sums as {same}: its rows count twice")
        if file.suffix == ".suffice":
            terminal.note(
                f"{file} is a model: the sums of the rows it was fitted to are added"
            )
    total = functools.reduce(operator.add, parts)
    total.save(output)
    terminal.written(output, repr(total), files=len(files), rows=int(total.counts.sum()))


def _digest(sums: suffice.Moments) -> bytes:
    """Return what two sums have in common only if they are of the same rows."""
    arrays = sums.classes, sums.counts, sums.weights, sums.means, sums.means_low
    return sha256(b"".join(part.tobytes() for part in arrays)).digest()


@subcommand(
    "suffice forget all.moments site-a.moments -o rest.moments",
    "suffice forget model.suffice withdrawn.csv --target species -o model.suffice",
    in_place="total",
)
@file_argument("total")
@click.argument("parts", nargs=-1, required=True)
@click.option("-t", "--target", metavar="COLUMN", help="The label column of rows to forget.")
@output("The file to write, of the same kind as TOTAL.", required=True)
def forget(
    terminal: Terminal,
    /,
    total: Path,
    parts: tuple[str, ...],
    target: str | None,
    output: Path,
) -> None:
    """Take rows out of sums or of a model, as if never seen.

    TOTAL is a moments or model file; PARTS are moments files, or rows in any data format.
    """
    whole = suffice.load(total)
    known = isinstance(whole, suffice.Moments)
    sums = whole if known else able(whole, "moments_", total, "fit it again").moments_
    taken = [_sums(part, sums, target, terminal) for part in parts]
    rest = functools.reduce(operator.sub, taken, sums)
    (rest if known else whole.fit_moments(rest)).save(output)
    rows = int(rest.counts.sum())
    gone = int(sums.counts.sum()) - rows
    terminal.written(
        output, f"{gone:,} rows forgotten, {rows:,} left", forgotten=gone, rows=rows
    )


def _sums(part: str, total: suffice.Moments, target: str | None, terminal: Terminal) -> Any:
    """Return the sums of a part: as they are, or of its rows in the columns of the total."""
    data = Data(part)
    if not data.is_ours:
        features = total.schema or total.feature_names
        data = Data(part, columns={"target": target, "features": features})
    return data.sums(terminal, storage=total.storage, fourth=total.fourth is not None)
