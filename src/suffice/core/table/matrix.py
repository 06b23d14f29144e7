"""Conversion of arrays and frames to a numeric matrix, checks, and selection of rows."""

from collections.abc import Sequence
from typing import Any, NoReturn, TypeAlias, TypeVar

import numpy as np

from suffice.core.table.foreign import device_of, is_foreign, namespace, to_numpy
from suffice.core.text.lists import quote, quoted
from suffice.errors import InvalidInputError, InvalidParameterError
from suffice.typing import Array, Codes, Flags, Floats, WeightsLike

# rows (n, d) of float64, float32 or integers, in any memory order, perhaps on a device
Matrix: TypeAlias = Any
V = TypeVar("V")
# the beginnings of the names of numeric types in polars and pyarrow
_NUMERIC_TYPES = ("int", "uint", "float", "double", "half", "decimal", "null")
_BLOCK_ROWS = 4096  # number of rows that are searched at once for NaN and infinity
_MANY_CELLS = 200_000  # with fewer cells, NumPy is faster than loading the compiled loops


def as_matrix(x: object) -> tuple[Matrix, tuple[str, ...] | None]:
    """Return the rows as a numeric array, and the column names.

    A numeric array is not copied. A masked cell of a NumPy array becomes NaN, a missing value.
    """
    names = column_names(x)
    matrix = unmasked(x) if isinstance(x, np.ndarray) else _frame_to_numpy(to_numpy(x))
    if matrix.ndim != 2:
        raise InvalidInputError(
            f"X must have two dimensions (rows, features), found shape {matrix.shape}: "
            "use X.reshape(-1, 1) for one feature, X.reshape(1, -1) for one row"
        )
    if matrix.dtype.kind == "b":
        matrix = matrix.view(np.uint8)
    is_plain_number = matrix.dtype.kind in "fiu" and matrix.dtype.itemsize <= 8
    if not is_plain_number or matrix.dtype == np.float16:
        matrix = _as_floats(matrix, names)
    if not (matrix.dtype.isnative and matrix.flags.aligned):
        matrix = matrix.astype(matrix.dtype.newbyteorder("="))
    return matrix, names


def unmasked(values: V) -> V | Array:
    """Return a masked array as a plain array, with NaN for masked numbers and None for others."""
    if not isinstance(values, np.ma.MaskedArray):
        return values
    if not np.ma.is_masked(values):
        return values.data
    is_numeric = values.dtype.kind in "fiub"
    plain = values.data.astype(np.float64 if is_numeric else object)
    plain[np.ma.getmaskarray(values)] = np.nan if is_numeric else None
    return plain


def is_mixed(X: object) -> bool:
    """Return whether an array or frame has a column that is not numeric."""
    if isinstance(X, np.ndarray):
        if X.ndim != 2:
            return False
        if X.dtype.kind == "O":
            return any(isinstance(value, str) for value in X.ravel().tolist())
        return X.dtype.kind in "US"
    if hasattr(X, "iloc") and hasattr(X, "dtypes") and hasattr(X.dtypes, "tolist"):
        return any(pandas_kind(dtype) != "number" for dtype in X.dtypes.tolist())
    if hasattr(X, "__arrow_c_stream__"):
        return not all(str(t).lower().startswith(_NUMERIC_TYPES) for t in _arrow_types(X))
    return False


def _arrow_types(X: object) -> Sequence[object]:
    schema: object = getattr(X, "schema", None)
    if hasattr(schema, "dtypes"):  # polars
        return list(schema.dtypes())
    return getattr(schema, "types", [])


def pandas_kind(dtype: object) -> str:
    """Return the kind of a pandas column: "number", "date", "duration" or "levels"."""
    kind = getattr(dtype, "kind", "O")
    if kind in "iuf" and not hasattr(dtype, "categories"):
        return "number"
    return {"M": "date", "m": "duration"}.get(kind, "levels")


def coded_columns(X: Any) -> tuple[str, ...]:
    """Return the names of numeric and date columns that the frame stores as categories."""
    if hasattr(X, "iloc"):
        dtypes = X.dtypes.items()
    elif hasattr(X, "column_names") and hasattr(getattr(X, "schema", None), "types"):
        dtypes = zip(X.schema.names, X.schema.types, strict=True)
    else:
        return ()
    return tuple(str(name) for name, dtype in dtypes if _is_coded(dtype))


def _is_coded(dtype: object) -> bool:
    levels = getattr(getattr(dtype, "categories", None), "dtype", None)
    dictionaries = tuple(f"dictionary<values={kind}" for kind in _NUMERIC_TYPES)
    return getattr(levels, "kind", "O") in "iufM" or str(dtype).startswith(dictionaries)


def has_missing(x: Matrix) -> bool:
    """Return whether any number is NaN."""
    if x.dtype.kind != "f":
        return False
    with np.errstate(invalid="ignore", over="ignore"):
        # the sum, which is quick, is NaN if any number is NaN, but also for ∞ − ∞: check again
        return bool(np.isnan(x.sum()) and np.isnan(x).any())


