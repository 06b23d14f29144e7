"""How the cells of a text column spell its values, decided once, from all sampled cells."""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeAlias

import polars as pl

from suffice.data.source import ODD, TextStyle, exactly

_BLANKS, _APOSTROPHES, _MINUS = r"[ \u00a0\u2009\u202f]", r"['\u2019]", "\N{MINUS SIGN}"
_D = "[0-9]"  # other digits, too, would match \d, but do not parse
_CURRENCY = r"(?:[$€£¥₹]|USD|EUR|GBP|CHF|kr)"
_THOUSANDS = {"": "", ",": ",", ".": r"\.", " ": _BLANKS, "'": _APOSTROPHES}
_DATE = r"^\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}(?:[ T]\d{1,2}:\d{2}(?::\d{2}(?:\.\d+)?)?)?$"
_DAYS = ("%Y-%m-%d", "%Y/%m/%d", "%d.%m.%Y", "%d-%m-%Y", "%d/%m/%Y", "%m/%d/%Y")
_SHORT_YEAR = r"^(\d{1,3}\D\d+\D\d{1,3})\b"
_TIMES = ("", " %H:%M", " %H:%M:%S", "T%H:%M", "T%H:%M:%S", " %H:%M:%S%.f", "T%H:%M:%S%.f")
_NINES = r"^-?9{2,}(?:\.0*)?$"


@dataclass(frozen=True, slots=True)
class Words:
    """Text that a function reads: by default it stands for itself."""

    values: Callable[[Any], Any] = lambda text: text  # of an expression of trimmed text
    native: bool = False  # whether the reader may parse the values by itself
    doubt: str = ""  # why the words are not read as numbers, if they may be
    whole = False


@dataclass(frozen=True, slots=True)
class Numbers:
    """Numbers with these marks; native ones are those that every program reads."""

    decimal: str = "."
    thousands: str = ""
    currency: str = ""  # pattern
    percent: bool = False
    native: bool = False
    whole: bool = False  # whether the sampled ones are; later ones may have fractions
    doubt = ""

    @property
    def pattern(self) -> str:
        point, mark = re.escape(self.decimal), _THOUSANDS[self.thousands]
        whole = rf"(?:[1-9]{_D}{{0,2}}(?:{mark}{_D}{{3}})+|{_D}+)" if mark else f"{_D}+"
        number = rf"(?:{whole}(?:{point}{_D}*)?|{point}{_D}+)(?:[eE][-+]?{_D}+)?"
        money = f"(?:{self.currency})?" if self.currency else ""
        signed = (
            rf"[-+{_MINUS}]?{_BLANKS}*{money}{_BLANKS}*[-+{_MINUS}]?{number}{_BLANKS}*{money}"
        )
        percent = rf"{_BLANKS}*%" if self.percent else ""
        return rf"^(?:{signed}{percent}|\({signed}{percent}\))$"

    def fits(self, cells: pl.Series) -> bool:
        """Return whether every cell is written so, and the mark of thousands occurs."""
        mark = _THOUSANDS[self.thousands]
        occurs = not mark or bool(cells.str.contains(mark).any())
        return occurs and bool(cells.str.contains(self.pattern).all())

    def values(self, text: Any) -> Any:
        """Return numbers; a cell that is written otherwise fails to parse."""
        if self.native:
            return text.cast(pl.Int64 if self.whole else pl.Float64)
        drop = rf"[%+]|{_BLANKS}|{_APOSTROPHES}|{_CURRENCY}"
        drop += f"|{_THOUSANDS[self.thousands]}" if self.thousands else ""
        bare = text.str.replace_all(drop, "").str.replace(self.decimal, ".", literal=True)
        bare = bare.str.replace(_MINUS, "-", literal=True).str.replace(r"^\((.*)\)$", "-$1")
        cleaned = pl.when(text.str.contains(self.pattern)).then(bare).otherwise(text + ODD)
        return cleaned.cast(pl.Float64) / (100.0 if self.percent else 1.0)


Spelling: TypeAlias = Words | Numbers
_EITHER = [Words()]  # dates that may be day/month or month/day

ANY_NUMBER = "|".join(
    Numbers(d, t, _CURRENCY, percent).pattern
    for d, t in ((".", ","), (",", "."), (".", " "), (",", " "), (".", "'"), (",", "'"))
    for percent in (False, True)
)


def numbers_in(cells: pl.Series) -> pl.Series:
    """Return which cells of a text column may be numbers, however they are written."""
    plain = cells.cast(pl.Float64, strict=False).is_not_null()
    return plain if plain.all() else plain | cells.str.contains(ANY_NUMBER)


