"""``suffice store``: sums of partitions, stored separately, and models of any selection."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

import suffice
from suffice.cli.command import subcommand
from suffice.cli.data import Data
from suffice.cli.fit import fit_and_save
from suffice.cli.models import ModelOptions, model_options
from suffice.cli.options import (
    PARTITIONS,
    combined,
    is_given,
    learning_data,
    option,
    output,
    several,
    sums_options,
)
from suffice.cli.terminal import Terminal
from suffice.core.text.lists import counted, quoted
from suffice.errors import InvalidParameterError

if TYPE_CHECKING:
    from suffice.data.store.receipts import StoredReceipt
    from suffice.data.store.store import MomentStore

_store_argument = click.argument("store")
_partition_argument = click.argument("partition")
_why_option = option(
    "--why",
    section=PARTITIONS,
    default="",
    metavar="TEXT",
    help="The reason to record in the log.",
)
_selection_options = combined(
    several(
        "--only",
        section=PARTITIONS,
        metavar="NAME",
        help="A partition to use, or a pattern such as 2026-11-*; repeat for more.",
    ),
    several(
        "--except",
        "except_",
        section=PARTITIONS,
        metavar="NAME",
        help="A partition to leave out, or a pattern; repeat for more.",
    ),
    option(
        "--last",
        section=PARTITIONS,
        metavar="N",
        type=click.IntRange(1),
        help="Use the last N partitions, sorted by name.",
    ),
)
_EXAMPLES = """\b
Examples:
  suffice store add sales.store 'data/*.parquet' --target y
  suffice store list sales.store
  suffice store fit sales.store --last 30 --model qda -o model.suffice"""


@click.group(epilog=_EXAMPLES)
def store() -> None:
    """Store the moments of days, sites or tenants, and fit any combination.

    STORE is a folder, sqlite:FILE or postgresql://…/DATABASE; add #TABLE to choose a table of the
    database. The first add creates it. Every change is made completely or not at all, and is
    recorded in the log.
    """


@subcommand(
    "suffice store add sales.store 'data/*.parquet' --target y",
    "suffice store add sales.store rows.csv --target label --partition 2026-11-01",
    "suffice store add sales.store site-a.moments",
    reports_unused=True,
)
@_store_argument
@learning_data
@option(
    "--partition",
    section=PARTITIONS,
    metavar="NAME",
    help="The partition to add all rows to. By default, each file has its own partition.",
)
@_why_option
@sums_options
def add(
    terminal: Terminal,
    /,
    store: str,
    data: Data,
    partition: str | None,
    why: str,
    storage: str,
    *,
    fourth: bool,
) -> None:
    """Add the rows of the files that are new or have changed.

    A partition is named after the hive folders of its file, such as day=2026-11-01, or else after
    the file name without its extension. Files that were added before are recognised by name, size,
    time and content, and are not read again. The first partition sets the columns, the target, the
    weight and the format of numbers and dates.
    """
    opened = suffice.MomentStore(store)
    if data.holds_sums:
        context = click.get_current_context()
        for option_name in ("storage", "fourth"):
            if is_given(context, option_name):
                raise InvalidParameterError(
                    f"{data.name} holds sums, which are stored as they are: leave out "
                    f"--{option_name}"
                )
        name = partition or Path(data.name).stem
        rows_counted = opened.add(data.sums(terminal), partition=name, why=why)
    else:
        with terminal.progress("rows") as progress:
            rows_counted = opened.add(
                data.names,
                partition=partition,
                why=why,
                progress=progress,
                target=data.target,
                columns=data.roles,
                weight=data.weight,
                text=data.text,
                table=data.table,
                # the store has its own defaults
                storage=None if storage == "auto" else storage,
                fourth=True if fourth else None,
            )
    new = {name: n_rows for name, n_rows in rows_counted.items() if n_rows}
    text = f"{counted(len(new), 'partition')} counted"
    if new:
        text += f", {counted(sum(new.values()), 'row')}: {quoted(new, 5)}"
    text += f"; {len(rows_counted) - len(new)} unchanged"
    terminal.result({"store": store, "counted": rows_counted}, f"{store}: {text}")


@subcommand(
    "suffice store replace sales.store 2026-11-01 kept.csv --why 'erasure request 17'",
    reports_unused=True,
)
@_store_argument
@_partition_argument
@learning_data
@_why_option
def replace(terminal: Terminal, /, store: str, partition: str, data: Data, why: str) -> None:
    """Replace a partition with new rows, for example after a person's rows were deleted.

    The earlier sums are deleted; the log keeps only their digest.
    """
    opened = suffice.MomentStore(store)
    if data.holds_sums:
        opened.replace(partition, data.sums(terminal), why=why)
    else:
        with terminal.progress("rows") as progress:
            opened.replace(
                partition,
                data.names,
                why=why,
                target=data.target,
                columns=data.roles,
                weight=data.weight,
                text=data.text,
                table=data.table,
                progress=progress,
            )
    _print_last_change(opened, store, terminal)


@subcommand("suffice store remove sales.store 2026-11-01 --why 'sensor was broken'")
@_store_argument
@_partition_argument
@_why_option
def remove(terminal: Terminal, /, store: str, partition: str, why: str) -> None:
    """Remove a partition, so that every total is as if it had never been added."""
    opened = suffice.MomentStore(store)
    opened.remove(partition, why=why)
    _print_last_change(opened, store, terminal)


def _print_last_change(opened: MomentStore, store: str, terminal: Terminal) -> None:
    record = opened.log[-1]
    before, after = record["rows"]
    text = f"{store}: {record['partition']!r}: {before:,} rows before, {after:,} now"
    terminal.result({"store": store, **record}, text)


@subcommand("suffice store list sales.store", name="list")
@_store_argument
def list_partitions(terminal: Terminal, /, store: str) -> None:
    """List the partitions, their rows and the files that were counted."""
    entries = suffice.MomentStore(store).entries
    rows = []
    for entry in entries:
        file_name = entry.file[0] if entry.file else ""
        rows.append((entry.partition, entry.rows, entry.digest[:12], file_name))
    terminal.result({"store": store, "entries": [vars(entry) for entry in entries]})
    terminal.table(("partition", "rows", "sums", "file"), rows)


@subcommand("suffice store log sales.store")
@_store_argument
def log(terminal: Terminal, /, store: str) -> None:
    """Show who changed what, when and why."""
    records = suffice.MomentStore(store).log
    fields = ("when", "who", "action", "partition", "why")
    rows = []
    for record in records:
        before, after = record["rows"]
        rows.append(
            [
                record["when"],
                record["who"],
                record["action"],
                record["partition"],
                record["why"],
                f"{before:,} → {after:,}",
            ]
        )
    terminal.result({"store": store, "records": records})
    terminal.table((*fields, "rows"), rows)


@subcommand(
    "suffice store receipts sales.store",
    "suffice store receipts sales.store --number 1 -o proof.json",
)
@_store_argument
@option(
    "--number",
    section=PARTITIONS,
    metavar="N",
    type=click.IntRange(1),
    help="The receipt to write, counted from 1; by default the last.",
)
@output("Write one receipt as JSON, for suffice verify.")
def receipts(
    terminal: Terminal, /, store: str, number: int | None, output: Path | None
) -> None:
    """List and check the receipts of rows that were withdrawn from exact sums.

    Each receipt is checked against the sums in the store. If some of those sums were withdrawn
    later, save the receipt with -o and check it with suffice verify.
    """
    if number is not None and output is None:
        raise click.UsageError("--number needs -o: name a file to write the receipt to")
    stored = suffice.MomentStore(store).receipts
    if output is not None:
        _save_receipt(stored, number, output, store)
    rows = []
    for i, item in enumerate(stored, 1):
        receipt = item.receipt
        checked = "holds" if item.is_checked else "rows needed"
        rows.append(
            (i, receipt.time, item.partition, receipt.rows_removed, receipt.rows_left, checked)
        )
    terminal.result({"store": store, "receipts": [_fields_of(item) for item in stored]})
    terminal.table(("number", "when", "partition", "removed", "left", "checked"), rows)


def _fields_of(item: StoredReceipt) -> dict[str, object]:
    """Return the JSON fields of a receipt."""
    return {
        "partition": item.partition,
        "why": item.why,
        "checked": item.is_checked,
        "receipt": item.receipt.to_json(),
    }


def _save_receipt(
    stored: list[StoredReceipt], number: int | None, output: Path, store: str
) -> None:
    """Write one receipt of a store."""
    if not stored:
        raise InvalidParameterError(
            f"{store} has no receipts: it writes one when rows are withdrawn from exact sums"
        )
    if number is not None and number > len(stored):
        raise InvalidParameterError(
            f"{store} has {counted(len(stored), 'receipt')}, so there is no number {number}"
        )
    stored[-1 if number is None else number - 1].receipt.save(output)


@subcommand(
    "suffice store total sales.store --except site-b -o rest.moments",
    may_overwrite=("moments",),
)
@_store_argument
@_selection_options
@output("The moments file to write.", required=True)
def total(
    terminal: Terminal,
    /,
    store: str,
    only: tuple[str, ...],
    except_: tuple[str, ...],
    last: int | None,
    output: Path,
) -> None:
    """Save the sums of some or all partitions."""
    sums = _sums_of(terminal, store, only, except_, last)
    sums.save(output)
    terminal.written(output, repr(sums), rows=int(sums.counts.sum()))


@subcommand(
    "suffice store fit sales.store --last 30 --model qda -o model.suffice",
    may_overwrite=("model",),
)
@_store_argument
@_selection_options
@model_options
@output("The model file to write.", required=True)
def fit(
    terminal: Terminal,
    /,
    store: str,
    only: tuple[str, ...],
    except_: tuple[str, ...],
    last: int | None,
    options: ModelOptions,
    output: Path,
) -> None:
    """Fit a classifier to some or all partitions, without reading any rows, and save it."""
    sums = _sums_of(terminal, store, only, except_, last)
    fit_and_save(terminal, Data(store, total=sums), options, output)


def _sums_of(
    terminal: Terminal,
    store: str,
    only: tuple[str, ...],
    except_: tuple[str, ...],
    last: int | None,
) -> suffice.Moments:
    """Return the sums of the selected partitions."""
    if only and last:
        raise InvalidParameterError(
            "--only and --last cannot be used together: give one of them"
        )
    opened = suffice.MomentStore(store)
    selected = opened.partitions[-last:] if last else only or None
    with terminal.working("adding up partitions"):
        return opened.total(selected, except_)


for command in (add, replace, remove, list_partitions, log, receipts, total, fit):
    store.add_command(command)
