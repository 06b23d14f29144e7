"""Find the notation of each text column: how it writes numbers, dates and Booleans."""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Literal, TypeAlias, TypeVar

import polars as pl

from suffice.core.table.notation import Notation
from suffice.core.text.lists import quote, quoted
from suffice.data.options import TextFormat
from suffice.data.source import MALFORMED, exactly
from suffice.data.text.dates import EITHER, are_dates, date_format_of, dates, look_like_dates
from suffice.data.text.units import pattern_of, units_in, without_unit

_BLANKS = r"[ \u00a0\u2009\u202f]"
_APOSTROPHES = r"['\u2019]"
_MINUS = "\N{MINUS SIGN}"
_DIGIT = "[0-9]"  # \d would also match digits of other scripts, which do not parse
_CURRENCY = r"(?:[$€£¥₹]|USD|EUR|GBP|CHF|kr)"
_THOUSANDS = {"": "", ",": ",", ".": r"\.", " ": _BLANKS, "'": _APOSTROPHES}
_CODE = r"^0[0-9]+$"  # an integer that would lose its leading zeros
_NINES = r"^-?9{2,}(?:\.0*)?$"

DecimalMark: TypeAlias = Literal[".", ","]
Cells = TypeVar("Cells", pl.Expr, pl.Series)


def _unchanged(text: pl.Expr) -> pl.Expr:
    return text


def _nothing(text: pl.Expr) -> pl.Expr:
    return text.cast(pl.Null)


@dataclass(frozen=True, slots=True)
class Words:
    """A column that stays text, or whose values a function parses from the text."""

    # parses an expression of trimmed text
    values: Callable[[pl.Expr], pl.Expr] = _unchanged
    native: bool = False  # whether the file reader can parse the values itself
    doubt: str = ""  # why the column is not read as numbers, although it may be numeric
    date: str = ""  # date format; ``EITHER`` if dates may be day/month or month/day
    whole: bool = field(default=False, init=False)


@dataclass(frozen=True, slots=True)
class Numbers:
    """Numbers with given marks, unit and currency; ``native`` numbers need no conversion."""

    decimal: DecimalMark = "."
    thousands: str = ""
    currency: str = ""  # a regular expression
    percent: bool = False
    unit: str = ""
    native: bool = False
    # whether all sampled numbers are integers; later ones may have fractions
    whole: bool = False
    doubt: str = field(default="", init=False)

    @property
    def pattern(self) -> str:
        """Regular expression of a whole cell."""
        point = re.escape(self.decimal)
        mark = _THOUSANDS[self.thousands]
        exponent = rf"(?:[eE][-+]?{_DIGIT}+)?"
        number = rf"(?:{_DIGIT}+(?:{point}{_DIGIT}*)?|{point}{_DIGIT}+){exponent}"
        if mark:
            # No thousands marks in a number with an exponent: 1.590e+02 is 159.
            grouped = rf"[1-9]{_DIGIT}{{0,2}}(?:{mark}{_DIGIT}{{3}})+(?:{point}{_DIGIT}*)?"
            number = rf"(?:{grouped}|{number})"
        money = f"(?:{self.currency})?" if self.currency else ""
        sign = rf"[-+{_MINUS}]"
        before = rf"(?:{sign}?{_BLANKS}*{money}{_BLANKS}*|{money}{_BLANKS}*{sign})"
        behind = rf"{_BLANKS}*{money}"
        if self.percent:
            behind += rf"{_BLANKS}*%"
        behind += pattern_of(self.unit)
        # In accounting, parentheses mean a minus sign.
        loss = rf"\({_BLANKS}*{money}{_BLANKS}*{number}{behind}\)"
        return rf"^(?:{before}{number}{behind}|{loss})$"

    def fits(self, cells: pl.Series) -> bool:
        """Return whether all cells match, and the thousands mark, if there is one, occurs."""
        mark = _THOUSANDS[self.thousands]
        occurs = not mark or bool(cells.str.contains(mark).any())
        return occurs and bool(cells.str.contains(self.pattern).all())

    def values(self, text: pl.Expr) -> pl.Expr:
        """Return the numbers; a cell in another notation fails to parse."""
        if self.native:
            return text.cast(pl.Int64 if self.whole else pl.Float64)
        decoration = rf"[%+]|{_BLANKS}|{_APOSTROPHES}|{_CURRENCY}"
        if self.thousands:
            decoration += f"|{_THOUSANDS[self.thousands]}"
        bare = without_unit(text, self.unit) if self.unit else text
        digits = bare.str.replace_all(decoration, "")
        digits = digits.str.replace(self.decimal, ".", literal=True)
        digits = digits.str.replace(_MINUS, "-", literal=True)
        digits = digits.str.replace(r"^\((.*)\)$", "-$1")  # (5) is −5
        is_number = text.str.contains(self.pattern)
        cleaned = pl.when(is_number).then(digits).otherwise(text + MALFORMED)
        return cleaned.cast(pl.Float64) / (100.0 if self.percent else 1.0)


