"""Fitted estimators to and from a file: settings as JSON, sums as arrays."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any

import numpy as np

from suffice import archive
from suffice.errors import FileFormatError, InvalidParameterError
from suffice.estimation.niw import NormalInverseWishart
from suffice.estimators.gaussian import GaussianClassifier
from suffice.estimators.presets import LDA, QDA, RDA, GaussianNB
from suffice.moments.file import arrays_of, header_of, moments_from
from suffice.power import PowerTransform

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

KIND = "model"
ESTIMATORS: Mapping[str, type[GaussianClassifier]] = {
    cls.__name__: cls for cls in (GaussianClassifier, LDA, QDA, RDA, GaussianNB)
}
CHOSEN = ("pooling_", "shrinkage_", "temperature_")  # by cross-validation, where left open
VALUES: Mapping[str, type[Any]] = {
    cls.__name__: cls for cls in (NormalInverseWishart, PowerTransform)
}


def save_estimator(estimator: Any, path: str | Path) -> None:
    """Write a fitted estimator to ``path``, atomically."""
    settings = {name: _plain(name, value) for name, value in estimator.get_params().items()}
    chosen = {name: vars(estimator).get(name) for name in CHOSEN if name in vars(estimator)}
    header = {
        "estimator": type(estimator).__name__,
        "parameters": settings,
        "chosen": _plain("chosen", chosen),
        **header_of(estimator.moments_),
    }
    archive.write(path, KIND, header, arrays_of(estimator.moments_))


def estimator_from(header: Mapping[str, Any], arrays: Mapping[str, Any]) -> Any:
    """Return the fitted estimator of an archive."""
    moments = moments_from(header, arrays)
    try:
        cls = ESTIMATORS[header["estimator"]]
        settings = {name: _revived(value) for name, value in header["parameters"].items()}
        estimator = cls(**settings)
        vars(estimator).update(_revived(header["chosen"]))
        return estimator.fit_moments(moments)
    except (KeyError, TypeError, AttributeError) as error:
        msg = f"the file names an estimator or setting that this version lacks ({error})"
        raise FileFormatError(msg) from error


def _plain(name: str, value: Any) -> Any:
    """Return a setting as JSON can hold it."""
    if isinstance(value, dict):
        return {"__pairs__": [[_plain(name, k), _plain(name, v)] for k, v in value.items()]}
    if type(value).__name__ in VALUES and isinstance(value, tuple(VALUES.values())):
        names = [field.name for field in fields(VALUES[type(value).__name__])]
        parts = {field: getattr(value, field) for field in names}
        return {"__value__": type(value).__name__, **_plain(name, parts)}
    if isinstance(value, (np.ndarray, np.generic)):
        return _plain(name, value.tolist())
    if isinstance(value, (list, tuple)):
        return [_plain(name, item) for item in value]
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    msg = f"parameter {name} = {value!r} cannot be saved: use numbers, text, lists or mappings"
    raise InvalidParameterError(msg)


def _revived(value: Any) -> Any:
    if isinstance(value, dict) and "__value__" in value:
        parts = {k: _as_array(v) for k, v in value["__pairs__"]}
        return VALUES[value["__value__"]](**parts)
    if isinstance(value, dict):
        return {_key(k): _revived(v) for k, v in value["__pairs__"]}
    if isinstance(value, list):
        return [_revived(item) for item in value]
    return value


def _as_array(value: Any) -> Any:
    return np.array(value, np.float64) if isinstance(value, list) else value


def _key(key: Any) -> Any:
    return tuple(key) if isinstance(key, list) else key
