"""Fitting with missing numbers: EM on the sums of each pattern of observed columns, never on rows.

Dempster, Laird & Rubin (1977); SQUAREM: Varadhan & Roland (2008), *Scand. J. Stat.* 35.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np

from suffice.core.linalg import resolved, unit_scale
from suffice.core.missing.e_step import e_step
from suffice.core.model.gaussian import GaussianModel
from suffice.core.moments import Moments
from suffice.core.moments.collect import ratio, two_sum
from suffice.core.moments.patterns import with_patterns
from suffice.core.moments.scatter import Scatter
from suffice.core.text.lists import counted, noun_for, quoted
from suffice.core.threads import one_blas_thread
from suffice.errors import DegenerateDataWarning, InvalidInputError, NotConvergedWarning, warn
from suffice.typing import Codes, Floats

PRIOR_ROWS = 1e-4  # imagined rows of uncorrelated columns, with the variances within classes
TOLERANCE = 1e-7  # largest change of a mean or covariance, in standard deviations
MOST_STEPS = 500
UNFINISHED = 1e-4  # change at the last step that is worth a warning
_NAMED = 4
MStep: TypeAlias = Callable[[Moments], GaussianModel]


@dataclass(frozen=True, slots=True, eq=False)
class Completion:
    """Expected sums of complete rows at the end of EM, and how it went."""

    moments: Moments
    objectives: tuple[
        float, ...
    ]  # log-likelihood of what was observed, and prior, at steps kept
    steps: int
    changes: Floats  # at the last step, in standard deviations  (d,)


def completed(
    moments: Moments,
    m_step: MStep,
    group_of: Codes,
    *,
    diagonal: bool,
    quiet: bool = False,
) -> Moments:
    """Return the sums of complete rows that rows with holes are expected to be part of."""
    patterns = moments.patterns
    assert patterns is not None
    if diagonal:
        moments = with_patterns(moments, patterns.by_column(), "diagonal")
    _check(moments, group_of, quiet=quiet)
    with one_blas_thread():
        found = em(moments, m_step, group_of)
    if not quiet and found.changes.max(initial=0.0) >= UNFINISHED:
        worst = int(np.argmax(found.changes))
        names = moments.feature_names or range(moments.n_features)
        warn(
            f"EM for missing values stopped after {found.steps} steps; column "
            f"{names[worst]!r} still moved by {found.changes[worst]:.1g} standard "
            "deviations a step: too few of its values are present; leave it out, set shrinkage, "
            "or use missing='indicator'",
            NotConvergedWarning,
        )
    return found.moments


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
    state, objectives, steps = problem.start(), list[float](), 0
    moved: Floats = np.full(moments.n_features, np.inf)
    while steps < most_steps and moved.max(initial=0.0) > tolerance:
        one, before = problem.step(state)
        two, after = problem.step(one)
        objectives += [before, after]
        steps += 2
        moved = np.abs(two - one).max(0, initial=0.0)
        beyond = problem.beyond(state, one, two) if accelerated else None
        state = two
        if beyond is not None and moved.max(initial=0.0) > tolerance:
            farther, objective = problem.step(beyond)
            steps += 1
            if objective >= after:
                state, objectives = farther, [*objectives, objective]
    return Completion(
        problem.moments_of(problem.resolved(state)), tuple(objectives), steps, moved
    )


class _Problem:
    """EM on states (K + …, d): means about the centre, then covariances, in ``unit``."""

    def __init__(
        self,
        moments: Moments,
        m_step: MStep,
        group_of: Codes,
        prior_rows: float,
    ) -> None:
        patterns, pooled = moments.patterns, moments.storage == "pooled"
        assert patterns is not None
        totals, columns = moments.total_variances, patterns.by_column().cells
        self.moments, self.m_step, self.centre = moments, m_step, moments.grand_mean
        # group of each covariance that is kept  (B,)
        self.of_part = np.zeros(1, np.intp) if pooled else group_of
        self.expected = e_step(moments, group_of, pooled=pooled)
        squares, seen = np.zeros((2, int(group_of.max(initial=0)) + 1, len(totals)))
        np.add.at(squares, group_of, columns.scatter.values)
        np.add.at(seen, group_of, columns.weights)
        within = resolved(ratio(squares.sum(0), seen.sum(0)), self.centre, totals)
        # 1 where a group of classes varies in a column, else 0  (G, d)
        variances = resolved(ratio(squares, seen), self.centre, totals)
        self.varies: Floats = (variances > 0).astype(np.float64)
        # 1 where a class has values of a column, which vary, else 0  (K, d)
        self.moves = (columns.weights > 0) * self.varies[group_of]
        # standard deviation within classes, 1 where there is none  (d,)
        self.unit, diagonal = unit_scale(within), moments.storage == "diagonal"
        units = self.unit**2 if diagonal else self.unit[:, None] * self.unit
        w = np.array([moments.total_weight]) if pooled else moments.weights
        # of the scatters: weight, times units  (B, d, d) or (B, d)
        self.scale = np.where(w > 0, w, 1.0).reshape(-1, *[1] * units.ndim) * units
        # 1 where the prior of a group has variance, that of all classes  (G, d)
        self.prior = self.varies * (within > 0)
        self.weights: Floats = np.bincount(group_of, moments.weights).astype(
            np.float64
        )  # (G,)
        # κ: imagined rows weigh as much as others do; 0 where no products are kept
        mean_weight = moments.total_weight / max(int(moments.counts.sum()), 1)
        self.prior_rows = 0.0 if diagonal else prior_rows * mean_weight

    def start(self) -> Floats:
        """Return the sums of available cases, correlations reduced where they are impossible."""
        state = self._state(self.moments.centred_means, self.moments.scatter)
        if self.scale.ndim == 3:
            C = self._covariances(state)
            least = np.linalg.eigvalsh(self._grouped(C))[:, 0]
            # (1 − t) C + t I has the least eigenvalue 0.01
            t = (np.maximum(0.01 - least, 0.0) / np.maximum(1 - least, 0.99))[self.of_part]
            C += t[:, None, None] * (np.eye(len(self.centre)) * C - C)
        return state

    def step(self, state: Floats) -> tuple[Floats, float]:
        """Return the state after an M-step and an E-step, and the objective between the two."""
        prior = state.copy()
        if self.prior_rows:
            # C ← (w C + κ D) / (w + κ): κ more rows, brought back to the weight of the rows
            share = (self.prior_rows / (self.weights + self.prior_rows))[
                self.of_part, None, None
            ]
            C, D = self._covariances(prior), self.prior[self.of_part, :, None]
            C += share * (D * np.eye(len(self.centre)) - C)
        model = self.m_step(self.moments_of(prior))
        expected, w = self.expected(model), self.moments.weights
        # the mean of a column that a class lacks is that of the others, and stays
        moved = self.moves * expected.sums / np.where(w > 0, w, 1.0)[:, None]
        offsets = (model.centre - self.centre) + model.offsets + moved
        state = self._state(offsets, expected.scatter.shifted(-w, moved))
        return state, expected.log_likelihood + self._log_prior(model)

    def _log_prior(self, model: GaussianModel) -> float:
        """Return the log density of the covariances under the prior, up to a constant."""
        variances, total = self.prior * self.unit**2, 0.0
        for g in np.flatnonzero(self.weights) if self.prior_rows else ():
            covariance = model.covariances[g]
            precisions = np.square(covariance.whiten(np.eye(len(self.unit)))).sum(1)
            # inverse Wishart: −½ κ (log|Σ| + tr Σ⁻¹ D)
            total -= 0.5 * self.prior_rows * (covariance.log_det + precisions @ variances[g])
        return float(total)

    def moments_of(self, state: Floats) -> Moments:
        """Return the state as moments of complete rows."""
        k, scatter = self.moments.n_classes, self.moments.scatter
        values = (state[k:].reshape(self.scale.shape) * self.scale).reshape(
            scatter.values.shape
        )
        high, low = two_sum(self.centre, state[:k] * self.unit)
        seen = self.moments.weights[:, None] > 0
        means: Any = {
            "means": np.where(seen, high, 0.0),
            "means_low": np.where(seen, low, 0.0),
        }
        return replace(self.moments, patterns=None, scatter=type(scatter)(values), **means)

    def beyond(self, zero: Floats, one: Floats, two: Floats) -> Floats | None:
        """Return a state farther along the way (SQUAREM), None where there is none."""
        # s − 2 α r + α² v,  r = s₁ − s₀,  v = (s₂ − s₁) − r,  α = −|r| / |v|
        r, v = one - zero, two - 2 * one + zero
        length, bend = float(np.linalg.norm(r)), float(np.linalg.norm(v))
        if not length > bend > 0:
            return None
        alpha = length / bend
        state: Floats = zero + 2 * alpha * r + alpha**2 * v
        C = self._covariances(state)
        if C.ndim == 2:
            return state if (C >= 0).all() else None
        try:  # whether all are covariances of some rows
            np.linalg.cholesky(self._grouped(C))
        except np.linalg.LinAlgError:
            return None
        return state

    def resolved(self, state: Floats) -> Floats:
        """Return the state without the directions in which only the prior has any variance."""
        if not self.prior_rows:
            return state
        state, floors = state.copy(), 2 * ratio(np.full(1, self.prior_rows), self.weights)
        C = self._covariances(state)
        for g, (e, v) in enumerate(zip(*np.linalg.eigh(self._grouped(C)), strict=True)):
            kept = v[:, e > max(10 * TOLERANCE, floors[g])]
            if kept.shape[1] < len(v):
                # P C P, where P = V Vᵀ projects onto what varies
                P, members = kept @ kept.T, self.of_part == g
                C[members] = P @ C[members] @ P
        return state

    def _state(self, offsets: Floats, scatter: Scatter) -> Floats:
        """Return means and scatters as one state, exactly zero where a group does not vary."""
        means = np.where(self.moments.weights[:, None] > 0, offsets / self.unit, 0.0)
        C, v = scatter.values.reshape(self.scale.shape) / self.scale, self.varies[self.of_part]
        C = C * v if C.ndim == 2 else C * v[:, :, None] * v[:, None, :]
        return np.concatenate([means, C.reshape(-1, len(self.unit))])

    def _covariances(self, state: Floats) -> Floats:
        """Return the covariances of a state, (B, d, d) or their diagonals (B, d): a view."""
        return state[self.moments.n_classes :].reshape(self.scale.shape)

    def _grouped(self, C: Floats) -> Floats:
        """Return each group's covariance (G, d, d), variances 1 where there are none."""
        w = self.moments.weights if len(C) > 1 else self.weights
        groups = np.zeros((len(self.weights), *C.shape[1:]))
        np.add.at(groups, self.of_part, w[:, None, None] * C)
        groups = ratio(groups, self.weights[:, None, None])
        # columns and groups without variance are none of our business
        blank = np.where(self.weights[:, None] > 0, 1.0 - self.varies, 1.0)
        return np.asarray(groups + blank[:, :, None] * np.eye(len(self.unit)))