Spelling: TypeAlias = Words | Numbers

_MARKS: tuple[tuple[DecimalMark, str], ...] = (
    (".", ","),
    (",", "."),
    (".", " "),
    (",", " "),
    (".", "'"),
    (",", "'"),
)
ANY_NUMBER = "|".join(
    Numbers(decimal=decimal, thousands=thousands, currency=_CURRENCY, percent=percent).pattern
    for decimal, thousands in _MARKS
    for percent in (False, True)
)


def numbers_in(cells: pl.Series) -> pl.Series:
    """Return which cells of a text column may be numbers in any notation."""
    is_plain = cells.cast(pl.Float64, strict=False).is_not_null()
    return is_plain if is_plain.all() else is_plain | cells.str.contains(ANY_NUMBER)


def spellings_of(
    cells: pl.DataFrame,
    text: TextFormat,
) -> tuple[dict[str, Spelling], list[str]]:
    """Return the notation of each column of trimmed text, and remarks on surprising notations."""
    columns = {column.name: column.alias("cells") for column in cells}
    fixed = _fixed_spellings(columns, text)
    plain = _plain_spellings(cells, text)
    words = _columns_of_words(cells)
    marked = {
        name: column
        for name, column in columns.items()
        if not plain[name] and name not in words
    }
    units = _units_of(marked, fixed)
    for name, unit in units.items():
        bare = without_unit(pl.first(), unit)
        columns[name] = columns[name].to_frame().select(bare).to_series()
    possible: dict[str, list[Spelling]] = {}
    for name, column in columns.items():
        if name in fixed:
            possible[name] = [fixed[name]]
        elif name in words:
            possible[name] = [Words()]
        else:
            has_unit = name in units
            possible[name] = plain[name] or _possible_spellings(
                column, text, has_unit=has_unit
            )
    spellings, remarks = _settled_spellings(possible, columns, text)
    remarks += _with_units(spellings, units, cells)
    remarks += _remarks_on_dates(spellings, cells, text)
    return spellings, remarks


def _columns_of_words(cells: pl.DataFrame) -> frozenset[str]:
    """Return the columns with a cell that is not a number, date or Boolean in any notation."""
    # A single query reads all columns; separate queries for 50,000 columns would take minutes.
    is_word = ~pl.all().str.contains(r"(?i)[0-9]|^(?:true|false|[-+]?inf|[-+]?infinity|nan)$")
    answers = cells.select(is_word.any()).row(0, named=True)
    return frozenset(name for name, has_word in answers.items() if has_word)


def _fixed_spellings(
    columns: Mapping[str, pl.Series],
    text: TextFormat,
) -> dict[str, Spelling]:
    """Return the notation of each column for which the user or a model gives one."""
    fixed: dict[str, Spelling] = {}
    for name, notation in text.columns.items():
        if name in columns:
            spelling = _spelling_by(notation, columns[name], text)
            if spelling is not None:
                fixed[name] = spelling
    return fixed


def _settled_spellings(
    possible: Mapping[str, list[Spelling]],
    columns: Mapping[str, pl.Series],
    text: TextFormat,
) -> tuple[dict[str, Spelling], list[str]]:
    """Return one notation for each column; if several fit, clear columns decide."""
    clear_marks = _clear_marks(possible, columns)
    is_ambiguous = any(len(ways) > 1 for ways in possible.values())
    if "," in clear_marks or text.delimiter == ";" or is_ambiguous:
        _doubt_points(possible, columns, clear_marks, text)
    spellings: dict[str, Spelling] = {}
    remarks: list[str] = []
    for name, ways in possible.items():
        if len(ways) == 1:
            spellings[name] = ways[0]
            continue
        cells = columns[name].drop_nulls()
        spellings[name], remark = _settled(name, cells, clear_marks, text)
        if remark:
            remarks.append(remark)
    return spellings, remarks