def _formats(style: TextStyle, currency: str, *, percent: bool = False) -> Iterator[Numbers]:
    """Yield the ways to write numbers that are left open by what was said."""
    for point in ".,":
        for mark in ("", ",.".replace(point, ""), " ", "'"):
            allowed = style.decimal in (None, point) and style.thousands != point
            if allowed and (not mark or style.thousands in (None, mark)):
                yield Numbers(point, mark, currency, percent)


def spellings_of(
    text: pl.DataFrame,
    style: TextStyle,
) -> tuple[dict[str, Spelling], list[str]]:
    """Return how each column of trimmed text is spelt, and what about it may surprise."""
    columns = {column.name: column.alias("cells").drop_nulls() for column in text}
    plain = _plain(text, style)
    found = {name: plain[name] or _possible(columns[name], style) for name in columns}
    clear = {ways[0].decimal for name, ways in found.items() if _tells(ways, columns[name])}
    if "," in clear or style.delimiter == ";" or any(len(ways) > 1 for ways in found.values()):
        grouped = Numbers(",", ".")  # of plain numbers, too, points may be those of thousands
        for name, ways in found.items():
            if isinstance(ways[0], Numbers) and ways[0].native and not ways[0].whole:
                fits = grouped.fits(columns[name])
                ways += [_exact(grouped, columns[name])] if fits else []
                clear |= set() if fits else {"."}
    settled = {
        name: (ways[0], "") if len(ways) == 1 else _settled(name, columns[name], clear, style)
        for name, ways in found.items()
    }
    remarks = [remark for _, remark in settled.values() if remark]
    either = next((name for name, ways in found.items() if ways is _EITHER), None)
    if either is not None:
        doubt = f"the dates of {either!r} may be day/month or month/day, so they stay text"
        remarks.append(f"{doubt}: write them as 2023-08-04")
    return {name: spelling for name, (spelling, _) in settled.items()}, remarks


def typed(text: pl.DataFrame, spellings: Mapping[str, Spelling]) -> pl.DataFrame:
    """Return the values of sampled text, whole numbers as such."""
    values = {name: spelling.values(exactly(name)) for name, spelling in spellings.items()}
    whole = {name: v.cast(pl.Int64) for name, v in values.items() if spellings[name].whole}
    return text.select(v.alias(name) for name, v in {**values, **whole}.items())


def _tells(found: list[Any], cells: pl.Series) -> bool:
    """Return whether a column with marks leaves no doubt which of them is the decimal one."""
    one = len(found) == 1 and isinstance(found[0], Numbers) and not found[0].native
    return one and bool(cells.str.contains(r"[.,]").any())


def _plain(text: pl.DataFrame, style: TextStyle) -> dict[str, list[Any]]:
    """Return the spelling of each column that is empty, or plain numbers, or codes such as 007."""
    every = pl.all()
    tests = {
        "empty": every.is_null().all(),
        "codes": every.str.contains(r"^\d+$").all() & every.str.contains(r"^0\d").any(),
        "whole": every.cast(pl.Int64, strict=False).null_count() == every.null_count(),
        "number": every.cast(pl.Float64, strict=False).null_count() == every.null_count(),
        "point": every.str.contains(".", literal=True).any(),
    }
    rows = pl.collect_all([text.lazy().select(test) for test in tests.values()])
    found = {name: row.row(0, named=True) for name, row in zip(tests, rows, strict=True)}
    spelt: dict[str, list[Any]] = {name: [] for name in text.columns}
    for name in text.columns:
        whole, grouped = found["whole"][name], style.decimal == "," and found["point"][name]
        if found["empty"][name]:
            spelt[name] = [Words(lambda text: text.cast(pl.Null), native=True)]
        elif found["codes"][name]:
            spelt[name] = [Words()]
        elif whole or (found["number"][name] and not grouped):
            spelt[name] = [Numbers(native=True, whole=whole)]
    return spelt


def _possible(cells: pl.Series, style: TextStyle) -> list[Any]:
    if cells.str.to_lowercase().is_in(["true", "false"]).all():
        return [Words(_truth)]
    return _formatted(cells, style) if numbers_in(cells).all() else _dated(cells)


def _truth(text: Any) -> Any:
    """Return truth values; a cell that holds something else fails to parse."""
    odd = text.str.replace(r"^([-+0-9].*)$", f"$1{ODD}")
    digits = odd.str.replace("(?i)^true$", "1").str.replace("(?i)^false$", "0")
    return digits.cast(pl.Int8).cast(pl.Boolean)


