"""Exact sums beside floating ones: ``python -m benchmarks exact [ROUNDS]``.

The pass over the rows, reading the moments out, the digest, and forgetting 1,000 rows; then how
far models of exact and floating sums differ on the bundled tables.
``python -m benchmarks exact history STEPS`` adds and forgets rows at random and compares every
digest with that of sums collected anew.
"""

from __future__ import annotations

import numpy as np
import polars as pl

import suffice as sf
from benchmarks.timing import best_of, machine, table
from suffice.core.moments.exact_products import exact_sums
from suffice.core.table import Table
from suffice.privacy import RoundingGrid

SHAPES = ((1_000_000, 10, 3), (200_000, 50, 10), (50_000, 200, 10))


def main(arguments: list[str]) -> None:
    if arguments[:1] == ["history"]:
        print(history(int(arguments[1])))
        return
    rounds = int(arguments[0]) if arguments else 9
    print(f"# exact sums beside floating ones ({machine()})\n")
    print(table([speed(*shape, rounds) for shape in SHAPES]))
    print()
    print(table([agreement(name) for name in sf.datasets.names()]))


def speed(n: int, d: int, k: int, rounds: int) -> dict[str, object]:
    r = np.random.default_rng(0)
    y = r.integers(0, k, n)
    x = r.normal(size=(n, d)) + r.normal(size=(k, d))[y]
    rows = Table.of(x, y)
    grid = RoundingGrid.around(x)
    total = exact_sums(rows, grid, "per-class")
    whole = sf.Moments.of(x, y, exact=grid)
    gone_x, gone_y = x[:1000], y[:1000]

    def forget() -> sf.Moments:
        return whole - sf.Moments.of(gone_x, gone_y, exact=grid)

    best = best_of(
        {
            "floating": lambda: sf.Moments.of_table(rows, fourth=False),
            "exact": lambda: exact_sums(rows, grid, "per-class"),
            "read out": lambda: (total.means(), total.scatter_values()),
            "digest": lambda: total.digest(None),
            "forget 1,000": forget,
            "forget and read": lambda: forget().scatters,
        },
        rounds,
    )
    return {
        "rows, features, classes": f"{n:,} × {d} × {k}",
        "floating pass, s": f"{best['floating']:.3f}",
        "exact / floating": f"{best['exact'] / best['floating']:.2f}",
        "read out, ms": f"{1e3 * best['read out']:.1f}",
        "digest, ms": f"{1e3 * best['digest']:.1f}",
        "forget 1,000 rows, ms": f"{1e3 * best['forget 1,000']:.1f}",
        "and read out, ms": f"{1e3 * best['forget and read']:.1f}",
    }


def agreement(name: str) -> dict[str, object]:
    """Return how far posteriors of exact and floating sums differ on a built-in table."""
    data = sf.datasets.load(name)
    frame = data.frame()
    numbers = frame.select(pl.col(data.feature_names)).select(pl.selectors.numeric())
    x = numbers.to_numpy().astype(np.float64)
    complete = ~np.isnan(x).any(1)
    x = x[complete]
    x = x[:, x.std(0) > 0]
    y = frame[data.target].to_numpy()[complete]
    exact_moments = sf.Moments.of(x, y, exact="auto")
    floating_moments = sf.Moments.of(x, y)
    row: dict[str, object] = {"table": name, "features": x.shape[1]}
    for model in (sf.LDA(shrinkage=0.01), sf.QDA(shrinkage=0.1), sf.GaussianNB()):
        exact = model.fit_moments(exact_moments).predict_proba(x)
        floating = model.fit_moments(floating_moments).predict_proba(x)
        largest = np.abs(exact - floating).max()
        row[f"{model!r}, largest difference"] = f"{largest:.1e}"
    return row


def history(n_steps: int) -> str:
    """Return how many digests of a random history differ from those of sums collected anew."""
    r = np.random.default_rng(0)
    y = r.integers(0, 3, 300)
    x = r.normal(size=(300, 2)) + y[:, None]
    grid = RoundingGrid.around(x)
    labels = np.arange(3)

    def sums(rows: np.ndarray) -> sf.Moments:
        return sf.Moments.of(x[rows], y[rows], classes=labels, exact=grid)

    held = np.zeros(len(y), bool)
    total = sums(np.flatnonzero(held))
    n_different = 0
    for _ in range(n_steps):
        i = int(r.integers(len(y)))
        row = sums(np.array([i]))
        total = total - row if held[i] else total + row
        held[i] = not held[i]
        n_different += total.digest() != sums(np.flatnonzero(held)).digest()
    return f"{n_steps:,} additions and deletions: {n_different} digests differ from retraining"
