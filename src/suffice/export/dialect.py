"""The SQL syntax and limits of DuckDB, PostgreSQL and SQLite."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from suffice.errors import InvalidParameterError, require_word
from suffice.typing import Floats

Stage = dict[str, str]  # column → expression over the columns of the previous stage
ROWS = "suffice_rows"  # name of the input table inside the query


# --- literals and names ----------------------------------------------------------------------


def double(value: float) -> str:
    """Return a literal that every engine parses as exactly this 64-bit float."""
    text = repr(float(value))
    if "e" not in text:
        text = f"{text}e0"
    return f"({text})" if text.startswith("-") else text


def literal(label: object) -> str:
    """Return a label as text, number, Boolean or NULL."""
    if label is None or (isinstance(label, float) and math.isnan(label)):
        return "NULL"
    if isinstance(label, int):  # also Booleans, which give TRUE or FALSE
        return str(label).upper()
    if isinstance(label, float):
        return double(label)
    text = str(label)
    if "\0" in text:
        raise InvalidParameterError(
            f"the label {label!r} holds a NUL character, which no database takes: rename the class"
        )
    return "'" + text.replace("'", "''") + "'"


def name(text: str) -> str:
    """Return a quoted identifier; the name may contain any characters."""
    if "\0" in text:
        raise InvalidParameterError(
            f"the name {text!r} holds a NUL character, which no database takes: rename it"
        )
    return '"' + text.replace('"', '""') + '"'


def column_of_rows(column: str) -> str:
    """Return a column of the table, qualified by the table's name."""
    # If the table lacks a column with an unqualified name, SQLite takes the name as text, and
    # DuckDB as another column of the same stage.
    return f"{ROWS}.{name(column)}"


# --- sums ------------------------------------------------------------------------------------


def balanced(terms: Sequence[str], join: Callable[[str, str], str]) -> str:
    """Return the terms joined as a balanced tree, because parsers limit the depth of formulas."""
    if len(terms) <= 1:
        return terms[0]
    middle = len(terms) // 2
    return join(balanced(terms[:middle], join), balanced(terms[middle:], join))


def added(terms: Sequence[str]) -> str:
    """Return the sum of the terms."""
    return balanced(terms, lambda left, right: f"({left} + {right})")


def all_of(conditions: Sequence[str]) -> str:
    """Return the conjunction of conditions."""
    return balanced(conditions, lambda left, right: f"({left} AND {right})")


def product(weights: Floats, letter: str = "c") -> str:
    """Return Σ_j w_j c_j over columns c0, c1, …."""
    return added([f"{double(w)} * {letter}{j}" for j, w in enumerate(weights)])


def square(term: str) -> str:
    """Return the square of a term."""
    return f"{term} * {term}"


# --- engines ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Dialect:
    """Syntax and limits of an engine."""

    title: str
    double: str  # the type of 64-bit floating point numbers
    greatest: str
    least: str
    most_columns: int = 1 << 20  # limit on the columns of a stage
    longest_name: int = 1 << 20  # limit on the length of a column name, in bytes
    # Merging stages would repeat formulas many times.
    fence: str = ""  # clause that keeps the planner from merging a stage into the next
    materialized: str = "NOT MATERIALIZED"
    has_nan: bool = True
    folds_case: bool = True  # whether names that differ only in case are the same
    largest_integer: float = math.inf

    def largest(self, terms: Sequence[str]) -> str:
        return balanced(terms, lambda left, right: f"{self.greatest}({left}, {right})")

    def smallest(self, terms: Sequence[str]) -> str:
        return balanced(terms, lambda left, right: f"{self.least}({left}, {right})")

    def as_double(self, value: float) -> str:
        """Return a typed literal for arithmetic of constants, which PostgreSQL does in decimals."""
        return f"CAST({double(value)} AS {self.double})"

    def number_of(self, column: str, *, is_boolean: bool) -> str:
        """Return a column as doubles, with NULL for NaN; Booleans become 1 and 0."""
        if is_boolean:
            return f"CASE WHEN {column} THEN 1e0 WHEN NOT {column} THEN 0e0 END"
        number = f"CAST({column} AS {self.double})"
        if self.has_nan:
            return f"NULLIF({number}, CAST('NaN' AS {self.double}))"
        # SQLite would cast any text to a number. It sorts text that is not a number above all
        # numbers, so the comparison gives NULL for such text.
        return f"CASE WHEN {column} <= CAST(9e999 AS {self.double}) THEN {number} END"

    def exponential(self, expression: str) -> str:
        """Return exp of a number ≤ 0, without PostgreSQL's error if the result underflows."""
        return f"CASE WHEN {expression} < -708e0 THEN 0e0 ELSE EXP({expression}) END"

    def refuse_long_names(self, names: Iterable[str]) -> None:
        """Raise if the engine would truncate an output column name."""
        for column in names:
            if len(column.encode()) > self.longest_name:
                raise InvalidParameterError(
                    f"the output column {column!r} has more than {self.longest_name} bytes, "
                    f"which {self.title} would cut off: shorten that class's label"
                )

    def refuse_equal_names(self, names: Iterable[str], place: str) -> None:
        """Raise if names differ only in case and the engine does not distinguish them."""
        if not self.folds_case:
            return
        first_spelling: dict[bytes, str] = {}
        for column in names:
            first = first_spelling.setdefault(column.encode().lower(), column)
            if first != column:
                raise InvalidParameterError(
                    f"the columns {first!r} and {column!r} of the {place} are one name to "
                    f"{self.title}: rename one of them, or use to_onnx()"
                )

    def refuse_large_integers(self, labels: Iterable[object]) -> None:
        """Raise if the engine would round a label."""
        for label in labels:
            if isinstance(label, int) and label > self.largest_integer:
                raise InvalidParameterError(
                    f"{self.title} has no integer as large as the label {label}: fit the model to "
                    "labels that are text"
                )

    def refuse_wide(self, n_columns: int) -> None:
        """Raise if a stage has more columns than the engine allows."""
        if n_columns > self.most_columns:
            raise InvalidParameterError(
                f"the query has {n_columns} columns in one stage, and {self.title} takes up to "
                f"{self.most_columns}: the model has too many classes or features; use to_onnx()"
            )


DIALECTS: Mapping[str, Dialect] = {
    "duckdb": Dialect(title="DuckDB", double="DOUBLE", greatest="GREATEST", least="LEAST"),
    "postgres": Dialect(
        title="PostgreSQL",
        double="DOUBLE PRECISION",
        greatest="GREATEST",
        least="LEAST",
        most_columns=1664,
        longest_name=63,
        fence="OFFSET 0",
        folds_case=False,
    ),
    "sqlite": Dialect(
        title="SQLite",
        double="REAL",
        greatest="MAX",
        least="MIN",
        most_columns=2000,
        materialized="MATERIALIZED",
        has_nan=False,
        largest_integer=np.iinfo(np.int64).max,
    ),
}


def dialect_of(word: str) -> Dialect:
    """Return the dialect with this name; Ibis uses both "postgres" and "postgresql"."""
    lower = word.lower()
    if lower == "postgresql":
        lower = "postgres"
    require_word(lower, DIALECTS, "dialect")
    return DIALECTS[lower]
