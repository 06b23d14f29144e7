"""Every word a user may write for a Gaussian model, what it stands for, and what excludes what."""

from collections.abc import Mapping
from functools import partial
from typing import Any, NamedTuple, TypeVar

import numpy as np

from suffice.core.estimation import covariance_estimates as estimates
from suffice.core.estimation import normal_inverse_wishart as bayes
from suffice.core.estimation.categories import as_indicators, as_tree
from suffice.core.estimation.covariance_estimates import Structure
from suffice.core.estimation.edda import FAMILIES, EddaStructure
from suffice.core.estimation.plug_in_and_debiased import PLUG_IN, Learning
from suffice.core.estimation.priors import PriorRule
from suffice.errors import InvalidParameterError, require_word

OPEN = "auto"  # left open, to be chosen from the data
V = TypeVar("V")


def is_open(word: Any) -> bool:
    """Return whether a setting is left to be chosen from the data."""
    return isinstance(word, str) and word == OPEN


def parse_word(word: Any, table: Mapping[str, V], name: str) -> V:
    """Return what a word stands for, or say which words there are."""
    require_word(word, table, name)
    return table[word]


class CovarianceWord(NamedTuple):
    """What a word for ``covariance`` stands for."""

    structure: Structure
    tied: bool | None = None  # None: the user says who shares a covariance
    code: str | None = None  # the EDDA code, where it is one


_FULL, _DIAGONAL = estimates.FullStructure(), estimates.DiagonalStructure()
_SPHERICAL = estimates.DiagonalStructure(spherical=True)
# six families are plain structures, tied or not
_PLAIN: dict[str, Structure] = {
    "EEE": _FULL,
    "VVV": _FULL,
    "EEI": _DIAGONAL,
    "VVI": _DIAGONAL,
    "EII": _SPHERICAL,
    "VII": _SPHERICAL,
}
_WORDS: dict[str, Structure] = {"full": _FULL, "diagonal": _DIAGONAL, "spherical": _SPHERICAL}
COVARIANCES: Mapping[str, CovarianceWord] = {
    **{word: CovarianceWord(structure) for word, structure in _WORDS.items()},
    **{code: CovarianceWord(EddaStructure(code), tied=False, code=code) for code in FAMILIES},
    **{code: CovarianceWord(plain, code[0] == "E", code) for code, plain in _PLAIN.items()},
}


def parse_covariance(covariance: Any) -> CovarianceWord:
    """Return what ``covariance`` stands for."""
    if isinstance(covariance, str) and covariance in COVARIANCES:
        return COVARIANCES[covariance]
    raise InvalidParameterError(
        "covariance must be one of 'full', 'diagonal', 'spherical', 'auto', or an EDDA code "
        f"({', '.join(FAMILIES)}), got {covariance!r}"
    )


def parse_tied(tied: Any) -> estimates.Tied:
    """Return which classes share a covariance: all, none, or groups of labels."""
    if isinstance(tied, (bool, np.bool_)):
        return bool(tied)
    if isinstance(tied, str) or not hasattr(tied, "__iter__"):
        msg = f"tied must be True, False or a list of groups of labels, got {tied!r}"
        raise InvalidParameterError(msg)
    return tuple(tuple(group) for group in tied)


READINGS = {"indicators": as_indicators, "tree": as_tree}
# one less for each mean, and that class by class: tied classes share the mean by weight
DIVISORS = {"mle": (False, False), "unbiased": (True, False), "averaged": (False, True)}
CLOSED_FORMS = {
    "oas": estimates.Intensity(),
    "ledoit-wolf": estimates.Intensity(needs_fourth=True),
}
TARGETS: Mapping[str, estimates.ShrinkageTarget] = {
    "diagonal": estimates.ShrinkageTarget(keeps_variances=True),
    "sphere": estimates.ShrinkageTarget(pooled_units=True),
    "identity": estimates.ShrinkageTarget(),
}
UNRESOLVED = (
    "pooling='auto' and shrinkage='auto' are chosen by the estimator when it sees rows: call "
    "fit(X, y), or give numbers"
)


def parse_shrinkage(shrinkage: Any) -> estimates.Intensity:
    """Return the rule for γ; None, and what is still open, is 0."""
    if isinstance(shrinkage, str) and shrinkage in CLOSED_FORMS:
        return CLOSED_FORMS[shrinkage]
    if isinstance(shrinkage, str) and not is_open(shrinkage):
        words = ", ".join(map(repr, [OPEN, *CLOSED_FORMS]))
        msg = (
            f"shrinkage must be None, a number in [0, 1], or one of {words}, got {shrinkage!r}"
        )
        raise InvalidParameterError(msg)
    return estimates.Intensity(parse_share(shrinkage, "shrinkage"))


def parse_share(value: Any, name: str = "pooling") -> float:
    """Return a number in [0, 1]; None, and what is still open, is 0."""
    if value is None or is_open(value):
        return 0.0
    if isinstance(value, (bool, str)) or not np.isscalar(value) or not 0 <= float(value) <= 1:  # type: ignore[arg-type]
        msg = f"{name} must be None, 'auto' or a number in [0, 1], got {value!r}"
        raise InvalidParameterError(msg)
    return float(value)  # type: ignore[arg-type]


