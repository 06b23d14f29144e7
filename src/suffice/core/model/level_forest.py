"""The distribution of levels in each class: a forest in which a category has at most one parent."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from suffice.core.moments import Moments
from suffice.core.table.indicator_encoding import Encoding
from suffice.typing import Codes, Floats


@dataclass(frozen=True, eq=False)
class LevelBlocks:
    """The positions of the indicators of each category among the features.

    Level 0 of a category is the reference, which has no feature. Numeric columns whose missing
    values were filled come first, as categories with two levels: observed and missing.
    """

    starts: Codes  # first feature of each category, and the number of features  (q + 1,)

    @classmethod
    def of(cls, encoding: Encoding) -> LevelBlocks:
        schema = encoding.schema
        missing_sizes = [1] * len(schema.filled)
        category_sizes = [category.n_levels - 1 for category in schema.categories]
        ends = np.cumsum([0, *missing_sizes, *category_sizes]).astype(np.intp)
        return cls(schema.n_numbers + ends)

    @property
    def n_numbers(self) -> int:
        """Number of features before the first indicator, p."""
        return int(self.starts[0])

    @property
    def n_indicators(self) -> int:
        """Number of indicators, C'."""
        return int(self.starts[-1] - self.starts[0])

    @cached_property
    def sizes(self) -> Codes:
        """Number of levels of each category, (q,)."""
        return np.diff(self.starts) + 1

    @cached_property
    def edges(self) -> Codes:
        """Position of each category's first level among all C levels, and C itself, (q + 1,)."""
        return np.concatenate([[0], np.cumsum(self.sizes)]).astype(np.intp)

    @cached_property
    def all_levels(self) -> Floats:
        """The matrix E (C, C') of a = e + E m, which gives the indicators a of all levels.

        m are the indicators without the reference levels. A reference level has e = 1 and the
        indicator 1 − Σ m over its category; all other levels have e = 0.
        """
        matrix = np.zeros((self.edges[-1], self.n_indicators))
        for category, size in enumerate(self.sizes):
            reference = self.edges[category]
            first = self.starts[category] - self.n_numbers
            columns = slice(first, first + size - 1)
            matrix[reference, columns] = -1.0
            matrix[reference + 1 : reference + size, columns] = np.eye(size - 1)
        return matrix

    def frequencies(self, moments: Moments) -> Floats:
        """Return the share of each level in the weight of each class, (K, C)."""
        shares = moments.means[:, self.n_numbers :] @ self.all_levels.T
        shares[:, self.edges[:-1]] += 1.0
        return np.maximum(shares, 0.0)

    def pairs(self, moments: Moments, k: int) -> Floats:
        """Return the share of each pair of levels in the weight of class k, (C, C)."""
        scatter = moments.scatters[k, self.n_numbers :, self.n_numbers :]
        f = self.frequencies(moments)[k]
        weight = max(float(moments.weights[k]), np.finfo(float).tiny)
        # share of pairs = Cov(a) + f fᵀ,  Cov(a) = E Cov(m) Eᵀ
        covariance = self.all_levels @ scatter @ self.all_levels.T / weight
        return np.maximum(covariance + np.outer(f, f), 0.0)

    def codes(self, rows: Floats) -> Codes:
        """Return each category's level with the largest indicator, or −1 if missing, (n, q)."""
        codes = np.zeros((len(rows), len(self.sizes)), np.intp)
        columns = rows.T.copy()
        for j, (lo, hi) in enumerate(itertools.pairwise(self.starts)):
            indicators = columns[lo:hi]
            # the indicator of the reference is 1 minus the sum of the others
            largest = 1 - indicators.sum(0)
            is_missing = np.isnan(largest)
            for level, share in enumerate(indicators, 1):
                codes[share > largest, j] = level
                largest = np.maximum(largest, share)
            codes[is_missing, j] = -1
        return codes

    def indicators(self, codes: Codes) -> Floats:
        """Return the indicators (n, C') of levels (n, q), none of which may be missing."""
        indicators = np.zeros((len(codes), self.n_indicators))
        for j, start in enumerate(self.starts[:-1]):
            rows = np.flatnonzero(codes[:, j] > 0)
            columns = start - self.n_numbers + codes[rows, j] - 1
            indicators[rows, columns] = 1.0
        return indicators


