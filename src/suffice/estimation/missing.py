"""Fitting with missing numbers: EM on the sums of each pattern of observed columns, never on rows.

The E-step turns the sums into those expected of complete rows under the current model; the M-step
is the recipe's own estimate of such sums. Both repeat, extrapolated by SQUAREM.

References: Dempster, Laird & Rubin (1977); Varadhan & Roland (2008), *Scandinavian Journal of
Statistics* 35(2).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from suffice.errors import DegenerateDataWarning, InvalidInputError, NotConvergedWarning, warn
from suffice.estimation.divisors import total_variances
from suffice.linalg import EPS, resolved, unit_scale
from suffice.moments import Moments
from suffice.moments.collect import two_sum
from suffice.moments.expectation import EStep, e_step
from suffice.moments.patterns import with_patterns
from suffice.moments.scatter_storage import DiagonalScatter, PooledScatter, Scatter
from suffice.text.lists import noun, plural, quoted
from suffice.typing import Codes, Floats

if TYPE_CHECKING:
    from suffice.model.gaussian import GaussianModel

PRIOR_ROWS = 1e-4  # imagined rows of uncorrelated columns, with the variances within classes
TOLERANCE = 1e-7  # largest change of a mean or covariance, in standard deviations
MOST_STEPS = 500
UNFINISHED = 1e-4  # change at the last step that is worth a warning
_NAMED = 4


@dataclass(frozen=True, slots=True, eq=False)
class Completion:
    """Expected sums of complete rows at the end of EM, and how it went."""

    moments: Moments
    log_likelihoods: tuple[float, ...]  # of what was observed, given classes, at every step kept
    steps: int
    changes: Floats  # at the last step, in standard deviations  (d,)
    converged: bool

    def report(self, names: Any) -> None:
        """Warn where the iteration ended too early."""
        if self.changes.max(initial=0.0) < UNFINISHED:
            return
        worst = int(np.argmax(self.changes))
        warn(
            f"EM for missing values stopped after {self.steps} steps; column {names[worst]!r} "
            f"still moved by {self.changes[worst]:.1g} standard deviations a step: too few of its "
            "values are present; leave it out, set shrinkage, or use missing='indicator'",
            NotConvergedWarning,
        )


def completed(
    moments: Moments,
    m_step: Callable[[Moments], GaussianModel],
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
    found = em(moments, m_step, group_of)
    if not quiet:
        found.report(_names(moments))
    return found.moments


def em(
    moments: Moments,
    m_step: Callable[[Moments], GaussianModel],
    group_of: Codes,
    *,
    prior_rows: float = PRIOR_ROWS,
    tolerance: float = TOLERANCE,
    most_steps: int = MOST_STEPS,
    accelerated: bool = True,
) -> Completion:
    """Return the sums of complete rows at the fixed point of EM."""
    problem = _Problem.of(moments, m_step, group_of, prior_rows)
    state, likelihoods, steps = problem.start(), list[float](), 0
    moved: Floats = np.full(moments.n_features, np.inf)
    while steps < most_steps and moved.max(initial=0.0) > tolerance:
        one, before = problem.step(state)
        two, after = problem.step(one)
        likelihoods += [before, after]
        steps += 2
        moved = problem.change(one, two)
        beyond = problem.beyond(state, one, two) if accelerated else None
        state = two
        if beyond is not None and moved.max(initial=0.0) > tolerance:
            farther, likelihood = problem.step(beyond)
            steps += 1
            if likelihood >= after:
                state, likelihoods = farther, [*likelihoods, likelihood]
    whole = problem.moments_of(problem.resolved(state))
    arrived = bool(moved.max(initial=0.0) <= tolerance)
    return Completion(whole, tuple(likelihoods), steps, moved, arrived)


@dataclass(frozen=True, slots=True, eq=False)
class _State:
    """Expected sums: means about the centre, and scatters about the means."""

    offsets: Floats  # (K, d)
    scatter: Scatter

    def plus(self, other: _State, factor: float) -> _State:
        values = self.scatter.values + factor * other.scatter.values
        return _State(self.offsets + factor * other.offsets, type(self.scatter)(values))


@dataclass(frozen=True, slots=True, eq=False)
class _Problem:
    moments: Moments
    m_step: Callable[[Moments], GaussianModel]
    group_of: Codes
    centre: Floats  # (d,)
    e_step: EStep
    variances: Floats  # within classes, of what was observed; 0 where constant  (d,)
    known: Floats  # 1 where a class has any value of a column, else 0  (K, d)
    varies: Floats  # 1 where a group of classes varies in a column, else 0  (K, d)
    prior_rows: float

    @classmethod
    def of(
        cls,
        moments: Moments,
        m_step: Callable[[Moments], GaussianModel],
        group_of: Codes,
        prior_rows: float,
    ) -> _Problem:
        patterns, weights, centre = moments.patterns, moments.weights, moments.grand_mean
        assert patterns is not None
        totals = total_variances(moments)
        within = moments.scatter.pooled_diagonal() / moments.total_weight
        within = resolved(within, centre, totals)
        columns = patterns.by_column().cells
        squares, w = (
            each.reshape(moments.means.shape) for each in (columns.scatter.values, columns.weights)
        )
        groups = np.zeros((2, int(group_of.max(initial=0)) + 1, len(centre)))
        np.add.at(groups[0], group_of, squares)
        np.add.at(groups[1], group_of, w)
        own = groups[0] / np.maximum(groups[1], EPS)
        varies = (resolved(own, centre, totals) > 0).astype(np.float64)
        pooled = moments.storage == "pooled"
        step = e_step(patterns, weights, centre, group_of, pooled=pooled)
        known = (w > 0).astype(np.float64)
        return cls(
            moments, m_step, group_of, centre, step, within, known, varies[group_of], prior_rows
        )

    @property
    def unit(self) -> Floats:
        """Standard deviation within classes, 1 where there is none, (d,)."""
        return unit_scale(self.variances)

    def start(self) -> _State:
        """Return the sums of available cases, correlations reduced where they are impossible."""
        scatter = self._masked(self.moments.scatter)
        if isinstance(scatter, DiagonalScatter):
            return _State(self.moments.centred_means, scatter)
        values = scatter.values.copy()
        least = np.array([e[0] for e, _ in self._eigen(scatter)])
        # (1 − t) C + t I has the least eigenvalue 0.01
        t = np.where(least < 0.01, (0.01 - least) / (1 - least), 0.0)
        t = t[self.group_of] if values.ndim == 3 else t
        diagonal = np.eye(len(self.centre)) * values
        values = values + t.reshape(-1, *[1] * (values.ndim - 1)) * (diagonal - values)
        values = values.reshape(scatter.values.shape)
        return _State(self.moments.centred_means, type(scatter)(values))

    def step(self, state: _State) -> tuple[_State, float]:
        """Return the sums after an M-step and an E-step, and the likelihood between the two."""
        model = self.m_step(self.moments_of(state, prior_rows=self.prior_rows))
        expected = self.e_step.under(model)
        w = self.moments.weights
        # the mean of a column that a class lacks is that of the others, and stays
        moved = self.known * expected.sums / np.where(w > 0, w, 1.0)[:, None]
        offsets = (model.centre - self.centre) + model.offsets + moved
        scatter = self._masked(expected.scatter.shifted(-w, moved))
        return _State(np.where(w[:, None] > 0, offsets, 0.0), scatter), expected.log_likelihood

    def moments_of(self, state: _State, prior_rows: float = 0.0) -> Moments:
        """Return the sums as moments of complete rows, with imagined rows of the prior."""
        scatter = state.scatter
        if prior_rows and not isinstance(scatter, DiagonalScatter):
            # S ← (S + κ D) w / (w + κ): of κ more rows, brought back to the weight of the rows
            w = self._weights(scatter)
            varies = self.varies if scatter.values.ndim == 3 else self.varies.max(0)
            prior = prior_rows * varies[..., None] * np.diag(self.variances)
            scatter = type(scatter)((scatter.values + prior) * (w / (w + prior_rows)))
        high, low = two_sum(self.centre, state.offsets)
        seen = self.moments.weights[:, None] > 0
        means: Any = {"means": np.where(seen, high, 0.0), "means_low": np.where(seen, low, 0.0)}
        return replace(self.moments, patterns=None, scatter=scatter, **means)

    def change(self, a: _State, b: _State) -> Floats:
        """Return how far each column moved, in standard deviations within classes, (d,)."""
        means = np.abs(b.offsets - a.offsets).max(0, initial=0.0) / self.unit
        scatters = np.abs(self._scaled(b.scatter) - self._scaled(a.scatter))
        d = len(self.centre)
        moved: Floats = np.maximum(means, scatters.reshape(-1, d).max(0, initial=0.0))
        return moved

    def beyond(self, zero: _State, one: _State, two: _State) -> _State | None:
        """Return a state farther along the way (SQUAREM), None where there is none."""
        # s − 2 α r + α² v,  r = s₁ − s₀,  v = (s₂ − s₁) − r,  α = −|r| / |v|
        r, v = one.plus(zero, -1.0), two.plus(one, -2.0).plus(zero, 1.0)
        length, bend = self._length(r), self._length(v)
        if not length > bend > 0:
            return None
        alpha = length / bend
        state = zero.plus(r, 2 * alpha).plus(v, alpha**2)
        if isinstance(state.scatter, DiagonalScatter):
            possible = bool(np.all(state.scatter.values >= 0))
        else:
            possible = all(e[0] > 0 for e, _ in self._eigen(state.scatter))
        return state if possible else None

    def resolved(self, state: _State) -> _State:
        """Return the sums without the directions in which only the prior has any variance."""
        scatter = state.scatter
        if isinstance(scatter, DiagonalScatter) or not self.prior_rows:
            return state
        values, unit = scatter.values.copy(), self.unit
        classes = values.reshape(-1, *values.shape[-2:])
        weights = np.bincount(self.group_of, self.moments.weights)
        for g, (e, v) in enumerate(self._eigen(scatter)):
            floor = max(10 * TOLERANCE, 2 * self.prior_rows / max(weights[g], EPS))
            if e[0] <= floor:
                kept = v[:, e > floor]
                # P S P, where P = U V Vᵀ U⁻¹ projects onto what varies
                P = unit[:, None] * (kept @ kept.T) / unit
                members = self.group_of == g if len(classes) > 1 else np.array([True])
                classes[members] = P @ classes[members] @ P.T
        return replace(state, scatter=type(scatter)(classes.reshape(values.shape)))

    def _eigen(self, scatter: Any) -> list[tuple[Floats, Floats]]:
        """Return eigenvalues and vectors of each group's scatter, in units of the variances."""
        scaled = self._scaled(scatter) * self._weights(scatter)
        if scaled.ndim == 2:
            groups, w, varies = scaled[None], np.array([self.moments.total_weight]), self.varies[:1]
        else:
            n_groups = int(self.group_of.max(initial=0)) + 1
            groups, varies = np.zeros((n_groups, *scaled.shape[1:])), np.ones((n_groups, 1))
            np.add.at(groups, self.group_of, scaled)
            w = np.bincount(self.group_of, self.moments.weights, n_groups)
            varies = np.zeros((n_groups, len(self.centre)))
            varies[self.group_of] = self.varies
        groups = groups / np.maximum(w, EPS)[:, None, None]
        # columns and groups without variance are none of our business
        blank = np.where(w[:, None] > 0, 1.0 - varies, 1.0)
        found = np.linalg.eigh(groups + blank[:, :, None] * np.eye(len(self.centre)))
        return list(zip(found[0], found[1], strict=True))

    def _masked(self, scatter: Any) -> Any:
        """Return the scatter, exactly zero where a group of classes does not vary."""
        if isinstance(scatter, DiagonalScatter):
            return DiagonalScatter(scatter.values * self.varies)
        v = self.varies if scatter.values.ndim == 3 else self.varies.max(0)
        return type(scatter)(scatter.values * v[..., :, None] * v[..., None, :])

    def _weights(self, scatter: Any) -> Floats:
        """Return the weight of each scatter, to divide by."""
        w = self.moments.weights
        total = np.array(w.sum()) if isinstance(scatter, PooledScatter) else w
        safe: Floats = np.where(total > 0, total, 1.0)
        return safe.reshape(*safe.shape, *[1] * (scatter.values.ndim - safe.ndim))

    def _scaled(self, scatter: Any) -> Floats:
        units = self.unit**2
        if not isinstance(scatter, DiagonalScatter):
            units = self.unit[:, None] * self.unit
        scaled: Floats = scatter.values / self._weights(scatter) / units
        return scaled

    def _length(self, state: _State) -> float:
        means = np.square(state.offsets / self.unit).sum()
        return float(np.sqrt(means + np.square(self._scaled(state.scatter)).sum()))


