"""Arrays and frames: as a numeric matrix with names, some of their rows, and their checks."""

from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np

from suffice.core.table.foreign import device_of, is_foreign, namespace, to_numpy
from suffice.core.text.lists import quoted
from suffice.errors import InvalidInputError, InvalidParameterError
from suffice.typing import Codes, Floats

Matrix = Any  # (n, d) float64, float32 or integers, in any memory order
_NUMBERS = (
    "int",
    "uint",
    "float",
    "double",
    "half",
    "decimal",
    "null",
)  # how their types begin


def as_matrix(x: Any) -> tuple[Matrix, tuple[str, ...] | None]:
    """Return the rows as a numeric array, not copied if they are one, and the column names."""
    names = _column_names(x)
    matrix = x if isinstance(x, np.ndarray) else _to_numpy(to_numpy(x))
    if matrix.ndim != 2:
        cure = "use X.reshape(-1, 1) for one feature, X.reshape(1, -1) for one row"
        msg = (
            f"X must have two dimensions (rows, features), found shape {matrix.shape}: {cure}"
        )
        raise InvalidInputError(msg)
    if matrix.dtype.kind == "b":
        matrix = matrix.view(np.uint8)
    if (
        matrix.dtype.kind not in "fiu"
        or matrix.dtype.itemsize > 8
        or matrix.dtype == np.float16
    ):
        matrix = _as_floats(matrix, names)
    if not (matrix.dtype.isnative and matrix.flags.aligned):
        matrix = matrix.astype(matrix.dtype.newbyteorder("="))
    return matrix, names


def is_mixed(X: Any) -> bool:
    """Return whether an array or frame has a column that does not hold numbers alone."""
    if isinstance(X, np.ndarray):
        boxed = X.ravel().tolist() if X.dtype.kind == "O" else ()
        return X.ndim == 2 and (X.dtype.kind in "US" or any(isinstance(v, str) for v in boxed))
    dtypes = getattr(X, "dtypes", None)
    if hasattr(X, "iloc") and dtypes is not None and hasattr(dtypes, "tolist"):
        return any(pandas_kind(dtype) != "number" for dtype in dtypes.tolist())
    if hasattr(X, "__arrow_c_stream__"):
        schema: Any = getattr(X, "schema", None)
        found = schema.dtypes() if hasattr(schema, "dtypes") else getattr(schema, "types", [])
        return not all(str(dtype).lower().startswith(_NUMBERS) for dtype in found)
    return False


def pandas_kind(dtype: Any) -> str:
    """Return what a column of pandas holds: numbers, dates, durations, or levels."""
    kind = getattr(dtype, "kind", "O")
    if kind in "iuf" and not hasattr(dtype, "categories"):
        return "number"
    return {"M": "date", "m": "duration"}.get(kind, "levels")


def coded_columns(X: Any) -> tuple[str, ...]:
    """Return the columns of numbers or dates that a table of pandas or Arrow calls categories."""
    schema: Any = getattr(X, "schema", None) if hasattr(X, "column_names") else None
    arrow = zip(schema.names, schema.types, strict=True) if hasattr(schema, "types") else ()
    known = X.dtypes.items() if hasattr(X, "iloc") else arrow
    return tuple(str(name) for name, dtype in known if _is_coded(dtype))


def _is_coded(dtype: Any) -> bool:
    levels = getattr(getattr(dtype, "categories", None), "dtype", None)
    dictionaries = tuple(f"dictionary<values={kind}" for kind in _NUMBERS)
    return getattr(levels, "kind", "O") in "iufM" or str(dtype).startswith(dictionaries)


def has_missing(x: Matrix) -> bool:
    """Return whether any number is NaN."""
    with np.errstate(invalid="ignore", over="ignore"):
        return bool(x.dtype.kind == "f" and np.isnan(x.sum()) and np.isnan(x).any())


def filled(x: Matrix) -> Matrix:
    """Return the rows with the mean of its column in the place of each NaN."""
    if not has_missing(x):
        return x
    gaps = np.isnan(x)
    return np.where(gaps, np.where(gaps, 0.0, x).sum(0) / np.maximum((~gaps).sum(0), 1), x)


def as_weights(weight: Any, n_rows: int) -> Floats | None:
    """Return row weights (n,), checked, or None where every row counts once."""
    if weight is None:
        return None
    w = np.asarray(to_numpy(weight), np.float64, order="C")
    if w.ndim == 0:
        w = np.full(n_rows, float(w))
    if w.shape != (n_rows,):
        raise InvalidInputError(
            f"sample_weight has shape {w.shape}, but there are {n_rows} rows"
        )
    for row in np.flatnonzero(~(np.isfinite(w) & (w >= 0)))[:1]:
        msg = (
            f"sample_weight of row {row} is {w[row]}: weights must be finite and not negative"
        )
        raise InvalidInputError(msg)
    if n_rows and not w.any():
        msg = "sample_weight is zero for every row: at least one weight must be positive"
        raise InvalidInputError(msg)
    return w