@dataclass(frozen=True, eq=False)
class LevelForest:
    """p(c | k) = Π_j p(c_j | c_parent(j), k). Chow & Liu (1968), *IEEE Trans. IT* 14."""

    parents: Codes  # parent of each category in each class, −1 for none  (K, q)
    #: log p(level | parent's level) for each class and category, (parent's levels, levels)
    log_tables: tuple[tuple[Floats, ...], ...]

    @property
    def n_classes(self) -> int:
        return len(self.parents)

    def n_parameters(self, classes: Codes) -> int:
        """Return the number of free probabilities in the given classes."""
        total = 0
        for k in classes:
            for table in self.log_tables[k]:
                n_parent_levels, n_levels = table.shape
                total += n_parent_levels * (n_levels - 1)
        return total

    @cached_property
    def orders(self) -> tuple[tuple[int, ...], ...]:
        """The categories in each class, in an order in which each category follows its parent."""
        return tuple(_parents_first(parents) for parents in self.parents)

    def log_probability(self, codes: Codes) -> Floats:
        """Return log p(c | k) of levels (n, q), with missing levels (−1) summed out, (n, K)."""
        log_p = np.zeros((len(codes), self.n_classes))
        is_complete = (codes >= 0).all(1)
        complete = codes if is_complete.all() else codes[is_complete]
        for k in range(self.n_classes):
            log_p[is_complete, k] = self._complete(k, complete)
            if not is_complete.all():
                log_p[~is_complete, k] = self._summed(k, codes[~is_complete])
        return log_p

    def _complete(self, k: int, codes: Codes) -> Floats:
        """Return log p(c | k) of rows without missing levels, (n,)."""
        log_p = np.zeros(len(codes))
        for j, table in enumerate(self.log_tables[k]):
            parent = self.parents[k, j]
            parent_levels = 0 if parent < 0 else codes[:, parent]
            log_p += table[parent_levels, codes[:, j]]
        return log_p

    def _summed(self, k: int, codes: Codes) -> Floats:
        """Return log p of the observed levels, (n,), computed by messages from leaves to roots."""
        tables = self.log_tables[k]
        beliefs = []
        for j, table in enumerate(tables):
            observed = codes[:, j, None]
            possible = (observed < 0) | (observed == np.arange(table.shape[1]))
            # log 1 for the observed level, or for all levels if none is, else log 0  (n, L)
            beliefs.append(np.where(possible, 0.0, -np.inf))
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
                parent = self.parents[k, j]
                parent_levels = 0 if parent < 0 else codes[rows, parent]
                table = np.exp(self.log_tables[k][j])
                cumulative = table.cumsum(1)[parent_levels, :-1]
                codes[rows, j] = (rng.random(len(rows))[:, None] >= cumulative).sum(1)
        return codes

    def pairs(self, k: int) -> Floats:
        """Return the probability of each pair of levels in class k, (C, C)."""
        tables = [np.exp(table) for table in self.log_tables[k]]
        edges = np.cumsum([0, *(table.shape[1] for table in tables)])
        levels = [slice(lo, hi) for lo, hi in itertools.pairwise(edges)]
        p = np.zeros((edges[-1], edges[-1]))
        done: list[int] = []
        for j in self.orders[k]:
            parent = int(self.parents[k, j])
            for i in done:
                if parent >= 0:
                    # p(c_i, c_j) = Σ p(c_i, c_parent) p(c_j | c_parent)
                    joint = p[levels[i], levels[parent]] @ tables[j]
                else:  # categories of different trees are independent
                    joint = np.outer(p[levels[i], levels[i]].sum(0), tables[j])
                p[levels[i], levels[j]] = joint
                p[levels[j], levels[i]] = joint.T
            p_parent = p[levels[parent], levels[parent]].sum(0) if parent >= 0 else np.ones(1)
            p[levels[j], levels[j]] = np.diag(p_parent @ tables[j])
            done.append(j)
        return p

    @cached_property
    def frequencies(self) -> Floats:
        """Probability of each level in each class, (K, C)."""
        return np.stack([np.diagonal(self.pairs(k)) for k in range(self.n_classes)])

    def log_likelihood(self, moments: Moments, blocks: LevelBlocks) -> float:
        """Return Σ w log p(c | y) over the rows behind moments of encoded rows."""
        total = 0.0
        frequencies = blocks.frequencies(moments)
        levels = [slice(lo, hi) for lo, hi in itertools.pairwise(blocks.edges)]
        for k in np.flatnonzero(moments.weights > 0).tolist():
            has_edges = (self.parents[k] >= 0).any()
            pairs = blocks.pairs(moments, k) if has_edges else np.zeros((0, 0))
            for j, table in enumerate(self.log_tables[k]):
                parent = self.parents[k, j]
                if parent < 0:
                    observed = frequencies[k, levels[j]]
                else:
                    observed = pairs[levels[parent], levels[j]]
                total += moments.weights[k] * float((observed * table).sum())
        return total


def _parents_first(parents: Codes) -> tuple[int, ...]:
    """Return the categories in an order in which each category follows its parent."""
    order: list[int] = np.flatnonzero(parents < 0).tolist()
    for parent in order:  # the loop appends to the list that it reads
        order += np.flatnonzero(parents == parent).tolist()
    return tuple(order)