def is_by_column(x: Array) -> bool:
    """Return whether memory holds the array column by column instead of row by row."""
    return not x.flags.c_contiguous and abs(x.strides[0]) < abs(x.strides[1])


def missing_bits(x: Array, dtype: str) -> Array:
    """Return bits that mark the missing columns of each row, in unsigned integers (n, words)."""
    n_rows, n_columns = x.shape
    n_words = max(-(-n_columns // (8 * np.dtype(dtype).itemsize)), 1)
    words = np.zeros((n_rows, n_words), dtype)
    marks = words.view(np.uint8)  # byte 0 holds columns 0 … 7 on every machine
    if x.size < _MANY_CELLS or x.dtype.kind != "f":
        bits = np.packbits(np.isnan(x), axis=1, bitorder="little")
        marks[:, : bits.shape[1]] = bits
        return words
    from suffice.core.compiled import read_only
    from suffice.core.table.loops import mark_missing

    (rows,) = read_only(x)
    mark_missing(rows, marks)
    return words


def filled(x: Matrix) -> Matrix:
    """Return the rows with every NaN replaced with the mean of its column."""
    if not has_missing(x):
        return x
    missing = np.isnan(x)
    counts = np.maximum((~missing).sum(0), 1)
    means = np.where(missing, 0.0, x).sum(0) / counts
    return np.where(missing, means, x)


def as_weights(weight: WeightsLike, n_rows: int) -> Floats | None:
    """Return the checked row weights (n,), or None if every row has weight 1."""
    if weight is None:
        return None
    if isinstance(weight, np.ma.MaskedArray) and np.ma.is_masked(weight):
        row = int(np.argmax(np.ma.getmaskarray(weight)))
        raise InvalidInputError(
            f"sample_weight of row {row} is masked: give every row a weight; 0 leaves the row out"
        )
    w = _as_real(np.asarray(to_numpy(weight)))
    if w.ndim == 0:
        w = np.full(n_rows, float(w))
    if w.shape != (n_rows,):
        raise InvalidInputError(
            f"sample_weight has shape {w.shape}, but there are {n_rows:,} rows: give one weight "
            "for each row"
        )
    usable = np.isfinite(w) & (w >= 0)
    if not usable.all():
        row = int(np.argmin(usable))
        raise InvalidInputError(
            f"sample_weight of row {row} is {w[row]:g}: give every row a finite weight of at least "
            "0"
        )
    if n_rows and not w.any():
        raise InvalidInputError(
            "sample_weight is zero for every row: give at least one row a positive weight"
        )
    if n_rows:
        _refuse_extreme(w)
    return w


def _as_real(weight: Array) -> Floats:
    if weight.dtype.kind == "c":
        raise InvalidInputError(
            "sample_weight holds complex numbers, but a weight is a real number: take their real "
            "parts"
        )
    try:
        return np.asarray(weight, np.float64, order="C")
    except (TypeError, ValueError) as error:
        raise InvalidInputError(
            f"sample_weight holds what is not a number ({error}): give every row a number"
        ) from error


def _refuse_extreme(w: Floats) -> None:
    """Raise if the sum of weights overflows, or if no weight is a normal number."""
    largest = w.max()
    if largest < np.finfo(np.float64).tiny:
        raise InvalidInputError(
            f"the largest sample_weight is {largest:.3g}, too small to be summed with all digits: "
            "multiply all weights by a constant"
        )
    with np.errstate(over="ignore"):
        is_finite = np.isfinite(w.sum())
    if not is_finite:
        raise InvalidInputError(
            f"the sum of sample_weight overflows (the largest weight is {largest:.3g}): divide "
            "all weights by a constant"
        )


def refuse_nonfinite(
    x: Matrix,
    names: tuple[str, ...] | None,
    weight: Floats | None = None,
) -> None:
    """Raise an error that names the first NaN or infinity in rows with positive weight, if any."""
    for lo in range(0, len(x), _BLOCK_ROWS):
        block = x[lo : lo + _BLOCK_ROWS]
        unusable = ~np.isfinite(block)
        if weight is not None:
            unusable &= weight[lo : lo + _BLOCK_ROWS, None] > 0
        if unusable.any():
            row, column = np.argwhere(unusable)[0]
            value = "NaN" if np.isnan(block[row, column]) else "infinity"
            raise InvalidInputError(
                f"Input X contains {value}: row {lo + row}, column {column_name(names, column)}. "
                "Drop such rows, or impute their values first"
            )


def refuse_unusable(
    x: Matrix,
    names: tuple[str, ...] | None,
    weight: Floats | None = None,
) -> NoReturn:
    """Raise an error that names the first NaN or infinity, or a column whose squares overflow."""
    refuse_nonfinite(x, names, weight)
    largest = np.abs(x).max(0)
    column = int(np.argmax(largest))
    with np.errstate(over="ignore"):
        # |x − μ| ≤ 2 max |x|
        is_finite_alone = np.isfinite(4 * len(x) * np.square(float(largest[column])))
    if weight is not None and is_finite_alone:
        raise InvalidInputError(
            "the products of sample_weight and squared values overflow: the largest weight is "
            f"{weight.max():.3g}, and column {column_name(names, column)} reaches "
            f"{largest[column]:.3g}. Divide all weights by a constant"
        )
    raise InvalidInputError(
        f"Input X contains infinity after squaring: column {column_name(names, column)} reaches "
        f"{largest[column]:.3g}: rescale the column"
    )


def taken(table: Any, rows: Codes) -> Any:
    """Return some rows of an array, frame, series, list or sparse matrix, in the same type."""
    if hasattr(table, "iloc"):  # pandas, and libraries with its interface
        return table.iloc[rows]
    if type(table).__module__.startswith("pyarrow"):
        return table.take(rows)
    if hasattr(table, "tocsr"):  # convert, since some sparse formats cannot be indexed by row
        return table.tocsr()[rows]
    if is_foreign(table):
        xp = namespace(table)
        return xp.take(table, xp.asarray(rows, device=device_of(table)), axis=0)
    if hasattr(table, "shape"):
        return table[rows]
    return [table[row] for row in rows]


def is_complete(table: Any) -> Flags:
    """Return which rows of an array or frame have no missing value, (n,)."""
    if hasattr(table, "notna"):  # pandas
        complete: Flags = table.notna().to_numpy().reshape(len(table), -1).all(1)
        return complete
    if hasattr(table, "__arrow_c_stream__"):
        import polars as pl

        frame = pl.DataFrame(table).with_columns(pl.selectors.float().fill_nan(None))
        complete = np.ones(len(frame), bool)
        for column in frame:
            # rename the column, since methods of a series read some names as patterns
            complete &= column.alias("values").is_not_null().to_numpy()
        return complete
    if hasattr(table, "toarray"):  # sparse
        return np.ones(table.shape[0], bool)
    values = np.asarray(unmasked(table))
    if values.dtype.kind != "f":
        return np.ones(len(values), bool)
    is_missing = np.isnan(values).reshape(len(values), -1).any(1)
    return np.asarray(~is_missing)


def column_name(names: Sequence[str] | None, column: int) -> str:
    """Return the column's quoted name, or its position if columns have no names."""
    return f"{column}" if names is None else f"{names[column]!r}"


def column_position(
    column: object,
    names: Sequence[str] | None,
    n: int,
    what: str = "column",
) -> int:
    """Return the position of a column of n, given by name or by position; −1 is the last one."""
    is_truth_value = isinstance(column, bool)
    if isinstance(column, (int, np.integer)) and not is_truth_value and -n <= column < n:
        return int(column) % n
    if isinstance(column, str) and names is not None and column in names:
        return list(names).index(column)
    if names:
        raise InvalidParameterError(
            f"there is no {what} {column!r}: name one of {quoted(names, 12)}"
        )
    raise InvalidParameterError(
        f"there is no {what} {column!r}: give a number from 0 to {n - 1}"
    )


def column_names(x: object) -> tuple[str, ...] | None:
    """Return the names of the columns, or None unless all columns have text names."""
    names = getattr(x, "column_names", getattr(x, "columns", None))
    if names is None or callable(names):
        return None
    names = tuple(names)
    if not all(isinstance(name, str) for name in names):
        return None
    refuse_twins(names)
    return names


def refuse_twins(names: Sequence[str]) -> None:
    """Raise if two columns have the same name."""
    if len(set(names)) == len(names):
        return
    twin = next(name for j, name in enumerate(names) if name in names[:j])
    raise InvalidInputError(
        f"X has {names.count(twin)} columns called {twin!r}, and columns are found by name: "
        "rename all but one"
    )


def _frame_to_numpy(x: Any) -> Array:
    if hasattr(x, "column_names") and hasattr(x, "column"):  # a pyarrow table
        return np.stack([np.asarray(column) for column in x.columns], axis=1)
    if hasattr(x, "iloc") and x.ndim == 2:
        nullable = any(hasattr(dtype, "na_value") for dtype in x.dtypes)  # pandas' own types
        if nullable and not is_mixed(x):
            numbers: Array = x.to_numpy(np.float64, na_value=np.nan)
            return numbers
    return np.asarray(x.to_numpy() if hasattr(x, "to_numpy") else x)


def _as_floats(matrix: Array, names: tuple[str, ...] | None) -> Array:
    if matrix.dtype.kind == "c":
        raise InvalidInputError(
            "Complex data not supported: X must be real, so pass real and imaginary parts as "
            "separate columns"
        )
    try:
        return matrix.astype(np.float64)
    except (TypeError, ValueError):
        for j, column in enumerate(matrix.T):
            refuse_text(column, column_name(names, j))
        raise


def refuse_text(column: Array, name: str) -> None:
    """Raise an error that names the first cell that is not a number, if there is one."""
    try:
        column.astype(np.float64)
    except (TypeError, ValueError):
        for row, cell in enumerate(column.tolist()):
            if not _is_number(cell):
                raise InvalidInputError(
                    f"column {name} must hold numbers, but row {row} holds {quote(cell)}: drop the "
                    "column, or encode it as numbers"
                ) from None
        raise


def _is_number(cell: object) -> bool:
    if cell is None:  # a missing value
        return True
    try:
        float(cell)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return False
    return True