def _units_of(
    columns: Mapping[str, pl.Series],
    fixed: Mapping[str, Spelling],
) -> dict[str, str]:
    """Return the unit of each column whose numbers all have the same unit."""
    units: dict[str, str] = {}
    for name, column in columns.items():
        found = [] if name in fixed else units_in(column.drop_nulls())
        if len(found) == 1:
            units[name] = found[0]
    return units


def _with_units(
    spellings: dict[str, Spelling],
    units: Mapping[str, str],
    cells: pl.DataFrame,
) -> list[str]:
    """Add the units to the notation of numbers, and return a remark on each."""
    remarks = []
    for name, unit in units.items():
        numbers = spellings[name]
        if not isinstance(numbers, Numbers):
            continue
        spellings[name] = replace(numbers, unit=unit, native=False)
        example = cells.get_column(name).alias("cells").drop_nulls()[0]
        value = pl.select(spellings[name].values(pl.lit(example))).item()
        remarks.append(
            f"column {name!r}: reading {quote(example)} as {value:.15g}, a number of the unit "
            f"{unit!r}"
        )
    return remarks


def _spelling_by(notation: Notation, column: pl.Series, text: TextFormat) -> Spelling | None:
    """Return how a column with a given notation is read; None if the notation is empty."""
    if notation.kind == "text":
        return Words()
    cells = column.drop_nulls()
    if notation.kind == "date":
        return _dates_by(notation.date, column)
    names_marks = text.decimal is not None or text.thousands is not None
    if names_marks:
        return None
    has_plain_format = replace(notation, decimal="").is_plain
    if has_plain_format and notation.decimal != "," and _are_plain(cells):
        return Numbers(native=True)
    if notation.is_plain:
        return None
    decimal: DecimalMark = "," if notation.decimal == "," else "."
    numbers = Numbers(
        decimal=decimal,
        thousands=notation.thousands,
        currency=re.escape(notation.currency) if notation.currency else _CURRENCY,
        percent=notation.percent,
        unit=notation.unit,
    )
    fits = column.str.contains(numbers.pattern) | column.is_null()
    if fits.all():
        return numbers
    row = int((~fits).arg_max() or 0)
    cell = column[row : row + 1]
    if not numbers_in(cell).all() and not units_in(cell):
        return None  # the cell is not a number at all, which is a different error
    return Words(doubt=_other_notation(notation, column[row], row))


def _are_plain(cells: pl.Series) -> bool:
    return not cells.cast(pl.Float64, strict=False).null_count()


def _other_notation(notation: Notation, cell: str, row: int) -> str:
    """Return the message for a cell whose notation differs from that of the model's rows."""
    fitted = "plain numbers" if notation.is_plain else f"numbers with {notation.described}"
    return (
        f"holds {quote(cell)} in row {row:,} (counted from 0), but the model was fitted to "
        f"{fitted}: write the column in the same way, or name the marks of this "
        "file with --decimal and --thousands (TextFormat(decimal=…, thousands=…) in Python)"
    )


def _dates_by(form: str, column: pl.Series) -> Words:
    """Return dates in a given format, or a doubt about the first cell that does not fit."""
    fits = are_dates(column, form) | column.is_null()
    if fits.all():
        return Words(partial(dates, form=form), date=form)
    row = int((~fits).arg_max() or 0)
    return Words(
        doubt=f"holds {quote(column[row])} in row {row:,} (counted from 0), which is not a date in "
        f"the format {form!r} of the training data: write the dates of both files in the same way, "
        "such as 2024-01-31"
    )


