"""Fitted estimators to and from a file: settings as JSON, what was learnt as arrays."""

from __future__ import annotations

import importlib
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from suffice import archive
from suffice.discriminative.gradient import Stream
from suffice.discriminative.separation import Separation
from suffice.discriminative.summary import Inference
from suffice.errors import FileFormatError, InvalidParameterError, SufficeError
from suffice.estimation.normal_inverse_wishart import NormalInverseWishart
from suffice.estimators.auto import AutoGaussian
from suffice.estimators.linear import feature_names
from suffice.model.views import Lifted, Plain, Straightened
from suffice.moments import Moments
from suffice.moments.file import arrays_of, checked_classes, header_of
from suffice.power import PowerTransform
from suffice.search.candidates import Choice
from suffice.search.members import Member
from suffice.search.plan import recipe_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from suffice.model.views import View

VALUES: Mapping[str, type[Any]] = {
    cls.__name__: cls for cls in (NormalInverseWishart, PowerTransform)
}


def plain(name: str, value: Any) -> Any:
    """Return a setting as JSON can hold it."""
    if isinstance(value, dict):
        return {"__pairs__": [[plain(name, k), plain(name, v)] for k, v in value.items()]}
    if type(value) in VALUES.values():
        parts = {field.name: getattr(value, field.name) for field in fields(value)}
        return {"__value__": type(value).__name__, **plain(name, parts)}
    if isinstance(value, (np.ndarray, np.generic)):
        return plain(name, value.tolist())
    if isinstance(value, (list, tuple)):
        return [plain(name, item) for item in value]
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    msg = f"parameter {name} = {value!r} cannot be saved: use numbers, text, lists or mappings"
    raise InvalidParameterError(msg)


def revived(value: Any) -> Any:
    """Return the setting that JSON holds."""
    if isinstance(value, dict) and "__value__" in value:
        parts = {k: _as_array(v) for k, v in value["__pairs__"]}
        return VALUES[value["__value__"]](**parts)
    if isinstance(value, dict):
        return {_key(k): revived(v) for k, v in value["__pairs__"]}
    if isinstance(value, list):
        return [revived(item) for item in value]
    return value


def _as_array(value: Any) -> Any:
    return np.array(value, np.float64) if isinstance(value, list) else value


def _key(key: Any) -> Any:
    return tuple(key) if isinstance(key, list) else key


_CHOSEN = ("pooling_", "shrinkage_", "temperature_")  # by cross-validation, where left open


