"""Fitting with missing numbers: the steps of ``em.py``, repeated and accelerated by SQUAREM.

Dempster, Laird & Rubin (1977); SQUAREM: Varadhan & Roland (2008), *Scand. J. Stat.* 35.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from suffice.core.linalg import resolved, unit_scale
from suffice.core.missing.em import Gaussians, e_step, moved_to_new_means
from suffice.core.moments import Moments
from suffice.core.moments.collect import ratio
from suffice.core.moments.incomplete import Incomplete, with_patterns
from suffice.core.moments.scatter import Scatter
from suffice.core.moments.scatter_as_rows import RowScatter
from suffice.core.moments.two_sum import two_sum
from suffice.core.progress import Progress
from suffice.core.text.lists import counted, noun_for, quoted
from suffice.core.threads import one_blas_thread
from suffice.errors import (
    DegenerateDataWarning,
    InvalidInputError,
    LostDetailWarning,
    NotConvergedWarning,
    warn,
)
from suffice.typing import Codes, Flags, Floats

# pseudo-count of a prior without correlations and with the variances within classes
PRIOR_ROWS = 1e-4
# EM ends when no mean or covariance changes by more than this, in standard deviations
TOLERANCE = 1e-7
MOST_STEPS = 500
UNFINISHED = 1e-4  # EM warns if the last step changed a mean or covariance by more than this
_NAMED = 4  # most columns or classes that a message names
MStep: TypeAlias = Callable[[Moments], Gaussians]


@dataclass(frozen=True, slots=True, eq=False)
class Completion:
    """Expected sums of complete rows at the end of EM, and the course of the iteration."""

    moments: Moments
    # log-likelihood of the observed numbers plus the log prior, at each accepted step
    objectives: tuple[float, ...]
    steps: int
    changes: Floats  # change of each column at the last step, in standard deviations  (d,)


def completed(
    moments: Moments,
    m_step: MStep,
    group_of: Codes,
    *,
    diagonal: bool,
    quiet: bool = False,
) -> Moments:
    """Return the expected sums of complete rows, given rows with missing numbers."""
    assert moments.patterns is not None
    if diagonal:
        moments = with_patterns(moments, moments.patterns.by_column(), "diagonal")
    observed = _observed_columns(moments)
    _refuse_empty_columns(moments, observed)
    if not quiet:
        _warn_of_little_data(moments, observed, group_of)
    with one_blas_thread():
        completion = em(moments, m_step, group_of)
    if not quiet and completion.changes.max(initial=0.0) >= UNFINISHED:
        worst = int(np.argmax(completion.changes))
        warn(
            f"EM for missing values stopped after {counted(completion.steps, 'step')}, before it "
            f"converged: in the last step, the estimates of column {_names(moments)[worst]!r} "
            f"changed by {completion.changes[worst]:.1g} standard deviations. Too few values of "
            "this column are present. Leave the column out, set shrinkage, or use "
            "missing='indicator'",
            NotConvergedWarning,
        )
    return completion.moments


def em(
    moments: Moments,
    m_step: MStep,
    group_of: Codes,
    *,
    prior_rows: float = PRIOR_ROWS,
    tolerance: float = TOLERANCE,
    most_steps: int = MOST_STEPS,
    accelerated: bool = True,
) -> Completion:
    """Return the sums of complete rows at the fixed point of EM."""
    problem = _Problem(moments, m_step, group_of, prior_rows)
    state = problem.start()
    objectives: list[float] = []
    steps = 0
    changes: Floats = np.full(moments.n_features, np.inf)
    with Progress(what="missing values: steps of EM") as progress:
        while steps < most_steps and changes.max(initial=0.0) > tolerance:
            first, objective_before = problem.step(state)
            second, objective_between = problem.step(first)
            objectives += [objective_before, objective_between]
            steps += 2
            changes = np.abs(second - first).max(0, initial=0.0)
            farther = problem.extrapolated(state, first, second) if accelerated else None
            state = second
            if farther is not None and changes.max(initial=0.0) > tolerance:
                after, objective = problem.step(farther)
                steps += 1
                if objective >= objective_between:
                    state = after
                    objectives.append(objective)
            progress.reach(steps)
    return Completion(
        moments=problem.moments_of(problem.without_prior(state)),
        objectives=tuple(objectives),
        steps=steps,
        changes=changes,
    )


class _Problem:
    """EM as the iteration of a single array, the state (K + …, d).

    The state holds the K class means minus the centre, and then the covariances. Means and
    covariances are in units of the standard deviations ``unit``.
    """

    def __init__(
        self,
        moments: Moments,
        m_step: MStep,
        group_of: Codes,
        prior_rows: float,
    ) -> None:
        assert moments.patterns is not None
        pooled = moments.storage == "pooled"
        diagonal = moments.storage == "diagonal"
        column_sums = moments.patterns.by_column().column_sums
        totals = moments.total_variances
        n_groups = int(group_of.max(initial=0)) + 1
        self.moments = moments
        self.m_step = m_step
        self.centre = moments.grand_mean
        self.expected = e_step(moments, group_of, pooled=pooled)
        # the group of tied classes of each covariance in the state  (B,)
        self.group_of_covariance = np.zeros(1, np.intp) if pooled else group_of
        # sum of squares, and sum of weights, of each group and column  (G, d)
        squares = np.zeros((n_groups, len(totals)))
        weights = np.zeros((n_groups, len(totals)))
        np.add.at(squares, group_of, column_sums.scatter.values)
        np.add.at(weights, group_of, column_sums.weights)
        within = resolved(ratio(squares.sum(0), weights.sum(0)), self.centre, totals)
        # 1 if a column varies within a group of classes, else 0  (G, d)
        variances = resolved(ratio(squares, weights), self.centre, totals)
        self.varies: Floats = (variances > 0).astype(np.float64)
        # 1 if a class has values of a column that varies in its group, else 0  (K, d)
        self.moves = (column_sums.weights > 0) * self.varies[group_of]
        # standard deviation within classes, or 1 if it is 0  (d,)
        self.unit = unit_scale(within)
        # a scatter = covariance in the state × scale, scale = weight × units  (B, d, d) or (B, d)
        units = self.unit**2 if diagonal else self.unit[:, None] * self.unit
        w = np.array([moments.total_weight]) if pooled else moments.weights
        self.scale = np.where(w > 0, w, 1.0).reshape(-1, *[1] * units.ndim) * units
        # variances of the prior in ``unit``: 1 if the column varies in the group, else 0  (G, d)
        self.prior = self.varies * (within > 0)
        self.group_weights: Floats = np.bincount(group_of, moments.weights).astype(np.float64)
        # κ, where a pseudo-row has the mean weight of a row; diagonal covariances need no prior
        mean_weight = moments.total_weight / max(int(moments.counts.sum()), 1)
        self.prior_rows = 0.0 if diagonal else prior_rows * mean_weight

    def start(self) -> Floats:
        """Return the state of the available cases, with impossible correlations reduced."""
        state = self._state(self.moments.centred_means, self.moments.scatter)
        if self.scale.ndim == 3:
            C = self._covariances(state)
            least = np.linalg.eigvalsh(self._grouped(C))[:, 0]
            # (1 − t) C + t I has a smallest eigenvalue of at least 0.01
            t = np.maximum(0.01 - least, 0.0) / np.maximum(1 - least, 0.99)
            t = t[self.group_of_covariance, None, None]
            C += t * (np.eye(len(self.centre)) * C - C)
        return state

    def step(self, state: Floats) -> tuple[Floats, float]:
        """Return the state after an M-step and an E-step, and the objective of the new model."""
        model = self.m_step(self.moments_of(self._with_prior(state)))
        expected = self.expected(model)
        # if a class has no value of a column, the mean, taken from other classes, does not move
        moved, scatter = moved_to_new_means(expected, self.moments.weights, self.moves)
        offsets = (model.centre - self.centre) + model.offsets + moved
        new_state = self._state(offsets, scatter)
        return new_state, expected.log_likelihood + self._log_prior(model)

    def _with_prior(self, state: Floats) -> Floats:
        """Return a state that includes the pseudo-rows of the prior."""
        state = state.copy()
        if self.prior_rows:
            # C ← (w C + κ D) / (w + κ)
            share = self.prior_rows / (self.group_weights + self.prior_rows)
            share = share[self.group_of_covariance, None, None]
            C = self._covariances(state)
            D = self.prior[self.group_of_covariance, :, None] * np.eye(len(self.centre))
            C += share * (D - C)
        return state

    def _log_prior(self, model: Gaussians) -> float:
        """Return the log density of the covariances under the prior, up to a constant."""
        if not self.prior_rows:
            return 0.0
        total = 0.0
        variances = self.prior * self.unit**2
        for g in np.flatnonzero(self.group_weights).tolist():
            covariance = model.covariances[g]
            precisions = np.square(covariance.whiten(np.eye(len(self.unit)))).sum(1)
            # inverse Wishart: −½ κ (log|Σ| + tr Σ⁻¹ D)
            total -= 0.5 * self.prior_rows * (covariance.log_det + precisions @ variances[g])
        return float(total)

    def moments_of(self, state: Floats) -> Moments:
        """Return the state as moments of complete rows."""
        k = self.moments.n_classes
        scatter = self.moments.scatter
        assert not isinstance(scatter, RowScatter)  # stored rows are complete
        values = self._covariances(state) * self.scale
        high, low = two_sum(self.centre, state[:k] * self.unit)
        has_rows = self.moments.weights[:, None] > 0
        return replace(
            self.moments,
            means=np.where(has_rows, high, 0.0),
            means_low=np.where(has_rows, low, 0.0),
            scatter=type(scatter)(values.reshape(scatter.values.shape)),
            patterns=None,
        )

    def extrapolated(self, zeroth: Floats, first: Floats, second: Floats) -> Floats | None:
        """Return the state that SQUAREM extrapolates from three states.

        Return None if the second step is not shorter, or if a covariance would be invalid.
        """
        # s − 2 α r + α² v,  r = s₁ − s₀,  v = (s₂ − s₁) − r,  α = −|r| / |v|
        r = first - zeroth
        v = second - 2 * first + zeroth
        length = float(np.linalg.norm(r))
        bend = float(np.linalg.norm(v))
        if not length > bend > 0:
            return None
        alpha = length / bend
        state: Floats = zeroth + 2 * alpha * r + alpha**2 * v
        C = self._covariances(state)
        if C.ndim == 2:
            return state if (C >= 0).all() else None
        try:  # raises unless all covariances are positive definite
            np.linalg.cholesky(self._grouped(C))
        except np.linalg.LinAlgError:
            return None
        return state

    def without_prior(self, state: Floats) -> Floats:
        """Return the state without directions in which all variance comes from the prior."""
        if not self.prior_rows:
            return state
        state = state.copy()
        floors = 2 * ratio(np.full(1, self.prior_rows), self.group_weights)
        C = self._covariances(state)
        eigenvalues, eigenvectors = np.linalg.eigh(self._grouped(C))
        for g, (e, V) in enumerate(zip(eigenvalues, eigenvectors, strict=True)):
            V_kept = V[:, e > max(10 * TOLERANCE, floors[g])]
            if V_kept.shape[1] < len(V):
                # P C P, where P = V Vᵀ projects onto the directions in which the rows vary
                P = V_kept @ V_kept.T
                members = self.group_of_covariance == g
                C[members] = P @ C[members] @ P
        return state

    def _state(self, offsets: Floats, scatter: Scatter) -> Floats:
        """Return means and scatters as a state; columns that do not vary get exactly zero."""
        has_rows = self.moments.weights[:, None] > 0
        means = np.where(has_rows, offsets / self.unit, 0.0)
        C = scatter.values.reshape(self.scale.shape) / self.scale
        varies = self.varies[self.group_of_covariance]
        C = C * varies if C.ndim == 2 else C * varies[:, :, None] * varies[:, None, :]
        return np.concatenate([means, C.reshape(-1, len(self.unit))])

    def _covariances(self, state: Floats) -> Floats:
        """Return a view of a state's covariances, (B, d, d), or of their diagonals (B, d)."""
        return state[self.moments.n_classes :].reshape(self.scale.shape)

    def _grouped(self, C: Floats) -> Floats:
        """Return each group's covariance (G, d, d); columns that do not vary get variance 1."""
        w = self.moments.weights if len(C) > 1 else self.group_weights
        groups = np.zeros((len(self.group_weights), *C.shape[1:]))
        np.add.at(groups, self.group_of_covariance, w[:, None, None] * C)
        groups = ratio(groups, self.group_weights[:, None, None])
        has_rows = self.group_weights[:, None] > 0
        lacking = np.where(has_rows, 1.0 - self.varies, 1.0)
        return np.asarray(groups + lacking[:, :, None] * np.eye(len(self.unit)))


