"""The settings of a Gaussian estimator in one value, which is checked when it is created.

``fit``, ``fit_moments``, ``partial_fit``, cross-validation, files and the command line all create a
``Settings``; ``estimate`` and ``decide`` read it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple, TypeAlias, TypeVar, cast

import numpy as np

from suffice.core.checks import is_number, is_whole_number
from suffice.core.decision.bayes_decision import Costs, CostsLike
from suffice.core.decision.classifier import check_temperature
from suffice.core.estimation.covariance_structures import (
    DiagonalStructure,
    FullStructure,
    Structure,
)
from suffice.core.estimation.edda import FAMILIES, EddaStructure
from suffice.core.estimation.groups import Tied, group_codes
from suffice.core.estimation.normal_inverse_wishart import NormalInverseWishart, check_prior
from suffice.core.estimation.priors import (
    Priors,
    check_priors,
    class_priors,
    prior_pseudo_count,
    priors_among,
)
from suffice.core.estimation.regularisation import Regularisation
from suffice.core.estimation.shrinkage import (
    TARGETS,
    Intensity,
    IntensityWord,
    Shrinkage,
    is_share,
)
from suffice.core.moments import Moments
from suffice.core.power_transform import PowerTransform, check_power
from suffice.errors import InvalidParameterError, require_word
from suffice.typing import Codes, Floats, Labels

AUTO: Literal["auto"] = "auto"  # the setting is chosen from the data
CovarianceWord: TypeAlias = Literal[
    "full",
    "diagonal",
    "spherical",
    "tree",
    "auto",
    "EII",
    "VII",
    "EEI",
    "VEI",
    "EVI",
    "VVI",
    "EEE",
    "VEE",
    "EVE",
    "VVE",
    "EEV",
    "VEV",
    "EVV",
    "VVV",
]
DivisorWord: TypeAlias = Literal["mle", "unbiased", "averaged"]
EstimateWord: TypeAlias = Literal["plug-in", "map", "predictive"]
MissingWord: TypeAlias = Literal["marginal", "indicator"]
PowerLike: TypeAlias = Literal["yeo-johnson", "auto"] | PowerTransform | None
PoolingLike: TypeAlias = float | Literal["auto"] | None
ShrinkageLike: TypeAlias = float | IntensityWord | Shrinkage | None
TemperatureLike: TypeAlias = float | Literal["auto"]
TiedLike: TypeAlias = bool | Sequence[Sequence[object]]
ColumnName: TypeAlias = str | int
V = TypeVar("V")


@dataclass(frozen=True, slots=True)
class Categorical:
    """The numeric columns that are categories, and the smoothing of levels.

    Parameters
    ----------
    columns : sequence of column names or positions, optional
        Numeric columns to read as categories. Text columns are always categories.
    smoothing : float, default=1.0
        Pseudo-count of each level, for models with probabilities of levels: naive Bayes
        (diagonal covariances) and ``covariance="tree"``.

    Examples
    --------
    >>> import suffice as sf
    >>> sf.GaussianNB(categorical=sf.Categorical(["zone"], smoothing=0.5))
    GaussianNB(categorical=Categorical(columns=['zone'], smoothing=0.5))
    """

    columns: str | Sequence[ColumnName] | None = None
    smoothing: float = 1.0

    def __post_init__(self) -> None:
        alpha: object = self.smoothing
        if not is_number(alpha) or not 0 < float(alpha) < np.inf:
            raise InvalidParameterError(
                f"the smoothing of levels must be a positive number, got {alpha!r}"
            )


CategoricalLike: TypeAlias = Categorical | str | Sequence[ColumnName] | None


def is_open(word: object) -> bool:
    """Return whether a setting is "auto", so that it is chosen from the data."""
    return isinstance(word, str) and word == AUTO


def parse_word(word: object, table: Mapping[str, V], name: str) -> V:
    """Return the value of a keyword; for an unknown one, raise an error that lists the keywords."""
    require_word(word, table, name)
    assert isinstance(word, str)
    return table[word]


class _Covariance(NamedTuple):
    """The structure, and perhaps the tying, that a keyword for ``covariance`` selects."""

    structure: Structure
    tied: bool | None = None  # None: the parameter ``tied`` decides


_FULL = FullStructure()
_DIAGONAL = DiagonalStructure()
_SPHERICAL = DiagonalStructure(spherical=True)
_COVARIANCES: Mapping[str, _Covariance] = {
    "full": _Covariance(_FULL),
    "tree": _Covariance(_FULL),
    # "auto" needs the moments of a full covariance, which suffice for every family
    "auto": _Covariance(_FULL),
    "diagonal": _Covariance(_DIAGONAL),
    "spherical": _Covariance(_SPHERICAL),
    **{code: _Covariance(EddaStructure(code), tied=False) for code in FAMILIES},
    # six families are plain structures, tied or not tied
    "EEE": _Covariance(_FULL, tied=True),
    "VVV": _Covariance(_FULL, tied=False),
    "EEI": _Covariance(_DIAGONAL, tied=True),
    "VVI": _Covariance(_DIAGONAL, tied=False),
    "EII": _Covariance(_SPHERICAL, tied=True),
    "VII": _Covariance(_SPHERICAL, tied=False),
}
_CLOSED_FORMS: Mapping[str, Intensity] = {
    "oas": Intensity(),
    "ledoit-wolf": Intensity(needs_fourth=True),
}


@dataclass(frozen=True, slots=True, eq=False)
class Settings:
    """The settings of a Gaussian estimator as the user gave them, after checks."""

    covariance: CovarianceWord = "full"
    tied: TiedLike = False
    pooling: PoolingLike = None
    shrinkage: ShrinkageLike = None
    divisor: DivisorWord = "mle"
    estimate: EstimateWord | NormalInverseWishart = "plug-in"
    priors: Priors = None
    costs: CostsLike = None
    power: PowerLike = None
    temperature: TemperatureLike = 1.0
    categorical: CategoricalLike = None
    missing: MissingWord = "marginal"
    # number of discriminant coordinates that transform and predict use; None: all
    n_components: int | None = None

    def __post_init__(self) -> None:
        _check_covariance(self.covariance)
        _check_tied(self.tied)
        require_word(self.divisor, ("mle", "unbiased", "averaged"), "divisor")
        if (
            self.pooling is not None
            and not is_open(self.pooling)
            and not is_share(self.pooling)
        ):
            raise InvalidParameterError(
                f"pooling must be None, a number from 0 to 1, or 'auto', got {self.pooling!r}"
            )
        if self.shrinkage is not None and not isinstance(self.shrinkage, Shrinkage):
            Shrinkage(self.shrinkage)
        if isinstance(self.estimate, NormalInverseWishart):
            check_prior(self.estimate)
        else:
            require_word(self.estimate, ("plug-in", "map", "predictive"), "estimate")
        check_priors(self.priors, at_mode=self.takes_mode)
        if not is_open(self.power):
            check_power(self.power)
        if not is_open(self.temperature):
            check_temperature(self.temperature)
        require_word(self.missing, ("marginal", "indicator"), "missing")
        if self.costs is not None and not isinstance(self.costs, Costs):
            Costs(self.costs)
        _check_compatible(self)
        _check_n_components(self)

    # --- meaning of the keywords -------------------------------------------------------------

    @property
    def structure(self) -> Structure:
        """The structure of each covariance."""
        return _COVARIANCES[self.covariance].structure

    @property
    def tied_classes(self) -> Tied:
        """The classes that share a covariance: all (True), none (False), or groups of labels."""
        by_family = _COVARIANCES[self.covariance].tied
        if by_family is not None:
            return by_family
        if isinstance(self.tied, (bool, np.bool_)):
            return bool(self.tied)
        return tuple(tuple(group) for group in self.tied)

    @property
    def family(self) -> str | None:
        """The code of the EDDA family, or None."""
        return self.covariance if self.covariance in FAMILIES else None

    @property
    def families(self) -> list[Settings]:
        """Settings of each family from which ``covariance="auto"`` chooses."""
        if self.covariance != AUTO:
            return []
        codes = cast("tuple[CovarianceWord, ...]", FAMILIES)
        return [replace(self, covariance=code) for code in codes]

    @property
    def intensity(self) -> float | IntensityWord:
        """Friedman's γ, or the keyword of its rule."""
        if self.shrinkage is None:
            return 0.0
        if isinstance(self.shrinkage, Shrinkage):
            return self.shrinkage.intensity
        return self.shrinkage

    @property
    def regularisation(self) -> Regularisation:
        """Divisor, pooling λ and shrinkage γ; "auto" counts as 0."""
        intensity = self.intensity
        if isinstance(intensity, str):
            rule = _CLOSED_FORMS.get(intensity, Intensity(0.0))
        else:
            rule = Intensity(float(intensity))
        target = self.shrinkage.target if isinstance(self.shrinkage, Shrinkage) else "diagonal"
        return Regularisation(
            unbiased=self.divisor == "unbiased",
            pooling=float(self.pooling) if is_number(self.pooling) else 0.0,
            shrinkage=rule,
            target=TARGETS[target],
        )

    @property
    def plugs_in(self) -> bool:
        """Whether the model uses estimates in place of the parameters."""
        return self.estimate == "plug-in"

    @property
    def takes_mode(self) -> bool:
        """Whether the model uses the parameters at the mode of the posterior."""
        if isinstance(self.estimate, NormalInverseWishart):
            return self.estimate.use == "map"
        return self.estimate == "map"

    @property
    def prior(self) -> NormalInverseWishart | None:
        """The prior of means and covariances, or None for a weak prior."""
        return self.estimate if isinstance(self.estimate, NormalInverseWishart) else None

    @property
    def averages_divisors(self) -> bool:
        """Whether the covariance averages the unbiased covariances of the classes."""
        return self.divisor == "averaged" and self.plugs_in

    @property
    def reads_tree(self) -> bool:
        """Whether each class has a Chow–Liu tree of categories, and numbers depend on levels."""
        return self.covariance == "tree"

    @property
    def reads_numbers(self) -> bool:
        """Whether indicators of levels are features of the Gaussian, like numeric columns."""
        if self.reads_tree or self.structure.is_diagonal or self.covariance == AUTO:
            return False
        return self.plugs_in or self.tied_classes is True

    @property
    def is_plug_in(self) -> bool:
        """Whether covariances are plug-in estimates with a structure that the settings fix."""
        is_plain = self.n_components is None and not self.averages_divisors
        return self.plugs_in and self.covariance != AUTO and is_plain

    @property
    def smoothing(self) -> float:
        """The pseudo-count α of each level of a category."""
        if isinstance(self.categorical, Categorical):
            return float(self.categorical.smoothing)
        return 1.0

    @property
    def categorical_columns(self) -> str | Sequence[ColumnName] | None:
        """Numeric columns that are categories, by name or position."""
        if isinstance(self.categorical, Categorical):
            return self.categorical.columns
        return self.categorical

    @property
    def open_settings(self) -> tuple[str, ...]:
        """Names of the settings that are "auto" and can only be chosen from rows."""
        words: dict[str, object] = {
            "pooling": self.pooling,
            "shrinkage": self.intensity,
            "temperature": self.temperature,
            "power": self.power,
        }
        return tuple(name for name, word in words.items() if is_open(word))

    @property
    def idle_settings(self) -> tuple[str, ...]:
        """Messages about settings that have no effect in this combination."""
        reasons = []
        target = self.shrinkage.target if isinstance(self.shrinkage, Shrinkage) else "diagonal"
        shrinks_correlations = self.intensity != 0 and target == "diagonal"
        if shrinks_correlations and self.covariance in ("diagonal", "spherical"):
            reasons.append(
                f"shrinkage={self.intensity!r} has no effect, because it shrinks correlations and "
                f"covariance={self.covariance!r} has none. Leave shrinkage out, or shrink the "
                "variances by Shrinkage(0.5, target='sphere')"
            )
        if self.pooling is not None and self.tied_classes is True:
            reasons.append(
                f"pooling={self.pooling!r} has no effect, because all classes share one "
                "covariance already: leave pooling out, or set tied=False"
            )
        return tuple(reasons)

    @property
    def needs_fourth(self) -> bool:
        """Whether the settings need fourth moments, as the shrinkage of Ledoit and Wolf does."""
        return self.intensity == "ledoit-wolf"

    @property
    def storage(self) -> Literal["per-class", "pooled", "diagonal"]:
        """The smallest storage of moments that these settings need."""
        # each class needs its own scatter for its tree
        if self.needs_fourth or self.reads_tree:
            return "per-class"
        if self.structure.is_diagonal:
            return "diagonal"
        if self.tied_classes is True and not self.averages_divisors:
            return "pooled"
        return "per-class"

    # --- settings for given classes ----------------------------------------------------------

    def group_of(self, classes: Labels) -> Codes:
        """Return the number of the group of tied classes to which each class belongs, (K,)."""
        # if λ = 1, every class has the pooled covariance
        is_pooled = self.regularisation.pooling == 1
        return group_codes(is_pooled or self.tied_classes, classes)

    def class_priors(self, classes: Labels, weights: Floats) -> Floats:
        """Return π (K,), given the weights of the classes (K,)."""
        return class_priors(self.priors, classes, weights, at_mode=self.takes_mode)

    @property
    def prior_pseudo_count(self) -> float | None:
        """Pseudo-count that priors add to class weights, or None if priors ignore the weights."""
        return prior_pseudo_count(self.priors, at_mode=self.takes_mode)

    # --- changed copies ----------------------------------------------------------------------

    def with_regularisation(
        self, *, pooling: PoolingLike, shrinkage: float | None
    ) -> Settings:
        """Return the settings with other λ and γ; None keeps the current value."""
        changed = self
        if pooling is not None:
            changed = replace(changed, pooling=pooling)
        if shrinkage is not None:
            target = self.shrinkage.target if isinstance(self.shrinkage, Shrinkage) else None
            word = shrinkage if target is None else Shrinkage(shrinkage, target)
            changed = replace(changed, shrinkage=word)
        return changed

    def with_priors_of(self, weights: Floats, moments: Moments) -> Settings:
        """Return the settings with the priors of all rows, for moments that may lack classes."""
        priors = self.class_priors(moments.classes, weights)
        return replace(self, priors=priors_among(moments.weights > 0, priors))


