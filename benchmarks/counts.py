"""Naive Bayes for counts: one pass over sparse rows beside its floor and scikit-learn's.

``python -m benchmarks counts [quick]``: rows × 10^5 features with 100 non-zero cells each, 20
classes. The floor is a compiled loop that only adds cells to the sums of their class. Leave-one-out
of all rows for ten pseudo-counts stands beside ten predictions. Runs take turns, the best counts.
"""

from __future__ import annotations

import numba
import numpy as np
from scipy.sparse import csr_array
from sklearn.naive_bayes import MultinomialNB

import suffice as sf
from benchmarks.timing import best_of, machine, peak_extra_memory, table

D = 100_000
CELLS = 100  # of each row
K = 20


def main(arguments: list[str]) -> None:
    n = 100_000 if "quick" in arguments else 1_000_000
    print(f"# counts ({machine()}): {n:.0e} × {D:.0e}, {CELLS} cells a row, {K} classes\n")
    x, y = rows(n)
    _fit(x, y)
    m = min(n, 100_000)
    _leave_one_out(x[:m], y[:m])
    _memory(n)


def rows(n: int) -> tuple[csr_array, np.ndarray]:
    """Return sparse rows of small counts whose columns ascend in each row."""
    rng = np.random.default_rng(0)
    y = rng.integers(K, size=n)
    # one cell in each of 100 equal ranges of columns: ascending, and never twice the same
    width = D // CELLS
    offsets = (np.arange(CELLS) * width).astype(np.int32)
    columns = (rng.integers(width, size=(n, CELLS), dtype=np.int32) + offsets).ravel()
    values = rng.integers(1, 4, size=n * CELLS).astype(np.float64)
    starts = np.arange(0, n * CELLS + 1, CELLS, dtype=np.int64)
    if n * CELLS < 2**31:
        starts = starts.astype(np.int32)
    return csr_array((values, columns, starts), shape=(n, D)), y


@numba.njit
def floor(values, columns, starts, codes, sums):
    """Add every cell to the sums of its class, and do nothing else."""
    for i in range(len(codes)):
        row_sums = sums[codes[i]]
        for cell in range(starts[i], starts[i + 1]):
            row_sums[columns[cell]] += values[cell]


def _fit(x: csr_array, y: np.ndarray) -> None:
    cases = {
        "floor": lambda: floor(x.data, x.indices, x.indptr, y, np.zeros((K, D))),
        "CountSums.of": lambda: sf.CountSums.of(x, y),
        "CountNB": lambda: sf.CountNB().fit(x, y),
        "MultinomialNB": lambda: MultinomialNB().fit(x, y),
    }
    seconds = best_of(cases, 3)
    figures = [
        {"fit": name, "seconds": took, "× floor": took / seconds["floor"]}
        for name, took in seconds.items()
    ]
    print(table(figures), "\n")


def _leave_one_out(x: csr_array, y: np.ndarray) -> None:
    model = sf.CountNB().fit(x, y)
    cases = {
        "one prediction": lambda: model.predict_proba(x),
        "ten alphas by leave-one-out": lambda: sf.CountNB(alpha="auto").fit(x, y),
        "alpha and temperature": lambda: sf.CountNB(alpha="auto", temperature="auto").fit(
            x, y
        ),
        "MultinomialNB, one prediction": lambda: theirs.predict_proba(x),
    }
    theirs = MultinomialNB().fit(x, y)
    seconds = best_of(cases, 2)
    one = seconds["one prediction"]
    figures = [
        {f"of {x.shape[0]:.0e} rows": name, "seconds": took, "predictions": took / one}
        for name, took in seconds.items()
    ]
    print(table(figures), "\n")


def _memory(n: int) -> None:
    setup = (
        f"from benchmarks.counts import rows\nimport suffice as sf\nx, y = rows({n // 10})\n"
    )
    setup += "sf.CountSums.of(x[:5000], y[:5000])"
    extra = peak_extra_memory(setup, "s = sf.CountSums.of(x, y)")
    print(
        f"peak memory of the sums: {extra:.0f} MB; K d numbers are {K * D * 8 / 2**20:.0f} MB"
    )
