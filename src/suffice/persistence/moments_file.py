"""Moments in files: writing of the header and arrays, and checks when reading."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from suffice.core.checks import is_number, is_whole_number
from suffice.core.moments.column_sums import ColumnSums
from suffice.core.moments.higher_moments import HigherMoments
from suffice.core.moments.incomplete import Incomplete
from suffice.core.moments.merging import by_class
from suffice.core.moments.moments import Moments
from suffice.core.moments.pattern_sums import PatternSums
from suffice.core.moments.scatter import SCATTERS, FourthMoments, Scatter, scatter_shape
from suffice.core.moments.scatter_as_rows import RowScatter
from suffice.core.moments.validity import refuse_impossible, refuse_overflow
from suffice.core.power_transform import PowerTransform
from suffice.core.table import Table
from suffice.core.table.notation import Notations
from suffice.core.table.schema import Schema
from suffice.errors import FileFormatError, InvalidInputError
from suffice.persistence.exact_fields import exact_arrays, with_exact
from suffice.typing import Array, Labels

KIND = "moments"
_TRANSFORM = "transform_"  # prefix of the arrays of a power transform
_CELLS = "cells_"  # prefix of the arrays of rows with missing values
_INTEGERS = ("counts", "rows_codes", "scatter_codes", "lost")
_NOT_NEGATIVE = (
    "weights",
    "counts",
    "rows_weights",
    "rows_codes",
    "scatter_weights",
    "scatter_codes",
    "lost",
)


# --- writing ---------------------------------------------------------------------------------


def header_of(m: Moments) -> dict[str, object]:
    """Return the readable header of moments."""
    header: dict[str, object] = {
        "storage": m.storage,
        "n_classes": m.n_classes,
        "n_features": m.n_features,
        "n_rows": int(m.counts.sum()),
        "feature_names": m.feature_names,
        "fourth": m.fourth is not None,
        "transform": None if m.power is None else "yeo-johnson",
    }
    if m.schema is not None:
        header["schema"] = m.schema.to_json()
    if m.notations is not None:
        header["notations"] = m.notations.to_json()
    if m.exact is not None:
        header["exact"] = m.exact.grid.to_json()
    if m.patterns is not None:
        header["patterns"] = {
            "kind": "patterns" if isinstance(m.patterns, PatternSums) else "columns",
            "limit": m.patterns.limit,
            "cells": header_of(_cells(m.patterns)),
        }
    return header


def arrays_of(m: Moments) -> dict[str, Array]:
    """Return the arrays that, with the header, define the moments."""
    arrays: dict[str, Array] = {
        "classes": m.classes,
        "counts": m.counts,
        "weights": m.weights,
        "means": m.means,
        "means_low": m.means_low,
    }
    if m.log_slopes is not None:
        arrays["log_slopes"] = m.log_slopes
    if m.peaks is not None:
        arrays["peaks"] = m.peaks
    arrays.update(_scatter_arrays(m.scatter))
    if m.fourth is not None:
        arrays["thirds"] = m.fourth.thirds
        arrays["fourths"] = m.fourth.fourths
    if m.higher is not None:
        arrays["higher"] = m.higher.as_array()
    if m.power is not None:
        arrays.update(_power_arrays(m.power))
    if m.patterns is not None:
        arrays.update(_pattern_arrays(m.patterns))
    if m.exact is not None:
        arrays.update(exact_arrays(m.exact))
    return arrays


def _scatter_arrays(scatter: Scatter) -> dict[str, Array]:
    if not isinstance(scatter, RowScatter):
        return {"scatter": scatter.values}
    return {
        "scatter": scatter.rows,
        "scatter_weights": scatter.row_weights,
        "scatter_codes": scatter.codes,
    }


def _power_arrays(power: PowerTransform) -> dict[str, Array]:
    return {f"{_TRANSFORM}{name}": array for name, array in power.arrays().items()}


def _pattern_arrays(patterns: Incomplete) -> dict[str, Array]:
    cells = arrays_of(_cells(patterns))
    arrays = {f"{_CELLS}{name}": array for name, array in cells.items()}
    if isinstance(patterns, PatternSums):
        arrays["rows_x"] = patterns.single_rows.x
        arrays["rows_codes"] = patterns.single_rows.codes
        arrays["rows_weights"] = patterns.single_rows.weights
        arrays["lost"] = patterns.lost
    return arrays


def _cells(patterns: Incomplete) -> Moments:
    """Return the sums of rows with missing values in the form of moments."""
    return patterns.by_pattern if isinstance(patterns, PatternSums) else patterns.flat


def checked_state(m: Moments) -> tuple[dict[str, object], dict[str, Array]]:
    """Return the header and the arrays to write, after the checks that reading makes."""
    header = header_of(m)
    arrays = arrays_of(m)
    try:
        moments_from(header, arrays)
    except FileFormatError as error:
        raise InvalidInputError(f"these moments cannot be saved: {error}") from error
    return header, arrays


# --- reading ---------------------------------------------------------------------------------


def moments_from(header: Mapping[str, Any], arrays: Mapping[str, Any]) -> Moments:
    """Return the moments of an archive, after checking every shape and number."""
    moments = _finite_moments(header, arrays)
    try:
        refuse_impossible(moments)
    except InvalidInputError as error:
        raise FileFormatError(f"no rows can have the sums of the file: {error}") from error
    return moments


def _finite_moments(header: Mapping[str, Any], arrays: Mapping[str, Any]) -> Moments:
    """Return the moments of an archive, after checking that shapes match and sums are finite."""
    try:
        _check(header, arrays)
        moments = with_exact(_built(header, arrays), header, arrays)
    except (KeyError, TypeError, AttributeError, IndexError) as error:
        raise FileFormatError(
            f"the field {error} of the moments is missing or has the wrong type: write the "
            "file again"
        ) from error
    try:
        refuse_overflow(moments)
    except InvalidInputError as error:
        raise FileFormatError(f"the sums of the file cannot be used: {error}") from error
    return moments


def _built(header: Mapping[str, Any], arrays: Mapping[str, Any]) -> Moments:
    names = header["feature_names"]
    fourth = None
    if header["fourth"]:
        fourth = FourthMoments(arrays["thirds"], arrays["fourths"])
    return Moments(
        classes=checked_classes(arrays["classes"]),
        counts=arrays["counts"],
        weights=arrays["weights"],
        means=arrays["means"],
        means_low=arrays["means_low"],
        log_slopes=arrays.get("log_slopes"),
        peaks=arrays.get("peaks"),
        feature_names=None if names is None else tuple(names),
        scatter=_scatter(header, arrays),
        fourth=fourth,
        power=_power(header, arrays),
        schema=_schema(header),
        patterns=_patterns(header, arrays),
        higher=_higher(header, arrays),
        notations=Notations.from_json(header.get("notations")),
    )


def _scatter(header: Mapping[str, Any], arrays: Mapping[str, Any]) -> Scatter:
    if header["storage"] != "rows":
        return SCATTERS[header["storage"]](arrays["scatter"])
    codes = arrays["scatter_codes"]
    if np.any(codes[1:] < codes[:-1]) or codes.max(initial=0) >= max(header["n_classes"], 1):
        raise FileFormatError(
            "field 'scatter_codes' must be sorted and name the classes: write the file again"
        )
    return RowScatter(
        rows=arrays["scatter"],
        row_weights=arrays["scatter_weights"],
        codes=codes,
        n_classes=header["n_classes"],
    )


def _schema(header: Mapping[str, Any]) -> Schema | None:
    columns = header.get("schema")
    if columns is None:
        return None
    schema = Schema.from_json(columns)
    fills = [column.fill for column in schema.numbers if column.fill is not None]
    if not all(is_number(fill) and np.isfinite(fill) for fill in fills):
        raise FileFormatError(
            "the schema fills missing values with something that is not a number: write the "
            "file again"
        )
    if schema.n_features != header["n_features"]:
        raise FileFormatError(
            f"the schema has {schema.n_features} features, but the sums have "
            f"{header['n_features']}: write the file again"
        )
    return schema


def _higher(header: Mapping[str, Any], arrays: Mapping[str, Any]) -> HigherMoments | None:
    if "higher" not in arrays:
        return None
    schema = _schema(header)
    n_numbers = header["n_features"] if schema is None else schema.n_numbers
    check_field("higher", arrays["higher"], (5, n_numbers), finite=False)
    return HigherMoments(*arrays["higher"])


def _power(header: Mapping[str, Any], arrays: Mapping[str, Any]) -> PowerTransform | None:
    if header["transform"] is None:
        return None
    try:
        return PowerTransform(
            exponents=arrays[f"{_TRANSFORM}exponents"],
            centre=arrays[f"{_TRANSFORM}centre"],
            scale=arrays[f"{_TRANSFORM}scale"],
            low=arrays[f"{_TRANSFORM}low"],
            high=arrays[f"{_TRANSFORM}high"],
        )
    except ValueError as error:
        raise FileFormatError(
            f"the transform in the file is unusable ({error}): write the file again"
        ) from error


def _cells_from(header: Mapping[str, Any], arrays: Mapping[str, Any]) -> Moments:
    """Return the sums of each pattern, or of each class and column."""
    cell_arrays = {}
    for name, array in arrays.items():
        if name.startswith(_CELLS):
            cell_arrays[name.removeprefix(_CELLS)] = array
    cell_header = header["patterns"]["cells"]
    if header["storage"] == "pooled":
        # a pooled scatter may be spread over classes, whose parts need not be possible on their own
        return _finite_moments(cell_header, cell_arrays)
    return moments_from(cell_header, cell_arrays)


def _patterns(header: Mapping[str, Any], arrays: Mapping[str, Any]) -> Incomplete | None:
    """Return the sums of rows with missing values, after checks, or None if there are none."""
    if "patterns" not in header:
        return None
    classes = arrays["classes"]
    d = header["n_features"]
    pattern_header = header["patterns"]
    cells = _cells_from(header, arrays)
    if pattern_header["kind"] == "columns":
        n_expected = len(classes) * d
        if cells.n_classes != n_expected or cells.n_features != 1:
            raise FileFormatError(
                f"the file has {cells.n_classes} sums by column, expected {n_expected}: write the "
                "file again"
            )
        return ColumnSums(by_class(cells, classes, lambda values: values.reshape(-1, d)))
    limit = pattern_header["limit"]
    if limit is not None and not (is_whole_number(limit) and limit > 0):
        raise FileFormatError(
            f"field 'limit' of the patterns is {limit!r}: it must be null or an integer of at "
            "least 1"
        )
    x = arrays["rows_x"]
    codes = arrays["rows_codes"]
    weights = arrays["rows_weights"]
    lost = arrays["lost"]
    check_field("rows_x", np.nan_to_num(x, nan=0.0, posinf=np.inf), (len(x), d))
    check_field("rows_codes", codes, (len(x),))
    check_field("rows_weights", weights, (len(x),))
    check_field("lost", lost, (d,))
    if cells.classes.dtype.kind != "U" or cells.n_features != d:
        raise FileFormatError(
            "the patterns of missing values have other columns than the sums: write the file "
            "again"
        )
    rows = Table(x, classes, codes, weights)
    patterns = PatternSums(cells, rows, lost, limit)
    highest = max(codes.max(initial=0), max(patterns.class_of, default=0))
    if highest >= max(len(classes), 1):
        raise FileFormatError(
            "the patterns of missing values name an unknown class: write the file again"
        )
    return patterns


# --- checks ----------------------------------------------------------------------------------


def _check(header: Mapping[str, Any], arrays: Mapping[str, Any]) -> None:
    k = header["n_classes"]
    d = header["n_features"]
    shapes: dict[str, tuple[int, ...]] = {
        "classes": (k,),
        "counts": (k,),
        "weights": (k,),
        "means": (k, d),
        "means_low": (k, d),
    }
    if header["storage"] == "rows":
        n_rows = header["n_rows"]
        shapes["scatter"] = (n_rows, d)
        shapes["scatter_weights"] = (n_rows,)
        shapes["scatter_codes"] = (n_rows,)
    else:
        shapes["scatter"] = scatter_shape(header["storage"], k, d)
    if header["fourth"]:
        shapes["thirds"] = (k, d, d)
        shapes["fourths"] = (k, d, d)
    if header["transform"] is not None:
        shapes["log_slopes"] = (k, d)
        shapes[f"{_TRANSFORM}exponents"] = (d,)
    for name in ("log_slopes", "peaks"):
        if name in arrays:
            shapes[name] = (k, d)
    for name, shape in shapes.items():
        check_field(name, arrays[name], shape)
    if header["n_rows"] != int(arrays["counts"].sum()):
        raise FileFormatError("field 'counts' does not agree with the number of rows")
    check_feature_names(header["feature_names"], d)


def check_field(
    field: str,
    array: Array,
    shape: tuple[int, ...],
    *,
    finite: bool = True,
) -> None:
    """Raise unless an array has the given shape, and values of the right type, sign and size."""
    if field == "classes":
        kinds = "iubfU"
    elif field in _INTEGERS:
        kinds = "i"
    else:
        kinds = "f"
    if array.shape != shape or array.dtype.kind not in kinds:
        raise FileFormatError(
            f"field {field!r} has shape {array.shape} of {array.dtype}, expected {shape}"
        )
    if finite and array.dtype.kind == "f" and not np.isfinite(array).all():
        raise FileFormatError(f"field {field!r} holds numbers that are not finite")
    if field in _NOT_NEGATIVE and np.any(array < 0):
        raise FileFormatError(f"field {field!r} holds negative numbers")


def checked_classes(classes: Labels) -> Labels:
    """Return labels (K,), after checking that they are sorted and distinct."""
    order = np.argsort(classes, kind="stable")
    is_sorted = np.array_equal(order, np.arange(len(classes)))
    if not is_sorted or np.any(classes[1:] == classes[:-1]):
        raise FileFormatError("field 'classes' must be sorted and hold no label twice")
    return classes


def check_feature_names(names: Any, n_features: int) -> None:
    """Raise unless there is a name for each feature, or no name."""
    if names is None:
        return
    if len(names) != n_features or not all(isinstance(name, str) for name in names):
        raise FileFormatError(f"field 'feature_names' must hold {n_features} names")
    if len(set(names)) < len(names):
        raise FileFormatError("field 'feature_names' holds a name twice")
