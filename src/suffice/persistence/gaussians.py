"""Gaussian classifiers in files, and averages of them: moments, and what was chosen."""

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any, cast

import numpy as np

from suffice.core.decision.classifier import Classifier, softmax_temperature
from suffice.core.decision.conformal import Conformity
from suffice.core.estimation.recipe import Recipe, recipe_of
from suffice.core.estimation.settings import OPEN, is_open
from suffice.core.linalg import inverse_lower
from suffice.core.model import DiagonalCovariance, FullCovariance, GaussianModel
from suffice.core.model.averaged import AveragedModel, Share, TemperedModel, Trees
from suffice.core.model.linear import LinearModel
from suffice.core.model.mixture import MixtureModel
from suffice.core.model.views import VIEWS, KernelFeatures, Plain, PowerTransformed, View
from suffice.core.moments import Moments
from suffice.core.power_transform import PowerTransform
from suffice.core.table.schema import Encoding
from suffice.errors import FileFormatError, InvalidParameterError
from suffice.persistence.fields import (
    Fields,
    State,
    check_dims,
    kept,
    over,
    revived,
    settings_of,
    under,
)
from suffice.persistence.moments_file import (
    arrays_of,
    check_feature_names,
    checked_classes,
    header_of,
)

CHOSEN = ("pooling", "shrinkage", "temperature")  # by cross-validation, where they say "auto"
_CONFORMITY = ("strangeness", "weights")
_OF_COMPONENTS = ("centre", "offsets", "group_of", "priors")  # of mixtures
COSTS = ("costs", "reject_cost", "reject_label")
OF_RECIPE = (
    *("covariance", "tied", "divisor", "pooling", "shrinkage", "target"),
    *("n_components", "estimate", "prior", "dirichlet", "priors", "categories"),
)

_UNSAID = {"categories": "indicators", "n_components": None}  # settings that older files lack


def gaussian_state(learnt: Fields) -> State:
    """Return the fields of the header and the arrays of a classifier with these attributes."""
    moments, conformity = learnt["moments_"], learnt.get("_conformity")
    chosen = {f"{name}_": learnt[f"{name}_"] for name in CHOSEN if f"{name}_" in learnt}
    arrays = arrays_of(moments)
    if conformity is not None:
        arrays |= {f"conformity_{name}": getattr(conformity, name) for name in _CONFORMITY}
    return {"chosen": kept("chosen", chosen), **header_of(moments)}, arrays


def chosen_in(header: Fields) -> dict[str, Any]:
    """Return what cross-validation chose, by attribute: ``pooling_`` and so on."""
    chosen = revived(header["chosen"])
    return {f"{name}_": chosen[f"{name}_"] for name in CHOSEN if f"{name}_" in chosen}


def conformity_in(arrays: Fields) -> dict[str, Conformity]:
    """Return what prediction sets are calibrated by, by attribute, where it was kept."""
    known = under(arrays, "conformity_")
    if not known:
        return {}
    check_dims(known, dict.fromkeys(_CONFORMITY, (len(known["weights"]),)))
    return {"_conformity": Conformity(**known)}


def gaussian_from(header: Fields, arrays: Fields) -> Classifier:
    """Return the classifier of a saved Gaussian estimator."""
    settings, chosen = {**_UNSAID, **settings_of(header)}, chosen_in(header)
    left_open = [name for name in CHOSEN if is_open(settings[name])]
    settings |= {name: chosen.get(f"{name}_", OPEN) for name in left_open}
    moments = Moments.of_archive(header, arrays)
    recipe = Recipe.parse(**{name: settings[name] for name in OF_RECIPE})
    temperature = softmax_temperature(settings["temperature"], settings.get("base"))
    return recipe.classifier(moments, temperature, **{name: settings[name] for name in COSTS})


def mixture_state(model: MixtureModel) -> dict[str, Any]:
    """Return the arrays of mixtures; covariances by factors (G, d, d), or scales (G, d)."""
    parts, found = model.components, {"class_priors": model.priors, "class_of": model.class_of}
    sigmas = parts.covariances
    factors = [c.scale if isinstance(c, DiagonalCovariance) else c.factor for c in sigmas]
    known = {name: getattr(parts, name) for name in _OF_COMPONENTS}
    return known | found | {"factors": np.stack(factors)}


