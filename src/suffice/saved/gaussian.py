"""Gaussian classifiers in files: moments, and what cross-validation chose."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from suffice.decision.classifier import Classifier, softmax_temperature
from suffice.estimation.recipe import Recipe
from suffice.estimation.settings import OPEN, is_open
from suffice.moments import Moments
from suffice.moments.file import arrays_of, header_of
from suffice.saved.settings import check_shapes, plain, revived, settings_of, under
from suffice.validation.conformal import Conformity

if TYPE_CHECKING:
    from collections.abc import Mapping

CHOSEN = ("pooling", "shrinkage", "temperature")  # by cross-validation, where they say "auto"
_CONFORMITY = ("strangeness", "weights")
_COSTS = ("costs", "reject_cost", "reject_label")
_OF_RECIPE = (
    *("covariance", "tied", "divisor", "pooling", "shrinkage", "target"),
    *("estimate", "prior", "dirichlet", "priors"),
)


def state_of(
    moments: Moments, chosen: Mapping[str, Any], conformity: Conformity | None
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the fields of the header and the arrays of a fitted classifier."""
    arrays = arrays_of(moments)
    if conformity is not None:
        arrays |= {f"conformity_{name}": getattr(conformity, name) for name in _CONFORMITY}
    return {"chosen": plain("chosen", dict(chosen)), **header_of(moments)}, arrays


def conformity_in(arrays: Mapping[str, Any]) -> Conformity | None:
    """Return what prediction sets are calibrated by, where it was kept."""
    known = under(arrays, "conformity_")
    if not known:
        return None
    shape = (len(known["weights"]),)
    check_shapes(known, dict.fromkeys(_CONFORMITY, shape))
    return Conformity(**known)


def chosen_in(header: Mapping[str, Any]) -> dict[str, Any]:
    """Return what cross-validation chose, by attribute: ``pooling_`` and so on."""
    chosen = revived(header["chosen"])
    return {f"{name}_": chosen[f"{name}_"] for name in CHOSEN if f"{name}_" in chosen}


def classifier_from(header: Mapping[str, Any], arrays: Mapping[str, Any]) -> Classifier:
    """Return the classifier of a saved Gaussian estimator."""
    settings, chosen = settings_of(header), chosen_in(header)
    for name in CHOSEN:
        if is_open(settings[name]):
            settings[name] = chosen.get(f"{name}_", OPEN)
    moments = Moments.of_archive(header, arrays)
    recipe = Recipe.parse(**{name: settings[name] for name in _OF_RECIPE})
    temperature = softmax_temperature(settings["temperature"], settings.get("base"))
    model = recipe.model(moments).with_temperature(temperature)
    costs = {name: settings[name] for name in _COSTS}
    return Classifier.of(moments.classes, moments.feature_names, model, **costs)
