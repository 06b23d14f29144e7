"""Settings of estimators as JSON can hold them, and back; only values of ours are built."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any

import numpy as np

from suffice.errors import InvalidParameterError
from suffice.estimation.niw import NormalInverseWishart
from suffice.power import PowerTransform

if TYPE_CHECKING:
    from collections.abc import Mapping

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
