"""``suffice report``: a page that says which classifier to use, and why."""

from __future__ import annotations

import re
import shlex
import shutil
import sys
import textwrap
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

import suffice
from suffice.cli.command import subcommand
from suffice.cli.data import Data
from suffice.cli.options import (
    MODEL,
    OUTPUT,
    VALIDATION,
    choice,
    flag,
    fold_options,
    learning_data,
    option,
    output,
    seed_option,
    time_option,
)
from suffice.cli.terminal import Terminal
from suffice.cli.unused_path import unused_path
from suffice.core.text.lists import printable, without_passwords
from suffice.errors import InvalidParameterError

if TYPE_CHECKING:
    from suffice.core.table.notation import Notations
    from suffice.present.report.build import Report
    from suffice.present.report.documented_table import DocumentedTable
    from suffice.present.report.findings import ReportSettings
    from suffice.present.report.new_rows import NewRows

ROW = "\0row"  # name of the column of row numbers, which cannot be the name of a data column
_LARGE_FILE = 1 << 24  # for larger files, fits are shared by threads instead of processes
_HELPER_MODULES = ("suffice.evaluate.comparison.judging", "sklearn.ensemble", "sklearn.svm")


def start_helpers(data: Data) -> None:
    """Start worker processes in the block, which import modules while this process reads rows."""
    from suffice.selection.processes import worker_processes

    path = Path(data.name)
    if path.is_file() and path.stat().st_size > _LARGE_FILE:
        return
    click.get_current_context().with_resource(worker_processes(*_HELPER_MODULES))


@subcommand(
    "suffice report iris",
    "suffice report wine --format md -o wine.md",
    "suffice report sales.parquet --target churned -o churn.html",
    "suffice report sales.csv --against this_month.csv",
    "suffice report north.csv south.csv",
    reports_unused=True,
)
@learning_data
@option(
    "--against",
    section=MODEL,
    metavar="NEW",
    help="New rows. The page then says whether they have drifted and, if they have labels, "
    "how many the model misclassifies.",
)
@fold_options
@time_option
@flag(
    "--fast",
    section=VALIDATION,
    help="Take a first look with few models, three folds and no simulation.",
)
@seed_option(VALIDATION, "Seed of the folds and samples.")
@output("The page to write, by default report-DATA.html. The model is saved next to it.")
@choice(
    "--format",
    "format_",
    section=OUTPUT,
    of=["html", "md", "json"],
    help="Format of the page. By default, the extension of the output file decides.",
)
@flag("--force", section=OUTPUT, help="Replace an existing page and model.")
def report(
    terminal: Terminal,
    /,
    data: Data,
    against: str | None,
    cv: int | None,
    groups: str | None,
    time: str | None,
    seed: int,
    output: Path | None,
    format_: str | None,
    *,
    fast: bool,
    force: bool,
) -> None:
    """Write a page that says which classifier to use, how good it is, and why.

    If you pass several tables, each gets its own page, and an index lists the recommendations.
    """
    if output is not None and output.exists() and not force:
        msg = (
            f"{output} already exists: choose another name with -o, or replace the file with "
            "--force"
        )
        raise InvalidParameterError(msg)
    if not fast:
        start_helpers(data)
    from suffice.present.report.findings import ReportSettings
    from suffice.selection.validation.time_order import require_one_order

    require_one_order(groups, time)

    settings = ReportSettings(
        cv=cv, seed=seed, fast=fast, progress=False if terminal.quiet else None
    )
    request = _Request(settings, groups, time, against, format_, replaces=force)
    if not data.others:
        written = _written_report(data, request, output, terminal)
        _print_answer(written, terminal)
        return
    # unlike in other commands, several files are several tables, not parts of one table
    tables = [replace(data, name=name, others=()) for name in (data.name, *data.others)]
    _write_reports(tables, request, output, terminal)


@dataclass(frozen=True, slots=True)
class _Request:
    """Options that apply to every table."""

    settings: ReportSettings
    groups: str | None
    time: str | None
    against: str | None
    format: str | None
    replaces: bool  # whether existing files are replaced


@dataclass(frozen=True, slots=True)
class _Written:
    """A report, and the paths of its page and its model."""

    report: Report
    page: Path
    model: Path | None


