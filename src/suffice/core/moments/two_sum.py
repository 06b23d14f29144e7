"""The sum of two floating-point numbers, whose rounding error is kept."""

from suffice.typing import Floats


def two_sum(a: Floats, b: Floats) -> tuple[Floats, Floats]:
    """Return a + b rounded, and what rounding lost (Knuth 1969)."""
    high = a + b
    part = high - a
    # (a − (high − part)) + (b − part), in as few arrays as possible
    low = part - high
    low += a
    part -= b
    low -= part
    return high, low