def _names(moments: Moments) -> Any:
    return moments.feature_names or range(moments.n_features)


def _check(moments: Moments, group_of: Codes, *, quiet: bool) -> None:
    """Refuse columns without any value; tell what is learnt from little."""
    patterns, names = moments.patterns, _names(moments)
    assert patterns is not None
    seen: Any = patterns.column_weights() > 0
    empty = np.flatnonzero(~seen.any(0))
    if len(empty):
        named = quoted([names[j] for j in empty], _NAMED)
        msg = f"{noun(len(empty), 'column')} {named} has no value in any row: leave it out"
        raise InvalidInputError(msg)
    if quiet:
        return
    classes, columns = np.nonzero(~seen & (moments.weights > 0)[:, None])
    if len(classes):
        told = [
            f"class {moments.classes[k].item()!r} has no value of column {names[j]!r}"
            for k, j in zip(classes[:_NAMED], columns[:_NAMED], strict=True)
        ]
        more = [f"and {len(classes) - _NAMED} more"] if len(classes) > _NAMED else []
        warn(
            f"{'; '.join(told + more)}. Mean and variance of the other classes are used: leave the "
            "column out, or use missing='indicator' if its absence says something",
            DegenerateDataWarning,
        )
    everywhere = seen.all(0)
    apart = np.triu(patterns.pair_weights(group_of) == 0, 1).any(0)
    pairs = np.argwhere(apart & everywhere[:, None] & everywhere)
    if len(pairs):
        told = [f"{names[i]!r} and {names[j]!r}" for i, j in pairs[:_NAMED]]
        warn(
            f"{plural(len(pairs), 'pair')} of columns never observed together in some class "
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
