"""Fitted estimators to and from a file: settings as JSON, what was learnt as arrays."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from suffice import archive
from suffice.estimators.file_forms import Form, Sums, unpacking
from suffice.estimators.file_linear import Coefficients, LogisticFit
from suffice.estimators.file_settings import plain, revived

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

KIND = "model"

# estimator → the module that defines it, and the form in which it is kept
FORMS: Mapping[str, tuple[str, Form]] = {
    "GaussianClassifier": ("suffice.estimators.gaussian", Sums()),
    "LDA": ("suffice.estimators.presets", Sums()),
    "QDA": ("suffice.estimators.presets", Sums()),
    "RDA": ("suffice.estimators.presets", Sums()),
    "GaussianNB": ("suffice.estimators.presets", Sums()),
    "LeastSquaresClassifier": ("suffice.estimators.least_squares", Sums()),
    "LogisticRegression": ("suffice.estimators.logistic", LogisticFit()),
    "Perceptron": ("suffice.estimators.perceptron", Coefficients()),
}


def save_estimator(estimator: Any, path: str | Path) -> None:
    """Write a fitted estimator to ``path``, atomically."""
    header, arrays = packed(estimator)
    archive.write(path, KIND, header, arrays)


def packed(estimator: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the header and the arrays that are a fitted estimator."""
    _, form = FORMS[type(estimator).__name__]
    header, arrays = form.pack(estimator)
    settings = {name: plain(name, value) for name, value in estimator.get_params().items()}
    return {"estimator": type(estimator).__name__, "parameters": settings, **header}, arrays


def estimator_from(header: Mapping[str, Any], arrays: Mapping[str, Any]) -> Any:
    """Return the fitted estimator of an archive."""
    with unpacking():
        module, form = FORMS[header["estimator"]]
        cls = getattr(importlib.import_module(module), header["estimator"])
        settings = {name: revived(value) for name, value in header["parameters"].items()}
        return form.unpack(cls(**settings), header, arrays)
