"""Array aliases; shapes are written next to each field."""

from typing import Any, TypeAlias

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
