"""The perceptron: rules for corrections, passes over the rows, and the margin."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Literal, TypeAlias

import numpy as np

from suffice.core.progress import Progress
from suffice.core.table.table import Table
from suffice.discriminative.descent import PathPoint
from suffice.discriminative.design import CompiledDesign, Design
from suffice.discriminative.logistic_loss import all_scores
from suffice.discriminative.scaling import Scaling
from suffice.errors import InvalidParameterError, require_word
from suffice.typing import Codes, Floats

_BLOCK = 64  # number of rows whose scores are updated together
_METHODS = ("stochastic", "batch")

# a function of scores w z (R, n) and codes that returns c (R, n) of the correction w ← w + η c zᵀ,
# which is zero for rows on the right side
Rule: TypeAlias = Callable[[Floats, Codes], Floats]
# the number of a row, and the weights (R, D) after the correction for this row
Mistake: TypeAlias = tuple[int, Floats]


@dataclass(frozen=True)
class PerceptronLearning:
    """Settings of perceptron learning: the passes over the rows, and the record.

    Parameters
    ----------
    method : {"stochastic", "batch"}, default="stochastic"
        "stochastic" corrects w ← w + η t x after each mistake, "batch" w ← w + η Σ t x once per
        pass.
    shuffle : bool, default=True
        Whether ``method="stochastic"`` visits the rows of each pass in a new random order. If
        False, it visits them in the given order.
    standardize : bool, default=True
        Whether to work in standard units, so that the units of features do not matter.
    record : bool or "mistakes", default=False
        Whether to keep the weights of every pass in ``path_``, with a reference to the rows;
        "mistakes" keeps the weights after every mistake (``method="stochastic"``,
        ``variant="plain"``), for ``plots.perceptron_steps``.

    Examples
    --------
    >>> from suffice import Perceptron
    >>> from suffice.lectures import PerceptronLearning
    >>> by_hand = PerceptronLearning(shuffle=False, standardize=False, record="mistakes")
    >>> fit = Perceptron(learning=by_hand).fit([[0.0], [1.0], [3.0], [4.0]], [0, 0, 1, 1])
    >>> fit.mistakes_[:4]
    (0, 2, 0, 1)
    """

    method: Literal["stochastic", "batch"] = "stochastic"
    _: KW_ONLY
    shuffle: bool = True
    standardize: bool = True
    record: bool | Literal["mistakes"] = False

    def __post_init__(self) -> None:
        require_word(self.method, _METHODS, "method")
        if self.record not in (True, False, "mistakes"):
            raise InvalidParameterError(
                f"record must be True, False or 'mistakes', got {self.record!r}"
            )
        if self.record == "mistakes" and self.method != "stochastic":
            raise InvalidParameterError(
                "record='mistakes' needs method='stochastic': use that method, or record=True"
            )


def one_against_rest(scores: Floats, codes: Codes) -> Floats:
    """Return t where t wᵀz ≤ 0, and zero elsewhere, where t = 1 for a row's own class, else −1.

    A single score is that of the second of two classes.
    """
    positive_class = np.array([1]) if len(scores) == 1 else np.arange(len(scores))
    t = np.where(codes == positive_class[:, None], 1.0, -1.0)
    return np.where(t * scores <= 0, t, 0.0)


def direct_rule(scores: Floats, codes: Codes) -> Floats:
    """Return +1 for the right class and −1 for the best other class, if this scores no lower.

    Duda, Hart & Stork (2001), *Pattern Classification*, section 5.12 (Kesler's construction).
    """
    row = np.arange(len(codes))
    rivals = scores.copy()
    rivals[codes, row] = -np.inf
    rival = rivals.argmax(0)
    wrong = scores[codes, row] <= rivals[rival, row]
    c = np.zeros(scores.shape)
    c[codes, row] += wrong
    c[rival, row] -= wrong
    return c


@dataclass(frozen=True, slots=True, eq=False)
class State:
    """The weights after some passes, and the sum from which the average weights follow."""

    weights: Floats  # w  (R, D): intercept first
    drift: Floats  # sum of the updates, each times the number of rows seen before it  (R, D)
    n_seen: int = 0  # number of rows shown, or of batches
    n_updates: int = 0
    mistakes: tuple[Mistake, ...] = ()  # mistakes of the last pass

    @property
    def average(self) -> Floats:
        """Mean of the weights over all rows shown so far, (R, D)."""
        return self.weights - self.drift / max(self.n_seen, 1)


def batch_pass(design: Design, rule: Rule, state: State, rate: float) -> State:
    """Return the state after one correction w ← w + η Σ t z, summed over all mistakes."""
    update = np.zeros_like(state.weights)
    n_wrong = 0
    for block in design.blocks():
        c = rule(state.weights @ block.x.T, block.codes)
        update += rate * (c @ block.x)
        n_wrong += int(c.any(0).sum())
    return State(
        weights=state.weights + update,
        drift=state.drift + state.n_seen * update,
        n_seen=state.n_seen + 1,
        n_updates=state.n_updates + n_wrong,
    )


def stochastic_pass(
    design: Design,
    rule: Rule,
    state: State,
    rate: float,
    rng: np.random.Generator | None,
) -> State:
    """Return the state after a pass over the rows, with w ← w + η t z after every mistake.

    The generator draws the order of the rows; without a generator, the given order is kept.
    """
    n = design.table.n_rows
    order = np.arange(n) if rng is None else rng.permutation(n)
    weights = state.weights.copy()
    drift = state.drift.copy()
    mistakes: list[Mistake] = []
    if isinstance(design, CompiledDesign):
        n_wrong = _show_compiled(design, rule, order, rate, state.n_seen, weights, drift)
    else:
        for first in range(0, n, _BLOCK):
            rows = order[first : first + _BLOCK]
            n_seen = state.n_seen + first
            corrections = _show_block(design.take(rows), rule, rate, n_seen, weights, drift)
            mistakes += [(int(rows[place]), after) for place, after in corrections]
        n_wrong = len(mistakes)
    return State(
        weights=weights,
        drift=drift,
        n_seen=state.n_seen + n,
        n_updates=state.n_updates + n_wrong,
        mistakes=tuple(mistakes),
    )


def _show_compiled(
    design: CompiledDesign,
    rule: Rule,
    order: Codes,
    rate: float,
    n_seen: int,
    weights: Floats,
    drift: Floats,
) -> int:
    """Show all rows in order, update weights and drift; return the number of mistakes."""
    from suffice.core.compiled import read_only
    from suffice.discriminative.loops import show_rows

    scaling = design.scaling
    x, codes = read_only(design.table.x, design.table.codes)
    is_direct = rule is direct_rule
    n_wrong = show_rows(
        x,
        codes,
        scaling.centre,
        scaling.inverse,
        scaling.lead,
        order,
        rate,
        n_seen,
        is_direct,
        weights,
        drift,
    )
    return int(n_wrong)


def _show_block(
    block: Table,
    rule: Rule,
    rate: float,
    n_seen: int,
    weights: Floats,
    drift: Floats,
) -> list[Mistake]:
    """Show the rows of a block one by one, update weights and drift; return the mistakes."""
    z = block.x
    scores = weights @ z.T
    products = z @ z.T
    place = 0
    corrections = []
    while place < len(z):
        c = rule(scores[:, place:], block.codes[place:])
        mistakes = np.flatnonzero(c.any(0))
        if not len(mistakes):
            break
        step = rate * c[:, mistakes[0], None]
        place += int(mistakes[0])
        weights += step * z[place]
        drift += (n_seen + place) * step * z[place]
        scores += step * products[place]
        corrections.append((place, weights.copy()))
        place += 1
    return corrections


def pocket_weights(design: Design, states: Sequence[State]) -> list[Floats]:
    """Return, after each pass, the weights with the fewest errors of all passes so far.

    Gallant (1990), *IEEE Transactions on Neural Networks* 1, 179–191.
    """
    best = states[0].weights
    fewest: float = np.inf
    kept = [best]
    for state in states[1:]:
        errors = n_errors(design, state.weights)
        if errors < fewest:
            best = state.weights
            fewest = errors
        kept.append(best)
    return kept


def learn(
    one_pass: Callable[[State], State],
    start: Floats,
    max_passes: int,
) -> tuple[list[State], bool]:
    """Return the start and the state after each pass, and whether the last pass made no mistake."""
    states = [State(start, np.zeros_like(start))]
    converged = False
    with Progress(total=max_passes, what="perceptron: passes") as progress:
        while not converged and len(states) <= max_passes:
            states.append(one_pass(states[-1]))
            converged = states[-1].n_updates == states[-2].n_updates
            progress.step()
    return states, converged


def criterion(design: Design, rule: Rule, weights: Floats) -> tuple[float, Floats]:
    """Return the criterion E(w) = −Σ t wᵀz, summed over all mistakes, and its gradient (R, D)."""
    loss = 0.0
    gradient = np.zeros_like(weights)
    for block in design.blocks():
        scores = weights @ block.x.T
        c = rule(scores, block.codes)
        loss -= float(np.vdot(c, scores))
        gradient -= c @ block.x
    return loss, gradient


@dataclass(frozen=True, slots=True, eq=False)
class CriterionOnPath:
    """The criterion as a function of all weights in original units, as a class for pickling."""

    design: Design
    rule: Rule
    scaling: Scaling

    def __call__(self, parameters: Floats) -> float:
        beta = parameters.reshape(-1, len(self.scaling.centre) + 1)
        return criterion(self.design, self.rule, self.scaling.from_original(beta))[0]


def trace_of(
    design: Design,
    rule: Rule,
    rate: float,
    history: Sequence[Floats],
) -> Iterator[PathPoint]:
    """Yield a point with the criterion and its gradient for each of the weights in ``history``."""
    for t, weights in enumerate(history):
        loss, gradient = criterion(design, rule, weights)
        norm = float(np.abs(gradient).max()) / design.table.n_rows
        yield PathPoint(weights, loss, norm, step_size=rate if t > 0 else 0.0)


def n_errors(design: Design, weights: Floats) -> int:
    """Return the number of rows whose own class does not score highest."""
    ones = np.ones((design.table.n_classes, design.table.n_classes))
    return sum(int((leads <= 0).sum()) for leads in _leads(design, weights, ones))


def margin(design: Design, weights: Floats) -> float:
    """Return the smallest distance of a row from a boundary, negative if a row is misclassified."""
    slopes = _per_class(weights)[:, 1:]
    lengths = np.linalg.norm(slopes[:, None] - slopes, axis=2)
    return min(float(leads.min()) for leads in _leads(design, weights, lengths))


def _leads(design: Design, weights: Floats, units: Floats) -> Iterator[Floats]:
    """Yield min_k (a_y − a_k) / units[y, k] of each row of class y, (n,), over other classes k."""
    weights = _per_class(weights)
    for block in design.blocks():
        a = weights @ block.x.T
        row = np.arange(block.n_rows)
        leads = a[block.codes, row] - a
        leads[block.codes, row] = np.inf
        with np.errstate(divide="ignore", invalid="ignore"):
            yield np.nan_to_num(leads / units[block.codes].T, nan=0.0, posinf=np.inf).min(0)


def _per_class(weights: Floats) -> Floats:
    """Return the weights of every class, where a single vector belongs to the second class."""
    return all_scores(weights) if len(weights) == 1 else weights