def _names(moments: Moments) -> Sequence[str | int]:
    return moments.feature_names or range(moments.n_features)


def _observed_columns(moments: Moments) -> Flags:
    """Return whether each class has a value in each column, (K, d)."""
    patterns = moments.patterns
    assert patterns is not None
    observed: Flags = patterns.by_column().column_sums.weights > 0
    return observed


def _refuse_empty_columns(moments: Moments, observed: Flags) -> None:
    """Raise if a column has no value in any class, given which classes have one (K, d)."""
    is_observed = observed.any(0)
    if not is_observed.all():
        empty = [_names(moments)[j] for j in np.flatnonzero(~is_observed).tolist()]
        verb, pronoun = ("has", "it") if len(empty) == 1 else ("have", "them")
        raise InvalidInputError(
            f"{noun_for(len(empty), 'column')} {quoted(empty, _NAMED)} {verb} no value in any "
            f"row: leave {pronoun} out"
        )


def _warn_of_little_data(moments: Moments, observed: Flags, group_of: Codes) -> None:
    """Warn of empty columns, of pairs that are never observed together, and of dropped values."""
    names = _names(moments)
    patterns = moments.patterns
    assert patterns is not None
    lacking = np.argwhere(~observed & (moments.weights > 0)[:, None])
    if len(lacking):
        places = [
            f"class {moments.classes[k].item()!r} has no value of column {names[j]!r}"
            for k, j in lacking[:_NAMED]
        ]
        if len(lacking) > _NAMED:
            places.append(f"and {len(lacking) - _NAMED} more")
        warn(
            f"{'; '.join(places)}. The model uses the mean and variance of the other classes "
            "instead. Leave the column out, or use missing='indicator' if a missing value tells "
            "something about the class",
            DegenerateDataWarning,
        )
    pairs = _unobserved_pairs(patterns, observed, group_of)
    if len(pairs):
        named = [f"{names[i]!r} and {names[j]!r}" for i, j in pairs[:_NAMED]]
        verb = "is" if len(pairs) == 1 else "are"
        warn(
            f"{counted(len(pairs), 'pair')} of columns {verb} never observed together in some "
            f"class ({'; '.join(named)}). Their correlation is inferred from the other columns "
            "alone. Leave out one column of each pair, or set tied=True, pooling or shrinkage",
            DegenerateDataWarning,
        )
    if moments.cells_lost:
        worst = np.argsort(-patterns.lost, kind="stable")[:_NAMED]
        verb = "was" if moments.cells_lost == 1 else "were"
        lost = f"{counted(moments.cells_lost, 'value')} {verb}"
        warn(
            f"{lost} left out, because there are more patterns of missing values than are kept. "
            f"Most of them were in {quoted([names[j] for j in worst])}. Use missing='indicator', "
            "or raise max_patterns",
            LostDetailWarning,
        )


def _unobserved_pairs(patterns: Incomplete, observed: Flags, group_of: Codes) -> Codes:
    """Return pairs of columns of which some group has no row with both columns, (P, 2).

    A pair is left out unless both columns have values in every class.
    """
    weights = patterns.available_sums().product_weights
    if weights.ndim < 3:  # sums by column do not hold pairs
        return np.zeros((0, 2), np.intp)
    together = np.zeros((int(group_of.max(initial=0)) + 1, *weights.shape[1:]))
    np.add.at(together, group_of, weights)
    in_every_class = np.asarray(observed.all(0))
    is_apart = (together == 0).any(0) & in_every_class[:, None] & in_every_class
    return np.argwhere(np.triu(is_apart, 1))
