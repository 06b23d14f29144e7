"""What each decision costs, and the decision of least expected cost."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from suffice.core.table.labels import position, positions, values_by_class
from suffice.errors import InvalidParameterError
from suffice.typing import Codes, Floats, Labels


def actions_with_reject(classes: Labels, reject_label: Any = None) -> Labels:
    """Return the labels of the classes and of the reject action, (K + 1,); None: NaN, or itself."""
    label = np.asarray(reject_label)
    kinds = {
        "n" if array.dtype.kind in "iuf" else array.dtype.kind for array in (classes, label)
    }
    if reject_label is None and "n" in kinds:
        numbers = np.append(classes.astype(np.float64), np.nan)
        if np.array_equal(numbers[:-1].astype(classes.dtype), classes):
            return numbers
    elif reject_label is not None and any(x == reject_label for x in classes.tolist()):
        raise InvalidParameterError(
            f"reject_label={reject_label!r} is also a class: use another"
        )
    if label.ndim == 0 and len(kinds) == 1:
        return np.append(classes, label)
    actions = np.empty(len(classes) + 1, dtype=object)
    actions[:] = [*classes.tolist(), reject_label]
    return actions


@dataclass(frozen=True, slots=True, eq=False)
class Decision:
    """The cost C[a, k] of action a where k is true: a(x) = argmin_a Σ_k C[a, k] p(k | x).

    The first K actions are the classes; one more, if any, is to reject (Chow 1970). Berger (1985),
    *Statistical Decision Theory and Bayesian Analysis*, section 4.4.
    """

    actions: Labels  # what each action predicts  (A,)
    costs: Floats | None = (
        None  # C  (K, K); None: every error costs 1, and no matrix is needed
    )
    reject: Floats | None = None  # r, the cost of rejecting each truth  (K,)

    def __post_init__(self) -> None:
        actions = np.array(self.actions)
        actions.flags.writeable = False
        object.__setattr__(self, "actions", actions)
        if self.costs is None:
            return
        costs, K = _numbers(self.costs, "costs"), self.n_classes
        if costs.shape != (K, K):
            msg = f"costs has shape {costs.shape}, but {K} classes need ({K}, {K}): [action, truth]"
            raise InvalidParameterError(msg)
        costs.flags.writeable = False
        object.__setattr__(self, "costs", costs)

    @property
    def n_classes(self) -> int:
        return len(self.actions) - self.can_reject

    @property
    def can_reject(self) -> bool:
        return self.reject is not None

    @property
    def is_map(self) -> bool:
        """Whether the decision is always the most probable class, so that argmax will do."""
        if self.can_reject or self.costs is None or self.n_classes == 1:
            return not self.can_reject
        # C[a, k] = f(k) − s·[a = k] with one s > 0, such as 0–1 loss
        right = np.eye(self.n_classes, dtype=bool)
        f = np.where(right, -np.inf, self.costs).max(axis=0)
        s = f - np.diag(self.costs)
        return bool(np.all(right | (self.costs == f)) and np.all(s == s[0]) and s[0] > 0)

    @property
    def relative(self) -> Floats:
        """C[a, k] − f(k), (A, K): the same decisions, and equal posteriors tie exactly."""
        # f(k) = max_a C[a, k] over the classes is common to all actions
        costs = 1 - np.eye(self.n_classes) if self.costs is None else self.costs
        every = costs if self.reject is None else np.vstack([costs, self.reject])
        return np.asarray(every - costs.max(axis=0))

    def expected(self, posterior: Floats) -> Floats:
        """Return the expected cost of each action, (n, A), for posteriors (n, K)."""
        p = np.asarray(posterior, np.float64)
        # R[i, a] = Σ_k C[a, k] p(k | x_i)
        risk = p.sum(axis=1, keepdims=True) - p if self.costs is None else p @ self.costs.T
        return risk if self.reject is None else np.column_stack([risk, p @ self.reject])

    def decide(self, posterior: Floats) -> Codes:
        """Return the action of least expected cost, (n,); of equal ones the first."""
        p = np.asarray(posterior, np.float64)
        if self.costs is not None and not self.is_map:
            return np.asarray((p @ self.relative.T).argmin(axis=1))
        best: Codes = p.argmax(axis=1)
        if self.reject is None:
            return best
        # Chow: reject where Σ_k r_k p_k < 1 − max_k p_k
        top = np.take_along_axis(p, best[:, None], axis=1)[:, 0]
        return np.where(p @ (self.reject - 1) < -top, self.n_classes, best)

    def decode(self, codes: Codes) -> Labels:
        """Return what the actions predict, in the type of the classes if none is to reject."""
        return np.asarray(self.actions[codes])


def parse_costs(
    costs: Any,
    classes: Labels,
    reject_cost: Any = None,
    reject_label: Any = None,
) -> Decision:
    """Return the decision by the costs of a setting: a matrix only where costs are given."""
    matrix = None if costs is None else _matrix(costs, classes)
    if reject_cost is None:
        return Decision(classes, matrix)
    if isinstance(reject_cost, Mapping):
        reject_cost = values_by_class(reject_cost, classes, where="reject_cost")
    row = _numbers(reject_cost, "reject_cost")  # cost of rejecting each truth
    if row.shape not in {(), (1,), classes.shape}:
        msg = f"reject_cost has shape {row.shape}: expected one number, or {len(classes)}"
        raise InvalidParameterError(msg)
    actions = actions_with_reject(classes, reject_label)
    return Decision(actions, matrix, np.broadcast_to(row, classes.shape))


def _matrix(costs: Any, classes: Labels) -> Floats:
    if not isinstance(costs, Mapping):
        return _numbers(costs, "costs")
    matrix, known = 1.0 - np.eye(len(classes)), positions(classes)
    for pair, cost in costs.items():
        if not isinstance(pair, tuple) or len(pair) != 2:
            msg = f"costs has the key {pair!r}: expected a pair (action, truth) of labels"
            raise InvalidParameterError(msg)
        row, column = (position(label, known, where="costs") for label in pair)
        matrix[row, column] = float(_numbers(cost, f"the cost of {pair!r}"))
    return matrix


def _numbers(values: Any, name: str) -> Floats:
    """Return finite floats, or say which is not."""
    try:
        array = np.array(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidParameterError(f"{name}={values!r} are not numbers") from None
    if not np.all(np.isfinite(array)):
        msg = f"{name} holds {array[~np.isfinite(array)][0]}: every cost is a finite number"
        raise InvalidParameterError(msg)
    return array
