"""Loading whatever was saved."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from suffice import archive
from suffice.errors import FileFormatError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


def load(path: str | Path) -> Any:
    """Return the ``Moments`` or the fitted estimator saved at ``path``; never executes code.

    Examples
    --------
    >>> import tempfile, pathlib, numpy as np, suffice as sf
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "site-a.moments"
    >>> sf.Moments.of(np.array([[0.0], [1.0], [5.0]]), ["a", "a", "b"]).save(path)
    >>> sf.load(path)
    Moments(2 classes × 1 features, 3 rows, weight 3, per-class scatter)
    """
    return _loaded(path, *read(path))


def read(path: str | Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return header and arrays of a file, those of an older format in the words of this one."""
    header, arrays = archive.read(path)
    return (_upgraded(header) if header["format"] == 1 else header), arrays


def _upgraded(header: dict[str, Any]) -> dict[str, Any]:
    """Return the header of a model of format 1, whose temperature was a factor of the scores."""
    new = dict(header)
    if isinstance(new.get("parameters"), dict):
        new["parameters"] = _renamed(new["parameters"])
    for name in ("chosen", "best"):
        if isinstance(new.get(name), dict):
            new[name] = _renamed(new[name])
    if isinstance(new.get("choices"), list):
        new["choices"] = [_renamed(c) if isinstance(c, dict) else c for c in new["choices"]]
    return new


def _renamed(settings: Mapping[str, Any]) -> dict[str, Any]:
    new = {"power" if name == "transform" else name: value for name, value in settings.items()}
    for name in ("temperature", "temperature_"):
        if isinstance(new.get(name), (int, float)) and new[name] != 0:
            new[name] = 1 / new[name]
    return new


def load_answering(path: str | Path) -> Any:
    """Return what predicts and samples as the saved estimator does, without scikit-learn if it can.

    Only the Gaussian classifiers are loaded so; anything else is what ``load`` returns.
    """
    from suffice.estimators.answering import NAMES, answering_from

    header, arrays = read(path)
    if header["suffice"] == "model" and header.get("estimator") in NAMES:
        return answering_from(header, arrays)
    return _loaded(path, header, arrays)


def _loaded(path: str | Path, header: Mapping[str, Any], arrays: Mapping[str, Any]) -> Any:
    if header["suffice"] == "moments":
        from suffice.moments import Moments

        return Moments.of_archive(header, arrays)
    if header["suffice"] == "model":
        from suffice.estimators.files import estimator_from

        return estimator_from(header, arrays)
    if header["suffice"] == "auto":
        from suffice.estimators.files import auto_from

        return auto_from(header, arrays)
    msg = f"{path} holds {header['suffice']!r}, which this version of suffice does not know"
    raise FileFormatError(msg)
