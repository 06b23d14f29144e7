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
    return _loaded(path, *archive.read(path))


def load_answering(path: str | Path) -> Any:
    """Return what predicts and samples as the saved estimator does, without scikit-learn if it can.

    Only the Gaussian classifiers are loaded so; anything else is what ``load`` returns.
    """
    from suffice.estimators.answering import NAMES, answering_from

    header, arrays = archive.read(path)
    if header["suffice"] == "model" and header.get("estimator") in NAMES:
        return answering_from(header, arrays)
    return _loaded(path, header, arrays)


def _loaded(path: str | Path, header: Mapping[str, Any], arrays: Mapping[str, Any]) -> Any:
    if header["suffice"] == "moments":
        from suffice.moments.file import moments_from

        return moments_from(header, arrays)
    if header["suffice"] == "model":
        from suffice.estimators.files import estimator_from

        return estimator_from(header, arrays)
    if header["suffice"] == "auto":
        from suffice.estimators.files import auto_from

        return auto_from(header, arrays)
    msg = f"{path} holds {header['suffice']!r}, which this version of suffice does not know"
    raise FileFormatError(msg)
