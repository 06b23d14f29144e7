"""Settings as JSON holds them, checks of fields, and older formats in the words of this one."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from suffice.core.estimation.normal_inverse_wishart import NormalInverseWishart
from suffice.core.power_transform import PowerTransform
from suffice.discriminative.descent_settings import GradientDescent, NewtonDescent
from suffice.discriminative.perceptron import PerceptronLearning
from suffice.errors import FileFormatError, InvalidParameterError, SufficeError
from suffice.persistence import archive
from suffice.persistence.moments_file import check_field

KIND = "model"
Fields: TypeAlias = Mapping[str, Any]  # of a header, or arrays by name
State: TypeAlias = tuple[dict[str, Any], dict[str, Any]]  # header and arrays
VALUES: Mapping[str, type[Any]] = {
    c.__name__: c
    for c in (
        NormalInverseWishart,
        PowerTransform,
        GradientDescent,
        NewtonDescent,
        PerceptronLearning,
    )
}


def save(
    path: str | Path,
    kind: str,
    settings: Fields,
    header: Fields,
    arrays: Fields,
) -> None:
    """Write a fitted estimator to ``path``, atomically."""
    known = {name: kept(name, value) for name, value in settings.items()}
    archive.write(path, KIND, {"estimator": kind, "parameters": known, **header}, arrays)


def kept(name: str, value: Any) -> Any:
    """Return a setting as JSON can hold it."""
    if isinstance(value, dict):
        return {"__pairs__": [[kept(name, k), kept(name, v)] for k, v in value.items()]}
    if type(value) in VALUES.values():
        parts = {field.name: getattr(value, field.name) for field in fields(value)}
        return {"__value__": type(value).__name__, **kept(name, parts)}
    if isinstance(value, (np.ndarray, np.generic)):
        return kept(name, value.tolist())
    if isinstance(value, (list, tuple)):
        return [kept(name, item) for item in value]
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    msg = f"parameter {name} = {value!r} cannot be saved: use numbers, text, lists or mappings"
    raise InvalidParameterError(msg)


def revived(value: Any) -> Any:
    """Return the setting that JSON holds."""
    if isinstance(value, list):
        return [revived(item) for item in value]
    if not isinstance(value, dict):
        return value
    pairs = value["__pairs__"]
    if "__value__" in value:
        parts = {k: np.array(v, np.float64) if isinstance(v, list) else v for k, v in pairs}
        return VALUES[value["__value__"]](**parts)
    return {tuple(k) if isinstance(k, list) else k: revived(v) for k, v in pairs}


def settings_of(header: Fields) -> dict[str, Any]:
    """Return the settings of a saved estimator."""
    return {name: revived(value) for name, value in header["parameters"].items()}


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


def over(prefix: str, arrays: Fields) -> dict[str, Any]:
    """Return the arrays with a prefix before their names."""
    return {f"{prefix}{name}": array for name, array in arrays.items()}


def under(arrays: Fields, prefix: str) -> dict[str, Any]:
    """Return the arrays whose names begin with a prefix, without it."""
    return {
        name.removeprefix(prefix): a for name, a in arrays.items() if name.startswith(prefix)
    }


def check_dims(arrays: Fields, shapes: Fields, *, finite: bool = True) -> None:
    """Raise unless arrays have these shapes and hold numbers, ``classes`` apart."""
    for name, shape in shapes.items():
        check_field(name, arrays[name], shape, finite=finite)


# of settings in formats 1 and 2
_NAMES = {"transform": "power"} | dict.fromkeys(
    ("waves", "fourier_features"), "kernel_features"
)


def upgraded(header: dict[str, Any], arrays: dict[str, Any]) -> State:
    """Return header and arrays of any format as this version writes them."""
    # in format 1 the temperature was a factor of the scores, and an average a kind of its own; up
    # to format 2 averages had random Fourier features, which kernels have replaced
    if header["format"] > 1 or header["suffice"] == "moments":
        known = header.get("parameters")
        return header | (
            {"parameters": _named(known)} if isinstance(known, dict) else {}
        ), arrays
    new = {**header, "suffice": KIND if header["suffice"] == "auto" else header["suffice"]}
    for name in ("parameters", "chosen", "best"):
        if isinstance(new.get(name), dict):
            new[name] = _renamed(new[name])
    for name in ("choices", "views"):
        if isinstance(new.get(name), list):
            new[name] = [_renamed(c) if isinstance(c, dict) else c for c in new[name]]
    return new, {name.replace(".waves", ".frequencies"): a for name, a in arrays.items()}


def _named(settings: Fields) -> dict[str, Any]:
    return {_NAMES.get(name, name): value for name, value in settings.items()}


def _renamed(settings: Fields) -> dict[str, Any]:
    new = _named(settings)
    if new.get("kind") == "waves":
        new["kind"] = "fourier"
    if isinstance(new.get("__pairs__"), list):
        pairs = [
            pair for pair in new["__pairs__"] if isinstance(pair, list) and len(pair) == 2
        ]
        new["__pairs__"] = [[k, _inverse(v) if k == "temperature_" else v] for k, v in pairs]
    return new | {k: _inverse(v) for k, v in new.items() if k == "temperature"}


def _inverse(temperature: Any) -> Any:
    number = isinstance(temperature, (int, float)) and temperature != 0
    return 1 / temperature if number else temperature
