"""Linear classifiers in files: coefficients, details of the fit, and the state of a stream."""

from dataclasses import replace
from typing import Any, Protocol

import numpy as np

from suffice.core.decision import Classifier
from suffice.core.model.linear import LinearModel
from suffice.core.moments import Moments
from suffice.core.table.indicator_encoding import Encoding
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
from suffice.typing import Floats, Labels

# attributes that describe a fit, of which each estimator has some
_FIT_ATTRIBUTES = (
    "n_iter_",
    "n_passes_",
    "n_updates_",
    "converged_",
    "margin_",
    "gradient_norm_",
    "log_likelihood_",
    "l2_",
)


class LinearEstimator(Protocol):
    """A fitted estimator with scores wᵀx + w_0."""

    classes_: Labels
    n_features_in_: int
    encoding_: Encoding | None
    coef_: Floats
    intercept_: Floats
    _centre: Floats
    _at_centre: Floats
    _scale: Floats | None


def linear_from(header: Fields, arrays: Fields) -> Classifier:
    """Return the classifier of a saved linear estimator."""
    if "storage" in header:  # a least-squares classifier is saved as moments
        moments = Moments.of_archive(header, arrays)
        model = regress_indicators(moments)
        return Classifier.of(moments.classes, moments.feature_names, model)
    attributes = coefficients_in(header, arrays)
    model = LinearModel.of(
        attributes["coef_"],
        attributes["_at_centre"],
        has_posterior=header["estimator"] == "LogisticRegression",
        centre=attributes["_centre"],
    )
    encoding = attributes["encoding_"]
    names = header["feature_names"] if encoding is None else encoding.feature_names
    return Classifier.of(attributes["classes_"], names, model, encoding=encoding)


def coefficients_of(estimator: LinearEstimator) -> State:
    """Return classes, coefficients, intercepts, and details of the fit."""
    attributes = vars(estimator)
    fit = {
        name: kept(name, attributes[name]) for name in _FIT_ATTRIBUTES if name in attributes
    }
    header = {
        "n_classes": len(estimator.classes_),
        "n_features": int(estimator.n_features_in_),
        "feature_names": kept("feature_names", attributes.get("feature_names_in_")),
        "fit": fit,
    }
    if estimator.encoding_ is not None:
        header["encoding"] = estimator.encoding_.to_json()
    arrays = {
        "classes": estimator.classes_,
        "coef": estimator.coef_,
        "intercept": estimator.intercept_,
        "centre": estimator._centre,
        "at_centre": estimator._at_centre,
    }
    if estimator._scale is not None:
        arrays["scale"] = estimator._scale
    return header, arrays


def coefficients_in(header: Fields, arrays: Fields) -> dict[str, Any]:
    """Return the attributes, by name, that ``coefficients_of`` saved."""
    encoding = Encoding.from_json(header.get("encoding"))
    n_classes = header["n_classes"]
    n_scores = 1 if n_classes == 2 else n_classes
    d = header["n_features"] if encoding is None else encoding.n_features
    check_dims(
        arrays,
        {
            "classes": (n_classes,),
            "coef": (n_scores, d),
            "intercept": (n_scores,),
            "centre": (d,),
            "at_centre": (n_scores,),
        },
    )
    check_feature_names(header["feature_names"], header["n_features"])
    attributes = {
        "classes_": checked_classes(arrays["classes"]),
        "coef_": arrays["coef"],
        "intercept_": arrays["intercept"],
        "_centre": arrays["centre"],
        "_at_centre": arrays["at_centre"],
        "_scale": arrays.get("scale"),
        "encoding_": encoding,
    }
    for name in _FIT_ATTRIBUTES:
        if name in header["fit"]:
            attributes[name] = header["fit"][name]
    return attributes


def logistic_state(
    stream: Stream,
    inference: LogisticSummary | None,
    separation: Separation | None,
) -> State:
    """Return the state of a stream of batches, the uncertainty, and the separation of classes."""
    header: dict[str, Any] = {
        "stream": {"n_steps": stream.n_steps, **header_of(stream.moments)},
        "inference": None,
        "separation": None,
    }
    arrays = with_prefix("stream_", arrays_of(stream.moments))
    arrays["stream_beta"] = stream.beta
    arrays["stream_average"] = stream.average
    if inference is not None:
        header["inference"] = {
            "degrees_of_freedom": float(inference.degrees_of_freedom),
            "log_likelihood": float(inference.log_likelihood),
            "null_log_likelihood": float(inference.null_log_likelihood),
            "weight": float(inference.weight),
            "l2": float(inference.l2),
        }
        arrays["inference_beta"] = inference.coefficients
        arrays["inference_covariance"] = inference.covariance
    if separation is not None:
        header["separation"] = {
            "complete": bool(separation.complete),
            "features": separation.features.tolist(),
        }
    return header, arrays


def logistic_from(
    header: Fields,
    arrays: Fields,
) -> tuple[Stream, LogisticSummary | None, Separation | None]:
    """Return the attributes that ``logistic_state`` saved."""
    shape = (header["n_classes"] - 1, arrays["coef"].shape[1] + 1)
    return (
        _stream(header["stream"], arrays, shape),
        _inference(header["inference"], arrays, shape),
        _separation(header["separation"]),
    )


def _stream(header: Fields, arrays: Fields, shape: tuple[int, int]) -> Stream:
    moments = Moments.of_archive(header, without_prefix(arrays, "stream_"))
    if (moments.n_classes - 1, moments.n_features + 1) != shape:
        raise FileFormatError(
            "the sums of the stream have other classes or features than the coefficients: write "
            "the file again"
        )
    check_dims(arrays, {"stream_beta": shape, "stream_average": shape})
    return Stream(
        moments=replace(moments, fourth=None),
        beta=arrays["stream_beta"],
        average=arrays["stream_average"],
        n_steps=int(header["n_steps"]),
    )


def _inference(
    header: Fields | None,
    arrays: Fields,
    shape: tuple[int, int],
) -> LogisticSummary | None:
    if header is None:
        return None
    n_coefficients = shape[0] * shape[1]
    check_dims(
        arrays,
        {
            "inference_beta": shape,
            "inference_covariance": (n_coefficients, n_coefficients),
        },
        finite=False,
    )
    return LogisticSummary(
        coefficients=arrays["inference_beta"],
        covariance=arrays["inference_covariance"],
        degrees_of_freedom=float(header["degrees_of_freedom"]),
        log_likelihood=float(header["log_likelihood"]),
        null_log_likelihood=float(header["null_log_likelihood"]),
        weight=float(header["weight"]),
        l2=float(header["l2"]),
    )


def _separation(header: Fields | None) -> Separation | None:
    if header is None:
        return None
    features = np.array(header["features"], np.intp).reshape(-1)
    return Separation(complete=bool(header["complete"]), features=features)