def mixture_from(header: Fields, arrays: Fields) -> Classifier:
    """Return the classifier of saved mixtures, its parts known to fit together."""
    factors, class_of, classes = arrays["factors"], arrays["class_of"], arrays["classes"]
    (g, d), diagonal = factors.shape[:2], factors.ndim == 2
    shapes = {"factors": (g, d) if diagonal else (g, d, d), "class_priors": classes.shape}
    shapes |= {"offsets": (len(class_of), d), "centre": (d,), "priors": class_of.shape}
    check_dims(arrays, shapes)
    check_feature_names(header["feature_names"], d)
    if np.any(np.diff(class_of) < 0) or np.any(np.unique(class_of) != np.arange(len(classes))):
        msg = "field 'class_of' must name every class, in order: write the file again"
        raise FileFormatError(msg)
    known: Any = {name: arrays[name] for name in _OF_COMPONENTS}
    known["n_covariance_parameters"] = g * (d if diagonal else d * (d + 1) // 2)
    sigmas = (
        DiagonalCovariance(f) if diagonal else FullCovariance(f, inverse_lower(f))
        for f in factors
    )
    components = GaussianModel.of(covariances=tuple(sigmas), **known)
    with np.errstate(divide="ignore"):
        model = MixtureModel(np.log(arrays["class_priors"]), components, class_of)
    costs = settings_of(header)["costs"]
    names = header["feature_names"]
    found = Classifier.of(checked_classes(classes), names, model, costs=costs)
    refuse_misfits(found)
    return found.allowing_missing()


OUTSIDERS: dict[str, Any] = {"trees": Trees, "linear": LinearModel}
_RECIPE = ("pooling", "shrinkage")
_JUDGED = ("temperature", "error", "log_loss", "log_loss_se", "weight")


def averaged_state(auto: Any) -> State:
    """Return the fields of the header and the arrays of a fitted ``AutoGaussian``."""
    views = {id(c.view): c.view for c in auto.choices_}
    numbers = {view: i for i, view in enumerate(views)}
    plain = (v.unmixed() if isinstance(v, KernelFeatures) else v for v in views.values())
    seen = [_state(view, VIEWS) for view in plain]
    gaussians = [m for m in auto.members_ if m.moments is not None]
    sums = {numbers[id(m.candidate.view)]: m.moments for m in gaussians}
    others = {_named(m.candidate): m.model for m in auto.members_ if m.moments is None}
    outsiders = {name: _outsider(name, model) for name, model in others.items()}
    best, names = auto.best_estimator_, getattr(auto, "feature_names_in_", None)
    chosen = {
        name: getattr(best, name) for name in ("pooling", "shrinkage", "tied", "temperature")
    }
    header = {
        "n_features": auto.n_features_in_,
        "feature_names": None if names is None else list(names),
        "encoding": auto.encoding_ and auto.encoding_.to_json(),
        "doubt": auto.doubt_,
        "effort": auto.effort_,
        "views": [top for top, _ in seen],
        "choices": [_choice(c, numbers) for c in auto.choices_],
        "outsiders": {name: top for name, (top, _) in outsiders.items()},
        "sums": {str(i): header_of(m) for i, m in sums.items()},
        "best": {**chosen, "sums": header_of(best.moments_)},
    }
    arrays = {
        "classes": auto.classes_,
        "frequencies": auto.frequencies_,
        "varying": auto.varying_,
    }
    parts = {f"view{i}.": own for i, (_, own) in enumerate(seen)}
    parts |= {f"sums{i}.": arrays_of(m) for i, m in sums.items()}
    parts |= {f"outsider{i}.": own for i, (_, own) in enumerate(outsiders.values())}
    parts["best."] = arrays_of(best.moments_)
    for prefix, own in parts.items():
        arrays |= over(prefix, own)
    return header, arrays


def _choice(c: Any, numbers: Mapping[int, int]) -> dict[str, Any]:
    gaussian, kernel = hasattr(c, "recipe"), isinstance(c.view, KernelFeatures)
    who: dict[str, Any] = {"view": numbers[id(c.view)]}
    if kernel or not gaussian:
        who["linear" if gaussian else "outsider"] = _named(c)
    return who | {
        name: float(getattr(c, name)) for name in (_RECIPE if gaussian else ()) + _JUDGED
    }


def _named(candidate: Any) -> str:
    """Return the name of a candidate that is kept as it is, not as moments."""
    return str(getattr(candidate, "name", None) or candidate.describe())


def _outsider(name: str, model: Any) -> State:
    """Return how a member is kept as it is; raise where we do not know its parts."""
    if isinstance(model, LinearModel):
        return {"kind": "linear", "doubt": 0.0}, _state(model, OUTSIDERS)[1]
    if type(model.inner) not in OUTSIDERS.values():
        raise InvalidParameterError(
            f"the member {name!r} cannot be saved: only Gaussians, logistic regression and forests "
            "of trees are kept in files; leave it out of members, or save best_estimator_"
        )
    top, arrays = _state(model.inner, OUTSIDERS)
    return {"kind": top["kind"], "doubt": model.doubt}, arrays


def views_in(header: Fields, arrays: Fields) -> list[View]:
    """Return the views of the rows, in the order that choices name them by."""
    return [
        _view_from(top, under(arrays, f"view{i}.")) for i, top in enumerate(header["views"])
    ]


def moments_in(header: Fields, arrays: Fields) -> dict[int, Moments]:
    """Return the moments of the rows as each view that counts shows them."""
    sums = header["sums"].items()
    return {int(i): Moments.of_archive(top, under(arrays, f"sums{i}.")) for i, top in sums}


def best_moments(header: Fields, arrays: Fields) -> Moments:
    """Return the moments of the best single model."""
    return Moments.of_archive(header["best"]["sums"], under(arrays, "best."))


def averaged_from(header: Fields, arrays: Fields) -> Classifier:
    """Return the classifier of a saved ``AutoGaussian``, its parts known to fit together."""
    views, sums, outsiders = views_in(header, arrays), moments_in(header, arrays), {}
    for i, (name, top) in enumerate(header.get("outsiders", {}).items()):
        parts = under(arrays, f"outsider{i}.")
        inner = Trees(**parts) if top["kind"] == "trees" else LinearModel.of(**parts)
        outsiders[name] = inner, float(top["doubt"])
    shares = []
    for choice in (choice for choice in header["choices"] if choice["weight"] > 0):
        view, t = views[choice["view"]] if "view" in choice else Plain(), choice["temperature"]
        if "outsider" in choice:
            inner, doubt = outsiders[choice["outsider"]]
            model: Any = TemperedModel(inner, float(t), doubt)
        elif "linear" in choice:
            model = replace(
                cast(LinearModel, outsiders[choice["linear"]][0]), temperature=float(t)
            )
        else:
            recipe = recipe_of(view, *(choice[name] for name in _RECIPE))
            model = recipe.estimate(sums[choice["view"]], quiet=True).with_temperature(t)
        shares.append(Share(view, model, choice["weight"]))
    names, top = header["feature_names"], header["best"]
    check_feature_names(names, int(header["n_features"]))
    recipe = Recipe.parse(**{name: top[name] for name in (*_RECIPE, "tied")})
    best = recipe.model(best_moments(header, arrays)).with_temperature(top["temperature"])
    known = arrays["varying"], float(header["doubt"]), arrays["frequencies"], best
    encoding = Encoding.from_json(header.get("encoding"))
    names = encoding.feature_names if encoding else names
    classes, model = checked_classes(arrays["classes"]), AveragedModel(tuple(shares), *known)
    found = Classifier.of(classes, names, model, encoding=encoding).allowing_missing()
    refuse_misfits(found)
    return found


def refuse_misfits(classifier: Classifier) -> None:
    """Raise unless all parts fit together, by asking about one row that the model itself draws."""
    row, _ = classifier.model.sample(1, np.random.default_rng(0))  # type: ignore[union-attr]
    posterior = classifier.model.posterior(row)
    if posterior.shape != (1, len(classifier.classes)) or not np.isfinite(posterior).all():
        msg = "the parts of the model in the file do not fit together: write it again"
        raise FileFormatError(msg)


def _state(value: Any, kinds: Fields) -> State:
    """Return the kind and the settings of a frozen value, and the arrays that it is made of."""
    header: dict[str, Any] = {"kind": {cls: kind for kind, cls in kinds.items()}[type(value)]}
    arrays: dict[str, Any] = {}
    for name, part in ((field.name, getattr(value, field.name)) for field in fields(value)):
        if name == "below":
            header[name], below = _state(part, kinds)
            arrays |= over("below.", below)
        elif isinstance(part, PowerTransform):
            arrays |= part.arrays()
        elif isinstance(part, np.ndarray):
            arrays[name] = part
        else:
            header[name] = part
    return header, arrays


def _view_from(header: Fields, arrays: Fields) -> View:
    view = VIEWS[header["kind"]]
    if view is PowerTransformed:
        return PowerTransformed(PowerTransform(**arrays))
    known = {field.name for field in fields(view)}
    parts = {name: part for name, part in {**header, **arrays}.items() if name in known}
    if "below" in known:
        parts["below"] = _view_from(header["below"], under(arrays, "below."))
    return cast(View, view(**parts))