def notations_of(
    cells: pl.DataFrame,
    spellings: Mapping[str, Spelling],
) -> dict[str, Notation]:
    """Return the notation of the numbers and dates in each column of trimmed text."""
    has_point = cells.select(pl.all().str.contains(".", literal=True).any()).row(0, named=True)
    notations: dict[str, Notation] = {}
    for name, spelling in spellings.items():
        if isinstance(spelling, Numbers) and spelling.native:
            notations[name] = Notation(decimal="." if has_point[name] else "")
        elif isinstance(spelling, Numbers):
            notations[name] = _notation_of_numbers(spelling, cells.get_column(name))
        elif spelling.date not in ("", EITHER):
            notations[name] = Notation(kind="date", date=spelling.date)
    decimals = {notation.decimal for notation in notations.values() if notation.decimal}
    if len(decimals) != 1:
        return notations
    # A column without decimal marks gets the mark of the file's other columns.
    (decimal,) = decimals
    return {
        name: replace(notation, decimal=decimal) if notation.kind == "number" else notation
        for name, notation in notations.items()
    }


def unsure_points(
    cells: pl.DataFrame,
    spellings: Mapping[str, Spelling],
) -> frozenset[str]:
    """Return the numeric columns in which every point may be a thousands mark."""
    grouped = Numbers(decimal=",", thousands=".")
    names = []
    for name, spelling in spellings.items():
        if isinstance(spelling, Numbers) and spelling.native and not spelling.whole:
            names.append(name)
    if not names:
        return frozenset()
    fits = pl.all().str.contains(grouped.pattern).all()
    has_point = pl.all().str.contains(".", literal=True).any()
    answers = cells.select(map(exactly, names)).select(fits & has_point).row(0, named=True)
    return frozenset(name for name in names if answers[name])


def _notation_of_numbers(numbers: Numbers, column: pl.Series) -> Notation:
    cells = column.alias("cells")
    has_mark = bool(cells.str.contains(numbers.decimal, literal=True).any())
    is_known = has_mark or numbers.thousands in (".", ",")
    currencies = cells.str.extract(f"({_CURRENCY})").drop_nulls()
    return Notation(
        decimal=numbers.decimal if is_known else "",
        thousands=numbers.thousands,
        percent=numbers.percent,
        currency=currencies[0] if len(currencies) else "",
        unit=numbers.unit,
    )


def _clear_marks(
    possible: Mapping[str, list[Spelling]],
    columns: Mapping[str, pl.Series],
) -> set[DecimalMark]:
    """Return the decimal marks of the columns in which they are unambiguous."""
    marks: set[DecimalMark] = set()
    for name, ways in possible.items():
        first = ways[0]
        if len(ways) > 1 or not isinstance(first, Numbers) or first.native:
            continue
        if columns[name].str.contains(r"[.,]").any():
            marks.add(first.decimal)
    return marks


def _doubt_points(
    possible: Mapping[str, list[Spelling]],
    columns: Mapping[str, pl.Series],
    clear_marks: set[DecimalMark],
    text: TextFormat,
) -> None:
    """Add a second notation to columns of plain numbers whose points may be thousands marks."""
    grouped = Numbers(decimal=",", thousands=".")
    for name, ways in possible.items():
        first = ways[0]
        if not isinstance(first, Numbers) or not first.native or first.whole:
            continue
        if name in text.columns:
            continue
        cells = columns[name].drop_nulls()
        if grouped.fits(cells):
            ways.append(_with_whole(grouped, cells))
        else:
            clear_marks.add(".")


def _remarks_on_dates(
    spellings: Mapping[str, Spelling],
    cells: pl.DataFrame,
    text: TextFormat,
) -> list[str]:
    remarks = []
    ambiguous = [
        name
        for name, spelling in spellings.items()
        if isinstance(spelling, Words) and spelling.date == EITHER
    ]
    if ambiguous:
        remarks.append(
            f"the dates of {quoted(ambiguous)} may be day/month or month/day, so they stay text: "
            "write them as 2023-08-04"
        )
    whole = [
        n for n, spelling in spellings.items() if spelling.whole and n not in text.columns
    ]
    for name in look_like_dates(cells.select(map(exactly, whole))):
        example = cells.get_column(name).alias("cells").drop_nulls()[0]
        remarks.append(
            f"column {name!r} holds integers such as {example}, which look like dates: they "
            "are read as numbers; write them as 2024-01-31 to read them as days"
        )
    return remarks


def typed(cells: pl.DataFrame, spellings: Mapping[str, Spelling]) -> pl.DataFrame:
    """Return sampled text as values with types; whole numbers become integers."""
    columns = []
    for name, spelling in spellings.items():
        values = spelling.values(exactly(name))
        if spelling.whole:
            values = values.cast(pl.Int64)
        columns.append(values.alias(name))
    return cells.select(columns)


