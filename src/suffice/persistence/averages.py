"""Averages of models in files: the views of rows, the moments of members, and the choices."""

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any, TypeAlias, get_args

import numpy as np

from suffice.core.decision.classifier import Classifier
from suffice.core.estimation.estimate import estimate, in_row_units, settings_of_view
from suffice.core.estimation.settings import Settings
from suffice.core.model.averaged import AveragedModel, Share, TemperedModel
from suffice.core.model.class_model import ClassModel
from suffice.core.model.linear import LinearModel
from suffice.core.model.trees import BoostedTrees, Trees
from suffice.core.model.views import (
    VIEWS,
    Kernel,
    KernelFeatures,
    Plain,
    PowerTransformed,
    View,
)
from suffice.core.moments import Moments
from suffice.core.power_transform import PowerTransform
from suffice.core.table.indicator_encoding import Encoding
from suffice.errors import FileFormatError, InvalidParameterError
from suffice.persistence.fields import (
    Arrays,
    Fields,
    State,
    settings_of,
    with_prefix,
    without_prefix,
)
from suffice.persistence.gaussians import refuse_misfits
from suffice.persistence.moments_file import (
    arrays_of,
    check_feature_names,
    checked_classes,
    header_of,
)
from suffice.persistence.trees import refuse_unsound_trees
from suffice.typing import Array

#: The types of members that are saved with their parts instead of as moments.
_Kept: TypeAlias = Trees | BoostedTrees | LinearModel

_JUDGED = ("temperature", "error", "log_loss", "log_loss_se", "weight")


def averaged_state(auto: Any) -> State:
    """Return the header fields and the arrays of a fitted ``AutoGaussian``."""
    views: dict[int, View] = {id(choice.view): choice.view for choice in auto.choices_}
    number_of_view = {view: number for number, view in enumerate(views)}
    arrays = {
        "classes": auto.classes_,
        "frequencies": auto._frequencies,
        "varying": auto._varying,
    }
    view_headers = []
    for number, view in enumerate(views.values()):
        plain = view.unmixed() if isinstance(view, KernelFeatures) else view
        top, parts = _view_state(plain)
        view_headers.append(top)
        arrays.update(with_prefix(f"view{number}.", parts))
    sums_headers = {}
    outsider_headers: dict[str, dict[str, object]] = {}
    for member in auto.members_:
        if member.moments is not None:
            number = number_of_view[id(member.candidate.view)]
            sums_headers[str(number)] = header_of(member.moments)
            arrays.update(with_prefix(f"sums{number}.", arrays_of(member.moments)))
        else:
            name = _name_of(member.candidate)
            number = len(outsider_headers)
            outsider_headers[name], parts = _outsider_state(name, member.model)
            arrays.update(with_prefix(f"outsider{number}.", parts))
    best = auto.best_estimator_
    arrays.update(with_prefix("best.", arrays_of(best.moments_)))
    names = getattr(auto, "feature_names_in_", None)
    header = {
        "n_features": auto.n_features_in_,
        "feature_names": None if names is None else list(names),
        "encoding": auto.encoding_ and auto.encoding_.to_json(),
        "doubt": auto._doubt,
        "temperature": auto.temperature_,
        "effort": auto.effort_,
        "views": view_headers,
        "choices": [_choice_state(choice, number_of_view) for choice in auto.choices_],
        "outsiders": outsider_headers,
        "sums": sums_headers,
        "best": {
            "pooling": best.pooling,
            "shrinkage": best.shrinkage,
            "tied": best.tied,
            "temperature": best.temperature,
            "sums": header_of(best.moments_),
        },
    }
    return header, arrays


def _choice_state(choice: Any, number_of_view: Mapping[int, int]) -> dict[str, object]:
    state: dict[str, object] = {"view": number_of_view[id(choice.view)]}
    is_gaussian = hasattr(choice, "settings")
    if not is_gaussian:
        state["outsider"] = _name_of(choice)
    else:
        if isinstance(choice.view, KernelFeatures):
            state["linear"] = _name_of(choice)
        state["pooling"] = float(choice.pooling)
        state["shrinkage"] = float(choice.shrinkage)
    for name in _JUDGED:
        state[name] = float(getattr(choice, name))
    return state


def _name_of(candidate: Any) -> str:
    """Return the name of a candidate that is saved with its parts."""
    return str(getattr(candidate, "name", None) or candidate.describe())


