"""Candidates of the search with their losses, and members of the average."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from operator import add
from typing import Self, TypeAlias

import numpy as np

from suffice.core.estimation.estimate import estimate
from suffice.core.estimation.settings import Settings, required_sums
from suffice.core.model.averaged import Share, TemperedModel
from suffice.core.model.class_model import ClassModel
from suffice.core.model.linear import LinearModel
from suffice.core.model.views import KernelFeatures, Plain, Softened, View
from suffice.core.moments import Moments
from suffice.core.moments.scatter import (
    DiagonalScatter,
    PerClassScatter,
    PooledScatter,
    Scatter,
)
from suffice.core.table import Table
from suffice.errors import InvalidParameterError
from suffice.selection.search.learners import Learner
from suffice.selection.search.regularisation_grid import GridLosses
from suffice.selection.search.view_fitting import fold_mixing
from suffice.typing import Floats

_BLOCK_ROWS = 16_384  # rows per block when a view is applied
_PLAIN = Plain()


@dataclass(frozen=True, slots=True, eq=False)
class GaussianCandidate:
    """The settings of a Gaussian model under a view of the rows, with held-out losses."""

    view: View
    settings: Settings
    temperature: float
    error: float
    log_loss: float
    log_loss_se: float
    weight: float = 0.0  # weight in the average

    @classmethod
    def judged(cls, view: View, settings: Settings, losses: GridLosses, i: int) -> Self:
        """Return the candidate with setting i of an evaluated grid."""
        shrinkage = float(losses.shrinkage[i])
        if settings.tied_classes is True:
            settings = settings.with_regularisation(pooling=None, shrinkage=shrinkage)
        else:
            pooling = float(losses.pooling[i])
            settings = settings.with_regularisation(pooling=pooling, shrinkage=shrinkage)
        return cls(
            view=view,
            settings=settings,
            temperature=float(losses.temperature[i]),
            error=float(losses.error[i]),
            log_loss=float(losses.log_loss[i]),
            log_loss_se=float(losses.log_loss_se[i]),
        )

    @classmethod
    def unjudged(cls, view: View, settings: Settings) -> Self:
        """Return a candidate without losses, for folds whose training rows have only one class."""
        return cls(
            view=view,
            settings=settings,
            temperature=1.0,
            error=np.nan,
            log_loss=np.nan,
            log_loss_se=np.nan,
            weight=1.0,
        )

    @property
    def pooling(self) -> float:
        """λ: with 0, every class has its own covariance; with 1, all share the pooled one."""
        return (
            1.0 if self.settings.tied_classes is True else self.settings.regularisation.pooling
        )

    @property
    def shrinkage(self) -> float:
        """γ: 0 keeps the correlations, 1 sets them to zero."""
        gamma = self.settings.regularisation.shrinkage.fixed
        return np.nan if gamma is None else gamma

    def fitted(self, moments: Moments) -> "Member":
        """Return the candidate's model for all rows, from their moments under its view."""
        model = estimate(moments, self.settings, quiet=True)
        model = model.with_temperature(self.temperature)
        if isinstance(self.view, KernelFeatures):
            return Member(self, fold_mixing(self.view, model))
        return Member(self, model, moments)

    def describe(self) -> str:
        return (
            f"pooling {self.pooling:g}, shrinkage {self.shrinkage:g}, "
            f"temperature {self.temperature:.3g}, {self.view.name}"
        )


@dataclass(frozen=True, slots=True, eq=False)
class LearnerCandidate:
    """A classifier that is not Gaussian, with its temperature and held-out losses."""

    name: str
    learner: Learner | None  # None if the candidate comes from a file
    setting: int
    temperature: float
    error: float
    log_loss: float
    log_loss_se: float
    weight: float = 0.0  # weight in the average
    view: View = field(default=_PLAIN, kw_only=True)

    def fitted(self, table: Table) -> "Member":
        """Return the candidate with its model fitted to all rows."""
        if self.learner is None:
            raise InvalidParameterError(
                f"the candidate {self.name!r} was loaded from a file, which does not store "
                "how to fit it: fit the classifier again"
            )
        seen = table.with_rows(self.view.apply(table.x))
        [model] = self.learner.learn(seen, [self.setting], judging=False)
        tempered = TemperedModel(model, self.temperature, doubt_of(table.n_rows))
        return Member(self, tempered)

    def describe(self) -> str:
        return f"{self.name}, temperature {self.temperature:.3g}"


