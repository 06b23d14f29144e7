"""Passes of a perceptron until it makes no mistake, and what is kept of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from suffice.discriminative.contrasts import all_scores
from suffice.discriminative.descent import Trace
from suffice.discriminative.perceptron import State

if TYPE_CHECKING:
    from collections.abc import Iterator

    from suffice.discriminative.perceptron import Teaching
    from suffice.discriminative.perceptron_rules import Rule
    from suffice.discriminative.rows import Rows
    from suffice.discriminative.scaling import Scaling
    from suffice.typing import Floats


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
