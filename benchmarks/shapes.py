"""The made-up tables that speed is measured on."""

from __future__ import annotations

import numpy as np

SHAPES = [(1_000_000, 10, 3), (1_000_000, 50, 10), (200_000, 200, 10), (1_000_000, 20, 100)]


def rows(n: int, d: int, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Return n rows of d features in k classes, float64 in C order, and integer labels."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, k, n)
    x = rng.standard_normal((n, d))
    x += rng.normal(size=(k, d))[y]
    return x, y


SETUP = """
import numpy as np, suffice as sf
from benchmarks.shapes import rows
x, y = rows({n}, {d}, {k})
small = rows(30_000, {d}, {k})
"""