def _written_report(
    data: Data,
    request: _Request,
    output: Path | None,
    terminal: Terminal,
) -> _Written:
    """Write the page and the model of one table, and return its report."""
    # imported as a module, so that a program can replace ``build.report_of`` and keep the reports
    from suffice.present.report import build
    from suffice.present.report.usage import Provenance

    stem = _stem(data.name)
    page = output or Path(f"report-{stem}.{request.format or 'html'}")
    page_format = request.format or _format_of(page)
    model = page.with_name(f"{stem}.suffice")
    table, notations = _documented_table(data, stem, request.groups, request.time)
    new_rows = None
    if request.against is not None:
        common = notations.common() if notations else {}
        new_data = replace(data, name=request.against, notations=common)
        new_rows = _new_rows(new_data, table)
    if not request.replaces:
        page = unused_path(page, terminal)
        model = unused_path(model, terminal)
    provenance = Provenance(
        command=_command_line(),
        model=model.name,
        seed=request.settings.seed,
        reading=_reading_code(data, table),
        notations=notations,
    )
    result = build.report_of(table, request.settings, provenance, new_rows)
    saved: Path | None = model
    try:
        result.save_model(model)
    except InvalidParameterError as error:
        saved = None
        terminal.note(
            f"{error}. The page shows the code that fits this model, and names the best model "
            "that can be saved"
        )
    result.save(page, page_format)
    return _Written(result, page, saved)


def _write_reports(
    tables: Sequence[Data],
    request: _Request,
    output: Path | None,
    terminal: Terminal,
) -> None:
    """Write a page for each table, and an index of the pages."""
    from suffice.persistence.archive import replacing
    from suffice.present.report.render import IndexEntry, as_index

    index = output or Path("report-index.html")
    if index.suffix.lower() not in (".html", ".htm"):
        raise InvalidParameterError(
            f"{index}: the index of several reports is a page, so name it .html"
        )
    entries = []
    for data in tables:
        page = index.with_name(f"report-{_stem(data.name)}.{request.format or 'html'}")
        written = _written_report(data, request, page, terminal)
        entries.append(IndexEntry(data.name, written.page.name, written.report.answer))
        if not (terminal.quiet or terminal.json):
            click.echo(_wrapped(f"{data.name}: {written.report.answer.headline}"))
    if not request.replaces:
        index = unused_path(index, terminal)
    with replacing(index) as file:
        file.write(as_index(entries).encode())
    reports = [
        {"data": entry.name, "page": entry.page, **entry.answer.document()}
        for entry in entries
    ]
    terminal.written(index, f"index of {len(entries)} reports", reports=reports)


def _reading_code(data: Data, table: DocumentedTable) -> str | None:
    """Return Python code that reads X and y; None if the code would need reading options."""
    if data.reading or data.weight is not None:
        return None
    has_gaps = any(profile.empty.any() for profile in table.profiles)
    path = Path(data.name)
    if has_gaps and not (path.suffix == ".csv" and path.is_file()):
        return None
    columns = ", ".join(repr(name) for name in table.columns)
    if data.name in suffice.datasets.names() and not Path(data.name).exists():
        reading = f"rows = sf.datasets.load({data.name!r}).frame()"
        library = "import suffice as sf"
    elif Path(data.name).suffix == ".csv":
        missing = _spellings_of_missing_values(path) if has_gaps else []
        if path.is_file() and not _is_read_alike(path, missing, table):
            return None
        options = f", null_values={missing}" if missing else ""
        if any(profile.kind == "date" for profile in table.profiles):
            options += ", try_parse_dates=True"
        reading = f"rows = pl.read_csv({path.name!r}, infer_schema_length=None{options})"
        library = "import polars as pl"
    elif Path(data.name).suffix == ".parquet":
        reading = f"rows = pl.read_parquet({Path(data.name).name!r})"
        library = "import polars as pl"
    else:
        return None
    lines = [
        library,
        reading,
        f"X = rows.select({columns})",
        f"y = rows[{table.target!r}].to_numpy()",
    ]
    return "\n".join(lines)


def _is_read_alike(path: Path, missing: list[str], table: DocumentedTable) -> bool:
    """Whether polars reads the names, numbers and dates of a CSV file without further options."""
    import polars as pl

    rows = pl.scan_csv(
        path, infer_schema_length=1000, null_values=missing, try_parse_dates=True
    )
    types = rows.collect_schema()
    if not {*table.columns, table.target} <= {*types}:
        return False
    kinds = {p.name: p.kind for p in table.profiles if p.name in types}
    are_numbers = all(types[n].is_numeric() for n, kind in kinds.items() if kind == "number")
    return are_numbers and all(
        types[n].is_temporal() for n, kind in kinds.items() if kind == "date"
    )


def _spellings_of_missing_values(path: Path) -> list[str]:
    """Return the spellings of missing values in a CSV file, such as "NA", without empty cells."""
    import polars as pl

    from suffice.data.options import NA_VALUES

    cells = pl.scan_csv(path, infer_schema=False)
    is_in_column = pl.all().is_in([spelling for spelling in NA_VALUES if spelling])
    rows = cells.filter(pl.any_horizontal(is_in_column)).collect()
    return [
        spelling
        for spelling in NA_VALUES
        if spelling and any((rows[name] == spelling).any() for name in rows.columns)
    ]


def _format_of(page: Path) -> str:
    """Return the format of a page, which its extension gives."""
    from suffice.present.report.build import FORMATS

    page_format = FORMATS.get(page.suffix.lower())
    if page_format is None:
        msg = f"{page}: no format has this extension: use .html, .md or .json, or name a --format"
        raise InvalidParameterError(msg)
    return page_format


