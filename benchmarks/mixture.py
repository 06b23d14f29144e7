"""One EM step of mixtures: ours, scikit-learn's GaussianMixture per class, and the hardware.

``python -m benchmarks mixture [quick]``: 1e6 rows × 10, 3 classes of 4 components, from one and the
same start, so that both find the same likelihood. Times are the best of interleaved runs; the floor
is what BLAS needs for the products alone, xᵀx of every row and component (syrk).
"""

from __future__ import annotations

import numpy as np
from scipy.linalg.blas import dsyrk
from sklearn.mixture import GaussianMixture

from benchmarks.timing import best_of, machine, peak_extra_memory, table
from suffice.core.estimation.mixture_em import MixtureProblem
from suffice.core.estimation.mixture_rows import MixtureRows
from suffice.core.estimation.mixture_settings import MixtureSettings
from suffice.core.model.gaussian import GaussianModel
from suffice.core.table.table import Table

CLASSES, COMPONENTS, FEATURES = 3, 4, 10
HOW = MixtureSettings(prior_rows=0.0)


def rows(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return rows of classes with several centres each."""
    rng = np.random.default_rng(0)
    part = rng.integers(CLASSES * COMPONENTS, size=n)
    centres = 4 * rng.normal(size=(CLASSES * COMPONENTS, FEATURES))
    mix = np.eye(FEATURES) + 0.3 * rng.normal(size=(CLASSES * COMPONENTS, FEATURES, FEATURES))
    x = rng.normal(size=(n, FEATURES))
    for r in range(CLASSES * COMPONENTS):
        x[part == r] = x[part == r] @ mix[r].T + centres[r]
    return x, part % CLASSES


def problems(x: np.ndarray, y: np.ndarray) -> list:
    """Return the problem, the rows and a start of each class."""
    data, rng = MixtureRows.of(Table.of(x, y), HOW, quiet=True), np.random.default_rng(0)
    found = []
    for k in range(CLASSES):
        own = MixtureProblem(HOW, data, [k], [COMPONENTS])
        found.append((*own.start([data.rows[k][:20_000]], rng), [data.rows[k]]))
    return found


def steps(found: list) -> float:
    """Return the likelihood at the start, after a step of every class."""
    return sum(problem.step(rows, start)[1] for problem, start, rows in found)


def theirs(start: GaussianModel) -> GaussianMixture:
    """Return scikit-learn's mixture at the same start."""
    mixture = GaussianMixture(COMPONENTS, reg_covar=0)
    mixture.weights_, mixture.means_, mixture.covariances_ = start.priors, start.means, None
    mixture.precisions_cholesky_ = np.stack([sigma.whitening.T for sigma in start.covariances])
    return mixture


def main(arguments: list[str]) -> None:
    n = 100_000 if "quick" in arguments else 1_000_000
    x, y = rows(n)
    found = problems(x, y)
    parts = [x[y == k] for k in range(CLASSES)]
    mixtures = [theirs(start) for _, start, _ in found]

    def other() -> float:
        total = 0.0
        for mixture, part in zip(mixtures, parts, strict=True):
            mean, log_shares = mixture._e_step(part)
            total += mean * len(part)
            _moments(mixture, part, log_shares)
        return total

    def floor() -> None:
        for part in parts:
            for _ in range(COMPONENTS):
                dsyrk(1.0, part.T)

    likelihoods = steps(found), other()
    best = best_of(
        {"ours": lambda: steps(found), "scikit-learn": other, "syrk": floor}, rounds=5
    )
    print(
        f"# mixture ({machine()}): {n:.0e} × {FEATURES}, {CLASSES} × {COMPONENTS} components\n"
    )
    lines = [
        {
            "step": name,
            "seconds": f"{best[name]:.3f}",
            "× ours": f"{best[name] / best['ours']:.2f}",
        }
        for name in best
    ]
    print(table(lines))
    print(f"\nlog-likelihoods {likelihoods[0]:.8g} and {likelihoods[1]:.8g}")
    extra = peak_extra_memory(
        f"from benchmarks.mixture import problems, rows, steps\nx, y = rows({n})\n"
        "found = problems(x[:5000], y[:5000]); steps(found)",
        "steps(problems(x, y))",
    )
    print(f"memory beside the data: {extra:.0f} MB")


def _moments(mixture: GaussianMixture, x: np.ndarray, log_shares: np.ndarray) -> None:
    """Take their M-step, and go back to the start."""
    known = (
        mixture.weights_,
        mixture.means_,
        mixture.covariances_,
        mixture.precisions_cholesky_,
    )
    mixture._m_step(x, log_shares)
    mixture.weights_, mixture.means_, mixture.covariances_, mixture.precisions_cholesky_ = (
        known
    )
