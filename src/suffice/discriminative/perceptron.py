"""The perceptron: its rule, passes over the rows until none is a mistake, and the margin."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from suffice.core.table.table import Table
from suffice.discriminative.descent import Passed
from suffice.discriminative.design import CompiledDesign, Design
from suffice.discriminative.logistic_loss import all_scores
from suffice.typing import Codes, Floats

_BLOCK = 64  # rows whose scores are kept up to date together

# of scores wz (R, n): c (R, n) with w ← w + η c zᵀ for each row, zero where it is right
Rule: TypeAlias = Callable[["Floats", "Codes"], "Floats"]


def one_against_rest(scores: Floats, codes: Codes) -> Floats:
    """Return t where t wᵀz ≤ 0, labels t = ±1 for each class; one score is the second of two's."""
    own = np.array([1]) if len(scores) == 1 else np.arange(len(scores))
    t = np.where(codes == own[:, None], 1.0, -1.0)
    return np.where(t * scores <= 0, t, 0.0)


def direct(scores: Floats, codes: Codes) -> Floats:
    """Return +1 for the right class and −1 for its best rival where that scores no less."""
    # Duda, Hart & Stork (2001), *Pattern Classification*, section 5.12 (Kesler's construction)
    row, rivals = np.arange(len(codes)), scores.copy()
    rivals[codes, row] = -np.inf
    rival = rivals.argmax(0)
    wrong = scores[codes, row] <= rivals[rival, row]
    c = np.zeros(scores.shape)
    c[codes, row] += wrong
    c[rival, row] -= wrong
    return c


@dataclass(frozen=True, slots=True, eq=False)
class State:
    """Weights after some passes, and the sum that gives their average."""

    weights: Floats  # w  (R, D): intercept first
    drift: Floats  # Σ over updates of (rows seen before) · update  (R, D)
    n_seen: int = 0  # rows, or batches
    n_updates: int = 0
    mistakes: tuple[
        tuple[int, Floats], ...
    ] = ()  # of the last pass: rows, and the weights after

    @property
    def average(self) -> Floats:
        """Mean of the weights over all rows seen, (R, D)."""
        return self.weights - self.drift / max(self.n_seen, 1)


def at_once(design: Design, rule: Rule, state: State, rate: float, rng: Any = None) -> State:  # noqa: ARG001
    """Return the state after one step for all rows together: w ← w + η Σ over mistakes of t z."""
    update, wrong = np.zeros_like(state.weights), 0
    for block in design.blocks():
        c = rule(state.weights @ block.x.T, block.codes)
        update += rate * (c @ block.x)
        wrong += int(c.any(0).sum())
    drift = state.drift + state.n_seen * update
    return State(state.weights + update, drift, state.n_seen + 1, state.n_updates + wrong)


def one_by_one(
    design: Design,
    rule: Rule,
    state: State,
    rate: float,
    rng: np.random.Generator | None,
) -> State:
    """Return the state after every row was shown once: w ← w + η t z at every mistake."""
    # rows come in an order that is drawn, or without a generator in theirs
    n, seen = design.table.n_rows, state.n_seen
    order = np.arange(n) if rng is None else rng.permutation(n)
    weights, drift, mistakes = state.weights.copy(), state.drift.copy(), list[Any]()
    if isinstance(design, CompiledDesign):
        from suffice.core.compiled import read_only
        from suffice.discriminative.loops import show_rows

        table, scaling = design.table, design.scaling
        rows = *read_only(table.x, table.codes), scaling.centre, scaling.inverse, scaling.lead
        wrong = int(show_rows(*rows, order, rate, seen, rule is direct, weights, drift))
    else:
        for first in range(0, n, _BLOCK):
            here = order[first : first + _BLOCK]
            moved = _corrected(design.take(here), rule, rate, seen + first, weights, drift)
            mistakes += [(int(here[place]), after) for place, after in moved]
        wrong = len(mistakes)
    return State(weights, drift, seen + n, state.n_updates + wrong, tuple(mistakes))


