"""A way to estimate a model from moments: every choice named, checked once, frozen."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from suffice.errors import InvalidParameterError
from suffice.estimation.auto import CODES, UNRESOLVED
from suffice.estimation.degenerate import total_variances
from suffice.estimation.groups import parse_divisor
from suffice.estimation.plug_in import Evidence, Learning, PlugIn, plug_in
from suffice.estimation.priors import parse_smoothing
from suffice.estimation.settings import AnyFamily, check_compatible, parse_estimate, parse_word
from suffice.estimation.shrinkage import parse_dial, parse_shrinkage, parse_target
from suffice.estimation.structures import Dials, Structure
from suffice.linalg import dependent_columns
from suffice.model.transformed import TransformedModel

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from suffice.model.protocol import ClassModel
    from suffice.moments import Moments
    from suffice.typing import Codes


def of_least_bic(candidates: Sequence[Recipe], moments: Moments) -> Recipe:
    """Return the recipe of least p log n − 2 log L.

    Columns that are constant, or combinations of others, within classes have no say: no family
    has a likelihood there. Families without a maximum for some class are left out.

    References
    ----------
    Schwarz (1978), *Annals of Statistics* 6, 461–464.
    """
    columns = _independent(moments)
    judged = moments.select(columns) if len(columns) < moments.n_features else moments
    scores = [recipe.bic(judged) if len(columns) else None for recipe in candidates]
    finite = [np.inf if score is None else score for score in scores]
    return candidates[int(np.argmin(finite))]


def _independent(moments: Moments) -> Codes:
    """Return the columns whose pooled within-class covariance has full rank."""
    pooled = moments.pooled_scatter
    # a variance within classes below rounding of the total one is none
    floor = 1e-26 * moments.total_weight * total_variances(moments)
    varying = np.flatnonzero(np.diagonal(pooled) > floor)
    if not len(varying):
        return varying
    gone = dependent_columns(pooled[np.ix_(varying, varying)])
    return np.delete(varying, gone)


KEEP: Any = object()  # "as it was"


@dataclass(frozen=True, slots=True, eq=False)
class Recipe:
    """Structure, tying, dials and priors of a model, and how its parameters are learnt."""

    structure: Structure
    tied: Any
    dials: Dials
    priors: Any
    learning: Learning = field(default_factory=PlugIn)
    family: str | None = None  # the EDDA code, where the covariances are one of these families
    candidates: tuple[Recipe, ...] = ()  # what covariance="auto" chooses from

    @classmethod
    def parse(
        cls,
        *,
        covariance: Any = "full",
        tied: Any = False,
        divisor: str = "mle",
        pooling: Any = None,
        shrinkage: Any = None,
        target: str = "diagonal",
        priors: Any = None,
        estimate: str = "plug-in",
        prior: Any = None,
        dirichlet: Any = None,
    ) -> Recipe:
        """Return the recipe that users' words name."""
        method = parse_estimate(estimate, prior)
        dials = Dials(
            parse_divisor(divisor),
            parse_dial(pooling, "pooling"),
            parse_shrinkage(shrinkage),
            parse_target(target),
        )
        check_compatible(covariance, tied, estimate, dials)
        known = parse_smoothing(priors, dirichlet, at_mode=method.at_mode)
        plain = cls(AnyFamily(), tied=False, dials=dials, priors=known)
        if isinstance(covariance, str) and covariance == "auto":
            return replace(plain, candidates=tuple(plain._of(code) for code in CODES))
        recipe = plain._of(covariance)
        if recipe.family is None:
            recipe = replace(recipe, tied=tied)
        return replace(
            recipe, structure=method.structure or recipe.structure, learning=method.learning
        )

    def _of(self, covariance: str) -> Recipe:
        word = parse_word(covariance)
        return replace(self, structure=word.structure, tied=word.tied, family=word.code)

    @property
    def storage(self) -> str:
        """The storage of moments that suffices for this recipe."""
        if self.needs_fourth:
            return "per-class"
        tied = isinstance(self.tied, (bool, np.bool_)) and bool(self.tied)
        return self.structure.storage(tied=tied)

    @property
    def needs_fourth(self) -> bool:
        """Whether fourth moments must be collected."""
        return self.dials.shrinkage.needs_fourth

    @property
    def is_resolved(self) -> bool:
        """Whether no dial waits for an estimator to choose it."""
        return self.dials.is_resolved

    def with_dials(self, *, pooling: Any = KEEP, shrinkage: Any = KEEP) -> Recipe:
        """Return the recipe with other dials, in users' words; what is not named stays."""
        dials = self.dials
        if pooling is not KEEP:
            dials = replace(dials, pooling=parse_dial(pooling, "pooling"))
        if shrinkage is not KEEP:
            dials = replace(dials, shrinkage=parse_shrinkage(shrinkage))
        return replace(self, dials=dials)

    def settled(self, moments: Moments) -> Recipe:
        """Return the recipe with the family chosen, where that was left to the moments."""
        return of_least_bic(self.candidates, moments) if self.candidates else self

    def estimate(self, moments: Moments, *, quiet: bool = False) -> ClassModel:
        """Return the model of these sums, in the coordinates they were taken in.

        Classes without weight get prior 0. Directions without variance are warned of, unless
        ``quiet``.
        """
        if not self.is_resolved:
            raise InvalidParameterError(UNRESOLVED)
        if self.candidates:
            return self.settled(moments).estimate(moments, quiet=quiet)
        evidence = Evidence.of(moments, self.tied, self.priors, quiet=quiet)
        return self.learning.model(evidence, self.structure, self.dials)

    def model(self, moments: Moments, *, quiet: bool = False) -> ClassModel:
        """Return the model of these sums, in the units of the rows."""
        inner = self.estimate(moments, quiet=quiet)
        power = moments.power
        return inner if power is None else TransformedModel(inner, power)

    def bic(self, moments: Moments) -> float | None:
        """Return p log n − 2 log L of plug-in estimates; None where L has no maximum."""
        evidence = Evidence.of(moments, self.tied, self.priors, quiet=True)
        model, gaps = plug_in(evidence, self.structure, self.dials)
        if gaps:
            return None
        size = model.n_parameters * np.log(moments.total_weight)
        return float(size) - 2 * model.log_likelihood(moments)


def collecting(recipes: Iterable[Recipe]) -> dict[str, Any]:
    """Return what ``Moments.of`` must be told so that every one of the recipes can be read."""
    recipes = list(recipes)
    fourth = any(recipe.needs_fourth for recipe in recipes)
    kept = {recipe.storage for recipe in recipes}
    return {
        "storage": kept.pop() if len(kept) == 1 and not fourth else "per-class",
        "fourth": fourth,
    }