Candidate: TypeAlias = GaussianCandidate | LearnerCandidate


@dataclass(frozen=True, slots=True, eq=False)
class Member:
    """A candidate with positive weight in the average, and its model fitted to all rows."""

    candidate: Candidate
    model: ClassModel | TemperedModel | LinearModel
    moments: Moments | None = None  # moments of the rows, if the model is estimated from them


def doubt_of(n_rows: int) -> float:
    """Return ε = 1 / (n + 1), an estimate of P(the next row resembles no earlier row)."""
    return 1 / (n_rows + 1)


def fit_candidates(
    candidates: Sequence[Candidate],
    table: Table,
    known_moments: Mapping[int, Moments],
) -> tuple[Member, ...]:
    """Return the candidates with positive weight, fitted to all rows.

    ``known_moments`` maps the ``id`` of a view to the moments of all rows under the view. Every
    other view takes one pass over the rows.
    """
    weighted = [candidate for candidate in candidates if candidate.weight > 0]
    gaussians = [each for each in weighted if isinstance(each, GaussianCandidate)]
    moments = dict(known_moments)
    for gaussian in gaussians:
        view = gaussian.view
        if id(view) not in moments:
            settings_list = [other.settings for other in gaussians if other.view is view]
            moments[id(view)] = _view_moments(view, settings_list, table)
    members = []
    for candidate in weighted:
        if isinstance(candidate, GaussianCandidate):
            members.append(candidate.fitted(moments[id(candidate.view)]))
        else:
            members.append(candidate.fitted(table))
    return tuple(members)


def shares_of(members: Sequence[Member]) -> tuple[Share, ...]:
    """Return the parts of an average; members with the same view share the view's object."""
    views: dict[int, View] = {}
    for member in members:
        view = member.candidate.view
        if id(view) not in views:
            # the model of the member already includes the mixing of the kernel features
            views[id(view)] = view.unmixed() if isinstance(view, KernelFeatures) else view
    return tuple(
        Share(views[id(member.candidate.view)], member.model, member.candidate.weight)
        for member in members
    )


def _view_moments(view: View, settings_list: Sequence[Settings], table: Table) -> Moments:
    """Return the moments of the rows under a view, summed block by block."""
    required = required_sums(settings_list)

    def block_moments(lo: int) -> Moments:
        block = table.take(slice(lo, lo + _BLOCK_ROWS))
        seen = block.with_rows(view.apply(block.x))
        return Moments.of_table(seen, storage=required.storage, fourth=required.fourth)

    moments = reduce(add, map(block_moments, range(0, table.n_rows, _BLOCK_ROWS)))
    return with_noise(moments, view.noise) if isinstance(view, Softened) else moments


def with_noise(moments: Moments, noise: Floats) -> Moments:
    """Return the moments with ``noise`` (d,) added to the variance of each feature."""
    variances = moments.weights[:, None] * noise  # (K, d)
    values = moments.scatter.values
    scatter: Scatter
    match moments.scatter:
        case DiagonalScatter():
            scatter = DiagonalScatter(values + variances)
        case PooledScatter():
            scatter = PooledScatter(values + _diagonal_matrices(variances).sum(0))
        case PerClassScatter():
            scatter = PerClassScatter(values + _diagonal_matrices(variances))
    return replace(moments, scatter=scatter)


def _diagonal_matrices(diagonals: Floats) -> Floats:
    """Return the diagonal matrix of each row of an array (K, d), shape (K, d, d)."""
    return np.asarray(diagonals[:, :, None] * np.eye(diagonals.shape[1]))
