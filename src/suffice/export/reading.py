"""Query stages that turn the columns of a table into the features of a model."""

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from suffice.core.model.scoring import Formula, LinearScores
from suffice.core.power_transform import PowerTransform
from suffice.core.table.indicator_encoding import Encoding
from suffice.core.table.schema import Category
from suffice.export.dialect import Dialect, Stage, added, column_of_rows, double, literal
from suffice.export.marginal import marginals
from suffice.typing import Floats

_NEARLY_ZERO = 1e-5  # for smaller exponents, a short series is exact
# log10 of the largest distance, in units, at which linear scores cannot overflow
_FAR_LINEAR = 290.0
_FAR_QUADRATIC = 140.0  # the same for quadratic scores
_NEAR = 1e-140  # smaller values are treated as zero
_LARGEST = float(np.finfo(np.float64).max)
_LOWEST = -1e300  # a log probability so low that the class is never predicted
# spellings of Booleans; DuckDB reads yes and no in a file as Booleans
_TRUTH = {"True": ("true", "1"), "False": ("false", "0"), "yes": ("true",), "no": ("false",)}


# --- power transform -------------------------------------------------------------------------


def power_transformed(power: PowerTransform, j: int, x: str) -> str:
    """Return feature j of the transformed rows, from its value ``x``."""
    exponent = float(power.exponents[j])
    centre = float(power.centre[j])
    scale = float(power.scale[j])
    if exponent == 1:
        return x
    high_knee = (float(power.high[j]) - centre) / scale
    low_knee = (centre - float(power.low[j])) / scale
    c = double(centre)
    s = double(scale)
    up = _branch(exponent, high_knee, f"(({x} - {c}) / {s})")
    down = _branch(2 - exponent, low_knee, f"(({c} - {x}) / {s})")
    # t(x) = c + s P(z) for z ≥ 0, c − s P(−z) for z < 0
    return f"CASE WHEN {x} >= {c} THEN {c} + {s} * ({up}) ELSE {c} - {s} * ({down}) END"


def _branch(exponent: float, knee: float, u: str) -> str:
    """Return P(u) = ((1 + u)^e − 1) / e for u ≥ 0; linear beyond the knee if e < 0."""
    curve = _curve(exponent, f"LN(1e0 + {u})")
    if exponent >= 0:
        return curve
    log_knee = math.log1p(knee)
    top = math.expm1(exponent * log_knee) / exponent
    slope = math.exp((exponent - 1) * log_knee)
    line = f"{double(top)} + {double(slope)} * ({u} - {double(knee)})"
    return f"CASE WHEN {u} <= {double(knee)} THEN {curve} ELSE {line} END"


def _curve(e: float, log: str) -> str:
    if e == 0:
        return log
    if abs(e) < _NEARLY_ZERO:
        # (exp(e L) − 1) / e = L (1 + e L/2 (1 + e L/3)) + …
        return f"{log} * (1e0 + {double(e / 2)} * {log} * (1e0 + {double(e / 3)} * {log}))"
    return f"(EXP({double(e)} * {log}) - 1e0) / {double(e)}"


# --- columns ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Feature:
    """A feature of the model: a number or an indicator. Conditions are SQL expressions."""

    is_empty: str  # true if the cell is empty or its level is unknown
    is_on: str | None = None  # true if the indicator is 1; None for a number
    fill: float | None = None  # replaces a missing value
    may_be_missing: bool = True  # whether an empty cell makes the feature missing


