"""What a file says of moments: header and arrays, written and checked."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from suffice.core.moments.column_sums import ColumnSums
from suffice.core.moments.incomplete import Incomplete
from suffice.core.moments.merging import by_class
from suffice.core.moments.pattern_sums import PatternSums
from suffice.core.moments.scatter import SCATTERS, FourthMoments, scatter_shape
from suffice.core.power_transform import PowerTransform
from suffice.core.table import Table
from suffice.core.table.schema import Schema
from suffice.errors import FileFormatError

if TYPE_CHECKING:
    from suffice.core.moments.moments import Moments

KIND = "moments"
_SUMS = ("classes", "counts", "weights", "means", "means_low")
_SLACK = 1e-6  # of the digits that adding up and forgetting may cost
_OPTIONAL = ("log_slopes", "peaks")  # (K, d)


def header_of(m: Moments) -> dict[str, Any]:
    """Return what a person wants to read about moments."""
    return {
        "storage": m.storage,
        "n_classes": m.n_classes,
        "n_features": m.n_features,
        "n_rows": int(m.counts.sum()),
        "feature_names": m.feature_names,
        "fourth": m.fourth is not None,
        "transform": None if m.power is None else "yeo-johnson",
        **({} if m.schema is None else {"schema": m.schema.to_json()}),
        **({} if m.patterns is None else {"patterns": _header_of_patterns(m.patterns)}),
    }


def arrays_of(m: Moments) -> dict[str, Any]:
    """Return the arrays that, with the header, are the moments."""
    arrays = {name: getattr(m, name) for name in (*_SUMS, *_OPTIONAL)}
    arrays = {name: array for name, array in arrays.items() if array is not None}
    arrays["scatter"] = m.scatter.values
    if m.fourth is not None:
        arrays |= m.fourth._asdict()
    parts: dict[str, Any] = {"transform": m.power and m.power.arrays()}
    parts["cells"] = m.patterns and arrays_of(_cells(m.patterns))
    for part, held in parts.items():
        arrays |= {f"{part}_{name}": array for name, array in (held or {}).items()}
    if isinstance(m.patterns, PatternSums):
        rows = m.patterns.single_rows
        arrays |= {"rows_x": rows.x, "rows_codes": rows.codes, "rows_weights": rows.weights}
        arrays["lost"] = m.patterns.lost
    return arrays


def _header_of_patterns(patterns: Incomplete) -> dict[str, Any]:
    kind = "patterns" if isinstance(patterns, PatternSums) else "columns"
    return {"kind": kind, "limit": patterns.limit, "cells": header_of(_cells(patterns))}


def _cells(patterns: Incomplete) -> Moments:
    return patterns.pattern_sums if isinstance(patterns, PatternSums) else patterns.flat


def _patterns(
    header: Mapping[str, Any],
    arrays: Mapping[str, Any],
    of_archive: Callable[..., Moments],
) -> Incomplete | None:
    """Return the sums of rows with empty cells, which hold moments themselves, after checking."""
    if "patterns" not in header:
        return None
    found, classes, d = header["patterns"], arrays["classes"], header["n_features"]
    named = {name.removeprefix("cells_"): a for name, a in arrays.items() if "cells_" in name}
    cells = of_archive(dict(found["cells"]), named)
    if found["kind"] == "columns":
        if cells.n_classes != len(classes) * d or cells.n_features != 1:
            msg = f"the file has {cells.n_classes} sums by column, expected {len(classes) * d}"
            raise FileFormatError(msg)
        return ColumnSums(by_class(cells, classes, lambda values: values.reshape(-1, d)))
    fields = ("rows_x", "rows_codes", "rows_weights", "lost")
    x, codes, weights, lost = (arrays[name] for name in fields)
    check_field("means", np.nan_to_num(x, nan=0.0, posinf=np.inf), (len(x), d))
    check_field("counts", codes, (len(x),))
    check_field("weights", weights, (len(x),))
    check_field("counts", lost, (d,))
    patterns = PatternSums(cells, Table(x, classes, codes, weights), lost, found["limit"])
    spelled = cells.classes.dtype.kind == "U" and cells.n_features == d
    if not spelled or max(codes.max(initial=0), *patterns.class_of, 0) >= max(len(classes), 1):
        msg = (
            "the patterns of empty cells name a class that is not there: write the file again"
        )
        raise FileFormatError(msg)
    return patterns


def fields_from(
    header: Mapping[str, Any],
    arrays: Mapping[str, Any],
    of_archive: Callable[..., Moments],
) -> dict[str, Any]:
    """Return the fields of the moments of an archive, after checking every shape and number."""
    try:
        _check(header, arrays)
        names, written = header["feature_names"], header.get("schema")
        schema = None if written is None else Schema.from_json(written)
        if schema is not None and schema.n_features != header["n_features"]:
            msg = (
                f"the schema has {schema.n_features} features, the sums {header['n_features']}"
            )
            raise FileFormatError(msg)
        checked_classes(arrays["classes"])
        fourth = (
            FourthMoments(arrays["thirds"], arrays["fourths"]) if header["fourth"] else None
        )
        return {
            **{name: arrays[name] for name in _SUMS},
            **{name: arrays.get(name) for name in _OPTIONAL},
            "feature_names": None if names is None else tuple(names),
            "scatter": SCATTERS[header["storage"]](arrays["scatter"]),
            "fourth": fourth,
            "power": _power(header, arrays),
            "schema": schema,
            "patterns": _patterns(header, arrays, of_archive),
        }
    except (KeyError, TypeError, AttributeError, IndexError) as error:
        msg = f"the moments lack or mistype the field {error}: write the file again"
        raise FileFormatError(msg) from error


def checked_classes(classes: Any) -> Any:
    """Return labels (K,) that are sorted and differ, as every other field relies on."""
    order = np.argsort(classes, kind="stable")
    if not np.array_equal(order, np.arange(len(classes))) or np.any(
        classes[1:] == classes[:-1]
    ):
        raise FileFormatError("field 'classes' must be sorted and hold no label twice")
    return classes


def _power(header: Mapping[str, Any], arrays: Mapping[str, Any]) -> PowerTransform | None:
    """Return the transform of the rows; files older than transforms have none."""
    if header.get("transform") is None:
        return None
    fields = {name: arrays[f"transform_{name}"] for name in PowerTransform.__slots__}
    try:
        return PowerTransform(**fields)
    except ValueError as error:
        raise FileFormatError(f"the transform in the file is unusable: {error}") from error


def _check(header: Mapping[str, Any], arrays: Mapping[str, Any]) -> None:
    k, d = header["n_classes"], header["n_features"]
    shapes: dict[str, tuple[int, ...]] = {
        **dict.fromkeys(("classes", "counts", "weights"), (k,)),
        **dict.fromkeys(("means", "means_low"), (k, d)),
        "scatter": scatter_shape(header["storage"], k, d),
    }
    if header["fourth"]:
        shapes |= {"thirds": (k, d, d), "fourths": (k, d, d)}
    if header.get("transform") is not None:
        shapes |= {"log_slopes": (k, d), "transform_exponents": (d,)}
    shapes |= {name: (k, d) for name in _OPTIONAL if name in arrays}
    for field, shape in shapes.items():
        check_field(field, arrays[field], shape)
    _check_sums(header, arrays)
    check_feature_names(header["feature_names"], d)


def check_feature_names(names: Any, n_features: int) -> None:
    """Raise unless there is a name for each feature, or none at all."""
    fits = names is None or len(names) == n_features
    if not fits or not all(isinstance(name, str) for name in names or ()):
        raise FileFormatError(f"field 'feature_names' must hold {n_features} names")


def _check_sums(header: Mapping[str, Any], arrays: Mapping[str, Any]) -> None:
    """Raise unless some rows could have these sums."""
    counts, scatter = arrays["counts"], arrays["scatter"]
    if np.any(arrays["weights"][counts == 0] > 0) or header["n_rows"] != int(counts.sum()):
        msg = "field 'counts' does not agree with the weights, or with the number of rows"
        raise FileFormatError(msg)
    full = header["storage"] != "diagonal"
    diagonals = np.diagonal(scatter, axis1=-2, axis2=-1) if full else scatter
    typical = np.abs(diagonals).max(0) if diagonals.ndim > 1 and len(diagonals) else diagonals
    if np.any(diagonals < -_SLACK * np.abs(typical)):
        raise FileFormatError("field 'scatter' holds a negative sum of squares")
    if not full:
        return
    size = np.sqrt(np.abs(typical))
    # |S_ij − S_ji| ≤ ε √(S_ii S_jj), but for what rounding leaves
    slack = _SLACK * size[..., :, None] * size[..., None, :]
    if np.any(
        np.abs(scatter - np.swapaxes(scatter, -1, -2)) > slack + _SLACK * np.abs(scatter)
    ):
        raise FileFormatError("field 'scatter' holds a matrix that is not symmetric")


def check_field(
    field: str,
    array: Any,
    shape: tuple[int, ...],
    *,
    finite: bool = True,
) -> None:
    """Raise unless an array has its shape and its kind of numbers, finite and of their sign."""
    kinds = {"classes": "iubfU", "counts": "i"}.get(field, "f")
    if array.shape != shape or array.dtype.kind not in kinds:
        msg = f"field {field!r} has shape {array.shape} of {array.dtype}, expected {shape}"
        raise FileFormatError(msg)
    if finite and array.dtype.kind == "f" and not np.isfinite(array).all():
        raise FileFormatError(f"field {field!r} holds numbers that are not finite")
    if field in ("weights", "counts") and np.any(array < 0):
        raise FileFormatError(f"field {field!r} holds negative numbers")
