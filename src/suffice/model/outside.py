"""Members of an average that are no Gaussians: trees, linear scores, classifiers of other kinds."""

import sys
from dataclasses import dataclass
from typing import Any, Self, TypeAlias

import numpy as np

from suffice.model.linear import LinearModel
from suffice.model.posterior import Posterior
from suffice.table import Table
from suffice.typing import Codes, Floats

_FEW = 100_000  # rows and trees for which a compiler is not loaded
_LARGEST = 1.5e38  # whose difference is a number in single precision, too


@dataclass(frozen=True, slots=True, eq=False)
class Trees:
    """p(k | x) = mean over trees of the share of class k in the leaf of x."""

    roots: Codes  # first node of each tree  (T,)
    left: Codes  # where x_j ≤ t leads; the node itself where it is a leaf  (N,)
    right: Codes  # (N,)
    feature: Codes  # j  (N,)
    threshold: Floats  # t  (N,)
    shares: Floats  # of the classes  (N, K)

    @classmethod
    def grown(cls, table: Table, n_trees: int, least: int, n_rows: int, seed: int) -> Self:
        """Return extremely randomised trees of some rows each, with leaves of so many at least."""
        from suffice.model.tree_kernels import grown

        rng = np.random.default_rng(seed)
        x = _single(table.x)
        parts = []
        for _ in range(n_trees):
            rows = rng.permutation(table.n_rows)[:n_rows]
            known = table.codes, table.weights, rows, table.n_classes, least
            parts.append(grown(x, *known, rng.integers(1 << 31)))
        left, right, feature, threshold, sums = (
            np.concatenate(each) for each in zip(*parts, strict=True)
        )
        counts = np.array([len(part[0]) for part in parts])
        roots = np.cumsum(counts) - counts
        base = np.repeat(roots, counts)
        shares = sums / sums.sum(1, keepdims=True)
        return cls(roots, left + base, right + base, feature, threshold, shares)

    def posterior(self, x: Any) -> Floats:
        """Return p(k | x), shape (n, K); as scikit-learn's, trees see rows in single precision."""
        rows = _single(x)
        if len(rows) * len(self.roots) < _FEW and "numba" not in sys.modules:
            return np.asarray(self.shares[self._leaves(rows)].mean(1))
        from suffice.model.tree_kernels import add_leaves

        out = np.zeros((len(rows), self.shares.shape[1]))
        ways = (each.astype(np.int32) for each in (self.left, self.right, self.feature))
        add_leaves(rows, self.roots, *ways, self.threshold.astype(np.float32), self.shares, out)
        return out / len(self.roots)

    def _leaves(self, x: Any) -> Codes:
        node, rows = np.tile(self.roots, (len(x), 1)), np.arange(len(x))[:, None]
        while True:
            lower = x[rows, self.feature[node]] <= self.threshold[node]
            following = np.where(lower, self.left[node], self.right[node])
            if np.array_equal(following, node):
                return node
            node = following


def _single(x: Any) -> Any:
    """Return rows in single precision; numbers too large for it stand at its ends."""
    return np.clip(x, -_LARGEST, _LARGEST).astype(np.float32, order="C")


@dataclass(frozen=True, slots=True, eq=False)
class ForeignModel:
    """A fitted classifier of any library with ``predict_proba``, whose classes are codes."""

    fitted: Any
    n_classes: int

    def posterior(self, x: Any) -> Floats:
        """Return p(k | x), shape (n, K)."""
        posterior = np.zeros((len(x), self.n_classes))
        posterior[:, np.asarray(self.fitted.classes_, np.intp)] = self.fitted.predict_proba(x)
        return posterior


Outsider: TypeAlias = Trees | LinearModel | ForeignModel


@dataclass(frozen=True, slots=True, eq=False)
class TemperedModel:
    """softmax(log((1 − ε) p + ε / K) / T) of the posteriors of a classifier."""

    inner: Outsider
    temperature: float
    doubt: float  # ε
    priors: Floats  # of rows of which nothing is known  (K,)
    has_density = False

    def allowing_missing(self) -> Self:
        """Return itself: it says nothing of what is missing."""
        return self

    def posterior(self, x: Any) -> Floats:
        """Return p(k | x), shape (n, K)."""
        scores = doubted(self.inner.posterior(x), self.doubt)
        return Posterior(self.temperature).read(scores)


def doubted(posterior: Floats, doubt: float) -> Floats:
    """Return log((1 − ε) p + ε / K), (n, K): never without bound."""
    return np.asarray(np.log((1 - doubt) * posterior + doubt / posterior.shape[1]))