def _corrected(
    block: Table,
    rule: Rule,
    rate: float,
    seen: int,
    weights: Floats,
    drift: Floats,
) -> list[tuple[int, Floats]]:
    """Show the rows of a block one after the other; change weights, return them after mistakes."""
    z = block.x
    scores, products = weights @ z.T, z @ z.T
    place, wrong = 0, []
    while place < len(z):
        c = rule(scores[:, place:], block.codes[place:])
        mistakes = np.flatnonzero(c.any(0))
        if not len(mistakes):
            break
        step = rate * c[:, mistakes[0], None]
        place += int(mistakes[0])
        weights += step * z[place]
        drift += (seen + place) * step * z[place]
        scores += step * products[place]
        wrong.append((place, weights.copy()))
        place += 1
    return wrong


# variants: of the states after each pass, the start first, the weights to answer with after each
def last_weights(_design: Design, states: Sequence[State]) -> list[Floats]:
    """Return the newest weights."""
    return [state.weights for state in states]


def mean_weights(_design: Design, states: Sequence[State]) -> list[Floats]:
    """Return the mean of the weights over all rows shown."""
    # Freund & Schapire (1999), *Machine Learning* 37, 277–296
    return [state.average for state in states]


def best_weights(design: Design, states: Sequence[State]) -> list[Floats]:
    """Return the weights, after any pass so far, that make the fewest errors."""
    # Gallant (1990), *IEEE Transactions on Neural Networks* 1, 179–191
    errors = [np.inf, *(n_errors(design, state.weights) for state in states[1:])]
    best = [0]
    for at in range(1, len(states)):
        best.append(at if errors[at] < errors[best[-1]] else best[-1])
    return [states[at].weights for at in best]


def learn(
    one_pass: Callable[[State], State],
    start: Floats,
    max_passes: int,
) -> tuple[list[State], bool]:
    """Return the states after each pass, the start first, and whether the last made no mistake."""
    states, converged = [State(start, np.zeros_like(start))], False
    while not converged and len(states) <= max_passes:
        states.append(one_pass(states[-1]))
        converged = states[-1].n_updates == states[-2].n_updates
    return states, converged


def criterion(design: Design, rule: Rule, weights: Floats) -> tuple[float, Floats]:
    """Return E(w) = −Σ over mistakes of t wᵀz, and its gradient (R, D)."""
    loss, gradient = 0.0, np.zeros_like(weights)
    for block in design.blocks():
        scores = weights @ block.x.T
        c = rule(scores, block.codes)
        loss -= float(np.vdot(c, scores))
        gradient -= c @ block.x
    return loss, gradient


def trace_of(
    design: Design,
    rule: Rule,
    rate: float,
    history: Sequence[Floats],
) -> Iterator[Passed]:
    """Yield the criterion and its gradient at each of some weights."""
    for at, weights in enumerate(history):
        loss, gradient = criterion(design, rule, weights)
        norm = float(np.abs(gradient).max()) / design.table.n_rows
        yield Passed(weights, loss, norm, rate if at else 0.0)


def n_errors(design: Design, weights: Floats) -> int:
    """Return the number of rows whose own class does not score highest."""
    ones = np.ones((design.table.n_classes, design.table.n_classes))
    return sum(int((leads <= 0).sum()) for leads in _leads(design, weights, ones))


def margin(design: Design, weights: Floats) -> float:
    """Return the least distance of a row from the boundary to a rival, negative if wrong."""
    slopes = _per_class(weights)[:, 1:]
    lengths = np.linalg.norm(slopes[:, None] - slopes, axis=2)
    return min(float(leads.min()) for leads in _leads(design, weights, lengths))


def _leads(design: Design, weights: Floats, units: Floats) -> Iterator[Floats]:
    """Yield (a_y − a_k) / units[y, k] of each row's class y and nearest rival k, (n,)."""
    every = _per_class(weights)
    for block in design.blocks():
        a, row = every @ block.x.T, np.arange(block.n_rows)
        leads = a[block.codes, row] - a
        leads[block.codes, row] = np.inf
        with np.errstate(divide="ignore", invalid="ignore"):
            yield np.nan_to_num(leads / units[block.codes].T, nan=0.0, posinf=np.inf).min(0)


def _per_class(weights: Floats) -> Floats:
    """Return weights of every class: the one vector of two classes stands for the second."""
    return all_scores(weights) if len(weights) == 1 else weights
