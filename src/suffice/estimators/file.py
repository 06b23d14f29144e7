"""Fitted estimators to and from a file: settings as JSON, sums as arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from suffice import archive
from suffice.errors import FileFormatError, InvalidParameterError
from suffice.estimators.gaussian import GaussianClassifier
from suffice.estimators.presets import LDA, QDA, GaussianNB
from suffice.moments.file import arrays_of, header_of, moments_from

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

KIND = "model"
ESTIMATORS: Mapping[str, type[GaussianClassifier]] = {
    cls.__name__: cls for cls in (GaussianClassifier, LDA, QDA, GaussianNB)
}


def save_estimator(estimator: Any, path: str | Path) -> None:
    """Write a fitted estimator to ``path``, atomically."""
    settings = {name: _plain(name, value) for name, value in estimator.get_params().items()}
    header = {
        "estimator": type(estimator).__name__,
        "parameters": settings,
        **header_of(estimator.moments_),
    }
    archive.write(path, KIND, header, arrays_of(estimator.moments_))


def estimator_from(header: Mapping[str, Any], arrays: Mapping[str, Any]) -> Any:
    """Return the fitted estimator of an archive."""
    moments = moments_from(header, arrays)
    try:
        cls = ESTIMATORS[header["estimator"]]
        settings = {name: _revived(value) for name, value in header["parameters"].items()}
        return cls(**settings).fit_moments(moments)
    except (KeyError, TypeError, AttributeError) as error:
        msg = f"the file names an estimator or setting that this version lacks ({error})"
        raise FileFormatError(msg) from error


def _plain(name: str, value: Any) -> Any:
    """Return a setting as JSON can hold it."""
    if isinstance(value, dict):
        return {"__pairs__": [[_plain(name, k), _plain(name, v)] for k, v in value.items()]}
    if isinstance(value, (np.ndarray, np.generic)):
        return _plain(name, value.tolist())
    if isinstance(value, (list, tuple)):
        return [_plain(name, item) for item in value]
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    msg = f"parameter {name} = {value!r} cannot be saved: use numbers, text, lists or mappings"
    raise InvalidParameterError(msg)


def _revived(value: Any) -> Any:
    if isinstance(value, dict):
        return {_key(k): _revived(v) for k, v in value["__pairs__"]}
    if isinstance(value, list):
        return [_revived(item) for item in value]
    return value


def _key(key: Any) -> Any:
    return tuple(key) if isinstance(key, list) else key
