"""A polynomial of degree two written out, as text or as LaTeX."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from suffice.errors import InvalidParameterError
from suffice.linalg import EPS
from suffice.typing import Floats

_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_LOWERED = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")


Form: TypeAlias = tuple[Floats | None, Floats, float]  # A or None, b, c


@dataclass(frozen=True, slots=True)
class Notation:
    """How numbers and names are written; see ``UNICODE`` and ``LATEX``."""

    minus: str
    times: str
    power_of_ten: Callable[[str, int], str]  # mantissa, exponent
    index: Callable[[int], str]  # x₁, x₂, … where features have no names
    name: Callable[[str], str]
    square: Callable[[str], str]

    def variable(self, i: int, names: tuple[str, ...] | None, d: int) -> str:
        """Return the name of feature i of d."""
        if names is not None:
            return self.name(names[i])
        return "x" if d == 1 else f"x{self.index(i + 1)}"


def _upright(name: str) -> str:
    escaped = re.sub(r"([#$%&_{}])", r"\\\1", name.replace("\\", "/"))
    return rf"\mathrm{{{escaped}}}".replace(" ", r"\ ")


#: For a terminal: ``1.2·width² − 3×10⁻⁷·length + 1 = 0``; brackets about more than one word
UNICODE = Notation(
    "−",
    "·",
    lambda mantissa, exponent: f"{mantissa}×10{str(exponent).translate(_RAISED)}",
    lambda i: str(i).translate(_LOWERED),
    str,
    lambda v: f"{v}²" if re.fullmatch(r"\w+|\(.*\)", v) else f"({v})²",
)
#: ``1.2\,\mathrm{width}^{2} - 3\times 10^{-7}\,\mathrm{length} + 1 = 0``
LATEX = Notation(
    "-",
    r"\,",
    lambda mantissa, exponent: rf"{mantissa}\times 10^{{{exponent}}}",
    lambda i: f"_{{{i}}}",
    _upright,
    lambda v: f"{v}^{{2}}",
)


def written(form: Form, names: tuple[str, ...] | None, digits: int, notation: Notation) -> str:
    """Return xᵀAx + bᵀx + c = 0 for the form (A or None, b, c)."""
    if digits < 1:
        raise InvalidParameterError(f"digits={digits}: at least one digit is written")
    A, b, c = form
    variables = [notation.variable(i, names, len(b)) for i in range(len(b))]
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
