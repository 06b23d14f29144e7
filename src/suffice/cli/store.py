"""``suffice store``: sums of partitions, kept apart, and the model of any set of them."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import click

import suffice
from suffice.cli.command import given, learning_data, output, several, subcommand, sums_options
from suffice.cli.data import Data
from suffice.cli.fit import fit_and_save, model_options
from suffice.cli.terminal import Terminal
from suffice.core.text.lists import plural, quoted
from suffice.errors import InvalidParameterError

_place, _partition = click.argument("store"), click.argument("partition")
_why = click.option("--why", default="", metavar="TEXT", help="The reason, for the log.")
_selection = given(
    several("--only", of="NAME", text="These partitions, or a pattern such as 2026-11-*."),
    several("--except", "except_", of="NAME", text="Leave out; repeatable."),
    click.option(
        "--last", type=click.IntRange(1), help="So many partitions, the last by name."
    ),
)
_EXAMPLES = """\b
Examples:
  suffice store add sales.store 'data/*.parquet' --target y
  suffice store list sales.store
  suffice store fit sales.store --last 30 --model qda -o model.suffice"""


@click.group(epilog=_EXAMPLES)
def store() -> None:
    """Keep the sums of days, sites or tenants apart, and fit any set of them.

    STORE is a folder, sqlite:FILE or postgresql://…/DATABASE, both with #TABLE if need be. The
    first add makes it. Every change is whole or not at all, and on record.
    """


def _total(terminal: Terminal, store: str, only: Any, except_: Any, last: int | None) -> Any:
    if only and last:
        raise InvalidParameterError("--only and --last do not go together: give one of them")
    opened = suffice.MomentStore(store)
    with terminal.working("adding up partitions"):
        return opened.total(opened.partitions[-last:] if last else only or None, except_)


def _count(terminal: Terminal, data: Data, into: Callable[..., Any], **sums: Any) -> Any:
    """Give a store the sums of a file of ours, or rows by their name to count."""
    if data.is_ours:
        return into(data.sums(terminal))
    with terminal.progress("rows") as progress:
        return into(
            data.name,
            target=data.target,
            columns=data.roles,
            weight=data.weight,
            text=data.text,
            table=data.table,
            progress=progress,
            **sums,
        )


def _tell_last(store: str, terminal: Terminal) -> None:
    record = suffice.MomentStore(store).log[-1]
    text = "{!r}: {:,} rows before, {:,} now".format(record["partition"], *record["rows"])
    terminal.result({"store": store, **record}, f"{store}: {text}")


@subcommand(
    "suffice store add sales.store 'data/*.parquet' --target y",
    "suffice store add sales.store rows.csv --target label --partition 2026-11-01",
    "suffice store add sales.store site-a.moments",
)
@_place
@learning_data
@click.option("--partition", metavar="NAME", help="Of all rows; by default by file.")
@_why
@sums_options
def add(
    terminal: Terminal,
    /,
    store: str,
    data: Data,
    partition: str | None,
    why: str,
    **sums: Any,
) -> None:
    """Count the files that are new or have changed.

    The partition of a file is its hive folders, such as day=2026-11-01, or else its name without
    its ending. Files counted before are known by name, size, time and content, and not read again.
    Columns, target and weight are those of the first partition.
    """
    named = partition or (Path(data.name).stem if data.is_ours else None)
    said = {name: value for name, value in sums.items() if value not in ("auto", False)}
    into = partial(suffice.MomentStore(store).add, partition=named, why=why)
    counted = _count(terminal, data, into, **said)
    new = {name: rows for name, rows in counted.items() if rows}
    rows = f", {sum(new.values()):,} rows: {quoted(new, 5)}" if new else ""
    text = (
        f"{plural(len(new), 'partition')} counted{rows}; {len(counted) - len(new)} unchanged"
    )
    terminal.result({"store": store, "counted": counted}, f"{store}: {text}")


@subcommand("suffice store replace sales.store 2026-11-01 kept.csv --why 'erasure request 17'")
@_place
@_partition
@learning_data
@_why
def replace(terminal: Terminal, /, store: str, partition: str, data: Data, why: str) -> None:
    """Count a partition anew, as after a person's rows were deleted.

    Nothing is left of the sums before but their digest in the log.
    """
    _count(terminal, data, partial(suffice.MomentStore(store).replace, partition, why=why))
    _tell_last(store, terminal)


@subcommand("suffice store remove sales.store 2026-11-01 --why 'sensor was broken'")
@_place
@_partition
@_why
def remove(terminal: Terminal, /, store: str, partition: str, why: str) -> None:
    """Withdraw a partition, as if it had never been added."""
    suffice.MomentStore(store).remove(partition, why=why)
    _tell_last(store, terminal)


@subcommand("suffice store list sales.store")
@_place
def list_(terminal: Terminal, /, store: str) -> None:
    """List the partitions, their rows and the files that were counted."""
    entries = suffice.MomentStore(store).entries
    rows = [(e.partition, e.rows, e.digest[:12], (e.file or [""])[0]) for e in entries]
    terminal.result({"store": store, "entries": [vars(entry) for entry in entries]})
    terminal.table(("partition", "rows", "sums", "file"), rows)


@subcommand("suffice store log sales.store")
@_place
def log(terminal: Terminal, /, store: str) -> None:
    """Show who changed what, when and why."""
    records, fields = (
        suffice.MomentStore(store).log,
        ("when", "who", "action", "partition", "why"),
    )
    rows = [[*(r[f] for f in fields), "{:,} → {:,}".format(*r["rows"])] for r in records]
    terminal.result({"store": store, "records": records})
    terminal.table((*fields, "rows"), rows)


@subcommand("suffice store total sales.store --except site-b -o rest.moments")
@_place
@output("The moments file to write.", required=True)
@_selection
def total(terminal: Terminal, /, store: str, output: Path, **selection: Any) -> None:
    """Save the sums of some partitions, or of all."""
    sums = _total(terminal, store, **selection)
    sums.save(output)
    terminal.written(output, repr(sums), rows=int(sums.counts.sum()))


@subcommand("suffice store fit sales.store --last 30 --model qda -o model.suffice")
@_place
@_selection
@model_options
def fit(terminal: Terminal, /, store: str, **options: Any) -> None:
    """Fit a classifier to some partitions, or to all, and save it. No row is read."""
    chosen = {name: options.pop(name) for name in ("only", "except_", "last")}
    fit_and_save(terminal, Data(store, total=_total(terminal, store, **chosen)), **options)


for one in (add, replace, remove, list_, log, total, fit):
    store.add_command(one)
