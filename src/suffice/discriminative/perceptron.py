"""The perceptron: learning from mistakes, in batches or one row at a time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from suffice.discriminative.rows import StreamedRows

if TYPE_CHECKING:
    from suffice.discriminative.perceptron_rules import Rule
    from suffice.discriminative.rows import Block, Rows
    from suffice.typing import Codes, Floats

_BLOCK = 64


@dataclass(frozen=True, slots=True, eq=False)
class State:
    """Weights after some passes, and the sum that gives their average."""

    weights: Floats  # w  (R, D): intercept first
    drift: Floats  # Σ over updates of (rows seen before) · update  (R, D)
    n_seen: int  # rows, or batches
    n_updates: int

    @classmethod
    def at(cls, weights: Floats) -> State:
        """Return the state before any pass."""
        return cls(weights, np.zeros_like(weights), 0, 0)

    @property
    def average(self) -> Floats:
        """Mean of the weights over all rows seen, (R, D)."""
        return self.weights - self.drift / max(self.n_seen, 1)


class Teaching(Protocol):
    """How rows are shown to a perceptron."""

    @property
    def rate(self) -> float:
        """The learning rate η."""
        ...

    def taught(self, rows: Rows, rule: Rule, state: State) -> State:
        """Return the state after one pass over the rows."""
        ...


@dataclass(frozen=True, slots=True)
class Batch:
    """w ← w + η Σ over all mistakes of t z."""

    rate: float

    def taught(self, rows: Rows, rule: Rule, state: State) -> State:
        """Return the state after one batch step."""
        update, wrong = np.zeros_like(state.weights), 0
        for block in rows.blocks():
            c = rule.corrections(state.weights @ block.z.T, block.codes)
            update += self.rate * (c @ block.z)
            wrong += int(c.any(0).sum())
        drift = state.drift + state.n_seen * update
        return State(state.weights + update, drift, state.n_seen + 1, state.n_updates + wrong)


@dataclass(frozen=True, slots=True, eq=False)
class Stochastic:
    """w ← w + η t z at every mistake, rows in an order drawn anew for each pass."""

    rate: float
    rng: np.random.Generator

    def taught(self, rows: Rows, rule: Rule, state: State) -> State:
        """Return the state after every row was shown once."""
        order = self.rng.permutation(rows.n_rows)
        weights, drift = state.weights.copy(), state.drift.copy()
        if isinstance(rows, StreamedRows):
            wrong = _compiled(rows, rule, order, self.rate, state.n_seen, weights, drift)
        else:
            wrong = 0
            for first in range(0, len(order), _BLOCK):
                block, seen = rows.take(order[first : first + _BLOCK]), state.n_seen + first
                wrong += _shown(block, rule, self.rate, seen, weights, drift)
        return State(weights, drift, state.n_seen + len(order), state.n_updates + wrong)


def _shown(block: Block, rule: Rule, rate: float, seen: int, weights: Floats, drift: Floats) -> int:
    """Show the rows of a block one after the other; change the weights, count the mistakes."""
    scores, products = weights @ block.z.T, block.z @ block.z.T
    place = wrong = 0
    while place < len(block.codes):
        c = rule.corrections(scores[:, place:], block.codes[place:])
        mistakes = np.flatnonzero(c.any(0))
        if not len(mistakes):
            break
        step = rate * c[:, mistakes[0], None]
        place += int(mistakes[0])
        weights += step * block.z[place]
        drift += (seen + place) * step * block.z[place]
        scores += step * products[place]
        place, wrong = place + 1, wrong + 1
    return wrong


def _compiled(
    rows: StreamedRows,
    rule: Rule,
    order: Codes,
    rate: float,
    seen: int,
    weights: Floats,
    drift: Floats,
) -> int:
    from suffice.discriminative.kernels import show_rows

    table = (rows.x, rows.codes, rows.scaling.centre, rows.scaling.inverse)
    return int(show_rows(*table, order, rate, seen, rule.direct, weights, drift))
