"""The form in which classifiers that are known by their coefficients are kept in a file."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from suffice.discriminative.inference import Inference
from suffice.discriminative.separation import Separation
from suffice.discriminative.stream import Stream
from suffice.errors import FileFormatError
from suffice.estimators.file_settings import plain
from suffice.estimators.linear import feature_names
from suffice.moments.file import arrays_of, checked_classes, header_of, moments_from

if TYPE_CHECKING:
    from collections.abc import Mapping

    from suffice.moments import Moments

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
    moments = moments_from(header, own)
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
