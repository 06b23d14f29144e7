"""Passes of a perceptron until it makes no mistake, and what is kept of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Protocol

import numpy as np

from suffice.discriminative.contrasts import all_scores
from suffice.discriminative.descent import Trace
from suffice.discriminative.rows import StreamedRows

if TYPE_CHECKING:
    from collections.abc import Iterator

    from suffice.discriminative.problem import Scaling
    from suffice.discriminative.rows import Block, Rows
    from suffice.typing import Codes, Floats


class Rule(Protocol):
    """A perceptron's rule for K classes by ``n_scores`` linear scores."""

    direct: ClassVar[bool]

    @property
    def n_scores(self) -> int:
        """Number of weight vectors."""
        ...

    def corrections(self, scores: Floats, codes: Codes) -> Floats:
        """Return c with w ← w + η c zᵀ for each row, zero where it is right, (n_scores, n)."""
        ...


@dataclass(frozen=True, slots=True)
class OneAgainstRest:
    """One perceptron per class, labels ±1; a single one where there are two classes."""

    n_classes: int
    direct: ClassVar[bool] = False

    @property
    def n_scores(self) -> int:
        """Number of weight vectors."""
        return 1 if self.n_classes == 2 else self.n_classes

    def corrections(self, scores: Floats, codes: Codes) -> Floats:
        """Return t where t wᵀz ≤ 0, otherwise zero."""
        own = np.array([1]) if self.n_scores == 1 else np.arange(self.n_classes)
        t = np.where(codes == own[:, None], 1.0, -1.0)
        return np.where(t * scores <= 0, t, 0.0)


@dataclass(frozen=True, slots=True)
class Direct:
    """One weight vector per class: a mistake moves the right class up and its rival down.

    References
    ----------
    Duda, Hart & Stork (2001), *Pattern Classification*, section 5.12 (Kesler's construction).
    """

    n_classes: int
    direct: ClassVar[bool] = True

    @property
    def n_scores(self) -> int:
        """Number of weight vectors."""
        return self.n_classes

    def corrections(self, scores: Floats, codes: Codes) -> Floats:
        """Return +1 for the right class and −1 for its best rival where that scores no less."""
        row = np.arange(len(codes))
        rivals = scores.copy()
        rivals[codes, row] = -np.inf
        rival = rivals.argmax(0)
        wrong = scores[codes, row] <= rivals[rival, row]
        c = np.zeros(scores.shape)
        c[codes, row] += wrong
        c[rival, row] -= wrong
        return c


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


@dataclass(frozen=True, slots=True, eq=False)
class Kept:
    """Weights kept so far, and their number of training errors where it matters."""

    weights: Floats  # (R, D)
    n_errors: float = np.inf


class Keeping(Protocol):
    """Which of all weights a perceptron had is the answer."""

    def kept(self, rows: Rows, best: Kept, state: State) -> Kept:
        """Return what to keep after one more pass."""
        ...


@dataclass(frozen=True, slots=True)
class Last:
    """The weights after the last pass."""

    def kept(self, rows: Rows, best: Kept, state: State) -> Kept:  # noqa: ARG002
        """Return the newest weights."""
        return Kept(state.weights)


@dataclass(frozen=True, slots=True)
class Averaged:
    """The mean of the weights over all rows shown.

    References
    ----------
    Freund & Schapire (1999), *Machine Learning* 37, 277–296.
    """

    def kept(self, rows: Rows, best: Kept, state: State) -> Kept:  # noqa: ARG002
        """Return the newest average."""
        return Kept(state.average)


@dataclass(frozen=True, slots=True)
class Pocket:
    """The weights, after any pass, that make the fewest errors.

    References
    ----------
    Gallant (1990), *IEEE Transactions on Neural Networks* 1, 179–191.
    """

    def kept(self, rows: Rows, best: Kept, state: State) -> Kept:
        """Return the better of the best and the newest weights."""
        errors = n_errors(rows, state.weights)
        return Kept(state.weights, errors) if errors < best.n_errors else best


