"""The sum of two floating-point numbers, with its rounding error."""

from suffice.typing import Floats


def two_sum(a: Floats, b: Floats) -> tuple[Floats, Floats]:
    """Return a + b, rounded, and its rounding error (Knuth 1969)."""
    high = a + b
    part = high - a
    # (a − (high − part)) + (b − part), with as few temporary arrays as possible
    low = part - high
    low += a
    part -= b
    low -= part
    return high, low