class RequiredSums(NamedTuple):
    """The storage and fourth moments that ``Moments.of`` must collect."""

    storage: Literal["per-class", "pooled", "diagonal"]
    fourth: bool


def required_sums(many: Iterable[Settings]) -> RequiredSums:
    """Return the sums from which the models of all these settings can be estimated."""
    many = list(many)
    fourth = any(settings.needs_fourth for settings in many)
    storages = {settings.storage for settings in many}
    if len(storages) == 1 and not fourth:
        return RequiredSums(storages.pop(), fourth=False)
    return RequiredSums("per-class", fourth)


# --- checks ----------------------------------------------------------------------------------


def _check_covariance(covariance: object) -> None:
    if not isinstance(covariance, str) or covariance not in _COVARIANCES:
        raise InvalidParameterError(
            "covariance must be one of 'full', 'diagonal', 'spherical', 'tree', 'auto', or an "
            f"EDDA code ({', '.join(FAMILIES)}), got {covariance!r}"
        )


def _check_tied(tied: object) -> None:
    if isinstance(tied, (bool, np.bool_)):
        return
    if isinstance(tied, str) or not isinstance(tied, Iterable):
        raise InvalidParameterError(
            f"tied must be True, False or a list of groups of labels, got {tied!r}"
        )
    for group in tied:
        if isinstance(group, str) or not isinstance(group, Iterable):
            raise InvalidParameterError(
                f"tied must be a list of groups of labels, but {group!r} is not a group: "
                f"write [{group!r}]"
            )


