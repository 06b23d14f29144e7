"""Levels of categories in each class: a forest in which each depends on at most one other."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from suffice.core.moments import Moments
from suffice.core.table.schema import Encoding
from suffice.typing import Codes, Floats


@dataclass(frozen=True, eq=False)
class LevelBlocks:
    """Where features stand for levels but 0, the reference; empty cells first, of two levels."""

    starts: Codes  # first feature of each category, and the end  (q + 1,)

    @classmethod
    def of(cls, encoding: Encoding) -> LevelBlocks:
        schema = encoding.schema
        sizes = [1] * len(schema.filled) + [c.n_levels - 1 for c in schema.categories]
        return cls(schema.n_numbers + np.cumsum([0, *sizes]).astype(np.intp))

    @property
    def n_numbers(self) -> int:
        """Number of features before the first indicator, p."""
        return int(self.starts[0])

    @cached_property
    def sizes(self) -> Codes:
        """Number of levels of each category, (q,)."""
        return np.diff(self.starts) + 1

    @cached_property
    def edges(self) -> Codes:
        """First level of each category among all levels, and the end, (q + 1,)."""
        return np.concatenate([[0], np.cumsum(self.sizes)]).astype(np.intp)

    @cached_property
    def all_levels(self) -> Floats:
        """E with a = e + E m: all levels from their features; the reference is 1 − Σ, (C, C')."""
        matrix = np.zeros((self.edges[-1], self.starts[-1] - self.n_numbers))
        for lo, hi, start in zip(self.edges, self.edges[1:], self.starts, strict=False):
            own = slice(start - self.n_numbers, start - self.n_numbers + hi - lo - 1)
            matrix[lo, own], matrix[lo + 1 : hi, own] = -1.0, np.eye(hi - lo - 1)
        return matrix

    def frequencies(self, moments: Moments) -> Floats:
        """Return the share of each level in each class, (K, C)."""
        shares = moments.means[:, self.n_numbers :] @ self.all_levels.T
        shares[:, self.edges[:-1]] += 1.0
        return np.maximum(shares, 0.0)

    def pairs(self, moments: Moments, k: int) -> Floats:
        """Return the share of each pair of levels in a class, (C, C)."""
        scatter = moments.scatters[k, self.n_numbers :, self.n_numbers :]
        f = self.frequencies(moments)[k]
        weight = max(float(moments.weights[k]), np.finfo(float).tiny)
        # Σ w (a − f)(a − f)ᵀ / w + f fᵀ
        shares: Floats = self.all_levels @ scatter @ self.all_levels.T / weight + np.outer(
            f, f
        )
        return np.maximum(shares, 0.0)

    def codes(self, rows: Floats) -> Codes:
        """Return the level of each category, −1 where it is unknown, (n, q)."""
        codes, columns = np.zeros((len(rows), len(self.sizes)), np.intp), rows.T.copy()
        for j, (lo, hi) in enumerate(itertools.pairwise(self.starts)):
            # the reference has what the others leave of 1; the level of largest share holds
            most = 1 - columns[lo:hi].sum(0)
            unknown = np.isnan(most)
            for level, share in enumerate(columns[lo:hi], 1):
                codes[share > most, j] = level
                most = np.maximum(most, share)
            codes[unknown, j] = -1
        return codes

    def indicators(self, codes: Codes) -> Floats:
        """Return the features of known levels, (n, C')."""
        out = np.zeros((len(codes), self.starts[-1] - self.n_numbers))
        for j, start in enumerate(self.starts[:-1]):
            on = np.flatnonzero(codes[:, j] > 0)
            out[on, start - self.n_numbers + codes[on, j] - 1] = 1.0
        return out


@dataclass(frozen=True, eq=False)
class LevelForest:
    """Levels c: p(c | k) = Π_j p(c_j | c_parent(j), k). Chow & Liu (1968), *IEEE Trans. IT* 14."""

    parents: Codes  # of each category in each class, −1 for none  (K, q)
    log_tables: tuple[
        tuple[Floats, ...], ...
    ]  # log p(level | parent's level), by class, category

    @property
    def n_classes(self) -> int:
        return len(self.parents)

    def n_parameters(self, classes: Codes) -> int:
        """Return the number of free probabilities of some classes."""
        return sum(len(t) * (t.shape[1] - 1) for k in classes for t in self.log_tables[k])

    @cached_property
    def orders(self) -> tuple[tuple[int, ...], ...]:
        """Categories of each class, each after its parent."""
        orders = []
        for parents in self.parents:
            order = np.flatnonzero(parents < 0).tolist()
            for above in order:  # grows as it is read
                order += np.flatnonzero(parents == above).tolist()
            orders.append(tuple(order))
        return tuple(orders)

    def log_probability(self, codes: Codes) -> Floats:
        """Return log p(c | k) of levels (n, q), those of −1 summed out, shape (n, K)."""
        out = np.zeros((len(codes), self.n_classes))
        known = (codes >= 0).all(1)
        whole = slice(None) if known.all() else np.flatnonzero(known)
        for k in range(self.n_classes):
            for j, parent, table in self._factors(k):
                out[whole, k] += table[
                    0 if parent < 0 else codes[whole, parent], codes[whole, j]
                ]
            if not known.all():
                out[~known, k] = self._summed(k, codes[~known])
        return out

    def _factors(self, k: int) -> Iterator[tuple[int, int, Floats]]:
        return zip(
            range(self.parents.shape[1]), self.parents[k], self.log_tables[k], strict=True
        )

    def _summed(self, k: int, codes: Codes) -> Floats:
        """Return log p of the known levels, by messages from the leaves to the roots, (n,)."""
        tables = self.log_tables[k]
        # log 1 for the levels that a row may have, log 0 for the others  (n, L)
        beliefs: list[Any] = [
            np.where((own < 0) | (own == np.arange(t.shape[1])), 0.0, -np.inf)
            for own, t in zip(codes.T[:, :, None], tables, strict=True)
        ]
        total = np.zeros(len(codes))
        for j in reversed(self.orders[k]):
            top = beliefs[j].max(1, keepdims=True)
            with np.errstate(divide="ignore"):
                # log Σ_l p(l | parent's level) · belief(l)
                message = top + np.log(np.exp(beliefs[j] - top) @ np.exp(tables[j]).T)
            parent = self.parents[k, j]
            if parent < 0:
                total += message[:, 0]
            else:
                beliefs[parent] += message
        return total

    def sample(self, classes: Codes, rng: np.random.Generator) -> Codes:
        """Draw the levels of rows of these classes, (n, q)."""
        codes = np.zeros((len(classes), self.parents.shape[1]), np.intp)
        for k in np.unique(classes):
            rows = np.flatnonzero(classes == k)
            for j in self.orders[k]:
                table, parent = np.exp(self.log_tables[k][j]), self.parents[k, j]
                given = codes[rows, parent] if parent >= 0 else np.zeros(len(rows), np.intp)
                upto = table.cumsum(1)[given, :-1]
                codes[rows, j] = (rng.random(len(rows))[:, None] >= upto).sum(1)
        return codes

    def pairs(self, k: int) -> Floats:
        """Return the probability of each pair of levels in class k, (C, C)."""
        tables, parents = self.log_tables[k], self.parents[k]
        edges = np.cumsum([0, *(t.shape[1] for t in tables)])
        where = [slice(lo, hi) for lo, hi in itertools.pairwise(edges)]
        out, done = np.zeros((edges[-1], edges[-1])), list[int]()
        for j in self.orders[k]:
            parent = int(parents[j])
            for i in done:
                # p(c_i, c_j) = Σ p(c_i, c_parent) p(c_j | c_parent); independent of other trees
                if parent >= 0:
                    both = out[where[i], where[parent]] @ np.exp(tables[j])
                else:
                    both = np.outer(out[where[i], where[i]].sum(0), np.exp(tables[j]))
                out[where[i], where[j]], out[where[j], where[i]] = both, both.T
            above = out[where[parent], where[parent]].sum(0) if parent >= 0 else np.ones(1)
            out[where[j], where[j]] = np.diag(above @ np.exp(tables[j]))
            done.append(j)
        return out

    @cached_property
    def frequencies(self) -> Floats:
        return np.stack([np.diagonal(self.pairs(k)) for k in range(self.n_classes)])

    def log_likelihood(self, moments: Moments, blocks: LevelBlocks) -> float:
        """Return Σ w log p(c | y) of the rows that moments of encoded rows sum up."""
        total, shares, edges = 0.0, blocks.frequencies(moments), blocks.edges
        for k in np.flatnonzero(moments.weights > 0).tolist():
            pairs = (
                blocks.pairs(moments, k) if (self.parents[k] >= 0).any() else np.zeros((0, 0))
            )
            for j, parent, table in self._factors(k):
                own, above = (slice(edges[at], edges[at + 1]) for at in (j, parent))
                seen = shares[k, own] if parent < 0 else pairs[above, own]
                total += moments.weights[k] * float((seen * table).sum())
        return total
