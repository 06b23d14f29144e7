"""Units of measurement after numbers, such as kg in 60.5 kg."""

import re

import polars as pl

_MASS = ("kg", "g", "mg", "µg", "ug", "lb", "lbs", "oz")
_LENGTH = ("km", "m", "cm", "mm", "µm", "um", "nm", "mi", "miles", "ft", "in", "yd")
_TIME = (
    "s",
    "sec",
    "ms",
    "min",
    "h",
    "hr",
    "hrs",
    "hours",
    "days",
    "weeks",
    "months",
    "years",
)
_AREA_AND_VOLUME = (
    "m2",
    "m²",
    "km2",
    "km²",
    "ha",
    "m3",
    "m³",
    "cm3",
    "cm³",
    "l",
    "L",
    "ml",
    "mL",
)
_SPEED = ("km/h", "kmh", "kph", "mph", "m/s", "rpm", "bpm")
_HEAT_AND_PRESSURE = ("°C", "°F", "Pa", "hPa", "kPa", "MPa", "mbar", "bar", "psi", "mmHg")
_ENERGY = ("W", "kW", "MW", "Wh", "kWh", "MWh", "J", "kJ", "MJ", "cal", "kcal", "hp", "PS")
_ELECTRICITY = ("V", "mV", "kV", "mA", "mAh", "Ah", "Hz", "kHz", "MHz", "GHz", "dB", "Ω")
_DATA = ("KB", "kB", "MB", "GB", "TB")
_MATTER = ("mol", "mmol", "mg/dl", "mg/dL", "mg/l", "mg/L", "mmol/l", "mmol/L", "g/l", "ppm")
UNITS = frozenset(
    (
        *_MASS,
        *_LENGTH,
        *_TIME,
        *_AREA_AND_VOLUME,
        *_SPEED,
        *_HEAT_AND_PRESSURE,
        *_ENERGY,
        *_ELECTRICITY,
        *_DATA,
        *_MATTER,
    )
)
_BLANKS = r"[ \u00a0\u2009\u202f]"
_NUMBER = r"[-+0-9.,'\u2019\u2212() \u00a0\u2009\u202f]*[0-9.,](?:[eE][-+]?[0-9]+)?"
_WITH_UNIT = rf"^{_NUMBER}{_BLANKS}*([^\s0-9.,'%]\S{{0,7}})$"


def units_in(cells: pl.Series) -> list[str]:
    """Return the distinct units if all cells are numbers with known units, else an empty list."""
    units = cells.str.extract(_WITH_UNIT)
    if units.null_count():
        return []
    distinct = [str(unit) for unit in units.unique(maintain_order=True)]
    return distinct if UNITS.issuperset(distinct) else []


def without_unit(text: pl.Expr, unit: str) -> pl.Expr:
    """Return text without the unit at its end."""
    return text.str.replace(rf"{_BLANKS}*{re.escape(unit)}$", "")


def pattern_of(unit: str) -> str:
    """Return the regular expression of a unit after a number."""
    return rf"{_BLANKS}*{re.escape(unit)}" if unit else ""