def _check_n_components(settings: Settings) -> None:
    n_components: object = settings.n_components
    if n_components is None:
        return
    if not is_whole_number(n_components) or n_components < 1:
        raise InvalidParameterError(
            f"n_components must be None or an integer of at least 1, got {n_components!r}"
        )
    if settings.tied is not True or settings.covariance != "full":
        raise InvalidParameterError(
            f"n_components={n_components!r} needs tied=True and covariance='full': use those "
            "settings, or leave out n_components"
        )


def _check_compatible(settings: Settings) -> None:
    """Raise if settings contradict each other, after each setting has been checked on its own."""
    if settings.covariance == AUTO or settings.covariance in FAMILIES:
        _check_family(settings)
    if settings.reads_tree:
        _check_tree(settings)
    if not settings.plugs_in:
        _check_bayesian(settings)
    if settings.intensity in ("oas", "ledoit-wolf"):
        _check_closed_form(settings)


def _is_regularised(settings: Settings) -> bool:
    return settings.pooling not in (None, 0) or settings.intensity != 0


def _check_family(settings: Settings) -> None:
    covariance = settings.covariance
    if not (isinstance(settings.tied, (bool, np.bool_)) and not settings.tied):
        raise InvalidParameterError(
            f"covariance={covariance!r} already says what the classes share: leave tied=False, "
            f"got tied={settings.tied!r}"
        )
    if not settings.plugs_in:
        raise InvalidParameterError(
            f"covariance={covariance!r} is estimated by maximum likelihood: leave "
            "estimate='plug-in'"
        )
    if settings.divisor != "mle":
        raise InvalidParameterError(
            f"covariance={covariance!r} is estimated by maximum likelihood: leave divisor='mle'"
        )
    if _is_regularised(settings):
        raise InvalidParameterError(
            f"covariance={covariance!r} takes no pooling or shrinkage: use covariance='full', or "
            "leave them out"
        )


