"""The Bayes decision: the action with the lowest expected cost, argmin_a Σ_k C[a, k] p(k | x).

If every error costs the same, the Bayes decision is the MAP class, argmax_k p(k | x).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from suffice.core.table.labels import position, positions, values_by_class
from suffice.errors import InvalidParameterError
from suffice.typing import Codes, Floats, Labels


def actions_with_reject(classes: Labels, reject_label: object = None) -> Labels:
    """Return the labels of the classes and of the reject action, (K + 1,).

    A ``reject_label`` of None becomes NaN among numeric labels.
    """
    label = np.asarray(reject_label)
    kinds = {_kind(classes), _kind(label)}
    if reject_label is None and "n" in kinds:
        numbers = np.append(classes.astype(np.float64), np.nan)
        if np.array_equal(numbers[:-1].astype(classes.dtype), classes):
            return numbers
    elif reject_label is not None and any(x == reject_label for x in classes.tolist()):
        raise InvalidParameterError(
            f"reject_label={reject_label!r} is also a class: choose another label"
        )
    if label.ndim == 0 and len(kinds) == 1:
        return np.append(classes, label)
    actions = np.empty(len(classes) + 1, dtype=object)
    actions[:] = [*classes.tolist(), reject_label]
    return actions


def _kind(labels: Labels) -> str:
    """Return NumPy's kind of the labels, but "n" for both integers and floats."""
    return "n" if labels.dtype.kind in "iuf" else labels.dtype.kind


@dataclass(frozen=True, slots=True, eq=False)
class Decision:
    """The decision rule a(x) = argmin_a Σ_k C[a, k] p(k | x) for costs C.

    C[a, k] is the cost of action a if class k is true. The first K actions predict the classes; an
    optional last action is to reject (Chow 1970). Berger (1985), *Statistical Decision Theory and
    Bayesian Analysis*, section 4.4.
    """

    actions: Labels  # label that each action predicts  (A,)
    # C of the classes  (K, K), or None if every error costs 1
    costs: Floats | None = None
    reject: Floats | None = None  # r_k, the cost of rejecting a row of class k  (K,)

    def __post_init__(self) -> None:
        actions = np.array(self.actions)
        actions.flags.writeable = False
        object.__setattr__(self, "actions", actions)
        if self.costs is None:
            return
        costs = _numbers(self.costs, "costs")
        k = self.n_classes
        if costs.shape != (k, k):
            raise InvalidParameterError(
                f"costs has shape {costs.shape}, but {k} classes need ({k}, {k}), with a row for "
                "each action and a column for each true class"
            )
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
        """Whether the decision is always the most probable class."""
        if self.can_reject or self.costs is None or self.n_classes == 1:
            return not self.can_reject
        # such costs are C[a, k] = f(k) − s·[a = k] with one s > 0; 0–1 loss has f = s = 1
        right = np.eye(self.n_classes, dtype=bool)
        f = np.where(right, -np.inf, self.costs).max(axis=0)
        s = f - np.diag(self.costs)
        return bool(np.all(right | (self.costs == f)) and np.all(s == s[0]) and s[0] > 0)

    @property
    def relative(self) -> Floats:
        """C[a, k] − f(k), (A, K), which gives the decisions of C with exact ties."""
        # subtracting f(k) = max_a C[a, k] from the cost of every action changes no decision
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
        """Return the action with the lowest expected cost, (n,); ties go to the first."""
        p = np.asarray(posterior, np.float64)
        if self.costs is not None and not self.is_map:
            # argmin_a Σ_k C[a, k] p(k | x)
            return np.asarray((p @ self.relative.T).argmin(axis=1))
        # if every error costs 1: argmin_a Σ_{k ≠ a} p(k | x) = argmax_k p(k | x)
        best: Codes = p.argmax(axis=1)
        if self.reject is None:
            return best
        # Chow's rule: reject where Σ_k r_k p_k < 1 − max_k p_k
        top = np.take_along_axis(p, best[:, None], axis=1)[:, 0]
        return np.where(p @ (self.reject - 1) < -top, self.n_classes, best)

    def decode(self, codes: Codes) -> Labels:
        """Return the label of each action code."""
        return np.asarray(self.actions[codes])


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Costs:
    """The cost of each decision, for the parameter ``costs``.

    Parameters
    ----------
    matrix : array (K, K) or {(action, truth): cost}, optional
        Cost of predicting ``action`` if the true class is ``truth``; by default every error costs
        1.
    reject : float, array (K,) or {label: cost}, optional
        Cost of rejecting a row: one number, or one for each true class. A cost of rejecting can be
        negative only if some cost of ``matrix`` is. Without ``matrix``, the expected cost of the
        best prediction among K classes is at most 1 − 1/K, so that no row is rejected if rejecting
        costs 1 − 1/K or more. With None, no row is rejected.
    reject_label : object, default=None
        What ``predict`` returns for a rejected row: None gives NaN among numeric labels and None
        among text labels.

    Examples
    --------
    >>> import suffice as sf
    >>> lda = sf.LDA(costs=sf.Costs(reject=0.1)).fit([[0.0], [1.0], [5.0], [6.0]], [0, 0, 1, 1])
    >>> lda.predict([[0.0], [3.0]])
    array([ 0., nan])
    """

    matrix: npt.ArrayLike | Mapping[tuple[object, object], float] | None = None
    reject: npt.ArrayLike | Mapping[object, float] | None = None
    reject_label: object = None

    def __post_init__(self) -> None:
        costs = np.zeros(0) if self.matrix is None else _listed(self.matrix, "costs", "of {}")
        if self.reject is None:
            return
        reject = _listed(self.reject, "reject", "of rejecting class {}")
        # a negative cost is a gain: rejection may have one only if predictions may have gains, too
        if np.any(reject < 0) and not np.any(costs < 0):
            raise InvalidParameterError(
                f"reject holds {reject[reject < 0][0]}: rejecting a row would cost less than any "
                "prediction; pass a cost of at least 0"
            )

    def __repr__(self) -> str:
        parts = []
        if self.matrix is not None:
            parts.append(f"matrix={self.matrix!r}")
        if self.reject is not None:
            parts.append(f"reject={self.reject!r}")
        if self.reject_label is not None:
            parts.append(f"reject_label={self.reject_label!r}")
        return f"Costs({', '.join(parts)})"