def _plain_spellings(cells: pl.DataFrame, text: TextFormat) -> dict[str, list[Spelling]]:
    """Return the notation of columns that are empty, plain numbers, or codes such as 007."""
    every = pl.all()
    tests = {
        "empty": every.is_null().all(),
        "code": every.str.contains(_CODE).any(),
        "whole": every.cast(pl.Int64, strict=False).null_count() == every.null_count(),
        "number": every.cast(pl.Float64, strict=False).null_count() == every.null_count(),
        "point": every.str.contains(".", literal=True).any(),
    }
    answers = pl.collect_all([cells.lazy().select(test) for test in tests.values()])
    passes = {
        test: answer.row(0, named=True) for test, answer in zip(tests, answers, strict=True)
    }
    spellings: dict[str, list[Spelling]] = {}
    for name in cells.columns:
        is_whole = passes["whole"][name]
        point_is_thousands = text.decimal == "," and passes["point"][name]
        is_number = is_whole or (passes["number"][name] and not point_is_thousands)
        if passes["empty"][name]:
            spellings[name] = [Words(_nothing, native=True)]
        elif is_number and passes["code"][name]:
            spellings[name] = [Words()]
        elif is_number:
            spellings[name] = [Numbers(native=True, whole=is_whole)]
        else:
            spellings[name] = []
    return spellings


def _possible_spellings(
    column: pl.Series,
    text: TextFormat,
    *,
    has_unit: bool,
) -> list[Spelling]:
    cells = column.drop_nulls()
    if cells.str.to_lowercase().is_in(["true", "false"]).all():
        return [Words(_truth_values)]
    if not numbers_in(cells).all():
        return [_words(column, cells)]
    # Codes stay text. A number with a unit is not a code: 05 kg is 5.
    if not has_unit and cells.str.contains(_CODE).any():
        return [Words()]
    formats = _number_formats(cells, text)
    return [*formats] if formats else [Words(doubt=_two_ways(column, text))]


def _words(column: pl.Series, cells: pl.Series) -> Words:
    """Return the notation of dates or text; numbers with several units are text with a doubt."""
    units = units_in(cells)
    if len(units) > 1:
        row = column.str.ends_with(units[1]).arg_max() or 0
        return Words(
            doubt=f"mixes the units {quoted(units)}: row {row:,} (counted from 0) holds "
            f"{quote(column[row])}. Convert all numbers to one unit"
        )
    form = date_format_of(cells)
    if form in ("", EITHER):
        return Words(date=form)
    return Words(partial(dates, form=form), date=form)


def _truth_values(text: pl.Expr) -> pl.Expr:
    """Return cells as Booleans; any other cell fails to parse."""
    marked = text.str.replace(r"^([-+0-9].*)$", f"$1{MALFORMED}")
    digits = marked.str.replace("(?i)^true$", "1").str.replace("(?i)^false$", "0")
    return digits.cast(pl.Int8).cast(pl.Boolean)


def _allowed_formats(
    text: TextFormat,
    currency: str,
    *,
    percent: bool = False,
) -> Iterator[Numbers]:
    """Yield the number notations that the user's choices allow."""
    marks: tuple[tuple[DecimalMark, str], ...] = ((".", ","), (",", "."))
    for decimal, other in marks:
        if text.decimal not in (None, decimal) or text.thousands == decimal:
            continue
        for thousands in ("", other, " ", "'"):
            if not thousands or text.thousands in (None, thousands):
                yield Numbers(decimal, thousands, currency, percent)


def _number_formats(cells: pl.Series, text: TextFormat) -> list[Numbers]:
    """Return the notations that fit all cells, at most one per decimal mark."""
    currencies = cells.str.extract(f"({_CURRENCY})").drop_nulls().unique()
    currency = re.escape(currencies[0]) if len(currencies) else ""
    percent = bool(cells.str.contains("%").all())
    allowed = _allowed_formats(text, currency, percent=percent)
    by_mark: dict[str, Numbers] = {}
    for format in allowed:
        if format.decimal not in by_mark and format.fits(cells):
            by_mark[format.decimal] = format
    formats = [by_mark[mark] for mark in ".," if mark in by_mark]
    if not cells.str.contains(r"[.,]").any():  # without marks, all decimal marks fit
        formats = formats[-1:]
    return [_with_whole(format, cells) for format in formats]


