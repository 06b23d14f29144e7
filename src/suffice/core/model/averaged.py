"""Posteriors averaged over models that see the rows in their own ways, Gaussian or not."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, Self, TypeAlias, cast

import numpy as np

from suffice.core.model.class_model import ClassModel
from suffice.core.model.linear import LinearModel
from suffice.core.model.posterior import Posterior
from suffice.core.model.views import KernelFeatures, View, distinct_rows
from suffice.core.table import Table
from suffice.core.table.matrix import has_missing
from suffice.core.threads import at_most, in_order, one_blas_thread
from suffice.typing import Codes, Floats

_BLOCK = 2_048  # rows seen at a time: further features of so many stay in the cache
_FEW = 100_000  # rows and trees for which a compiler is not loaded
N_EDGES = 63  # of bins of equally many rows, where a random forest splits
_NO_EDGES = np.zeros((0, 0), np.float32)
_LARGEST = 1.5e38  # whose difference is a number in single precision, too


@dataclass(frozen=True, eq=False)
class Trees:
    """p(k | x) = mean over trees of the share of class k in the leaf of x."""

    roots: Codes  # first node of each tree  (T,)
    left: Codes  # where x_j ≤ t leads; the node itself where it is a leaf  (N,)
    right: Codes  # (N,)
    feature: Codes  # j  (N,)
    threshold: Floats  # t  (N,)
    shares: Floats  # of the classes  (N, K)

    @classmethod
    def grown(
        cls,
        table: Table,
        n_trees: int,
        least: int,
        n_rows: int,
        seed: int,
        *,
        best: bool = False,
    ) -> Self:
        """Return trees of some rows each, with leaves of so many at least."""
        from suffice.core.model.tree_loops import grown

        rng, n = np.random.default_rng(seed), table.n_rows
        seeds, rows = (
            rng.integers(1 << 31, size=n_trees),
            np.arange(n)[None],
        )  # the same for all
        if (
            best
        ):  # a random forest: the best splits of rows drawn with replacement, not random ones
            rows = rng.integers(n, size=(n_trees, n_rows))
        elif n_rows < n:
            rows = np.stack([rng.permutation(n)[:n_rows] for _ in seeds])
        few, place = distinct(table)
        columns, n_classes = _single(few.x.T), table.n_classes
        edges = bin_edges(_single(table.x.T)) if best else _NO_EDGES
        known, drawn = (few.codes, few.weights), (place[rows], seeds)
        roots, ways, threshold, sums = grown(columns, edges, known, drawn, n_classes, least)
        shares = sums / sums.sum(1, keepdims=True)
        return cls(roots, ways[:, 0], ways[:, 1], ways[:, 2], threshold, shares)

    @property
    def n_classes(self) -> int:
        return int(self.shares.shape[1])

    @property
    def n_parameters(self) -> int:
        """A feature and a threshold at each split, K − 1 probabilities at each leaf."""
        splits = np.count_nonzero(self.left != np.arange(len(self.left)))
        return int(2 * splits + (len(self.left) - splits) * (self.n_classes - 1))

    def posterior(self, x: Any) -> Floats:
        rows = _single(x)
        if len(rows) * len(self.roots) < _FEW and "numba" not in sys.modules:
            return np.asarray(self.shares[self._leaves(rows)].mean(1))
        from suffice.core.model.tree_loops import add_leaves

        out = np.zeros((len(rows), self.shares.shape[1]))
        add_leaves(rows, self.roots, *self._ways, self.shares, out)
        return out / len(self.roots)

    @cached_property
    def _ways(self) -> tuple[Any, ...]:
        whole = (each.astype(np.int32) for each in (self.left, self.right, self.feature))
        return *whole, self.threshold.astype(np.float32)

    def _leaves(self, x: Any) -> Codes:
        node, rows = np.tile(self.roots, (len(x), 1)), np.arange(len(x))[:, None]
        while True:
            lower = x[rows, self.feature[node]] <= self.threshold[node]
            following = np.where(lower, self.left[node], self.right[node])
            if np.array_equal(following, node):
                return node
            node = following


def bin_edges(columns: Any) -> Any:
    """Return the edges between bins of about equally many rows, (d, B): infinite after the last."""
    edges = np.full((len(columns), N_EDGES), np.inf, np.float32)
    for own, values in zip(edges, np.sort(columns, axis=1), strict=True):
        different = values[np.append(values[:-1] < values[1:], True)]
        lower = different[:-1]
        if len(lower) > N_EDGES:
            lower = np.unique(values[np.arange(1, N_EDGES + 1) * len(values) // (N_EDGES + 1)])
            lower = lower[lower < different[-1]]
        own[: len(lower)] = (lower + different[np.searchsorted(different, lower) + 1]) / 2
    return edges


def distinct(table: Table) -> tuple[Table, Codes]:
    """Return the rows that differ, and where each row is among them; all, where most differ."""
    columns = np.column_stack([table.x, table.codes, table.weights])
    first, place = distinct_rows(columns)
    if 2 * len(first) < table.n_rows and np.array_equal(columns[first][place], columns):
        return table.take(first), place
    return table, np.arange(table.n_rows)


def _single(x: Any) -> Any:
    """Return rows in single precision; numbers too large for it stand at its ends."""
    return np.clip(x, -_LARGEST, _LARGEST).astype(np.float32, order="C")


@dataclass(frozen=True, slots=True, eq=False)
class ForeignModel:
    """A fitted classifier of any library with ``predict_proba``, whose classes are codes."""

    fitted: Any
    n_classes: int

    def posterior(self, x: Any) -> Floats:
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
    has_density = False

    def posterior(self, x: Any) -> Floats:
        return Posterior(self.temperature).read(doubted(self.inner.posterior(x), self.doubt))


def doubted(posterior: Floats, doubt: float) -> Floats:
    """Return log((1 − ε) p + ε / K), (n, K): never without bound."""
    return np.asarray(np.log((1 - doubt) * posterior + doubt / posterior.shape[1]))


@dataclass(frozen=True, slots=True, eq=False)
class Share:
    """A model of the rows as its view shows them, and its share in the average."""

    view: View
    model: ClassModel | TemperedModel | LinearModel
    weight: float

    @property
    def integrates(self) -> bool:
        return self.view.by_feature and self.model.has_density


def shares_of(members: Sequence[Any]) -> tuple[Share, ...]:
    """Return the shares of candidates that were fitted; those of one view share it."""
    views = {id(m.candidate.view): m.candidate.view for m in members}
    seen = {at: v.unmixed() if isinstance(v, KernelFeatures) else v for at, v in views.items()}
    return tuple(
        Share(seen[id(m.candidate.view)], m.model, m.candidate.weight) for m in members
    )


def over_kernels(view: KernelFeatures, model: Any) -> LinearModel:
    """Return a tied Gaussian of mixed kernels as linear scores of the kernels themselves."""
    scorer, d = model.formula.scorer, len(view.centre)
    (part,), mixing = scorer.parts, cast(Floats, view.mixing)
    w, mixed = np.split(part.weights, [d], axis=1)
    # w (M k − o) + b  =  (w M) k + (b − w o)
    weights = np.hstack([w, mixed @ mixing.T])
    constants = part.constants - mixed @ scorer.origin[d:]
    centre = np.concatenate([scorer.origin[:d], np.zeros(len(view.landmarks))])
    return replace(
        LinearModel.of(weights, constants, centre=centre), temperature=model.temperature
    )


@dataclass(frozen=True, slots=True, eq=False)
class AveragedModel:
    """p(k | x) = ε π_k + (1 − ε) Σ_m s_m p_m(k | x); densities are those of the best model.

    Members that cannot integrate NaN out see it filled by the conditional mean of the best model.
    """

    shares: tuple[Share, ...]
    features: Codes  # columns that the shares see
    doubt: float  # ε
    frequencies: Floats  # π  (K,)
    best: ClassModel  # of all columns
    allows_missing: bool = False
    has_posterior = True

    @property
    def has_density(self) -> bool:
        return self.best.has_density

    @property
    def n_features(self) -> int:
        return self.best.n_features

    @property
    def temperature(self) -> float:
        return self.best.temperature

    def impute(self, x: Any) -> Floats:
        return self.best.impute(x)

    def sample_missing(self, x: Any, rng: np.random.Generator) -> Floats:
        return self.best.sample_missing(x, rng)

    def class_log_density(self, x: Any) -> Floats:
        return self.best.class_log_density(x)

    def log_density(self, x: Any) -> Floats:
        return self.best.log_density(x)

    def sample(self, n: int, rng: np.random.Generator) -> tuple[Floats, Codes]:
        return self.best.sample(n, rng)

    @property
    def n_classes(self) -> int:
        return len(self.frequencies)

    def allowing_missing(self) -> Self:
        return replace(self, best=self.best.allowing_missing(), allows_missing=True)

    def posterior(self, x: Any) -> Floats:
        seen = filled = x[:, self.features]
        if self.allows_missing and has_missing(seen):
            filled = self.impute(x)[:, self.features]
        blocks = [slice(lo, lo + _BLOCK) for lo in range(0, max(len(x), 1), _BLOCK)]
        average = partial(self._average, seen, filled, holes=filled is not seen)
        with one_blas_thread():
            return np.concatenate(list(in_order(average, blocks)))

    @at_most(1)  # threads are for blocks
    def _average(
        self,
        seen: Floats,
        all_filled: Floats,
        block: slice,
        *,
        holes: bool,
    ) -> Floats:
        """Return the average of a block; of rows with holes, by marginals where there are any."""
        x, filled = seen[block], all_filled[block]
        posterior = np.tile(self.doubt * self.frequencies, (len(x), 1))
        by_view: dict[int, list[Share]] = {}
        for share in self.shares:
            by_view.setdefault(id(share.view), []).append(share)
        for shares in by_view.values():
            rows: dict[bool, Floats] = {}  # as the view shows them, with holes or filled
            for share in shares:
                own = not holes or share.integrates
                if own not in rows:
                    rows[own] = share.view.apply(x if own else filled)
                model: Any = share.model
                p = (model.allowing_missing() if holes and own else model).posterior(rows[own])
                if not own:
                    p[np.isnan(x).all(1)] = self.frequencies
                posterior += (1 - self.doubt) * share.weight * p
        return posterior

    def log_posterior(self, x: Any) -> Floats:
        with np.errstate(divide="ignore"):
            return np.log(self.posterior(x))

    scores = log_posterior

    def most_probable(self, x: Any) -> Codes:
        return np.asarray(self.posterior(x).argmax(1))
