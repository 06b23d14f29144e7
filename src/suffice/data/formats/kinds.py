"""Open a file as a table, in the format that its extension gives."""

from pathlib import Path
from typing import TypeAlias

from suffice.data.files.contents import PACKED, head_of
from suffice.data.formats.typed_table import TypedTable
from suffice.data.formats.workbook import workbook_table
from suffice.data.options import TextFormat
from suffice.data.text.table import TextTable
from suffice.errors import InvalidInputError

_TEXT = (".csv", ".txt", ".data", ".dat", "")
_TABS = (".tsv", ".tab")
_PARQUET = (".parquet", ".pq")
_ARROW = (".feather", ".arrow", ".ipc")
_JSON_LINES = (".jsonl", ".ndjson")
_WORKBOOKS = (".xlsx", ".xls", ".xlsm", ".xlsb", ".ods")
ENDINGS = (*_TEXT, *_TABS, *_PARQUET, *_ARROW, *_JSON_LINES, *_WORKBOOKS, ".json")

# One file as a table, with its first rows.
FileTable: TypeAlias = TextTable | TypedTable


def ending_of(path: Path | str) -> str:
    """Return the extension that gives the format of a file; raise for an unknown extension."""
    name = Path(str(path).split("?")[0])
    ending = name.suffix.lower()
    if ending in PACKED:
        inner = name.with_suffix("").suffix.lower()
        if inner in _TABS:
            return inner
        if inner in _TEXT:
            return ".csv"
    elif ending in ENDINGS:
        return ending
    if name.suffix in (".suffice", ".moments"):
        raise InvalidInputError(
            f"{name} is a file of suffice, not a table of rows: give the data file"
        )
    raise InvalidInputError(
        f"{name}: the extension {name.suffix} names no format that can be read: use CSV, TSV, "
        "Parquet, Feather, JSON or Excel (.csv, .tsv, .parquet, .feather, .jsonl, .json, .xlsx)"
    )


def open_table(path: Path | str, text: TextFormat, *, types_only: bool) -> FileTable:
    """Return a file as a table; with ``types_only``, its rows need not be read."""
    ending = ending_of(path)
    if ending in _TABS:
        return TextTable.of(head_of(path), path, text, str(path), separator="\t")
    if ending in _TEXT:
        return TextTable.of(head_of(path), path, text, str(path))
    if ending in _WORKBOOKS:
        return workbook_table(path, text)
    if ending in _PARQUET:
        return TypedTable.of(path, "parquet", types_only=types_only)
    if ending in _ARROW:
        return TypedTable.of(path, "arrow", types_only=types_only)
    if ending in _JSON_LINES:
        return TypedTable.of_lines_in(path)
    return TypedTable.of_json(path)
