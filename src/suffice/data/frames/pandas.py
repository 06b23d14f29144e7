"""Convert pandas frames to polars without pyarrow, which may not be installed."""

from typing import Any

import numpy as np
import polars as pl

from suffice.errors import InvalidInputError


def is_pandas(source: object) -> bool:
    """Return whether this is a pandas frame."""
    return type(source).__module__.startswith("pandas") and hasattr(source, "columns")


def from_pandas(frame: Any) -> pl.DataFrame:
    """Return a pandas frame as a polars frame, with nulls for missing values."""
    if not all(isinstance(name, str) for name in frame.columns):
        msg = "the columns of the frame must be named by text: df.columns = df.columns.astype(str)"
        raise InvalidInputError(msg)
    if frame.columns.has_duplicates:
        twin = frame.columns[frame.columns.duplicated()][0]
        raise InvalidInputError(
            f"the frame has two columns called {twin!r}: rename one of them"
        )
    try:
        return pl.DataFrame({name: _values(frame[name]) for name in frame.columns})
    except Exception as error:
        msg = f"the frame cannot be read ({error}): give each column values of one type"
        raise InvalidInputError(msg) from error


def _values(column: Any) -> pl.Series:
    dtype = column.dtype
    is_arrow_text = getattr(dtype, "storage", "") == "pyarrow"
    if is_arrow_text or type(column.array).__module__.startswith("pyarrow"):
        return pl.Series(column)
    if hasattr(dtype, "categories") and hasattr(column, "cat"):
        return _levels(column.cat)
    if hasattr(dtype, "numpy_dtype"):  # a masked numeric type
        values = pl.Series(column.to_numpy(dtype.numpy_dtype, na_value=dtype.type(0)))
        return values.set(pl.Series(column.isna().to_numpy()), None)
    if isinstance(dtype, np.dtype) and dtype.kind in "iufb":
        return pl.Series(column.to_numpy(), nan_to_null=True)
    if isinstance(dtype, np.dtype) and dtype.kind in "mM":
        return pl.Series(column.to_numpy(_time_type(str(dtype))), nan_to_null=True)
    return pl.Series(column.astype(object).where(column.notna(), None).tolist())


def _levels(categories: Any) -> pl.Series:
    codes = pl.Series(categories.codes.to_numpy())
    levels = categories.categories
    if levels.dtype.kind == "O":
        levels = levels.astype(str)
    return _values(levels.to_series()).gather(codes.replace(-1, None))


def _time_type(dtype: str) -> str | None:
    """Return the type that times are converted to, because polars has no times in seconds."""
    if dtype == "datetime64[s]":
        return "datetime64[us]"
    if dtype == "timedelta64[s]":
        return "timedelta64[us]"
    return None