def _outsider_state(name: str, model: object) -> State:
    """Return the header and the arrays of a member that is not saved as moments."""
    if isinstance(model, LinearModel):
        return {"kind": "linear", "doubt": 0.0}, _array_fields(model)
    if isinstance(model, TemperedModel):
        if isinstance(model.inner, LinearModel):
            return {"kind": "linear", "doubt": model.doubt}, _array_fields(model.inner)
        if isinstance(model.inner, Trees):
            return {"kind": "trees", "doubt": model.doubt}, _array_fields(model.inner)
        if isinstance(model.inner, BoostedTrees):
            return {"kind": "boosted", "doubt": model.doubt}, _array_fields(model.inner)
    raise InvalidParameterError(
        f"the member {name!r} cannot be saved: only Gaussians, logistic regression, forests and "
        "boosted trees are kept in files; leave it out of members, or save best_estimator_"
    )


def _array_fields(value: LinearModel | Trees | BoostedTrees) -> dict[str, Array]:
    """Return the array fields of a model, by name."""
    arrays = {}
    for field in fields(value):
        part = getattr(value, field.name)
        if isinstance(part, np.ndarray):
            arrays[field.name] = part
    return arrays


def views_in(header: Fields, arrays: Arrays) -> list[View]:
    """Return the views of the rows in the order in which the choices number the views."""
    views = []
    for number, top in enumerate(header["views"]):
        view = _view_from(top, without_prefix(arrays, f"view{number}."))
        if isinstance(view, KernelFeatures):
            _refuse_impossible_kernel(view, len(arrays["varying"]))
        views.append(view)
    return views


def _refuse_impossible_kernel(view: KernelFeatures, d: int) -> None:
    """Raise unless the view can compute its kernel between rows of d columns and landmarks."""
    width: object = view.width
    mixing: object = view.mixing
    is_width = isinstance(width, float) and 0 < width < np.inf
    is_mixing = mixing is None or isinstance(mixing, np.ndarray)
    has_shape = view.landmarks.ndim == 2 and view.landmarks.shape[1] == d
    are_scales = view.centre.shape == (d,) and view.scale.shape == (d,)
    are_finite = all(np.isfinite(part).all() for part in (view.landmarks, view.centre))
    is_known = view.kernel in get_args(Kernel) and bool((view.scale > 0).all())
    if not (is_width and is_mixing and has_shape and are_scales and are_finite and is_known):
        raise FileFormatError(
            "the file holds a kernel of impossible width, scales or landmarks, so it was altered: "
            "write it again"
        )


def moments_in(header: Fields, arrays: Arrays) -> dict[int, Moments]:
    """Return the moments of the rows under each view, by number, that a member uses."""
    sums = {}
    for number, top in header["sums"].items():
        sums[int(number)] = Moments.of_archive(top, without_prefix(arrays, f"sums{number}."))
    return sums


def best_moments(header: Fields, arrays: Arrays) -> Moments:
    """Return the moments of the best single model."""
    return Moments.of_archive(header["best"]["sums"], without_prefix(arrays, "best."))


def averaged_from(header: Fields, arrays: Arrays) -> Classifier:
    """Return the classifier of a saved ``AutoGaussian``, after checking that the parts match."""
    views = views_in(header, arrays)
    sums = moments_in(header, arrays)
    outsiders = _outsiders_in(header, arrays)
    _refuse_impossible_average(header, arrays)
    shares = []
    for choice in header["choices"]:
        if choice["weight"] > 0:
            view = views[choice["view"]] if "view" in choice else Plain()
            member = _member_from(choice, view, sums, outsiders)
            shares.append(Share(view, member, choice["weight"]))
    check_feature_names(header["feature_names"], int(header["n_features"]))
    encoding = Encoding.from_json(header.get("encoding"))
    model = AveragedModel(
        shares=tuple(shares),
        features=arrays["varying"],
        doubt=float(header["doubt"]),
        frequencies=arrays["frequencies"],
        best=_best_from(header, arrays),
        temperature=float(header.get("temperature", 1.0)),
    )
    classifier = Classifier.of(
        checked_classes(arrays["classes"]),
        encoding.feature_names if encoding else header["feature_names"],
        model,
        encoding=encoding,
        costs=settings_of(header).get("costs"),
    ).allowing_missing()
    refuse_misfits(classifier)
    return classifier