@dataclass(frozen=True)
class ColumnReading:
    """Turns numbers x0, x1, … and codes of levels v0, v1, … into features c0, c1, ….

    The flags h0, h1, … are 1 for missing features, which are set to the origin.
    """

    # Features are measured from the origin, each in units of a power of two close to its scale.
    # Squares then neither overflow nor underflow, which PostgreSQL reports as errors. Values that
    # are too far away become NULL.
    encoding: Encoding
    formula: Formula
    integrates: bool  # whether missing features are integrated out
    dialect: Dialect

    def raw(self, columns: Sequence[str], booleans: Collection[str]) -> Stage:
        """Return numbers and codes of levels, with NULL for empty cells and unknown levels."""
        schema = self.encoding.schema
        used = [column.name for column in schema.columns if column.kind != "left out"]
        column_of = dict(zip(used, columns, strict=True))
        stage = {}
        for i, category in enumerate(schema.categories):
            stage[f"v{i}"] = _level_code(category, column_of_rows(column_of[category.name]))
        for j, number in enumerate(schema.numbers):
            column = column_of[number.name]
            stage[f"x{j}"] = self.dialect.number_of(
                column_of_rows(column), is_boolean=column in booleans
            )
        return stage

    @cached_property
    def features(self) -> list[Feature]:
        """The features in the model's order: numbers, indicators of missing values, levels."""
        schema = self.encoding.schema
        features = []
        for j, number in enumerate(schema.numbers):
            features.append(
                Feature(
                    is_empty=f"x{j} IS NULL",
                    fill=number.fill,
                    may_be_missing=number.fill is None,
                )
            )
        for j in schema.filled:
            is_null = f"x{j} IS NULL"
            features.append(Feature(is_empty=is_null, is_on=is_null, may_be_missing=False))
        pairs = zip(schema.categories, self.encoding.reference, strict=True)
        for i, (category, reference) in enumerate(pairs):
            every_cell_has_a_level = category.missing and category.other
            for level in range(category.n_levels):
                if level == reference:
                    continue
                features.append(
                    Feature(
                        is_empty=f"v{i} IS NULL",
                        is_on=f"v{i} = {level}",
                        may_be_missing=not every_cell_has_a_level,
                    )
                )
        return features

    @cached_property
    def flags(self) -> list[str | None]:
        """The flag of each feature; None if never missing. Levels of a column share one flag."""
        flag_of: dict[str, str] = {}
        flags: list[str | None] = []
        for feature in self.features:
            if self.integrates and feature.may_be_missing:
                flags.append(flag_of.setdefault(feature.is_empty, f"h{len(flag_of)}"))
            else:
                flags.append(None)
        return flags

    @cached_property
    def n_missing(self) -> str:
        """SQL expression for the number of missing features of a row."""
        distinct = [flag for flag in dict.fromkeys(self.flags) if flag]
        return added([f"{self.flags.count(flag)} * {flag}" for flag in distinct])

    @cached_property
    def scale(self) -> Floats:
        """The unit of each scored feature, a power of two, (d,)."""
        covariances = marginals(self.formula)
        first_part = self.formula.scorer.matrix_parts()[0]
        if isinstance(first_part, LinearScores) and not covariances:
            norm = np.abs(first_part.weights).max(axis=0)
        else:
            roots = [np.sqrt(np.diagonal(marginal.precision)) for marginal in covariances]
            norm = np.max(roots, axis=0)
        return np.asarray(np.exp2(-np.round(np.log2(np.where(norm > 0, norm, 1.0)))))

    def measured(self) -> Stage:
        """Return the scored features, the flags, and the contribution of levels t0, t1, …."""
        stage = {}
        for j, feature in enumerate(self.features[: len(self.scale)]):
            stage[f"c{j}"] = self._value(j, feature)
        for flag, feature in zip(self.flags, self.features, strict=True):
            if flag:
                stage[flag] = f"CASE WHEN {feature.is_empty} THEN 1 ELSE 0 END"
        if self.formula.levels:
            for k in range(self.formula.scorer.n_classes):
                stage[f"t{k}"] = self._level_terms(k)
        return stage

    def _value(self, j: int, feature: Feature) -> str:
        """Return feature j, relative to the origin and in its unit, as SQL."""
        if_empty = "0e0" if self.flags[j] else "NULL"
        if feature.is_on is not None:
            on = self.dialect.as_double(self._constant(j, 1.0))
            off = double(self._constant(j, 0.0))
            return (
                f"CASE WHEN {feature.is_on} THEN {on} "
                f"WHEN {feature.is_empty} THEN {if_empty} ELSE {off} END"
            )
        if feature.fill is not None:
            if_empty = double(self._constant(j, feature.fill))
        cases = [f"WHEN {feature.is_empty} THEN {if_empty}"]
        origin = self.formula.scorer.origin[j]
        unit = self.scale[j]
        if abs(origin) < _NEAR * unit:
            near = double(_NEAR * unit)
            at_zero = double(self._constant(j, 0.0))
            cases.append(f"WHEN x{j} BETWEEN -{near} AND {near} THEN {at_zero}")
        power = self.formula.power
        moved = f"x{j}" if power is None else f"({power_transformed(power, j, f'x{j}')})"
        value = f"({moved} - {double(origin)})"
        if unit != 1:
            value = f"{value} / {double(unit)}"
        low, high = self._bounds(j)
        cases.append(f"WHEN x{j} BETWEEN {double(low)} AND {double(high)} THEN {value}")
        return f"CASE {' '.join(cases)} END"

    def _constant(self, j: int, value: float) -> float:
        """Return feature j, relative to the origin and in its unit, for a cell with this value."""
        power = self.formula.power
        if power is not None:
            row = np.full((1, j + 1), value)
            value = power.select(np.arange(j + 1)).apply(row)[0, j]
        return float((value - self.formula.scorer.origin[j]) / self.scale[j])

    def _bounds(self, j: int) -> tuple[float, float]:
        """Return the range of a feature in which no power, product or square overflows."""
        origin = self.formula.scorer.origin[j]
        unit = self.scale[j]
        is_linear = isinstance(self.formula.scorer.matrix_parts()[0], LinearScores)
        log_far = _FAR_LINEAR if is_linear else _FAR_QUADRATIC
        power = self.formula.power
        if power is not None and power.exponents[j] != 1:
            # t grows in proportion to z^e
            log_far /= max(power.exponents[j], 2 - power.exponents[j])
            origin = power.centre[j]
            unit = min(unit, power.scale[j])
        far = 10 ** min(log_far + math.log10(unit), 307.5)
        return max(origin - far, -_LARGEST), min(origin + far, _LARGEST)

    def _level_terms(self, k: int) -> str:
        """Return Σ log p(level | k) over categories; an unknown level contributes 0."""
        filled = self.encoding.schema.filled
        rows = [np.maximum(table[k], _LOWEST) for table in self.formula.levels]
        log_probabilities = [list(map(double, row)) for row in rows]
        terms = []
        for j, (full, empty) in zip(filled, log_probabilities, strict=False):
            terms.append(f"CASE WHEN x{j} IS NULL THEN {empty} ELSE {full} END")
        levels = zip(self.encoding.reference, log_probabilities[len(filled) :], strict=True)
        for i, (reference, (of_reference, *others)) in enumerate(levels):
            by_code = [*others[:reference], of_reference, *others[reference:]]
            cases = " ".join(f"WHEN {code} THEN {p}" for code, p in enumerate(by_code))
            terms.append(f"CASE v{i} {cases} ELSE 0e0 END")
        return added(terms)