def _with_whole(format: Numbers, cells: pl.Series) -> Numbers:
    numbers = cells.to_frame().select(format.values(pl.first())).to_series()
    is_whole = ((numbers == numbers.round()) & (numbers.abs() < 2**53)).all()
    return replace(format, whole=bool(is_whole) and not format.percent)


def _two_ways(column: pl.Series, text: TextFormat) -> str:
    """Return a description of two number notations mixed in a column, with a cell of each."""
    cells = column.drop_nulls()
    formats = [*_allowed_formats(text, ""), *_allowed_formats(text, _CURRENCY)]
    fits = [cells.str.contains(format.pattern) for format in formats]
    best = max(fits, key=lambda fit: (fit[0], fit.sum()))
    other = cells[(~best).arg_max() or len(cells) - 1]
    row = column.index_of(other) or 0
    return (
        f"writes numbers in two ways, {quote(cells[0])} and {quote(other)} in row {row:,} (counted "
        "from 0): write all numbers in one way"
    )


def _settled(
    name: str,
    cells: pl.Series,
    clear_marks: set[DecimalMark],
    text: TextFormat,
) -> tuple[Spelling, str]:
    """Return the notation of a column whose marks all precede three digits, and a remark."""
    has_comma = bool(cells.str.contains(",").any())
    example = cells.filter(cells.str.contains(r"[.,]"))[0]
    formats: dict[DecimalMark, Numbers] = {}
    values: dict[DecimalMark, str] = {}
    for format in _number_formats(cells, TextFormat()):
        value = pl.select(format.values(pl.lit(example))).item()
        formats[format.decimal] = format
        values[format.decimal] = f"{value:.15g}"
    if len(clear_marks) == 1:
        (mark,) = clear_marks
        if not has_comma and mark == ".":
            return Numbers(native=True), ""
        remark = (
            f"column {name!r}: reading {quote(example)} as {values[mark]}, since {mark!r} is the "
            "decimal mark of other columns; if this is wrong, set --decimal"
        )
        return formats[mark], remark
    if has_comma and text.delimiter == ",":
        remark = (
            f"column {name!r}: reading {quote(example)} as {values['.']}, since ',' separates "
            "the cells of this file; if this is wrong, set --decimal"
        )
        return formats["."], remark
    if not has_comma and not (text.delimiter == ";" and cells.str.contains(r"^\d+$").any()):
        return Numbers(native=True), ""
    doubt = (
        f"is ambiguous ({quote(example)} may be {values['.']} or {values[',']}): name the mark "
        "with --decimal or --thousands (TextFormat(decimal=…, thousands=…) in Python)"
    )
    return Words(doubt=doubt), ""


def sentinel_remarks(cells: pl.DataFrame) -> Iterator[str]:
    """Yield a remark on each number, such as -999, that may mean a missing value."""
    # A number such as -999 is remarkable if it is repeated and far from all other numbers, or if it
    # is the only negative number.
    counts = cells.select(pl.all().str.contains(_NINES).sum()).row(0)
    for name, n_nines in zip(cells.columns, counts, strict=True):
        if n_nines < 2:
            continue
        column = cells.get_column(name).alias("cells").drop_nulls()
        repeats = Counter(column.filter(column.str.contains(_NINES)))
        for sentinel, times in repeats.items():
            if times > 1 and _is_far_from_others(column, sentinel):
                yield (
                    f"column {name!r} holds {sentinel} in {times:,} of the first rows, far from "
                    "its other numbers: if this number stands for a missing value, add --na "
                    f"{sentinel} (TextFormat(na_values=[{sentinel!r}]) in Python)"
                )


def _is_far_from_others(cells: pl.Series, sentinel: str) -> bool:
    number = float(sentinel)
    others = cells.filter(cells != sentinel).cast(pl.Float64, strict=False).drop_nulls()
    values = others.filter(others != number).to_numpy()
    if not len(values):
        return False
    low = values.min()
    high = values.max()
    gap = max(low - number, number - high)
    is_only_negative = low >= 0 > number
    return bool(gap > 0 and (gap > high - low or is_only_negative))
