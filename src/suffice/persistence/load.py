"""Loading of any file that suffice has written."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from suffice.core.moments import Moments
from suffice.core.moments.count_sums import CountSums
from suffice.core.table.notation import Notations
from suffice.errors import FileFormatError
from suffice.persistence import archive
from suffice.persistence.count_sums_file import KIND as COUNT_SUMS
from suffice.persistence.fields import KIND as MODEL
from suffice.persistence.fields import Arrays, Fields, settings_of, unpacking
from suffice.persistence.masked_file import KIND as MASKED_SUMS
from suffice.persistence.moments_file import KIND as MOMENTS
from suffice.typing import Array

if TYPE_CHECKING:
    from suffice.core.decision import Classifier
    from suffice.estimators.predictor import PredictorMixin

GAUSSIAN = ("GaussianClassifier", "LDA", "QDA", "RDA", "GaussianNB")
LINEAR = ("LeastSquaresClassifier", "LogisticRegression", "Perceptron")
AVERAGED = ("AutoClassifier", "AutoGaussian")
MIXTURE = ("MixtureClassifier",)
COUNTS = ("CountNB",)
MIXED_COUNTS = ("MixedNB",)
SAVED = ("SavedClassifier",)  # the name in files of classifiers of other libraries
_ESTIMATORS = (*GAUSSIAN, *LINEAR, *AVERAGED, *MIXTURE, *COUNTS, *MIXED_COUNTS, *SAVED)


def load(path: str | Path) -> Any:
    """Return the sums or the fitted estimator in a file, without executing code from the file.

    Examples
    --------
    >>> import tempfile, pathlib, numpy as np, suffice as sf
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "site-a.moments"
    >>> sf.Moments.of(np.array([[0.0], [1.0], [5.0]]), ["a", "a", "b"]).save(path)
    >>> sf.load(path)
    Moments(2 classes × 1 feature, 3 rows, weight 3, per-class scatter)
    """
    header, arrays = read(path)
    with unpacking(path):
        if header["suffice"] == MOMENTS:
            return Moments.of_archive(header, arrays)
        if header["suffice"] == COUNT_SUMS:
            return CountSums.of_archive(header, arrays)
        estimator = unfitted(header)._restored(header, arrays)
        estimator._notations = Notations.from_json(header.get("notations"))
        return estimator


def load_classifier(path: str | Path) -> Classifier:
    """Return a saved classifier, without importing scikit-learn if the classifier is suffice's."""
    header, arrays = read(path)
    if header["suffice"] in (MOMENTS, COUNT_SUMS):
        raise FileFormatError(
            f"{path} holds moments, not a model: fit one with suffice fit {path} "
            "-o model.suffice"
        )
    with unpacking(path):
        notations = Notations.from_json(header.get("notations"))
        return replace(_classifier_from(header, arrays), notations=notations)


def _classifier_from(header: Fields, arrays: Arrays) -> Classifier:
    name = header["estimator"]
    if name in LINEAR:
        from suffice.persistence.coefficients import linear_from

        return linear_from(header, arrays)
    if name in AVERAGED:
        from suffice.persistence.averages import averaged_from

        return averaged_from(header, arrays)
    if name in COUNTS:
        from suffice.persistence.counts import counts_from

        return counts_from(header, arrays)
    if name in MIXED_COUNTS:
        from suffice.persistence.mixed_naive_bayes import mixed_from

        return mixed_from(header, arrays)
    if name in SAVED:
        from suffice.persistence.portable import portable_from

        return portable_from(header, arrays)
    from suffice.persistence.gaussians import gaussian_from, mixture_from

    if name in MIXTURE:
        return mixture_from(header, arrays)
    return gaussian_from(header, arrays)


def read(path: str | Path) -> tuple[dict[str, Any], dict[str, Array]]:
    """Return header and arrays of a file with sums or an estimator of suffice."""
    header, arrays = archive.read(path)
    kind = header["suffice"]
    name = header.get("estimator")
    is_model = kind == MODEL and name in _ESTIMATORS
    if kind in (MOMENTS, COUNT_SUMS) or is_model:
        return header, arrays
    if kind == MASKED_SUMS:
        raise FileFormatError(
            f"{path} holds the masked sums of one party, which are noise on their own: add "
            "the files of all parties with suffice merge --masked"
        )
    content = name if kind == MODEL else kind
    raise FileFormatError(
        f"{path} holds {content!r}, which this version does not support: upgrade suffice"
    )


def unfitted(header: Fields) -> PredictorMixin:
    """Return the unfitted estimator that the header names, with its parameters."""
    from suffice.estimators.auto import AutoClassifier, AutoGaussian
    from suffice.estimators.counts import CountNB
    from suffice.estimators.gaussian import LDA, QDA, RDA, GaussianClassifier, GaussianNB
    from suffice.estimators.least_squares import LeastSquaresClassifier
    from suffice.estimators.logistic import LogisticRegression
    from suffice.estimators.mixed_naive_bayes import MixedNB
    from suffice.estimators.mixture import MixtureClassifier
    from suffice.estimators.perceptron import Perceptron
    from suffice.estimators.saved import SavedClassifier

    classes: dict[str, type[PredictorMixin]] = {
        "AutoClassifier": AutoClassifier,
        "AutoGaussian": AutoGaussian,
        "CountNB": CountNB,
        "GaussianClassifier": GaussianClassifier,
        "GaussianNB": GaussianNB,
        "LDA": LDA,
        "LeastSquaresClassifier": LeastSquaresClassifier,
        "LogisticRegression": LogisticRegression,
        "MixedNB": MixedNB,
        "MixtureClassifier": MixtureClassifier,
        "Perceptron": Perceptron,
        "QDA": QDA,
        "RDA": RDA,
        "SavedClassifier": SavedClassifier,
    }
    return classes[header["estimator"]](**settings_of(header))
