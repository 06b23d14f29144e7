"""Excel and LibreOffice workbooks: the rows of the first sheet."""

from pathlib import Path

import polars as pl

from suffice.core.text.lists import quoted
from suffice.data.files.addresses import is_url
from suffice.data.formats.typed_table import TypedTable
from suffice.data.options import TextFormat
from suffice.data.source import SAMPLE_ROWS
from suffice.data.text.spelling import spellings_of, typed
from suffice.errors import InvalidInputError, extra


def workbook_table(path: Path | str, text: TextFormat) -> TypedTable:
    """Return the first sheet of a workbook as a table; its texts are parsed as in text files."""
    if is_url(path):
        raise InvalidInputError(
            f"{path} is a workbook on another machine: download it, or save the sheet as CSV"
        )
    fastexcel = extra("fastexcel", "excel", f"the workbook {path}")
    try:
        workbook = fastexcel.read_excel(path)
        sheets = workbook.sheet_names
        header_row = None if text.header is False else text.skip_rows
        cells = workbook.load_sheet(0, header_row=header_row, schema_sample_rows=None)
        frame: pl.DataFrame = cells.to_polars()
    except fastexcel.FastExcelError as error:
        reason = str(error).splitlines()[0]
        raise InvalidInputError(
            f"{path} cannot be read as a workbook ({reason}): open the file in a spreadsheet "
            "program, and save the sheet as CSV"
        ) from error
    remarks: tuple[str, ...] = ()
    if len(sheets) > 1:
        others = quoted(sheets[1:])
        remarks = (
            f"{path} has {len(sheets)} sheets, and only {sheets[0]!r} is read, not {others}",
        )
    if header_row is None:
        frame.columns = [f"column_{j}" for j in range(frame.width)]
    frame = _with_typed_text(frame, text)
    return TypedTable(str(path), frame.head(SAMPLE_ROWS), "workbook", frame, remarks)


def _with_typed_text(frame: pl.DataFrame, text: TextFormat) -> pl.DataFrame:
    """Return the frame with numbers and dates parsed that the workbook stores as text."""
    words = frame.select(pl.selectors.string()).select(pl.all().str.strip_chars())
    if not words.width:
        return frame
    is_value = ~pl.all().is_in(list(text.missing))
    filled = words.select(pl.when(is_value).then(pl.all()).name.keep())
    spellings, _ = spellings_of(filled, text)
    return frame.with_columns(typed(filled, spellings))
