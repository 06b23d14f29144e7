"""How SQL writes numbers, names and labels, and reads the columns of a table, engine by engine."""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from suffice.core.model.scoring import Formula, LinearScores
from suffice.core.power_transform import PowerTransform
from suffice.core.table.schema import Category, Encoding
from suffice.errors import InvalidParameterError, require_word
from suffice.export.marginal import marginals
from suffice.typing import Floats

Stage = dict[str, str]  # column → expression over the columns of the stage before
ROWS = "suffice_rows"  # what a query calls the table that it reads

_NEARLY_ZERO = 1e-5  # exponent under which a series is exact
_FAR = {True: 290.0, False: 140.0}  # log10 of the units beyond which linear, other scores fail
_NEAR = 1e-140  # units that are as good as zero
_LARGEST = float(np.finfo(np.float64).max)
_LOWEST = -1e300  # a logarithm so low that no class with it wins
# DuckDB reads yes and no of a file as truth values
_TRUTH = {"True": ("true", "1"), "False": ("false", "0"), "yes": ("true",), "no": ("false",)}


def double(value: float) -> str:
    """Return a literal that every engine reads as this very double, not as a decimal."""
    text = repr(float(value))
    text = text if "e" in text else f"{text}e0"
    return f"({text})" if text.startswith("-") else text


def name(text: str) -> str:
    """Return an identifier, whatever characters it has."""
    if "\0" in text:
        msg = f"the name {text!r} holds a NUL character, which no database takes"
        raise InvalidParameterError(msg)
    return '"' + text.replace('"', '""') + '"'


def column_of_rows(column: str) -> str:
    """Return a column of the table; by its name alone a missing one would be read as something."""
    # SQLite would take it for text, DuckDB for another column of the same stage
    return f"{ROWS}.{name(column)}"


def literal(label: Any) -> str:
    """Return a label as text, number, truth value or NULL."""
    if label is None or (isinstance(label, float) and math.isnan(label)):
        return "NULL"
    if isinstance(label, int):
        return str(label).upper()  # also of truth values
    if isinstance(label, float):
        return double(label)
    if "\0" in str(label):
        msg = f"the label {label!r} holds a NUL character, which no database takes"
        raise InvalidParameterError(msg)
    return "'" + str(label).replace("'", "''") + "'"


def added(terms: Sequence[str]) -> str:
    """Return a sum as a balanced tree: engines and parsers limit how deep a formula may nest."""
    return tree(terms, lambda left, right: f"({left} + {right})")


