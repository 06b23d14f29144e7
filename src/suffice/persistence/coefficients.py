"""Linear classifiers in files: coefficients, and what a fit or a stream of batches needs later."""

from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np

from suffice.core.decision import Classifier
from suffice.core.model.linear import LinearModel
from suffice.core.moments import Moments
from suffice.core.table.schema import Encoding
from suffice.discriminative.least_squares import regress_indicators
from suffice.discriminative.separation import Separation
from suffice.discriminative.stream import Stream
from suffice.discriminative.summary import LogisticSummary
from suffice.errors import FileFormatError
from suffice.persistence.fields import (
    Fields,
    State,
    check_dims,
    kept,
    with_prefix,
    without_prefix,
)
from suffice.persistence.moments_file import (
    arrays_of,
    check_feature_names,
    checked_classes,
    header_of,
)

Inference: TypeAlias = LogisticSummary | None
_FACTS = (
    *("n_iter_", "n_passes_", "n_updates_", "converged_", "margin_"),
    *("gradient_norm_", "log_likelihood_", "l2_"),
)
_ARRAYS = {name: f"{name}_" for name in ("classes", "coef", "intercept")}
_ARRAYS |= {name: f"_{name}" for name in ("centre", "at_centre")}
_NUMBERS = ("degrees_of_freedom", "log_likelihood", "null_log_likelihood", "weight", "l2")


def linear_from(header: Fields, arrays: Fields) -> Classifier:
    """Return the classifier of a saved linear estimator."""
    if "storage" in header:
        moments = Moments.of_archive(header, arrays)
        names, classes, model = (
            moments.feature_names,
            moments.classes,
            regress_indicators(moments),
        )
    else:
        known, names = coefficients_in(header, arrays), header["feature_names"]
        classes, has_posterior = known["classes_"], header["estimator"] == "LogisticRegression"
        about: Any = {"has_posterior": has_posterior, "centre": known["_centre"]}
        model = LinearModel.of(known["coef_"], known["_at_centre"], **about)
        encoding = known["encoding_"]
        if encoding is not None:
            return Classifier.of(classes, encoding.feature_names, model, encoding=encoding)
    return Classifier.of(classes, names, model)


def coefficients_of(estimator: Any) -> State:
    """Return classes, coefficients, intercepts, and how the fit went."""
    known, encoding = vars(estimator), getattr(estimator, "encoding_", None)
    header = {
        "n_classes": len(estimator.classes_),
        "n_features": int(estimator.n_features_in_),
        "feature_names": kept("feature_names", getattr(estimator, "feature_names_in_", None)),
        "fit": {name: kept(name, known[name]) for name in _FACTS if name in known},
    }
    if encoding is not None:
        header["encoding"] = encoding.to_json()
    return header, {name: getattr(estimator, own) for name, own in _ARRAYS.items()}


def coefficients_in(header: Fields, arrays: Fields) -> dict[str, Any]:
    """Return what ``coefficients_of`` kept, by attribute."""
    encoding = Encoding.from_json(header.get("encoding"))
    k, d = header["n_classes"], encoding.n_features if encoding else header["n_features"]
    scores = 1 if k == 2 else k
    # files of earlier versions measure scores from the origin
    arrays = {"centre": np.zeros(d), "at_centre": arrays["intercept"], **arrays}
    shapes = {"classes": (k,), "coef": (scores, d), "intercept": (scores,)}
    check_dims(arrays, {**shapes, "centre": (d,), "at_centre": (scores,)})
    check_feature_names(header["feature_names"], header["n_features"])
    facts = {name: header["fit"][name] for name in _FACTS if name in header["fit"]}
    known = {own: arrays[name] for name, own in _ARRAYS.items()}
    return {
        **known,
        "classes_": checked_classes(arrays["classes"]),
        "encoding_": encoding,
        **facts,
    }


def logistic_state(
    stream: Stream,
    inference: Inference,
    separation: Separation | None,
) -> State:
    """Return where a stream of batches stands, and what standard errors need."""
    sums = {**arrays_of(stream.moments), "beta": stream.beta, "average": stream.average}
    header: dict[str, Any] = {"inference": None, "separation": None}
    header["stream"] = {"n_steps": stream.n_steps, **header_of(stream.moments)}
    arrays = with_prefix("stream_", sums)
    if inference is not None:
        header["inference"] = {name: float(getattr(inference, name)) for name in _NUMBERS}
        arrays["inference_beta"] = inference.coefficients
        arrays["inference_covariance"] = inference.covariance
    if separation is not None:
        columns = separation.features.tolist()
        header["separation"] = {"complete": bool(separation.complete), "features": columns}
    return header, arrays


def logistic_from(
    header: Fields,
    arrays: Fields,
) -> tuple[Stream, Inference, Separation | None]:
    """Return what ``logistic_state`` kept."""
    shape = (header["n_classes"] - 1, arrays["coef"].shape[1] + 1)
    moments = Moments.of_archive(header["stream"], without_prefix(arrays, "stream_"))
    if (moments.n_classes - 1, moments.n_features + 1) != shape:
        msg = "the sums of the stream have other classes or features than the coefficients"
        raise FileFormatError(msg)
    check_dims(arrays, {"stream_beta": shape, "stream_average": shape})
    known = arrays["stream_beta"], arrays["stream_average"], int(header["stream"]["n_steps"])
    stream = Stream(replace(moments, fourth=None), *known)
    inference, separation = (
        _inference(header["inference"], arrays, shape),
        header["separation"],
    )
    if separation is None:
        return stream, inference, None
    columns = np.array(separation["features"], np.intp).reshape(-1)
    return stream, inference, Separation(bool(separation["complete"]), columns)


def _inference(header: Fields | None, arrays: Fields, shape: tuple[int, int]) -> Inference:
    if header is None:
        return None
    size = shape[0] * shape[1]
    wanted = {"inference_beta": shape, "inference_covariance": (size, size)}
    check_dims(arrays, wanted, finite=False)
    known: Any = {name: float(header[name]) for name in _NUMBERS}
    return LogisticSummary(*(arrays[name] for name in wanted), **known)
