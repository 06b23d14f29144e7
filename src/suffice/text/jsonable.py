"""Values as JSON can hold them, the same for every document and every ``--json``."""

import math
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any


def jsonable(value: Any) -> Any:
    """Return arrays as lists, what is not finite as None, and keys that are no text as pairs."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, Mapping):
        pairs = [(key, jsonable(item)) for key, item in value.items()]
        if all(isinstance(key, str) for key, _ in pairs):
            return dict(pairs)
        return [[jsonable(key), item] for key, item in pairs]
    if isinstance(value, (list, tuple, set, frozenset)):
        return [jsonable(item) for item in value]
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: jsonable(getattr(value, field.name)) for field in fields(value)}
    return str(value)
