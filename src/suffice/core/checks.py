"""What kind of number a setting is."""

from typing import TypeGuard

import numpy as np


def is_number(value: object) -> TypeGuard[float]:
    """Return whether a value is a real number, and no truth value."""
    return isinstance(value, (int, float, np.number)) and not isinstance(value, bool)


def is_whole_number(value: object) -> TypeGuard[int]:
    """Return whether a value is an integer, and no truth value."""
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)
