"""Loading whatever was saved."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import suffice
from suffice.core.moments import Moments
from suffice.errors import FileFormatError
from suffice.persistence import archive
from suffice.persistence.fields import KIND as MODEL
from suffice.persistence.fields import settings_of, unpacking, upgraded
from suffice.persistence.moments_file import KIND as MOMENTS

if TYPE_CHECKING:
    from suffice.core.decision import Classifier

GAUSSIAN = ("GaussianClassifier", "LDA", "QDA", "RDA", "GaussianNB")
LINEAR = ("LeastSquaresClassifier", "LogisticRegression", "Perceptron")
AVERAGED = ("AutoClassifier", "AutoGaussian")
MIXTURE = ("MixtureClassifier",)


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
    header, arrays = read(path)
    if header["suffice"] == MOMENTS:
        return Moments.of_archive(header, arrays)
    with unpacking():
        return unfitted(header)._restored(header, arrays)


def load_classifier(path: str | Path) -> Classifier:
    """Return the classifier that was saved, of any kind, without importing scikit-learn."""
    header, arrays = read(path)
    if header["suffice"] == MOMENTS:
        msg = f"{path} holds moments, not a model: fit one with suffice fit {path} -o model.suffice"
        raise FileFormatError(msg)
    name = header["estimator"]
    with unpacking():
        if name in LINEAR:
            from suffice.persistence.coefficients import linear_from

            return linear_from(header, arrays)
        from suffice.persistence.gaussians import averaged_from, gaussian_from, mixture_from

        readers = dict.fromkeys(GAUSSIAN, gaussian_from) | dict.fromkeys(MIXTURE, mixture_from)
        return readers.get(name, averaged_from)(header, arrays)


def read(path: str | Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return header and arrays of a file, those of an older format in the words of this one."""
    header, arrays = upgraded(*archive.read(path))
    kind, name = header["suffice"], header.get("estimator")
    if kind == MOMENTS or (
        kind == MODEL and name in (*GAUSSIAN, *LINEAR, *AVERAGED, *MIXTURE)
    ):
        return header, arrays
    held = name if kind == MODEL else kind
    raise FileFormatError(f"{path} holds {held!r}, which this version lacks: upgrade suffice")


def unfitted(header: Mapping[str, Any]) -> Any:
    """Return the estimator that the file names, with its parameters."""
    return getattr(suffice, header["estimator"])(**settings_of(header))
