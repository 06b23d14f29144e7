"""Notations of numbers and dates in text files, which sums and models store for each column."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, Literal, TypeAlias

from suffice.core.text.lists import listed
from suffice.errors import FileFormatError

Kind: TypeAlias = Literal["number", "date", "text"]
_KINDS = ("number", "date", "text")
_DECIMALS = ("", ".", ",")
_THOUSANDS = ("", ",", ".", " ", "'")


@dataclass(frozen=True, slots=True, order=True)
class Notation:
    """The way in which a text file writes the values of one column.

    A field is empty if the values have no such mark.
    """

    kind: Kind = "number"
    decimal: str = ""  # decimal mark, "." or ","
    thousands: str = ""  # mark between groups of three digits
    percent: bool = False
    currency: str = ""  # a currency such as "€", which single cells may lack
    unit: str = ""  # a unit such as "kg", which follows every number
    date: str = ""  # a format of dates such as "%d/%m/%Y", or "iso"

    @property
    def is_plain(self) -> bool:
        """Whether the values are numbers without marks, which every program can read."""
        return self == Notation()

    @property
    def described(self) -> str:
        """A description of the marks, for messages."""
        marks = []
        if self.decimal:
            marks.append(f"the decimal mark {self.decimal!r}")
        if self.thousands:
            marks.append(f"the mark {self.thousands!r} between thousands")
        if self.percent:
            marks.append("a percent sign")
        if self.currency:
            marks.append(f"the currency {self.currency!r}")
        if self.unit:
            marks.append(f"the unit {self.unit!r}")
        if self.date:
            marks.append(f"dates of the format {self.date!r}")
        return listed(marks) if marks else "plain numbers"

    def joined(self, other: Notation) -> Notation | None:
        """Return the notation that fits the cells of both columns, or None if there is none."""
        decimal = _either(self.decimal, other.decimal)
        thousands = _either(self.thousands, other.thousands)
        currency = _either(self.currency, other.currency)
        if decimal is None or thousands is None or currency is None:
            return None
        joined = replace(self, decimal=decimal, thousands=thousands, currency=currency)
        is_same = joined == replace(
            other, decimal=decimal, thousands=thousands, currency=currency
        )
        return joined if is_same and not (decimal and decimal == thousands) else None


def _either(a: str, b: str) -> str | None:
    """Return the mark that is not empty, or "" if both are empty, or None for different marks."""
    if a and b and a != b:
        return None
    return a or b


@dataclass(frozen=True, slots=True)
class Notations:
    """The notations of each column: one, or several if files wrote the column in several ways."""

    columns: Mapping[str, frozenset[Notation]]

    @classmethod
    def of(cls, columns: Mapping[str, Notation]) -> Notations:
        return cls({name: frozenset([notation]) for name, notation in columns.items()})

    def merged(self, other: Notations) -> Notations:
        """Return the notations of ``self`` together with those of ``other``."""
        nothing: frozenset[Notation] = frozenset()
        columns = dict(self.columns)
        for name, notations in other.columns.items():
            columns[name] = columns.get(name, nothing) | notations
        return Notations(columns)

    def common(self) -> dict[str, Notation]:
        """Return one notation for each column that has a notation that fits all files."""
        agreed: dict[str, Notation] = {}
        for name, notations in self.columns.items():
            notation = _joined_all(notations)
            if notation is not None:
                agreed[name] = notation
        return agreed

    def to_json(self) -> list[dict[str, object]]:
        """Return a list of the notations, each with the columns that have it."""
        names_by_notation: dict[Notation, list[str]] = {}
        for name, notations in self.columns.items():
            for notation in notations:
                names_by_notation.setdefault(notation, []).append(name)
        documents = []
        for notation in sorted(names_by_notation):
            names = sorted(names_by_notation[notation])
            documents.append({**_given(notation), "columns": names})
        return documents

    @classmethod
    def from_json(cls, documents: Any) -> Notations | None:
        """Return the notations from the list of ``to_json``, or None if there are none."""
        if documents is None:
            return None
        columns: dict[str, frozenset[Notation]] = {}
        nothing: frozenset[Notation] = frozenset()
        try:
            for document in documents:
                marks = dict(document)
                names = marks.pop("columns")
                notation = _checked(Notation(**marks))
                for name in names:
                    columns[_text(name)] = columns.get(name, nothing) | {notation}
        except (TypeError, KeyError, ValueError, AttributeError) as error:
            raise FileFormatError(
                f"the notation of the columns is unusable ({error}): write the file again"
            ) from error
        return cls(columns)


def merged_notations(a: Notations | None, b: Notations | None) -> Notations | None:
    """Return the notations of ``a`` together with those of ``b``, where None adds nothing."""
    if a is None or b is None:
        return b if a is None else a
    return a if a == b else a.merged(b)


def _joined_all(notations: Iterable[Notation]) -> Notation | None:
    joined: Notation | None = None
    for notation in sorted(notations):
        joined = notation if joined is None else joined.joined(notation)
        if joined is None:
            return None
    return joined


def _given(notation: Notation) -> dict[str, object]:
    """Return the fields that differ from their defaults."""
    plain = asdict(Notation())
    return {name: value for name, value in asdict(notation).items() if value != plain[name]}


def _checked(notation: Notation) -> Notation:
    """Return a notation that was read from a file, or raise if a field is invalid."""
    for field in fields(Notation):
        value = getattr(notation, field.name)
        if not isinstance(value, bool if field.name == "percent" else str):
            raise TypeError(f"{field.name} is {value!r}")
    if notation.kind not in _KINDS or notation.decimal not in _DECIMALS:
        raise ValueError(
            f"it has the kind {notation.kind!r} with the decimal mark {notation.decimal!r}"
        )
    if notation.thousands not in _THOUSANDS:
        raise ValueError(f"{notation.thousands!r} is not a thousands separator")
    return notation


def _text(name: object) -> str:
    if not isinstance(name, str):
        raise TypeError(f"a column is called {name!r}")
    return name