def refuse_nonfinite(x: Matrix, names: tuple[str, ...] | None, weight: Any = None) -> None:
    """Raise the error that names the first NaN or infinity in a row of positive weight, if any."""
    for lo in range(0, len(x), 4096):
        block = x[lo : lo + 4096]
        found = ~np.isfinite(block)
        bad = found if weight is None else found & (weight[lo : lo + 4096, None] > 0)
        for row, column in np.argwhere(bad)[:1]:
            what = "NaN" if np.isnan(block[row, column]) else "infinity"
            place = f"row {lo + row}, column {column_name(names, column)}"
            msg = f"Input X contains {what}: {place}; drop or impute such rows first"
            raise InvalidInputError(msg)


def refuse_unusable(x: Matrix, names: tuple[str, ...] | None, weight: Any = None) -> NoReturn:
    """Raise the error that names the first NaN or infinity, or a column whose squares overflow."""
    refuse_nonfinite(x, names, weight)
    column = int(np.argmax(np.abs(x).max(0)))
    found = f"{column_name(names, column)} reaches {np.abs(x[:, column]).max():.3g}"
    raise InvalidInputError(
        f"Input X contains infinity after squaring: column {found}; rescale it"
    )


def taken(table: Any, rows: Codes) -> Any:
    """Return some rows of an array, frame, series, list or sparse matrix, as the same kind."""
    if hasattr(table, "iloc"):  # pandas, and what follows it
        return table.iloc[rows]
    if type(table).__module__.startswith("pyarrow"):
        return table.take(rows)
    if hasattr(table, "tocsr"):  # sparse, of which some kinds know no rows
        return table.tocsr()[rows]
    if is_foreign(table):
        xp = namespace(table)
        return xp.take(table, xp.asarray(rows, device=device_of(table)), axis=0)
    return table[rows] if hasattr(table, "shape") else [table[row] for row in rows]


def is_complete(table: Any) -> Any:
    """Return which rows of an array or frame have no missing value, (n,) bool."""
    if hasattr(table, "notna"):
        return table.notna().to_numpy().reshape(len(table), -1).all(1)
    if hasattr(table, "__arrow_c_stream__"):
        import polars as pl

        frame = pl.DataFrame(table).with_columns(pl.selectors.float().fill_nan(None))
        known = (column.is_not_null().to_numpy() for column in frame)
        return np.logical_and.reduce([np.ones(len(frame), bool), *known])
    if hasattr(table, "toarray"):
        return np.ones(table.shape[0], bool)
    values = np.asarray(table)
    if values.dtype.kind != "f":
        return np.ones(len(values), bool)
    return ~np.isnan(values).reshape(len(values), -1).any(1)


def column_name(names: tuple[str, ...] | None, column: int) -> str:
    """Return how messages call a column."""
    return f"{column}" if names is None else f"{names[column]!r}"


def column_position(
    column: Any,
    names: Sequence[str] | None,
    n: int,
    what: str = "column",
) -> int:
    """Return the place of one of n columns, given by name or by place, −1 being the last."""
    if isinstance(column, str):
        if column in (names or ()):
            return list(names or ()).index(column)
    elif (
        isinstance(column, (int, np.integer)) and type(column) is not bool and -n <= column < n
    ):
        return int(column) % n
    msg = f"no {what} {column!r}: there are {n}{f', {quoted(names, 12)}' if names else ''}"
    raise InvalidParameterError(msg)


def _column_names(x: Any) -> tuple[str, ...] | None:
    names = getattr(x, "column_names", getattr(x, "columns", None))
    known = None if names is None or callable(names) else tuple(names)
    return (
        known if known is not None and all(isinstance(name, str) for name in known) else None
    )


def _to_numpy(x: Any) -> Matrix:
    if hasattr(x, "column_names") and hasattr(x, "column"):  # a pyarrow table
        return np.stack([np.asarray(column) for column in x.columns], axis=1)
    own: Any = x.dtypes if hasattr(x, "iloc") and x.ndim == 2 else ()
    if any(hasattr(dtype, "na_value") for dtype in own) and not is_mixed(x):
        return x.to_numpy(np.float64, na_value=np.nan)  # pandas' own types have NA
    return np.asarray(x.to_numpy() if hasattr(x, "to_numpy") else x)


def _as_floats(matrix: Matrix, names: tuple[str, ...] | None) -> Matrix:
    if matrix.dtype.kind == "c":
        raise InvalidInputError("Complex data not supported: X must be real")
    try:
        return matrix.astype(np.float64)
    except (TypeError, ValueError):
        for j, column in enumerate(matrix.T):
            try:
                column.astype(np.float64)
            except (TypeError, ValueError) as error:
                msg = f"column {column_name(names, j)} is not numeric ({error}): "
                raise InvalidInputError(f"{msg}drop it or encode it as numbers") from error
        raise