def _command_line() -> str:
    """Return the command line without folders and passwords, because the page may be shared."""
    typed = click.get_current_context().meta["command_line"]
    words = [re.sub(r"^(--?[\w-]+=)?[/~].*/", r"\1", word) for word in shlex.split(typed)]
    return without_passwords(shlex.join(words))


def _print_answer(written: _Written, terminal: Terminal) -> None:
    """Print the headline, all caveats and the next step, wrapped between words."""
    answer = written.report.answer
    model = written.model
    if not (terminal.quiet or terminal.json):
        for sentence in (answer.headline, *answer.caveats, answer.next_step):
            click.echo(_wrapped(sentence))
    terminal.written(
        written.page,
        "report" if model is None else f"report; {model}: the model",
        model=None if model is None else str(model),
        **answer.document(),
        models=written.report.comparison.rows(),
    )


def _wrapped(sentence: str) -> str:
    """Return a sentence as lines that fit the terminal; for a pipe, as one line."""
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    return wrapped_at(sentence, width)


def wrapped_at(sentence: str, width: int | None) -> str:
    """Return a sentence wrapped between words; without a width, on one line."""
    text = printable(sentence.replace("\N{NO-BREAK SPACE}", " "))
    return text if width is None else textwrap.fill(text, width, break_on_hyphens=False)


def _stem(name: str) -> str:
    """Return the stem of the page's file name, from the name of a file, a glob or "-"."""
    stem = "stdin" if name == "-" else Path(name).stem
    return "".join(c if c.isalnum() or c in "-_." else "_" for c in stem) or "data"


def _documented_table(
    data: Data, name: str, groups: str | None, time: str | None
) -> tuple[DocumentedTable, Notations | None]:
    """Return the documented table, and the notation of numbers and dates in its file.

    Notes on columns and rows left out also go on the page.
    """
    import numpy as np

    from suffice.data.columns.guessing import require_two_labels
    from suffice.data.columns.kinds import is_date
    from suffice.data.rows.loading import load_rows
    from suffice.evaluate.comparison.real_errors import is_name_of_groups
    from suffice.present.report.documented_table import DocumentedTable

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        source, roles = data.opened("a report needs rows", groups or time)
        # loading merges rare levels, but each rare level may be a group
        categories = roles.schema.categories if roles.schema else ()
        texts = [column.name for column in categories if is_name_of_groups(column.name)]
        chunk = load_rows(source, roles, ROW, groups or time, texts)
    require_two_labels(chunk.table.classes, roles.target, source.label)
    for warning in caught:
        warnings.warn_explicit(warning.message, warning.category, __file__, 1)
    notes = [_as_note(str(warning.message), data.name) for warning in caught]
    ids = chunk.kept.to_series()
    are_numbers = ids.dtype.is_integer() and not ids.null_count()
    documented = DocumentedTable.of(
        chunk.frame,
        chunk.table.labels,
        sample_weight=chunk.table.weight,
        name=name,
        target=roles.target,
        ids=ids.to_numpy() if are_numbers else np.asarray(ids.to_list(), dtype=object),
        groups=None if groups is None else chunk.kept.get_column(groups),
        time=None if time is None else chunk.kept.get_column(time).to_numpy(),
        text_codes={
            name: chunk.kept.get_column(name).rank("dense").to_numpy() for name in texts
        },
        dates=[name for name in roles.numbers if is_date(source.sample.schema[name])],
    )
    all_notes = (*notes, *documented.notes)
    named = replace(documented, id_name=ids.name.lstrip("\0"), notes=all_notes)
    return named, chunk.notations


def _as_note(message: str, file: str) -> str:
    """Return a warning for the page, without its code and without the folder of the file."""
    without_code = re.sub(r" \[SF\d+\]$", "", message)
    return without_code.replace(file, Path(file).name)


def _new_rows(data: Data, documented: DocumentedTable) -> NewRows:
    """Return the rows of another source, with labels if there are any."""
    import polars as pl

    from suffice.data.columns.roles import roles_for_learning, roles_for_predicting
    from suffice.data.rows.loading import frames_of, load_rows
    from suffice.data.source import exactly
    from suffice.present.report.new_rows import NewRows

    source = data.source()
    columns = documented.columns
    target = documented.target
    schema = suffice.Moments.of(documented.named_rows, documented.table.labels).schema
    if target in source.sample.columns:
        features = suffice.Columns(features=schema or columns)
        chunk = load_rows(source, roles_for_learning(source, target, columns=features))
        return NewRows(chunk.frame, chunk.table.labels, _stem(data.name))
    roles = roles_for_predicting(source, columns, len(columns), schema=schema)
    rows = pl.concat(frames_of(source, roles)).select(map(exactly, roles.features))
    return NewRows(rows, None, _stem(data.name))