def _refuse_impossible_average(header: Fields, arrays: Arrays) -> None:
    """Raise unless the settings, weights, doubts and columns of the average are possible."""
    numbers = []
    for choice in header["choices"]:
        numbers += [choice[name] for name in _JUDGED]
        numbers += [choice[name] for name in ("pooling", "shrinkage") if name in choice]
    are_numbers = all(type(number) in (int, float) for number in numbers)
    weights = np.array([choice["weight"] for choice in header["choices"]], np.float64)
    are_shares = _add_up_to_one(weights) and _add_up_to_one(arrays["frequencies"])
    doubts = [header["doubt"], *(top["doubt"] for top in header.get("outsiders", {}).values())]
    are_doubts = all(0 <= float(doubt) < 1 for doubt in doubts)
    is_temperature = 0.1 < float(header.get("temperature", 1.0)) < 10
    varying = arrays["varying"]
    n_features = best_moments(header, arrays).n_features
    are_columns = bool(((varying >= 0) & (varying < n_features)).all())
    if not (are_numbers and are_shares and are_doubts and is_temperature and are_columns):
        raise FileFormatError(
            "the members of the average in the file have impossible settings, weights or columns, "
            "so it was altered: write it again"
        )


def _add_up_to_one(shares: Array) -> bool:
    return bool((shares >= 0).all()) and abs(float(shares.sum()) - 1) < 1e-9


def _outsiders_in(header: Fields, arrays: Arrays) -> dict[str, tuple[_Kept, float]]:
    """Return, by name, the members that are saved with their parts, each with its doubt ε."""
    outsiders: dict[str, tuple[_Kept, float]] = {}
    for number, (name, top) in enumerate(header.get("outsiders", {}).items()):
        parts = without_prefix(arrays, f"outsider{number}.")
        inner: _Kept
        if top["kind"] == "trees":
            inner = Trees(**parts)
            refuse_unsound_trees(inner, len(arrays["varying"]), len(arrays["classes"]))
        elif top["kind"] == "boosted":
            inner = BoostedTrees(**parts)
            refuse_unsound_trees(inner, len(arrays["varying"]), len(arrays["classes"]))
        else:
            inner = LinearModel.of(
                parts["weights"], parts["intercepts"], centre=parts["centre"]
            )
        outsiders[name] = inner, float(top["doubt"])
    return outsiders


def _member_from(
    choice: Fields,
    view: View,
    sums: Mapping[int, Moments],
    outsiders: Mapping[str, tuple[_Kept, float]],
) -> ClassModel | TemperedModel | LinearModel:
    temperature = float(choice["temperature"])
    if "outsider" in choice:
        inner, doubt = outsiders[choice["outsider"]]
        return TemperedModel(inner, temperature, doubt)
    if "linear" in choice:
        linear, _ = outsiders[choice["linear"]]
        assert isinstance(linear, LinearModel)
        return replace(linear, temperature=temperature)
    settings = settings_of_view(view, choice["pooling"], choice["shrinkage"])
    model = estimate(sums[choice["view"]], settings, quiet=True)
    return model.with_temperature(temperature)


def _best_from(header: Fields, arrays: Arrays) -> ClassModel:
    top = header["best"]
    moments = best_moments(header, arrays)
    settings = Settings(tied=top["tied"], pooling=top["pooling"], shrinkage=top["shrinkage"])
    best = in_row_units(estimate(moments, settings), moments)
    return best.with_temperature(top["temperature"])


def _view_state(view: View) -> State:
    """Return the kind and the settings of a view, and the arrays of the view."""
    kind_of = {cls: kind for kind, cls in VIEWS.items()}
    header: dict[str, object] = {"kind": kind_of[type(view)]}
    arrays: dict[str, Array] = {}
    for field in fields(view):
        part = getattr(view, field.name)
        if field.name == "below":
            header["below"], below = _view_state(part)
            arrays.update(with_prefix("below.", below))
        elif isinstance(part, PowerTransform):
            arrays.update(part.arrays())
        elif isinstance(part, np.ndarray):
            arrays[field.name] = part
        else:
            header[field.name] = part
    return header, arrays


def _view_from(header: Fields, arrays: Arrays) -> View:
    kind: type[Any] = VIEWS[header["kind"]]
    if kind is PowerTransformed:
        return PowerTransformed(PowerTransform(**arrays))
    parts: dict[str, Any] = {}
    for field in fields(kind):
        if field.name == "below":
            below = without_prefix(arrays, "below.")
            parts["below"] = _view_from(header["below"], below)
        elif field.name in arrays:
            parts[field.name] = arrays[field.name]
        elif field.name in header:
            parts[field.name] = header[field.name]
    view: View = kind(**parts)
    return view
