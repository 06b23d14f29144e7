"""A way to estimate a model from moments: every choice named, checked once, frozen."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from suffice.errors import InvalidParameterError
from suffice.estimation.auto import UNRESOLVED
from suffice.estimation.choice import of_least_bic
from suffice.estimation.codes import CODES
from suffice.estimation.compatible import check_compatible
from suffice.estimation.evidence import Evidence
from suffice.estimation.families import AnyFamily, parse_word
from suffice.estimation.groups import parse_divisor
from suffice.estimation.intensity import parse_shrinkage
from suffice.estimation.learning import Learning, PlugIn, plug_in
from suffice.estimation.methods import parse_estimate
from suffice.estimation.regularise import parse_dial
from suffice.estimation.smoothing import parse_smoothing
from suffice.estimation.structures import Dials, Structure
from suffice.estimation.targets import parse_target
from suffice.model.transformed import TransformedModel

if TYPE_CHECKING:
    from collections.abc import Iterable

    from suffice.model.protocol import ClassModel
    from suffice.moments import Moments

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
        power = moments.transform
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