ESTIMATES: Mapping[str, Learning] = {
    "plug-in": PLUG_IN,
    "map": Learning(bayes.most_probable, at_mode=True),
    "predictive": Learning(bayes.predictive),
}


def parse_estimate(estimate: Any, prior: Any) -> Learning:
    """Return how parameters are learnt, under the prior that ``prior`` names."""
    learning = parse_word(estimate, ESTIMATES, "estimate")
    if estimate in ("map", "predictive"):
        return learning._replace(model=partial(learning.model, parse_prior(prior)))
    if prior is not None:
        msg = (
            f"prior is for estimate='map' or 'predictive', not for {estimate!r}: leave it out"
        )
        raise InvalidParameterError(msg)
    return learning


def parse_prior(prior: Any) -> bayes.Belief:
    """Return the belief that ``prior`` names: None, "flat", or a NormalInverseWishart."""
    if prior is None:
        return bayes.default_belief
    if isinstance(prior, str) and prior == "flat":
        return bayes.flat_belief
    if isinstance(prior, bayes.NormalInverseWishart):
        bayes.check_prior(prior)
        return partial(bayes.given_belief, prior)
    msg = f"prior must be None, 'flat' or a NormalInverseWishart, got {prior!r}"
    raise InvalidParameterError(msg)


def parse_n_components(
    n_components: Any,
    covariance: Any,
    tied: Any,
    estimate: Any,
) -> int | None:
    """Return how many discriminant coordinates count in posteriors; None is all of them."""
    whole = isinstance(n_components, (int, np.integer)) and not isinstance(n_components, bool)
    if n_components is not None and (not whole or n_components < 1):
        msg = f"n_components must be None or a whole number from 1 on, got {n_components!r}"
        raise InvalidParameterError(msg)
    linear = tied is True and covariance == "full" and estimate == "plug-in"
    return int(n_components) if linear and n_components is not None else None


def parse_priors(priors: Any, dirichlet: Any = None, *, at_mode: bool = False) -> PriorRule:
    """Return the rule for class priors: shares (smoothed), uniform, or given."""
    if dirichlet is not None:
        if priors is not None:
            msg = f"priors={priors!r} fixes what dirichlet={dirichlet!r} learns: give only one"
            raise InvalidParameterError(msg)
        number = isinstance(dirichlet, (int, float, np.number)) and not isinstance(
            dirichlet, bool
        )
        if not number or not 0 < float(dirichlet) < np.inf:
            msg = f"dirichlet must be None or a positive number, got {dirichlet!r}"
            raise InvalidParameterError(msg)
        if at_mode and dirichlet < 1:
            raise InvalidParameterError(
                f"dirichlet={dirichlet!r} has no most probable priors: use at least 1 with "
                "estimate='map', or another estimate"
            )
        return PriorRule(float(dirichlet) - at_mode)
    if not isinstance(priors, str):
        return PriorRule() if priors is None else PriorRule(None, priors)
    if priors != "uniform":
        msg = f"priors={priors!r}: expected None, 'uniform', an array (K,) or {{label: prior}}"
        raise InvalidParameterError(msg)
    return PriorRule(None)


def check_compatible(
    covariance: str,
    tied: Any,
    estimate: str,
    divisor: str,
    pooling: Any,
    shrinkage: Any,
    tree: Any,
) -> None:
    """Refuse words that contradict each other; each of them is known to be right alone."""
    code, learning = f"covariance={covariance!r}", f"estimate={estimate!r}"
    family = is_open(covariance) or covariance in FAMILIES
    untied = isinstance(tied, (bool, np.bool_)) and not tied
    learnt = estimate != "plug-in"
    regularised = any(word is not None and word != 0 for word in (pooling, shrinkage))
    likeliest = f"{code} is estimated by maximum likelihood: leave"
    uncorrelated = covariance in ("diagonal", "spherical")
    contradictions = {
        f"{code} says itself what classes share: leave tied=False, found tied={tied!r}": family
        and not untied,
        f"{likeliest} estimate='plug-in'": family and learnt,
        f"{likeliest} divisor='mle'": family and divisor != "mle",
        f"{code} takes no pooling or shrinkage: use covariance='full', or leave them out": family
        and regularised,
        f"{learning} learns full covariances: leave covariance='full'": learnt
        and covariance != "full",
        f"{learning} takes no pooling or shrinkage (a prior does their work): leave them out, or "
        "use estimate='plug-in'": learnt and regularised,
        "shrinkage='oas' and 'ledoit-wolf' shrink correlations, and "
        f"{code} has none: use covariance='full', or a number": uncorrelated
        and shrinkage in CLOSED_FORMS,
        f"shrinkage={shrinkage!r} knows divisor='mle' and 'unbiased': use one of these, or a "
        "number": divisor == "averaged" and shrinkage in CLOSED_FORMS,
        f"categories='tree' has no {learning}: use 'plug-in' or 'map'": tree
        and estimate == "predictive",
        "categories='tree' takes no shrinkage='ledoit-wolf': use 'oas', or a number": tree
        and shrinkage == "ledoit-wolf",
    }
    for message, holds in contradictions.items():
        if holds:
            raise InvalidParameterError(message)