def tree(terms: Sequence[str], joined: Any) -> str:
    """Return terms joined two by two."""
    first, second = terms[: len(terms) // 2], terms[len(terms) // 2 :]
    return str(joined(tree(first, joined), tree(second, joined))) if first else terms[0]


@dataclass(frozen=True, slots=True)
class Dialect:
    """One engine's words; the stages of a query must not be merged, or formulas multiply."""

    title: str
    double: str  # the type of 64-bit floating point numbers
    greatest: str
    least: str
    most_columns: int = 1 << 20  # of one stage
    longest_name: int = 1 << 20  # bytes
    fence: str = ""  # what keeps the planner from merging a stage into the next
    materialized: str = "NOT MATERIALIZED"
    has_nan: bool = True
    folds_case: bool = True  # whether a and A are one name
    largest_whole: float = math.inf  # number that is no float

    def largest(self, terms: Sequence[str]) -> str:
        return tree(terms, lambda a, b: f"{self.greatest}({a}, {b})")

    def smallest(self, terms: Sequence[str]) -> str:
        return tree(terms, lambda a, b: f"{self.least}({a}, {b})")

    def as_double(self, value: float) -> str:
        """Return a literal for arithmetic among literals, where PostgreSQL would use decimals."""
        return f"CAST({double(value)} AS {self.double})"

    def number_of(self, column: str, *, truth: bool) -> str:
        """Return a column as doubles, NULL where it is NaN; truth values as 1 and 0."""
        if truth:
            return f"CASE WHEN {column} THEN 1e0 WHEN NOT {column} THEN 0e0 END"
        x = f"CAST({column} AS {self.double})"
        if self.has_nan:
            return f"NULLIF({x}, CAST('NaN' AS {self.double}))"
        # SQLite casts any text to a number; beside a number it compares text that is none as larger
        return f"CASE WHEN {column} <= CAST(9e999 AS {self.double}) THEN {x} END"

    def exponential(self, expression: str) -> str:
        """Return exp of a number ≤ 0; PostgreSQL takes a result that rounds to 0 for an error."""
        return f"CASE WHEN {expression} < -708e0 THEN 0e0 ELSE EXP({expression}) END"

    def refuse_long(self, names: Collection[str]) -> None:
        """Raise if the engine would cut a name of the answer short."""
        for name in names:
            if len(name.encode()) > self.longest_name:
                raise InvalidParameterError(
                    f"the column {name!r} of the answer has more than {self.longest_name} bytes, "
                    f"which {self.title} would cut off: shorten that class's label"
                )

    def refuse_twins(self, names: Collection[str], what: str) -> None:
        """Raise if names differ by case only, and the engine would read one for the other."""
        seen = dict[bytes, str]()
        for name in names if self.folds_case else ():
            twin = seen.setdefault(name.encode().lower(), name)
            if twin != name:
                raise InvalidParameterError(
                    f"the columns {twin!r} and {name!r} of the {what} are one name to {self.title}:"
                    " rename one of them, or use to_onnx()"
                )

    def refuse_large(self, labels: Collection[Any]) -> None:
        """Raise if the engine would round a label."""
        for label in labels:
            if isinstance(label, int) and label > self.largest_whole:
                raise InvalidParameterError(
                    f"{self.title} has no whole number as large as the label {label}: fit the model"
                    " to labels that are text"
                )

    def refuse_wide(self, n_columns: int) -> None:
        """Raise if a stage has more columns than the engine takes."""
        if n_columns > self.most_columns:
            raise InvalidParameterError(
                f"the query has {n_columns} columns in one stage, and {self.title} takes up to "
                f"{self.most_columns}: the model has too many classes or features; use to_onnx()"
            )


DIALECTS: Mapping[str, Dialect] = {
    "duckdb": Dialect("DuckDB", "DOUBLE", "GREATEST", "LEAST"),
    "postgres": Dialect(
        "PostgreSQL",
        "DOUBLE PRECISION",
        "GREATEST",
        "LEAST",
        1664,
        63,
        "OFFSET 0",
        folds_case=False,
    ),
    "sqlite": Dialect(
        "SQLite",
        "REAL",
        "MAX",
        "MIN",
        2000,
        materialized="MATERIALIZED",
        has_nan=False,
        largest_whole=np.iinfo(np.int64).max,
    ),
}


def dialect_of(name: str) -> Dialect:
    """Return the dialect of this name."""
    known = {"postgresql": "postgres"}.get(name.lower(), name.lower())
    require_word(known, DIALECTS, "dialect")
    return DIALECTS[known]


def _side(exponent: float, knee: float, u: str) -> str:
    """Return P(u) = ((1 + u)^e − 1) / e for u ≥ 0, from the knee on a straight line if e < 0."""
    curve = _curve(exponent, f"LN(1e0 + {u})")
    if exponent >= 0:
        return curve
    b = math.log1p(knee)
    top = math.expm1(exponent * b) / exponent
    line = f"{double(top)} + {double(math.exp((exponent - 1) * b))} * ({u} - {double(knee)})"
    return f"CASE WHEN {u} <= {double(knee)} THEN {curve} ELSE {line} END"


def _curve(e: float, log: str) -> str:
    if e == 0:
        return log
    if abs(e) < _NEARLY_ZERO:
        # (exp(e L) − 1) / e = L (1 + e L/2 (1 + e L/3)) + …
        return f"{log} * (1e0 + {double(e / 2)} * {log} * (1e0 + {double(e / 3)} * {log}))"
    return f"(EXP({double(e)} * {log}) - 1e0) / {double(e)}"


def power_transformed(power: PowerTransform, j: int, x: str) -> str:
    """Return feature j of transformed rows, from its value ``x``."""
    exponent, centre, scale = (
        float(a[j]) for a in (power.exponents, power.centre, power.scale)
    )
    if exponent == 1:
        return x
    c, s = double(centre), double(scale)
    up = _side(exponent, (float(power.high[j]) - centre) / scale, f"(({x} - {c}) / {s})")
    down = _side(2 - exponent, (centre - float(power.low[j])) / scale, f"(({c} - {x}) / {s})")
    # t(x) = c + s P(z) for z ≥ 0, c − s P(−z) below
    return f"CASE WHEN {x} >= {c} THEN {c} + {s} * ({up}) ELSE {c} - {s} * ({down}) END"


@dataclass(frozen=True, slots=True)
class Feature:
    """A feature of the model: a number, or an indicator that is 1 where ``on`` holds."""

    empty: str  # when its cell is empty, or its level unknown
    on: str = ""
    fill: float | None = None
    is_hole: bool = True  # whether it is not observed then


@dataclass(frozen=True)
class ColumnReading:
    """From numbers x0, x1 … and codes of levels v0, v1 … to features c0, c1 … and holes h0 …."""

    # features are measured from the origin, in a power of two of their own scale, so that no square
    # over- or underflows: an error in PostgreSQL. A hole stands at the origin; what is far is NULL.
    encoding: Encoding
    formula: Formula
    integrates: bool  # whether what is not observed is integrated out
    dialect: Dialect

    def raw(self, columns: Sequence[str], booleans: Collection[str]) -> Stage:
        """Return numbers, NULL where empty, and codes of levels, NULL where unknown."""
        used = (c.name for c in self.encoding.schema.columns if c.kind != "left out")
        place, schema = dict(zip(used, columns, strict=True)), self.encoding.schema
        cells = {given: column_of_rows(column) for given, column in place.items()}
        read = {f"v{i}": _code(c, cells[c.name]) for i, c in enumerate(schema.categories)}
        for j, c in enumerate(schema.numbers):
            read[f"x{j}"] = self.dialect.number_of(
                cells[c.name], truth=place[c.name] in booleans
            )
        return read

    @cached_property
    def features(self) -> list[Feature]:
        schema, numbers = self.encoding.schema, enumerate(self.encoding.schema.numbers)
        found = [Feature(f"x{j} IS NULL", "", c.fill, c.fill is None) for j, c in numbers]
        found += [
            Feature(f"x{j} IS NULL", f"x{j} IS NULL", is_hole=False) for j in schema.filled
        ]
        pairs = zip(schema.categories, self.encoding.reference, strict=True)
        for i, (c, reference) in enumerate(pairs):
            hole, levels = not (c.missing and c.other), set(range(c.n_levels)) - {reference}
            found += [
                Feature(f"v{i} IS NULL", f"v{i} = {at}", None, hole) for at in sorted(levels)
            ]
        return found

    @cached_property
    def flags(self) -> list[str | None]:
        """The column that is 1 where each feature is a hole; None where it never is."""
        names = dict[str, str]()
        return [
            names.setdefault(f.empty, f"h{len(names)}")
            if self.integrates and f.is_hole
            else None
            for f in self.features
        ]

    @cached_property
    def n_holes(self) -> str:
        flags = [flag for flag in dict.fromkeys(self.flags) if flag]
        return added([f"{self.flags.count(flag)} * {flag}" for flag in flags])

    @cached_property
    def scale(self) -> Floats:
        """The unit of each feature that is scored, a power of two, (d,)."""
        found, (part, *_) = marginals(self.formula), self.formula.scorer.parts
        norms = [np.sqrt(np.diagonal(q.precision)) for q in found]
        if isinstance(part, LinearScores) and not found:
            norms = list(np.abs(part.weights))
        norm = np.max(norms, axis=0)
        return np.asarray(np.exp2(-np.round(np.log2(np.where(norm > 0, norm, 1.0)))))

    def measured(self) -> Stage:
        """Return the features that are scored, the holes, and t0, t1 …: what levels add."""
        scored = enumerate(self.features[: len(self.scale)])
        features = {f"c{j}": self._value(j, feature) for j, feature in scored}
        pairs = zip(self.flags, self.features, strict=True)
        holes = {flag: f"CASE WHEN {f.empty} THEN 1 ELSE 0 END" for flag, f in pairs if flag}
        n_classes = self.formula.scorer.n_classes if self.formula.levels else 0
        return {**features, **holes, **{f"t{k}": self._levels(k) for k in range(n_classes)}}

    def _value(self, j: int, feature: Feature) -> str:
        empty = "0e0" if self.flags[j] else "NULL"
        if feature.on:
            on, off = self.dialect.as_double(self._at(j, 1.0)), double(self._at(j, 0.0))
            known = f"WHEN {feature.on} THEN {on} WHEN {feature.empty} THEN {empty}"
            return f"CASE {known} ELSE {off} END"
        empty = empty if feature.fill is None else double(self._at(j, feature.fill))
        low, high = (double(bound) for bound in self._bounds(j))
        power = self.formula.power
        moved = f"x{j}" if power is None else f"({power_transformed(power, j, f'x{j}')})"
        value = f"({moved} - {double(self.formula.scorer.origin[j])})"
        unit = "" if self.scale[j] == 1 else f" / {double(self.scale[j])}"
        cases = [f"WHEN {feature.empty} THEN {empty}"]
        if abs(self.formula.scorer.origin[j]) < _NEAR * self.scale[j]:
            near = double(_NEAR * self.scale[j])
            cases.append(
                f"WHEN x{j} BETWEEN -{near} AND {near} THEN {double(self._at(j, 0.0))}"
            )
        cases.append(f"WHEN x{j} BETWEEN {low} AND {high} THEN {value}{unit}")
        return f"CASE {' '.join(cases)} END"

    def _at(self, j: int, value: float) -> float:
        """Return feature j where its column is a constant."""
        power, row = self.formula.power, np.full((1, j + 1), value)
        moved = row if power is None else power.select(np.arange(j + 1)).apply(row)
        return float((moved[0, j] - self.formula.scorer.origin[j]) / self.scale[j])

    def _bounds(self, j: int) -> tuple[float, float]:
        """Return between which values no power, product or square overflows."""
        power, origin, unit = self.formula.power, self.formula.scorer.origin[j], self.scale[j]
        log_far = _FAR[isinstance(self.formula.scorer.parts[0], LinearScores)]
        if power is not None and power.exponents[j] != 1:  # t grows as z^e
            origin, unit = power.centre[j], min(unit, power.scale[j])
            log_far /= max(power.exponents[j], 2 - power.exponents[j])
        far = 10 ** min(log_far + math.log10(unit), 307.5)
        return max(origin - far, -_LARGEST), min(origin + far, _LARGEST)

    def _levels(self, k: int) -> str:
        """Return Σ log p(level | k) over categories; an unknown level adds nothing."""
        schema, terms = self.encoding.schema, list[str]()
        logs = [[double(max(p, _LOWEST)) for p in term[k]] for term in self.formula.levels]
        for j, (full, empty) in zip(schema.filled, logs, strict=False):
            terms.append(f"CASE WHEN x{j} IS NULL THEN {empty} ELSE {full} END")
        pairs = zip(self.encoding.reference, logs[len(schema.filled) :], strict=True)
        for i, (reference, own) in enumerate(pairs):
            own.insert(reference, own.pop(0))  # the reference comes first
            cases = " ".join(f"WHEN {at} THEN {p}" for at, p in enumerate(own))
            terms.append(f"CASE v{i} {cases} ELSE 0e0 END")
        return added(terms)


def _code(category: Category, column: str) -> str:
    """Return the number of a column's level; NULL where it is unknown."""
    n, text = len(category.levels), f"CAST({column} AS VARCHAR)"
    cases = [f"WHEN {column} IS NULL THEN {n if category.missing else 'NULL'}"]
    for i, level in enumerate(category.levels):
        cases.append(f"WHEN {text} IN ({_spellings(category, level)}) THEN {i}")
    return f"CASE {' '.join(cases)} ELSE {category.n_levels - 1 if category.other else 'NULL'} END"


def _spellings(category: Category, level: str) -> str:
    """Return how databases spell a level: truth values and numbers in several ways."""
    if set(category.levels) in ({"True", "False"}, {"True"}, {"False"}, {"yes", "no"}):
        return ", ".join(map(literal, [level, *_TRUTH[level]]))
    ways = dict.fromkeys([level, *_numbers_spelt(level)])
    return ", ".join(
        literal(way) for way in ways if way == level or way not in category.levels
    )


def _numbers_spelt(level: str) -> tuple[str, ...]:
    """Return the double that a level is the text of as DuckDB, PostgreSQL and SQLite cast it."""
    try:
        value = float(level)
    except ValueError:
        return ()
    if not math.isfinite(value) or level not in (repr(value), f"{value:.0f}"):
        return ()
    digits, mark, power = f"{value:.15g}".partition("e")
    of_sqlite = f"{digits if '.' in digits else f'{digits}.0'}{mark}{power}"
    return repr(value), np.format_float_scientific(value, trim="-", exp_digits=2), of_sqlite
