"""Settings as JSON, and checks of the fields of a file."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from suffice.errors import (
    FileFormatError,
    InvalidParameterError,
    SufficeError,
    TooFewClassesError,
)
from suffice.persistence import archive
from suffice.persistence.moments_file import check_field
from suffice.typing import Array

KIND = "model"
Fields: TypeAlias = Mapping[str, Any]  # fields of a JSON header
Arrays: TypeAlias = Mapping[str, Array]  # arrays by name
State: TypeAlias = tuple[dict[str, object], dict[str, Array]]  # header and arrays
# The classes of settings, and the modules that define them. Reading a file imports only the
# modules of the classes that the file names.
VALUES: Mapping[str, str] = {
    "Categorical": "suffice.core.estimation.settings",
    "Costs": "suffice.core.decision.bayes_decision",
    "Dirichlet": "suffice.core.estimation.priors",
    "GradientDescent": "suffice.discriminative.descent_settings",
    "NewtonDescent": "suffice.discriminative.descent_settings",
    "NormalInverseWishart": "suffice.core.estimation.normal_inverse_wishart",
    "PerceptronLearning": "suffice.discriminative.perceptron",
    "PowerTransform": "suffice.core.power_transform",
    "Shrinkage": "suffice.core.estimation.shrinkage",
}


def save(
    path: str | Path,
    kind: str,
    settings: Mapping[str, object],
    header: Mapping[str, object],
    arrays: Arrays,
) -> None:
    """Write a fitted estimator to ``path``, which never holds a part of a file."""
    parameters = {name: kept(name, value) for name, value in settings.items()}
    top = {"estimator": kind, "parameters": parameters, **header}
    archive.write(path, KIND, top, arrays)


def kept(name: str, value: object) -> object:
    """Return the JSON form of a setting."""
    if isinstance(value, dict):
        return {"__pairs__": _kept_pairs(name, value)}
    if is_dataclass(value) and type(value).__name__ in VALUES:
        parts = {field.name: getattr(value, field.name) for field in fields(value)}
        return {"__value__": type(value).__name__, "__pairs__": _kept_pairs(name, parts)}
    if isinstance(value, (np.ndarray, np.generic)):
        return kept(name, value.tolist())
    if isinstance(value, (list, tuple)):
        return [kept(name, item) for item in value]
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    raise InvalidParameterError(
        f"parameter {name} = {value!r} cannot be saved: use numbers, text, lists or mappings"
    )


def _kept_pairs(name: str, mapping: Mapping[Any, object]) -> list[list[object]]:
    return [[kept(name, key), kept(name, value)] for key, value in mapping.items()]


def revived(value: Any) -> Any:
    """Return the setting with a given JSON form."""
    if isinstance(value, list):
        return [revived(item) for item in value]
    if not isinstance(value, dict):
        return value
    parts: dict[Any, Any] = {}
    for key, part in value["__pairs__"]:
        parts[tuple(key) if isinstance(key, list) else key] = revived(part)
    if "__value__" not in value:
        return parts
    if value["__value__"] in ("NormalInverseWishart", "PowerTransform"):
        for name, part in parts.items():
            if isinstance(part, list):
                parts[name] = np.array(part, np.float64)
    name = value["__value__"]
    return getattr(import_module(VALUES[name]), name)(**parts)


def settings_of(header: Fields) -> dict[str, Any]:
    """Return the settings of a saved estimator."""
    return {name: revived(value) for name, value in header["parameters"].items()}


@contextmanager
def unpacking(path: str | Path) -> Iterator[None]:
    """Turn the errors that an altered file causes into ``FileFormatError``."""
    try:
        yield
    except (TooFewClassesError, MemoryError):
        raise  # the file is valid: partial_fit may have seen only one class
    except SufficeError as error:
        raise FileFormatError(f"{path} cannot be used: {error}") from error
    except Exception as error:
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        raise FileFormatError(
            f"{path} names an estimator or setting that this version lacks ({reason}): write "
            "it again with this version"
        ) from error


def with_prefix(prefix: str, arrays: Arrays) -> dict[str, Array]:
    """Return the arrays with a prefix before their names."""
    return {f"{prefix}{name}": array for name, array in arrays.items()}


def without_prefix(arrays: Arrays, prefix: str) -> dict[str, Array]:
    """Return the arrays whose names begin with a prefix, by names without the prefix."""
    return {
        name.removeprefix(prefix): array
        for name, array in arrays.items()
        if name.startswith(prefix)
    }


def check_dims(
    arrays: Arrays, shapes: Mapping[str, tuple[int, ...]], *, finite: bool = True
) -> None:
    """Raise unless arrays have the given shapes and hold numbers, or text in ``classes``."""
    for name, shape in shapes.items():
        check_field(name, arrays[name], shape, finite=finite)
