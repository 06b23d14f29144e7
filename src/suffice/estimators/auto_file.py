"""``AutoGaussian`` to and from a file: the sums of every view, and how each member reads them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from suffice import archive
from suffice.errors import FileFormatError
from suffice.estimators.auto import AutoGaussian
from suffice.estimators.file_forms import unpacking
from suffice.evaluation.search.members import Member
from suffice.evaluation.search.plan import recipe_of
from suffice.evaluation.search.search import Choice
from suffice.evaluation.search.views import Lifted, Plain, Straightened
from suffice.moments.file import arrays_of, checked_classes, header_of, moments_from
from suffice.power import PowerTransform

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from suffice.evaluation.search.views import View

KIND = "auto"
LIFT = ("centre", "scale", "waves")


def save_auto(auto: AutoGaussian, path: str | Path) -> None:
    """Write a fitted ``AutoGaussian`` to ``path``, atomically."""
    views = {id(c.view): c.view for c in auto.choices_}
    numbers = {view: i for i, view in enumerate(views)}
    sums = {numbers[id(m.choice.view)]: m.moments for m in auto.members_}
    best = auto.best_estimator_
    header = {
        "estimator": "AutoGaussian",
        "parameters": auto.get_params(),
        "n_features": auto.n_features_in_,
        "feature_names": _names(auto),
        "doubt": auto.doubt_,
        "views": [_view_header(view) for view in views.values()],
        "choices": [_choice_header(c, numbers[id(c.view)]) for c in auto.choices_],
        "sums": {str(i): header_of(m) for i, m in sums.items()},
        "best": {
            "pooling": best.pooling,
            "shrinkage": best.shrinkage,
            "tied": best.tied,
            "temperature": best.temperature,
            "sums": header_of(best.moments_),
        },
    }
    arrays = {
        "classes": auto.classes_,
        "frequencies": auto.frequencies_,
        "varying": auto.varying_,
    }
    for i, view in enumerate(views.values()):
        arrays |= {f"view{i}.{name}": array for name, array in _view_arrays(view).items()}
    for i, moments in sums.items():
        arrays |= {f"sums{i}.{name}": array for name, array in arrays_of(moments).items()}
    arrays |= {f"best.{name}": array for name, array in arrays_of(best.moments_).items()}
    archive.write(path, KIND, header, arrays)


def auto_from(header: Mapping[str, Any], arrays: Mapping[str, Any]) -> AutoGaussian:
    """Return the fitted classifier of an archive."""
    with unpacking():
        return _auto_from(header, arrays)


def _auto_from(header: Mapping[str, Any], arrays: Mapping[str, Any]) -> AutoGaussian:
    auto = AutoGaussian(**header["parameters"])
    auto.classes_, auto.frequencies_ = checked_classes(arrays["classes"]), arrays["frequencies"]
    auto.n_features_in_, auto.doubt_ = int(header["n_features"]), float(header["doubt"])
    auto.varying_ = arrays["varying"]
    views = [_view_from(top, _under(arrays, f"view{i}")) for i, top in enumerate(header["views"])]
    sums = {
        int(i): moments_from(top, _under(arrays, f"sums{i}")) for i, top in header["sums"].items()
    }
    auto.choices_ = [_choice_from(c, views) for c in header["choices"]]
    numbers = {id(view): i for i, view in enumerate(views)}
    auto.members_ = tuple(
        Member.of(choice, sums[numbers[id(choice.view)]])
        for choice in auto.choices_
        if choice.weight > 0
    )
    auto.best_estimator_ = _best_from(header["best"], _under(arrays, "best"))
    _refuse_misfits(auto)
    if header["feature_names"] is not None:
        auto.feature_names_in_ = np.array(header["feature_names"], object)
    return auto


def _refuse_misfits(auto: AutoGaussian) -> None:
    """Raise unless all parts fit together, by asking about one row that the model itself draws."""
    row, _ = auto.best_estimator_.sample(1, 0)
    posterior = auto.predict_proba(np.asarray(row))
    if posterior.shape != (1, len(auto.classes_)) or not np.isfinite(posterior).all():
        msg = "the parts of the AutoGaussian in the file do not fit together: write it again"
        raise FileFormatError(msg)


def _names(auto: AutoGaussian) -> list[str] | None:
    names = getattr(auto, "feature_names_in_", None)
    return None if names is None else list(names)


def _under(arrays: Mapping[str, Any], prefix: str) -> dict[str, Any]:
    head = prefix + "."
    return {name.removeprefix(head): a for name, a in arrays.items() if name.startswith(head)}


def _view_header(view: View) -> dict[str, Any]:
    if isinstance(view, Lifted):
        return {"kind": "waves", "width": view.width, "below": _view_header(view.below)}
    return {"kind": "yeo-johnson" if isinstance(view, Straightened) else "plain"}


def _view_arrays(view: View) -> dict[str, Any]:
    if isinstance(view, Lifted):
        below = {f"below.{name}": array for name, array in _view_arrays(view.below).items()}
        return {name: getattr(view, name) for name in LIFT} | below
    return view.transform.arrays() if isinstance(view, Straightened) else {}


def _view_from(header: Mapping[str, Any], arrays: Mapping[str, Any]) -> View:
    kind = header["kind"]
    if kind == "waves":
        below = _view_from(header["below"], _under(arrays, "below"))
        return Lifted(below, **{name: arrays[name] for name in LIFT}, width=float(header["width"]))
    if kind == "yeo-johnson":
        return Straightened(PowerTransform(**arrays))
    if kind == "plain":
        return Plain()
    msg = f"unknown view {kind!r}"
    raise ValueError(msg)


def _choice_header(choice: Choice, view: int) -> dict[str, Any]:
    return {
        "view": view,
        "pooling": choice.pooling,
        "shrinkage": choice.shrinkage,
        "temperature": float(choice.temperature),
        "error": float(choice.error),
        "log_loss": float(choice.log_loss),
        "log_loss_se": float(choice.log_loss_se),
        "weight": float(choice.weight),
    }


def _choice_from(header: Mapping[str, Any], views: list[View]) -> Choice:
    rest = dict(header)
    view = views[rest.pop("view")]
    recipe = recipe_of(view, rest.pop("pooling"), rest.pop("shrinkage"))
    return Choice(view, recipe, **rest)


def _best_from(header: Mapping[str, Any], arrays: Mapping[str, Any]) -> Any:
    from suffice.estimators.gaussian import GaussianClassifier

    settings = {name: value for name, value in header.items() if name != "sums"}
    moments = moments_from(header["sums"], arrays)
    return GaussianClassifier(**settings, transform=moments.transform).fit_moments(moments)
