"""Types of arrays, whose shapes are written next to each field, and of what users pass."""

from collections.abc import Mapping
from typing import Any, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

Floats: TypeAlias = npt.NDArray[np.float64]
Codes: TypeAlias = npt.NDArray[np.intp]
Flags: TypeAlias = npt.NDArray[np.bool_]
Labels: TypeAlias = npt.NDArray[Any]
Array: TypeAlias = npt.NDArray[Any]  # of any kind of number

# What users pass. pandas, polars and PyTorch objects are array-like, too.
RowsLike: TypeAlias = npt.ArrayLike  # X: arrays, frames, tensors, lists of rows  (n, d)
LabelsLike: TypeAlias = npt.ArrayLike  # y: arrays, series or lists of labels  (n,)
WeightsLike: TypeAlias = npt.ArrayLike | None  # sample_weight: None counts each row once  (n,)


class SklearnClassifier(Protocol):
    """A classifier with scikit-learn's interface, of any library."""

    @property
    def classes_(self) -> Labels:
        """The classes, once it is fitted, (K,)."""

    def fit(self, X: RowsLike, y: LabelsLike, /) -> object:
        """Learn from rows and their labels."""

    def predict(self, X: RowsLike, /) -> Labels:
        """Return the predicted label of each row."""

    def get_params(self, *, deep: bool) -> Mapping[str, object]:
        """Return the settings by name."""