def _check_tree(settings: Settings) -> None:
    if not settings.plugs_in and not settings.takes_mode:
        raise InvalidParameterError(
            f"covariance='tree' has no estimate={settings.estimate!r}: use 'plug-in' or 'map'"
        )
    if settings.needs_fourth:
        raise InvalidParameterError(
            "covariance='tree' takes no shrinkage='ledoit-wolf': use 'oas', or a number"
        )


def _check_bayesian(settings: Settings) -> None:
    if settings.covariance not in ("full", "tree"):
        raise InvalidParameterError(
            f"estimate={settings.estimate!r} learns full covariances: leave covariance='full'"
        )
    if _is_regularised(settings):
        raise InvalidParameterError(
            f"estimate={settings.estimate!r} takes no pooling or shrinkage (a prior does their "
            "work): leave them out, or use estimate='plug-in'"
        )


def _check_closed_form(settings: Settings) -> None:
    if settings.covariance in ("diagonal", "spherical"):
        raise InvalidParameterError(
            "shrinkage='oas' and 'ledoit-wolf' shrink correlations, and "
            f"covariance={settings.covariance!r} has none: use covariance='full'"
        )
    if settings.divisor == "averaged":
        raise InvalidParameterError(
            f"shrinkage={settings.intensity!r} takes divisor='mle' or 'unbiased': use one of "
            "these, or a number"
        )