@dataclass(frozen=True, slots=True, eq=False)
class Lesson:
    """What a perceptron has learnt."""

    weights: Floats  # (R, D)
    n_passes: int
    n_updates: int
    converged: bool  # the last pass made no mistake
    trace: Trace


def learn(
    rows: Rows,
    rule: Rule,
    teaching: Teaching,
    keeping: Keeping,
    start: Floats,
    max_passes: int,
    *,
    record: bool = False,
) -> Lesson:
    """Return what is kept of passes over the rows, until one makes no mistake."""
    state, best, converged, n_passes = State.at(start), Kept(start), False, 0
    history = [(start, 0.0)]
    while not converged and n_passes < max_passes:
        before = state.n_updates
        state = teaching.taught(rows, rule, state)
        best = keeping.kept(rows, best, state)
        n_passes += 1
        converged = state.n_updates == before
        history.append((best.weights, teaching.rate))
    trace = _trace(rows, rule, history if record else history[:0], start.shape)
    return Lesson(best.weights, n_passes, state.n_updates, converged, trace)


def criterion(rows: Rows, rule: Rule, weights: Floats) -> tuple[float, Floats]:
    """Return E(w) = −Σ over mistakes of t wᵀz, and its gradient (R, D)."""
    loss, gradient = 0.0, np.zeros_like(weights)
    for block in rows.blocks():
        scores = weights @ block.z.T
        c = rule.corrections(scores, block.codes)
        loss -= float(np.vdot(c, scores))
        gradient -= c @ block.z
    return loss, gradient


def n_errors(rows: Rows, weights: Floats) -> int:
    """Return the number of rows whose own class does not score highest."""
    ones = np.ones((rows.n_classes, rows.n_classes))
    return sum(int((leads <= 0).sum()) for leads in _leads(rows, weights, ones))


def margin(rows: Rows, weights: Floats) -> float:
    """Return the least distance of a row from the boundary to a rival, negative if wrong."""
    slopes = _per_class(weights)[:, 1:]
    lengths = np.linalg.norm(slopes[:, None] - slopes, axis=2)
    return min(float(leads.min()) for leads in _leads(rows, weights, lengths))


def _leads(rows: Rows, weights: Floats, units: Floats) -> Iterator[Floats]:
    """Yield (a_y − a_k) / units[y, k] of each row's class y and nearest rival k, (n,)."""
    every = _per_class(weights)
    for block in rows.blocks():
        a, row = every @ block.z.T, np.arange(len(block.codes))
        leads = a[block.codes, row] - a
        leads[block.codes, row] = np.inf
        with np.errstate(divide="ignore", invalid="ignore"):
            yield np.nan_to_num(leads / units[block.codes].T, nan=0.0, posinf=np.inf).min(0)


def _per_class(weights: Floats) -> Floats:
    """Return weights of every class: the one vector of two classes stands for the second."""
    return all_scores(weights) if len(weights) == 1 else weights


def _trace(
    rows: Rows, rule: Rule, history: list[tuple[Floats, float]], shape: tuple[int, ...]
) -> Trace:
    found = [criterion(rows, rule, weights) for weights, _ in history]
    return Trace(
        np.array([weights for weights, _ in history]).reshape(-1, *shape),
        np.array([loss for loss, _ in found]),
        np.array([np.abs(g).max() / rows.n_rows for _, g in found]),
        np.array([size for _, size in history]),
    )


@dataclass(frozen=True, slots=True, eq=False)
class PerceptronLandscape:
    """The perceptron's criterion as a function of weights in original units."""

    rows: Rows
    rule: Rule
    scaling: Scaling

    def __call__(self, parameters: Floats) -> Floats:
        """Return E(w) (m,) at each row of ``parameters`` (m, p)."""
        shape = (self.rule.n_scores, -1)
        return np.array(
            [
                criterion(self.rows, self.rule, self.scaling.from_original(row.reshape(shape)))[0]
                for row in parameters
            ]
        )