class Form(Protocol):
    """What a file keeps of a fitted estimator beside its settings."""

    def pack(self, estimator: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the fields of the header and the arrays."""
        ...

    def unpack(self, estimator: Any, header: Mapping[str, Any], arrays: Mapping[str, Any]) -> Any:
        """Return the estimator, which has its settings, as it was when it was packed."""
        ...


@dataclass(frozen=True, slots=True)
class Sums:
    """An estimator that is read from moments: these, and what cross-validation chose."""

    def pack(self, estimator: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the sums."""
        chosen = {name: vars(estimator)[name] for name in _CHOSEN if name in vars(estimator)}
        header = {"chosen": plain("chosen", chosen), **header_of(estimator.moments_)}
        return header, arrays_of(estimator.moments_)

    def unpack(self, estimator: Any, header: Mapping[str, Any], arrays: Mapping[str, Any]) -> Any:
        """Return the estimator, fitted from the sums."""
        moments = Moments.of_archive(header, arrays)
        chosen = revived(header["chosen"])
        vars(estimator).update({name: chosen[name] for name in _CHOSEN if name in chosen})
        return estimator.fit_moments(moments)


@contextmanager
def unpacking() -> Iterator[None]:
    """Tell as a fault of the file whatever an altered header leads to."""
    try:
        yield
    except SufficeError:
        raise
    except Exception as error:
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        msg = f"the file names an estimator or setting that this version lacks ({reason})"
        raise FileFormatError(msg) from error


_FACTS = (
    *("n_iter_", "n_passes_", "n_updates_", "converged_", "margin_"),
    *("gradient_norm_", "log_likelihood_", "l2_"),
)
_NUMBERS = tuple(f.name for f in fields(Inference) if f.name not in ("beta", "covariance"))


@dataclass(frozen=True, slots=True)
class Coefficients:
    """Classes, coefficients, intercepts, and how the fit went."""

    def pack(self, estimator: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the coefficients."""
        known = {name: vars(estimator)[name] for name in _FACTS if name in vars(estimator)}
        header = {
            "n_classes": len(estimator.classes_),
            "n_features": int(estimator.n_features_in_),
            "feature_names": plain("feature_names", feature_names(estimator)),
            "fit": {name: plain(name, value) for name, value in known.items()},
        }
        arrays = {"classes": estimator.classes_, "coef": estimator.coef_}
        return header, {**arrays, "intercept": estimator.intercept_}

    def unpack(self, estimator: Any, header: Mapping[str, Any], arrays: Mapping[str, Any]) -> Any:
        """Return the estimator with its coefficients."""
        k, d, names = header["n_classes"], header["n_features"], header["feature_names"]
        scores = 1 if k == 2 else k
        _check_shapes(arrays, {"classes": (k,), "coef": (scores, d), "intercept": (scores,)})
        estimator.classes_ = checked_classes(arrays["classes"])
        estimator.coef_, estimator.intercept_ = arrays["coef"], arrays["intercept"]
        estimator.n_features_in_ = d
        if names is not None:
            _check_names(names, d)
            estimator.feature_names_in_ = np.array(names, dtype=object)
        vars(estimator).update(
            {name: header["fit"][name] for name in _FACTS if name in header["fit"]}
        )
        estimator.path_ = None
        return estimator


@dataclass(frozen=True, slots=True)
class LogisticFit:
    """Coefficients, where a stream of batches stands, and what standard errors need."""

    def pack(self, estimator: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return coefficients, stream and curvature."""
        header, arrays = Coefficients().pack(estimator)
        stream, inference, split = estimator._stream, estimator._inference, _separation(estimator)
        header["stream"] = {"n_steps": stream.n_steps, **header_of(stream.moments)}
        sums = {**arrays_of(stream.moments), "beta": stream.beta, "average": stream.average}
        arrays |= {f"stream_{name}": array for name, array in sums.items()}
        header["inference"] = None
        if inference is not None:
            header["inference"] = {name: float(getattr(inference, name)) for name in _NUMBERS}
            arrays["inference_beta"] = inference.beta
            arrays["inference_covariance"] = inference.covariance
        header["separation"] = split
        return header, arrays

    def unpack(self, estimator: Any, header: Mapping[str, Any], arrays: Mapping[str, Any]) -> Any:
        """Return the estimator, ready to predict, to tell its errors and to learn more."""
        Coefficients().unpack(estimator, header, arrays)
        shape = (header["n_classes"] - 1, header["n_features"] + 1)
        sums = _of_stream(header["stream"], arrays, shape)
        beta, average = arrays["stream_beta"], arrays["stream_average"]
        _check_shapes(arrays, {"stream_beta": shape, "stream_average": shape})
        estimator._stream = Stream(sums, beta, average, int(header["stream"]["n_steps"]))
        estimator._inference = _inference(header["inference"], arrays, shape)
        split = header["separation"]
        estimator.separation_ = None
        if split is not None:
            columns = np.array(split["features"], np.intp).reshape(-1)
            estimator.separation_ = Separation(bool(split["complete"]), columns)
        return estimator


def _separation(estimator: Any) -> dict[str, Any] | None:
    found = getattr(estimator, "separation_", None)
    if found is None:
        return None
    return {"complete": bool(found.complete), "features": found.features.tolist()}


def _of_stream(
    header: Mapping[str, Any], arrays: Mapping[str, Any], shape: tuple[int, int]
) -> Moments:
    mark = "stream_"
    own = {name.removeprefix(mark): a for name, a in arrays.items() if name.startswith(mark)}
    moments = Moments.of_archive(header, own)
    if (moments.n_classes - 1, moments.n_features + 1) != shape:
        msg = "the sums of the stream have other classes or features than the coefficients"
        raise FileFormatError(msg)
    return replace(moments, fourth=None)


def _inference(
    header: Mapping[str, Any] | None, arrays: Mapping[str, Any], shape: tuple[int, int]
) -> Inference | None:
    if header is None:
        return None
    size = shape[0] * shape[1]
    wanted = {"inference_beta": shape, "inference_covariance": (size, size)}
    _check_shapes(arrays, wanted, finite=False)
    beta, covariance = (arrays[name] for name in wanted)
    return Inference(beta, covariance, **{name: float(header[name]) for name in _NUMBERS})


def _check_shapes(
    arrays: Mapping[str, Any], shapes: Mapping[str, tuple[int, ...]], *, finite: bool = True
) -> None:
    for name, shape in shapes.items():
        array = arrays[name]
        if array.shape != shape or (name != "classes" and array.dtype.kind != "f"):
            msg = f"field {name!r} has shape {array.shape} of {array.dtype}, expected {shape}"
            raise FileFormatError(msg)
        if finite and array.dtype.kind == "f" and not np.isfinite(array).all():
            msg = f"field {name!r} holds numbers that are not finite"
            raise FileFormatError(msg)


def _check_names(names: Any, n_features: int) -> None:
    if len(names) != n_features or not all(isinstance(name, str) for name in names):
        msg = f"field 'feature_names' must hold {n_features} names"
        raise FileFormatError(msg)


AUTO_KIND = "auto"
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
    archive.write(path, AUTO_KIND, header, arrays)


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
        int(i): Moments.of_archive(top, _under(arrays, f"sums{i}"))
        for i, top in header["sums"].items()
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
    moments = Moments.of_archive(header["sums"], arrays)
    return GaussianClassifier(**settings, power=moments.power).fit_moments(moments)


KIND = "model"

# estimator → the module that defines it, and the form in which it is kept
FORMS: Mapping[str, tuple[str, Form]] = {
    "GaussianClassifier": ("suffice.estimators.gaussian", Sums()),
    "LDA": ("suffice.estimators.gaussian", Sums()),
    "QDA": ("suffice.estimators.gaussian", Sums()),
    "RDA": ("suffice.estimators.gaussian", Sums()),
    "GaussianNB": ("suffice.estimators.gaussian", Sums()),
    "LeastSquaresClassifier": ("suffice.estimators.least_squares", Sums()),
    "LogisticRegression": ("suffice.estimators.logistic", LogisticFit()),
    "Perceptron": ("suffice.estimators.perceptron", Coefficients()),
}


def save_estimator(estimator: Any, path: str | Path) -> None:
    """Write a fitted estimator to ``path``, atomically."""
    header, arrays = packed(estimator)
    archive.write(path, KIND, header, arrays)


def packed(estimator: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the header and the arrays that are a fitted estimator."""
    _, form = FORMS[type(estimator).__name__]
    header, arrays = form.pack(estimator)
    settings = {name: plain(name, value) for name, value in estimator.get_params().items()}
    return {"estimator": type(estimator).__name__, "parameters": settings, **header}, arrays


def estimator_from(header: Mapping[str, Any], arrays: Mapping[str, Any]) -> Any:
    """Return the fitted estimator of an archive."""
    with unpacking():
        module, form = FORMS[header["estimator"]]
        cls = getattr(importlib.import_module(module), header["estimator"])
        settings = {name: revived(value) for name, value in header["parameters"].items()}
        return form.unpack(cls(**settings), header, arrays)
