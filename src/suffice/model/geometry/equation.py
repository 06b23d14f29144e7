"""A polynomial of degree two written out, as text or as LaTeX."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from suffice.errors import InvalidParameterError
from suffice.linalg import EPS
from suffice.typing import Floats

_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_LOWERED = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")


@dataclass(frozen=True, slots=True)
class UnicodeNotation:
    """Unicode for a terminal: ``1.2·width² − 3×10⁻⁷·length + 1 = 0``."""

    minus: str = "−"
    times: str = "·"

    def power_of_ten(self, mantissa: str, exponent: int) -> str:
        """Return m×10ⁿ."""
        return f"{mantissa}×10{str(exponent).translate(_RAISED)}"

    def variable(self, i: int, names: tuple[str, ...] | None, d: int) -> str:
        """Return the name of feature i; x₁, x₂, … where there are no names."""
        if names is not None:
            return names[i]
        return "x" if d == 1 else "x" + str(i + 1).translate(_LOWERED)

    def square(self, variable: str) -> str:
        """Return v², in brackets if the name is more than one word."""
        plain = re.fullmatch(r"\w+|\(.*\)", variable)
        return f"{variable}²" if plain else f"({variable})²"


@dataclass(frozen=True, slots=True)
class LatexNotation:
    r"""LaTeX: ``1.2\,\mathrm{width}^{2} - 3\times 10^{-7}\,\mathrm{length} + 1 = 0``."""

    minus: str = "-"
    times: str = r"\,"

    def power_of_ten(self, mantissa: str, exponent: int) -> str:
        """Return m times ten to the n."""
        return rf"{mantissa}\times 10^{{{exponent}}}"

    def variable(self, i: int, names: tuple[str, ...] | None, d: int) -> str:
        """Return the name of feature i, upright; x with an index where there are no names."""
        if names is None:
            return "x" if d == 1 else f"x_{{{i + 1}}}"
        escaped = re.sub(r"([#$%&_{}])", r"\\\1", names[i].replace("\\", "/"))
        return rf"\mathrm{{{escaped}}}".replace(" ", r"\ ")

    def square(self, variable: str) -> str:
        """Return the square of a variable."""
        return f"{variable}^{{2}}"


Notation: TypeAlias = UnicodeNotation | LatexNotation


def written(
    form: tuple[Floats | None, Floats, float, Floats],
    names: tuple[str, ...] | None,
    digits: int,
    notation: Notation,
) -> str:
    """Return (x−m)ᵀA(x−m) + bᵀ(x−m) + c = 0 for the form (A or None, b, c, m)."""
    if digits < 1:
        msg = f"digits={digits}: at least one digit is written"
        raise InvalidParameterError(msg)
    A, b, c, m = form
    variables = [
        _shifted(notation.variable(i, names, len(b)), shift, notation) for i, shift in enumerate(m)
    ]
    line = ""
    for value, factor in _terms(A, b, c, variables, notation):
        if value != 0:
            line += _signed(value, factor, digits, notation, first=not line)
    return f"{line or '0'} = 0"


def beyond_rounding(value: Floats, size: Floats) -> Floats:
    """Return the values, and zero where a sum of terms of that size cancelled entirely."""
    return np.where(np.abs(value) <= 16 * EPS * size, 0.0, value)


def _terms(
    A: Floats | None, b: Floats, c: float, v: list[str], notation: Notation
) -> Iterator[tuple[float, str]]:
    """Yield every coefficient and the product it multiplies."""
    for i, j in zip(*np.triu_indices(len(b)), strict=True) if A is not None else ():
        product = notation.square(v[i]) if i == j else v[i] + notation.times + v[j]
        yield A[i, j] * (1 if i == j else 2), product  # type: ignore[index]
    yield from zip(b.tolist(), v, strict=True)
    yield c, ""


def _shifted(variable: str, shift: float, notation: Notation) -> str:
    """Return v, or (v − m) with every digit of m."""
    if shift == 0:
        return variable
    number = np.format_float_positional(abs(shift), trim="-")
    return f"({variable} {notation.minus if shift > 0 else '+'} {number})"


def _signed(value: float, factor: str, digits: int, notation: Notation, *, first: bool) -> str:
    """Return `` − 1.23·x``; the first term of a line has no space about its sign."""
    number = _number(abs(value), digits, notation)
    if factor:
        number = factor if number == "1" else number + notation.times + factor
    if first:
        return (notation.minus if value < 0 else "") + number
    return f" {notation.minus if value < 0 else '+'} {number}"


def _number(value: float, digits: int, notation: Notation) -> str:
    """Return a positive number to so many significant digits."""
    if 1e-4 <= value < 1e6:
        return np.format_float_positional(value, digits, fractional=False, trim="-")
    mantissa, exponent = f"{value:.{digits - 1}e}".split("e")
    if "." in mantissa:
        mantissa = mantissa.rstrip("0").rstrip(".")
    return notation.power_of_ten(mantissa, int(exponent))