def _check(moments: Moments, group_of: Codes, *, quiet: bool) -> None:
    """Refuse columns without any value; tell what is learnt from little."""
    patterns, names = moments.patterns, moments.feature_names or range(moments.n_features)
    assert patterns is not None
    seen: Any = patterns.by_column().cells.weights > 0
    empty = np.flatnonzero(~seen.any(0))
    if len(empty):
        named = quoted([names[j] for j in empty], _NAMED)
        msg = f"{noun_for(len(empty), 'column')} {named} has no value in any row: leave it out"
        raise InvalidInputError(msg)
    if quiet:
        return
    lacking = np.argwhere(~seen & (moments.weights > 0)[:, None])
    if len(lacking):
        some = [(moments.classes[k].item(), names[j]) for k, j in lacking[:_NAMED]]
        told = [f"class {label!r} has no value of column {name!r}" for label, name in some]
        told += [f"and {len(lacking) - _NAMED} more"] if len(lacking) > _NAMED else []
        warn(
            f"{'; '.join(told)}. Mean and variance of the other classes are used: leave the "
            "column out, or use missing='indicator' if its absence says something",
            DegenerateDataWarning,
        )
    shared, everywhere = patterns.sums()[-1], seen.all(0)  # of pairs, where these are kept
    together = np.zeros((int(group_of.max(initial=0)) + 1, *shared.shape[1:]))
    np.add.at(together, group_of, shared)
    apart = np.triu((together == 0).any(0), 1) if shared.ndim == 3 else np.zeros((0, 0), bool)
    pairs = np.argwhere(apart & (everywhere[:, None] & everywhere)[: len(apart), : len(apart)])
    if len(pairs):
        told = [f"{names[i]!r} and {names[j]!r}" for i, j in pairs[:_NAMED]]
        warn(
            f"{counted(len(pairs), 'pair')} of columns never observed together in some class "
            f"({'; '.join(told)}): their correlation is known from the other columns alone; "
            "leave one of them out, or set tied=True, pooling or shrinkage",
            DegenerateDataWarning,
        )
    if moments.cells_lost:
        worst = np.argsort(-patterns.lost, kind="stable")[:_NAMED]
        warn(
            f"{moments.cells_lost} values were left out, because there are more patterns of "
            f"missing values than are kept (most in {quoted([names[j] for j in worst])}): use "
            "missing='indicator', or raise max_patterns"
        )
