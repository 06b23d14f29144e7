"""Find the date format of text columns, and parse their dates."""

from typing import TypeVar

import polars as pl

from suffice.data.source import MALFORMED

ISO = "iso"  # name of the format ISO 8601, with or without a time and an offset
EITHER = "either"  # name of the format if dates may be day/month or month/day

_CLOCK = r"(?:[ T]\d{1,2}:\d{2}(?::\d{2}(?:[.,]\d+)?)?(?:Z|[+-]\d{2}(?::?\d{2})?)?)?"
_MONTH = r"[A-Za-z]{3,9}\.?"
_DATE = (
    rf"^(?:\d{{1,4}}[-/.]\d{{1,2}}[-/.]\d{{1,4}}|{_MONTH} \d{{1,2}},? \d{{4}}"
    rf"|\d{{1,2}}\.?[- ]{_MONTH}[- ]\d{{4}}){_CLOCK}$"
)
_ISO = (
    r"^(?P<day>\d{4}-\d{2}-\d{2})"
    r"(?:[T ](?P<hour>[01]\d|2[0-3]):(?P<minute>[0-5]\d)(?::(?P<second>[0-5]\d(?:[.,]\d{1,9})?))?"
    r"(?P<zone>Z|[+-]\d{2}(?::?\d{2})?)?)?$"
)
_ISO_DAY = "%Y-%m-%d"
_DAYS = (_ISO_DAY, "%Y/%m/%d", "%d.%m.%Y", "%d-%m-%Y", "%d/%m/%Y", "%m/%d/%Y")
# For %B the reader also accepts short month names such as Jan.
_NAMED_DAYS = ("%B %d %Y", "%B %d, %Y", "%d %B %Y", "%d-%B-%Y", "%d. %B %Y")
_TIMES = ("", " %H:%M", " %H:%M:%S", "T%H:%M", "T%H:%M:%S", " %H:%M:%S%.f", "T%H:%M:%S%.f")
_SHORT_YEAR = r"^(\d{1,3}\D\d+\D\d{1,3})\b"
_LOOSE_PART = r"(?s)^((?:[-+]|\d+[-/.][-+\s]|\d+[-/.]\d+[-/.][-+\s]).*)$"
_WHOLE_DATE = r"^(?:19|20)\d{2}(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])$"
_MOMENT = pl.Datetime("us")

Cells = TypeVar("Cells", pl.Expr, pl.Series)


def date_format_of(cells: pl.Series) -> str:
    """Return the format that fits all cells, ``EITHER`` if two formats fit, "" if none does."""
    if not cells.str.contains(_DATE).all():
        return ""
    if not iso_dates(cells).null_count():
        return ISO
    days = _DAYS if cells.str.contains(r"^\d").all() else _NAMED_DAYS
    if cells.str.contains(_MONTH).any():
        days = _NAMED_DAYS
    first = cells.head(1)
    times = (time for time in _TIMES if _formats_with(first, days, time))
    formats = _formats_with(cells, days, next(times, ""))
    if len(formats) > 1:
        return EITHER
    return formats[0] if formats else ""


def _formats_with(cells: pl.Series, days: tuple[str, ...], time: str) -> list[str]:
    """Return the date formats that fit all cells, combined with a given time format."""
    formats = [f"{day}{time}" for day in days]
    return [
        form for form in formats if not _plain_dates(cells, form, strict=False).null_count()
    ]


def tells_day_from_month(text: pl.Expr) -> pl.Expr:
    """Return which cells begin with two numbers of which exactly one is above 12."""
    numbers = text.str.extract_groups(r"^(\d{1,2})[-/.](\d{1,2})[-/.]")
    is_day = [numbers.struct.field(n).cast(pl.Int64, strict=False) > 12 for n in ("1", "2")]
    return (is_day[0] ^ is_day[1]).fill_null(value=False)


def are_dates(cells: pl.Series, form: str) -> pl.Series:
    """Return which cells fit a format."""
    moments = iso_dates(cells) if form == ISO else _plain_dates(cells, form, strict=False)
    return moments.is_not_null()


def dates(text: pl.Expr, form: str) -> pl.Expr:
    """Return the times that a text column represents; a cell in another format fails to parse."""
    if form != ISO:
        checked = _refused_parts(text)
        return checked.str.to_datetime(form, time_unit="us")
    moments = text.map_batches(iso_dates, return_dtype=_MOMENT, is_elementwise=True)
    unread = pl.when(moments.is_null()).then(text + MALFORMED)
    return pl.coalesce(moments, unread.str.to_datetime(_ISO_DAY, time_unit="us"))


def _refused_parts(text: Cells) -> Cells:
    """Return text in which dates that the parser would wrongly accept fail to parse."""
    # The parser would accept the year 23, "2024-07- 3" and 26/06/+2024.
    checked = text.str.replace(_SHORT_YEAR, f"${{1}}{MALFORMED}")
    return checked.str.replace(_LOOSE_PART, f"${{1}}{MALFORMED}")


def _plain_dates(text: pl.Series, form: str, *, strict: bool) -> pl.Series:
    return _refused_parts(text).str.to_datetime(form, time_unit="us", strict=strict)


def iso_dates(text: pl.Series) -> pl.Series:
    """Return ISO 8601 text as times, in UTC if an offset is given; null for other text."""
    # Series methods treat some column names as patterns.
    text = text.alias("text")
    if (text.str.len_bytes() == len("2024-01-31")).all():
        return _plain_dates(text, _ISO_DAY, strict=False)
    return text.to_frame().select(_iso_moments(pl.col("text"))).to_series()


def _iso_moments(text: pl.Expr) -> pl.Expr:
    parts = text.str.extract_groups(_ISO)
    day = parts.struct.field("day").str.to_datetime(_ISO_DAY, time_unit="us", strict=False)
    hours = _number(parts.struct.field("hour"))
    minutes = _number(parts.struct.field("minute"))
    seconds = _number(parts.struct.field("second").str.replace(",", ".", literal=True))
    zone = parts.struct.field("zone").str.replace("Z", "+00").str.replace(":", "")
    sign = pl.when(zone.str.starts_with("-")).then(-1.0).otherwise(1.0)
    # t = day + 3600 (hours − offset) + …, in UTC
    offset = sign * (60 * _number(zone.str.slice(1, 2)) + _number(zone.str.slice(3, 2)))
    elapsed = 1e6 * (60 * (60 * hours + minutes - offset) + seconds)
    return day + pl.duration(microseconds=elapsed.round().cast(pl.Int64))


def _number(digits: pl.Expr) -> pl.Expr:
    return digits.cast(pl.Float64, strict=False).fill_null(0.0)


def look_like_dates(whole_numbers: pl.DataFrame) -> list[str]:
    """Return the columns whose integers, given as text, may all be dates such as 20240131."""
    if not whole_numbers.width:
        return []
    are_alike = pl.all().str.contains(_WHOLE_DATE).all() & (pl.all().count() > 1)
    answers = whole_numbers.select(are_alike).row(0, named=True)
    return [name for name, is_date in answers.items() if is_date]