# --- levels ----------------------------------------------------------------------------------


def _level_code(category: Category, column: str) -> str:
    """Return the code of a column's level as SQL; NULL if the level is unknown."""
    if_empty = str(len(category.levels)) if category.missing else "NULL"
    if_unlisted = str(category.n_levels - 1) if category.other else "NULL"
    cases = [f"WHEN {column} IS NULL THEN {if_empty}"]
    for code, level in enumerate(category.levels):
        spellings = ", ".join(literal(spelling) for spelling in _spellings(category, level))
        cases.append(f"WHEN CAST({column} AS VARCHAR) IN ({spellings}) THEN {code}")
    return f"CASE {' '.join(cases)} ELSE {if_unlisted} END"


def _spellings(category: Category, level: str) -> list[str]:
    """Return the spellings of a level in databases, which differ for Booleans and numbers."""
    if set(category.levels) in ({"True", "False"}, {"True"}, {"False"}, {"yes", "no"}):
        return [level, *_TRUTH[level]]
    spellings = [level]
    for spelling in _number_spellings(level):
        if spelling not in spellings and spelling not in category.levels:
            spellings.append(spelling)
    return spellings


def _number_spellings(level: str) -> tuple[str, ...]:
    """Return the text that DuckDB, PostgreSQL and SQLite give for a level that is a number."""
    try:
        value = float(level)
    except ValueError:
        return ()
    if not math.isfinite(value) or level not in (repr(value), f"{value:.0f}"):
        return ()
    duckdb = repr(value)
    postgres = np.format_float_scientific(value, trim="-", exp_digits=2)
    digits, mark, power = f"{value:.15g}".partition("e")
    if "." not in digits:
        digits = f"{digits}.0"
    sqlite = f"{digits}{mark}{power}"
    return duckdb, postgres, sqlite
