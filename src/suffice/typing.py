"""Types of arrays, whose shapes are written next to each field, and of users' arguments."""

from collections.abc import Mapping
from typing import Any, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

Floats: TypeAlias = npt.NDArray[np.float64]
Codes: TypeAlias = npt.NDArray[np.intp]
Flags: TypeAlias = npt.NDArray[np.bool_]
Labels: TypeAlias = npt.NDArray[Any]
Array: TypeAlias = npt.NDArray[Any]  # with numbers of any kind

# Users' arguments. pandas, polars and PyTorch objects are array-like, too.
RowsLike: TypeAlias = npt.ArrayLike  # X: arrays, frames, tensors, lists of rows  (n, d)
LabelsLike: TypeAlias = npt.ArrayLike  # y: arrays, series or lists of labels  (n,)
# sample_weight: None means that each row counts once  (n,)
WeightsLike: TypeAlias = npt.ArrayLike | None


class SklearnClassifier(Protocol):
    """A classifier of any library with scikit-learn's interface."""

    @property
    def classes_(self) -> Labels:
        """The classes after fitting, (K,)."""

    def fit(self, X: RowsLike, y: LabelsLike, /) -> object:
        """Fit to rows and their labels."""

    def predict(self, X: RowsLike, /) -> Labels:
        """Return the predicted label of each row."""

    def get_params(self, *, deep: bool) -> Mapping[str, object]:
        """Return the settings by name."""
