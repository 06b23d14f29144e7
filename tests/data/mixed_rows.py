"""A numeric table, text and Booleans with missing values, and how its sums are compared."""

import numpy as np
import polars as pl

N_ROWS = 300
FEATURES = ["island", "bill", "mass", "banded", "year", "sex"]


def mixed_frame(seed=11):
    """Return rows like those of penguins: islands, sexes and Booleans beside measurements."""
    rng = np.random.default_rng(seed)
    y = rng.choice(["Adelie", "Chinstrap", "Gentoo"], N_ROWS, p=[0.4, 0.2, 0.4])
    kind = np.searchsorted(["Adelie", "Chinstrap", "Gentoo"], y)
    island = np.where(
        rng.random(N_ROWS) < 0.6, np.array(["Dream", "Torgersen", "Biscoe"])[kind], "Dream"
    )
    sex = rng.choice(["female", "male"], N_ROWS)

    def with_holes(values, share):
        return pl.Series(values).set(pl.Series(rng.random(N_ROWS) < share), None)

    frame = pl.DataFrame(
        {
            "island": island,
            "bill": with_holes(rng.normal(size=N_ROWS) * 3 + 40 + 4 * kind, 0.12),
            "mass": with_holes(
                rng.normal(size=N_ROWS) * 400 + 4000 + 300 * (sex == "male"), 0.08
            ),
            "banded": with_holes(rng.random(N_ROWS) < 0.3 + 0.2 * kind, 0.03),
            "year": rng.integers(2007, 2010, N_ROWS),
            "sex": with_holes(sex, 0.05),
            "species": with_holes(y, 0.02),
        }
    )
    # levels and patterns of missing values that only the last rows have
    late = pl.Series([False] * (N_ROWS - 9) + [True] * 9)
    rare = pl.when(late).then(pl.lit("Anvers")).otherwise("island").alias("island")
    return frame.with_columns(rare, pl.when(late).then(None).otherwise("year").alias("year"))


FRAME = mixed_frame()


def by_cell(moments):
    """Return Σ w, Σ w x and Σ w x xᵀ of each class and set of observed columns."""
    blocks, sums = moments.patterns.blocks, {}
    scatters = np.zeros((len(blocks.weights), *blocks.scatters.shape[1:]))
    scatters[blocks.with_scatter] = blocks.scatters
    for k, seen, w, mean, low, scatter in zip(
        blocks.class_of,
        blocks.observed,
        blocks.weights,
        blocks.means,
        blocks.means_low,
        scatters,
        strict=True,
    ):
        x = mean + low
        parts = np.array([w]), w * x, (scatter + w * np.outer(x, x)).ravel()
        key = int(k), seen.tobytes()
        sums[key] = sums.get(key, 0.0) + np.concatenate(parts)
    return sums


def assert_same_moments(ours, theirs, tolerance=1e-9):
    """Compare the sums of two tables with missing values, pattern by pattern."""
    assert ours.schema == theirs.schema
    assert ours.classes.tolist() == theirs.classes.tolist()
    np.testing.assert_array_equal(ours.counts, theirs.counts)
    np.testing.assert_allclose(ours.weights, theirs.weights, rtol=1e-12)
    np.testing.assert_allclose(ours.means, theirs.means, rtol=tolerance, atol=tolerance)
    spread = np.sqrt(theirs.scatter.pooled_diagonal()) + 1.0
    limit = tolerance * spread[:, None] * spread
    assert np.all(np.abs(ours.scatters - theirs.scatters) <= limit)
    assert ours.cells_lost == theirs.cells_lost
    cells, others = by_cell(ours), by_cell(theirs)
    assert cells.keys() == others.keys()
    for key, sums in cells.items():
        np.testing.assert_allclose(sums, others[key], rtol=tolerance, atol=tolerance)