CostsLike: TypeAlias = Costs | npt.ArrayLike | Mapping[tuple[object, object], float] | None


def as_costs(costs: CostsLike) -> Costs:
    """Return costs as ``Costs``, where a bare matrix or mapping means that no row is rejected."""
    return costs if isinstance(costs, Costs) else Costs(costs)


def decision_by(costs: CostsLike, classes: Labels) -> Decision:
    """Return the decision rule that these costs define for the classes."""
    costs = as_costs(costs)
    matrix = None if costs.matrix is None else _matrix(costs.matrix, classes)
    if costs.reject is None:
        return Decision(classes, matrix)
    reject: object = costs.reject
    if isinstance(reject, Mapping):
        reject = values_by_class(reject, classes, where="reject")
    row = _numbers(reject, "reject")  # one number, or one for each true class
    if row.shape not in {(), (1,), classes.shape}:
        raise InvalidParameterError(
            f"reject has shape {row.shape}: give one number, or one for each of the "
            f"{len(classes)} classes"
        )
    actions = actions_with_reject(classes, costs.reject_label)
    return Decision(actions, matrix, np.broadcast_to(row, classes.shape))


def _matrix(costs: object, classes: Labels) -> Floats:
    if not isinstance(costs, Mapping):
        return _numbers(costs, "costs")
    matrix = 1.0 - np.eye(len(classes))
    code_of = positions(classes)
    for pair, cost in costs.items():
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise InvalidParameterError(
                f"costs has the key {pair!r}: each key must be a pair of labels (action, truth)"
            )
        action, truth = pair
        row = position(action, code_of, where="costs")
        column = position(truth, code_of, where="costs")
        matrix[row, column] = float(_numbers(cost, f"the cost of {pair!r}"))
    return matrix


def _listed(values: object, name: str, of_key: str) -> Floats:
    """Return all costs of an array or mapping as finite floats.

    ``of_key`` is the pattern with which an error names the cost of a key.
    """
    if not isinstance(values, Mapping):
        return _numbers(values, name)
    costs = [
        _numbers(cost, f"the cost {of_key.format(repr(key))}") for key, cost in values.items()
    ]
    return np.array([float(cost) for cost in costs if cost.ndim == 0])


def _numbers(values: object, name: str) -> Floats:
    """Return the values as finite floats, or raise if some value is not a finite number."""
    try:
        array = np.array(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidParameterError(
            f"{name}={values!r} is not numeric: give each cost as a number"
        ) from None
    if not np.all(np.isfinite(array)):
        raise InvalidParameterError(
            f"{name} holds {array[~np.isfinite(array)][0]}: give finite costs"
        )
    return array