def _formatted(cells: pl.Series, style: TextStyle) -> list[Any]:
    currencies = cells.str.extract(f"({_CURRENCY})").drop_nulls().unique()
    currency = re.escape(currencies[0]) if len(currencies) else ""
    percent = bool(cells.str.contains("%").all())
    fitting = [f for f in _formats(style, currency, percent=percent) if f.fits(cells)]
    found = {format.decimal: format for format in reversed(fitting)}
    if not cells.str.contains(r"[.,]").any():
        found = dict(list(found.items())[:1])
    exact = [_exact(format, cells) for _, format in sorted(found.items(), reverse=True)]
    return exact or [Words(doubt=_two_ways(cells, style))]


def _exact(format: Numbers, cells: pl.Series) -> Numbers:
    numbers = cells.to_frame().select(format.values(pl.first())).to_series()
    whole = ((numbers == numbers.round()) & (numbers.abs() < 2**53)).all()
    return replace(format, whole=bool(whole) and not format.percent)


def _two_ways(cells: pl.Series, style: TextStyle) -> str:
    formats = [f for money in ("", _CURRENCY) for f in _formats(style, money)]
    fits = [cells.str.contains(format.pattern) for format in formats]
    odd = (~max(fits, key=lambda fit: (fit[0], fit.sum()))).arg_max() or len(cells) - 1
    return f"writes numbers in two ways, {cells[0]!r} and {cells[odd]!r} in row {odd + 1:,}"


def _settled(
    name: str,
    cells: pl.Series,
    clear: set[str],
    style: TextStyle,
) -> tuple[Any, str]:
    """Return how a column is spelt that has marks before three digits only, and what to say."""
    comma = bool(cells.str.contains(",").any())
    marked = cells.filter(cells.str.contains(r"[.,]"))[0]
    both = {f.decimal: f for f in _formatted(cells, TextStyle())}
    numbers = {point: pl.select(f.values(pl.lit(marked))).item() for point, f in both.items()}
    as_read = {point: f"{number:.15g}" for point, number in numbers.items()}
    plain = Numbers(native=True)
    if len(clear) == 1:
        (point,) = clear
        if not comma and point == ".":
            return plain, ""
        why = f"since {point!r} is the decimal mark of other columns; --decimal says otherwise"
        return both[point], f"column {name!r}: reading {marked!r} as {as_read[point]}, {why}"
    if comma and style.delimiter == ",":
        return both["."], ""
    if not comma and not (style.delimiter == ";" and cells.str.contains(r"^\d+$").any()):
        return plain, ""
    readings = " or ".join(as_read[point] for point in ".,")
    cure = "name the mark with --decimal or --thousands (decimal=, thousands= in Python)"
    return Words(doubt=f"is ambiguous, {marked!r} may be {readings}: {cure}"), ""


def _dated(cells: pl.Series) -> list[Any]:
    if not cells.str.contains(_DATE).all():
        return [Words()]
    time = next((time for time in _TIMES if _parsed(cells.head(1), time)), "")
    found = _parsed(cells, time)
    return _EITHER if len(found) > 1 else found or [Words()]


def _parsed(cells: pl.Series, time: str) -> list[Words]:
    forms = [partial(_moments, form=f"{day}{time}") for day in _DAYS]
    return [Words(form) for form in forms if not form(cells, strict=False).null_count()]


def _moments(text: Any, form: str, *, strict: bool = True) -> Any:
    whole = text.str.replace(_SHORT_YEAR, f"${{1}}{ODD}")  # 23 would be read as the year 23
    return whole.str.to_datetime(form, time_unit="us", strict=strict)


def stand_ins(text: pl.DataFrame) -> Iterator[str]:
    """Yield a remark on each number, such as -999, that may stand for a missing value."""
    # it is repeated, and farther from the others than they are apart, or the only negative
    counts = text.select(pl.all().str.contains(_NINES).sum()).row(0)
    for name in (name for name, n in zip(text.columns, counts, strict=True) if n > 1):
        cells = text.get_column(name).alias("cells").drop_nulls()
        for mark, times in Counter(cells.filter(cells.str.contains(_NINES))).items():
            number = float(mark)
            others = cells.filter(cells != mark).cast(pl.Float64, strict=False).drop_nulls()
            known = others.filter(others != number).to_numpy()
            if times < 2 or not len(known):
                continue
            low, high = known.min(), known.max()
            gap = max(low - number, number - high)
            if gap > 0 and (gap > high - low or low >= 0 > number):
                found = (
                    f"holds {mark} in {times:,} of the first rows, far from its other numbers"
                )
                cure = f"if it stands for a missing value, add --missing {mark}"
                yield f"column {name!r} {found}: {cure}"
