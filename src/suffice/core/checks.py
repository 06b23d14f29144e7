"""Checks of numeric settings; each error names the setting."""

from numbers import Real
from typing import TypeGuard

import numpy as np

from suffice.errors import InvalidParameterError


def is_number(value: object) -> TypeGuard[float]:
    """Return whether a value is a real number, but not a Boolean."""
    return isinstance(value, (int, float, np.number)) and not isinstance(value, bool)


def is_whole_number(value: object) -> TypeGuard[int]:
    """Return whether a value is an integer, but not a Boolean."""
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def positive(name: str, value: object) -> float:
    """Return a setting as a float, or raise unless it is a positive, finite number."""
    number = _finite(value)
    if number is None or number <= 0:
        raise InvalidParameterError(f"{name} must be a positive finite number, got {value!r}")
    return number


def not_negative(name: str, value: object) -> float:
    """Return a setting as a float, or raise unless it is a finite number of at least zero."""
    number = _finite(value)
    if number is None or number < 0:
        raise InvalidParameterError(
            f"{name} must be a finite number of at least 0, got {value!r}"
        )
    return number


def whole_number(name: str, value: object) -> int:
    """Return a setting, or raise unless it is an integer of at least 1."""
    is_real = isinstance(value, Real) and not isinstance(value, bool)
    number = _finite(value) if is_real else None
    if number is None or number < 1 or number != np.rint(number):
        raise InvalidParameterError(f"{name} must be an integer of at least 1, got {value!r}")
    return int(number)


def _finite(value: object) -> float | None:
    """Return a value as a finite float, or None if it is not a finite number."""
    try:
        number = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return None
    return number if np.isfinite(number) else None
