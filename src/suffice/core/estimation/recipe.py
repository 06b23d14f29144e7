"""A way to estimate a model from moments: every choice named, checked once, frozen."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from suffice.core.decision import Classifier
from suffice.core.estimation import covariance_estimates as estimates
from suffice.core.estimation import plug_in_and_debiased as models
from suffice.core.estimation import settings
from suffice.core.estimation.categories import as_indicators, as_tree, numbers_of
from suffice.core.estimation.degenerate import independent_columns
from suffice.core.estimation.edda import FAMILIES
from suffice.core.estimation.fisher import reduced_rank
from suffice.core.estimation.priors import PriorRule, priors_among
from suffice.core.missing.em import completed
from suffice.core.model.class_model import ClassModel
from suffice.core.model.gaussian import GaussianModel, bic
from suffice.core.model.transformed import TransformedModel
from suffice.core.moments import Moments
from suffice.core.table.schema import Encoding
from suffice.errors import (
    InvalidInputError,
    InvalidParameterError,
    MissingStatisticsError,
    warn,
)
from suffice.typing import Codes, Floats, Labels

if TYPE_CHECKING:
    from suffice.core.model.views import View


@dataclass(frozen=True, slots=True, eq=False)
class Recipe:
    """Structure, tying, regularisation and priors of a model, and how its parameters are learnt."""

    structure: estimates.Structure
    tied: estimates.Tied
    regularisation: estimates.Regularisation
    priors: PriorRule
    learning: models.Learning = models.PLUG_IN
    family: str | None = None  # the EDDA code, where the covariances are one of these families
    candidates: tuple[Recipe, ...] = ()  # what covariance="auto" chooses from, by moments
    open_settings: tuple[str, ...] = ()  # "pooling", "shrinkage": to be chosen by rows
    categories: Callable[..., ClassModel] = as_indicators  # how they are read
    smoothing: float = 1.0  # α, imagined rows of each level of a category
    n_components: int | None = None  # discriminant coordinates that count; None: all
    averaged: bool = False  # whether scatter is made unbiased class by class

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
        categories: Any = "indicators",
        n_components: Any = None,
    ) -> Recipe:
        """Return the recipe that users' words name."""
        chosen_by_moments = settings.is_open(covariance)
        # moments that suffice for a full covariance suffice for every family
        word = settings.parse_covariance("full" if chosen_by_moments else covariance)
        learning = settings.parse_estimate(estimate, prior)
        unbiased, averaged = settings.parse_word(divisor, settings.DIVISORS, "divisor")
        lent, gamma = settings.parse_share(pooling), settings.parse_shrinkage(shrinkage)
        towards = settings.parse_word(target, settings.TARGETS, "target")
        reading = settings.parse_word(categories, settings.READINGS, "categories")
        words = (covariance, tied, estimate, divisor, pooling, shrinkage, categories == "tree")
        settings.check_compatible(*words)
        recipe = cls(
            word.structure,
            settings.parse_tied(tied) if word.tied is None else word.tied,
            estimates.Regularisation(unbiased, lent, gamma, towards),
            settings.parse_priors(priors, dirichlet, at_mode=learning.at_mode),
            learning,
            word.code,
            open_settings=_left_open(pooling=pooling, shrinkage=shrinkage),
            categories=reading,
            smoothing=1.0 if dirichlet is None else float(dirichlet),
            n_components=settings.parse_n_components(n_components, covariance, tied, estimate),
            averaged=averaged and learning.plugs_in,
        )
        if not chosen_by_moments:
            return recipe
        each = (settings.COVARIANCES[code] for code in FAMILIES)
        found = (
            replace(recipe, structure=s, tied=bool(t), family=code) for s, t, code in each
        )
        return replace(recipe, candidates=tuple(found))

    @property
    def storage(self) -> str:
        """The storage of moments that suffices for this recipe."""
        if self.needs_fourth or self.categories is as_tree:  # every class has its own tree
            return "per-class"
        full = "pooled" if self.tied is True and not self.averaged else "per-class"
        return "diagonal" if self.structure.is_diagonal else full

    @property
    def needs_fourth(self) -> bool:
        return self.regularisation.shrinkage.needs_fourth

    @property
    def reads_numbers(self) -> bool:
        """Whether indicators of categories are features like any other."""
        gaussian = self.categories is as_indicators and not self.structure.is_diagonal
        known = self.learning.plugs_in or self.tied is True
        return gaussian and known and not self.candidates  # some of which are diagonal

    @property
    def is_plug_in(self) -> bool:
        """Whether covariances are plug-in estimates of a structure that is known, from sums."""
        known = self.n_components is None and not self.averaged
        return self.learning.plugs_in and not self.candidates and known

    def with_settings(self, **words: Any) -> Recipe:
        """Return the recipe with another pooling or shrinkage, in users' words."""
        parsers: Any = {"pooling": settings.parse_share, "shrinkage": settings.parse_shrinkage}
        values: Any = {name: parsers[name](word) for name, word in words.items()}
        kept = dict.fromkeys(self.open_settings, settings.OPEN)
        how, left_open = replace(self.regularisation, **values), _left_open(**(kept | words))
        return replace(self, regularisation=how, open_settings=left_open)

    def with_priors_of(self, weights: Floats, rest: Moments) -> Recipe:
        """Return the recipe under the priors of all rows, for sums that may lack some classes."""
        known = priors_among(rest.weights > 0, self.priors.of(rest.classes, weights))
        rule = PriorRule(None, known)
        candidates = tuple(replace(each, priors=rule) for each in self.candidates)
        return replace(self, priors=rule, candidates=candidates)

    def counts_rows(self, moments: Moments) -> bool:
        """Return whether weights are numbers of rows, and not only their ratios matter."""
        how, mixed = self.regularisation, moments.schema is not None
        smoothed = mixed and (self.structure.is_diagonal or self.categories is as_tree)
        bessel, imagined = (
            how.unbiased or self.averaged,
            bool(self.priors.pseudo_count) or smoothed,
        )
        return bessel or imagined or how.shrinkage.fixed is None or not self.learning.plugs_in

    def group_of(self, classes: Labels) -> Codes:
        """Return the group of tied classes that each class belongs to, (K,)."""
        # λ = 1: every class has the pooled covariance
        return estimates.group_codes(self.regularisation.pooling == 1 or self.tied, classes)

    def settled(self, moments: Moments) -> Recipe:
        """Return the recipe whose family has the least p log n − 2 log L, where one is chosen."""
        if not self.candidates:
            return self
        numbers = numbers_of(moments)
        columns = independent_columns(numbers)  # no family has a likelihood of the others
        judged = numbers.select(columns) if len(columns) < numbers.n_features else numbers
        losses = [recipe.bic(judged) for recipe in self.candidates if len(columns)]
        return self.candidates[int(np.argmin(losses or [0.0]))]

    def estimate(self, moments: Moments, *, quiet: bool = False) -> ClassModel:
        """Return the model of these sums, in the coordinates they were taken in."""
        if self.open_settings:
            raise InvalidParameterError(settings.UNRESOLVED)
        if self.candidates:
            return self.settled(moments).estimate(moments, quiet=quiet)
        if not quiet and self.counts_rows(moments):
            warn_of_relative_weights(int(moments.counts.sum()), moments.total_weight)
        models.require_two_classes(moments.classes, moments.weights)
        if not moments.n_features:
            raise InvalidInputError(
                "there is no column to learn from: the moments have no feature"
            )
        if moments.schema is None:
            return self.learnt(moments, quiet=quiet)
        if self.averaged:
            msg = "divisor='averaged' is for columns of numbers: use 'mle' or 'unbiased'"
            raise InvalidParameterError(msg)
        return self.categories(self, moments, quiet=quiet)

    def learnt(
        self,
        moments: Moments,
        *,
        quiet: bool,
        encoding: Encoding | None = None,
    ) -> ClassModel:
        """Return the model of sums of numbers, some perhaps the indicators of an encoding."""
        whole = self.completed(moments, quiet=quiet, encoding=encoding)
        found = self.learning.model(self._evidence(whole, quiet=quiet, encoding=encoding))
        if self.n_components is None:
            return found
        return reduced_rank(found.as_gaussian(), self.n_components)

    def completed(
        self,
        moments: Moments,
        *,
        quiet: bool = False,
        encoding: Encoding | None = None,
    ) -> Moments:
        """Return the sums of complete rows: expected ones, by EM, where numbers are missing."""
        if moments.patterns is None:
            return moments
        if self.needs_fourth:
            raise MissingStatisticsError(
                "shrinkage='ledoit-wolf' needs fourth moments, which rows with missing values do "
                "not have: use shrinkage='oas' or a number, or missing='indicator'"
            )
        # parameters that are integrated out are completed at their plug-in estimates
        iterated = self.learning.plugs_in or self.learning.at_mode
        recipe = self if iterated else replace(self, learning=models.PLUG_IN)

        def m_step(whole: Moments) -> GaussianModel:
            evidence = recipe._evidence(whole, quiet=True, encoding=encoding)
            return recipe.learning.model(evidence).as_gaussian()

        groups, diagonal = self.group_of(moments.classes), self.structure.is_diagonal
        return completed(moments, m_step, groups, diagonal=diagonal, quiet=quiet)

    def _evidence(
        self,
        moments: Moments,
        *,
        quiet: bool,
        encoding: Encoding | None = None,
    ) -> models.Evidence:
        models.require_two_classes(moments.classes, moments.weights)
        priors = self.priors.of(moments.classes, moments.weights)
        how, groups = self.regularisation, self.group_of(moments.classes)
        moments = estimates.unbiased_by_class(moments) if self.averaged else moments
        return models.Evidence(moments, self.structure, how, groups, priors, quiet, encoding)

    def model(self, moments: Moments, *, quiet: bool = False) -> ClassModel:
        """Return the model of these sums, in the units of the rows."""
        inner, power = self.estimate(moments, quiet=quiet), moments.power
        if power is None:
            return inner
        encoding = moments.encoding
        return TransformedModel(
            inner, power if encoding is None else power.select(encoding.kept)
        )

    def classifier(self, moments: Moments, temperature: float, **costs: Any) -> Classifier:
        """Return who decides by the model; it reads rows with holes where these can be learnt."""
        model, encoding = self.model(moments), moments.encoding
        model = model if temperature == 1 else model.with_temperature(temperature)
        names = encoding.feature_names if encoding else moments.feature_names
        found = Classifier.of(moments.classes, names, model, encoding=encoding, **costs)
        return found if self.needs_fourth else found.allowing_missing()

    def bic(self, moments: Moments) -> float:
        """Return p log n − 2 log L of plug-in estimates; ∞ where L has no maximum."""
        whole = self.completed(moments, quiet=True)
        try:
            model, deficient = models.plug_in(self._evidence(whole, quiet=True))
        except InvalidInputError:  # no maximum, or not in these units
            return np.inf
        if deficient:
            return np.inf
        return bic(model._log_likelihood(moments), model.n_parameters, moments.total_weight)


def warn_of_relative_weights(n_rows: int, total: float) -> None:
    """Warn where weights, which a model reads as numbers of rows, can hardly be meant so."""
    if 2 * total < n_rows:
        warn(
            f"the weights of {n_rows} rows sum to {total:.3g}: this model reads weights as numbers "
            f"of rows; if they only compare rows, multiply them by {n_rows / total:.3g}"
        )


def _left_open(**words: Any) -> tuple[str, ...]:
    return tuple(name for name, word in words.items() if settings.is_open(word))


def collecting(recipes: Iterable[Recipe]) -> dict[str, Any]:
    """Return what ``Moments.of`` must be told so that every one of the recipes can be read."""
    recipes = list(recipes)
    fourth = any(recipe.needs_fourth for recipe in recipes)
    kept = {recipe.storage for recipe in recipes}
    storage = kept.pop() if len(kept) == 1 and not fourth else "per-class"
    return {"storage": storage, "fourth": fourth}


def recipe_of(view: View, pooling: float, shrinkage: float) -> Recipe:
    """Return how sums of the rows as seen become a model."""
    if view.lifted:
        return Recipe.parse(tied=True, shrinkage=shrinkage)
    return Recipe.parse(pooling=pooling, shrinkage=shrinkage)
