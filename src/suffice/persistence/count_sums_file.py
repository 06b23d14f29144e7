"""Sums of counts in files: writing of the header and arrays, and checks when reading."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from suffice.core.moments.count_sums import CountSums
from suffice.errors import FileFormatError
from suffice.persistence import archive
from suffice.persistence.moments_file import check_feature_names, check_field, checked_classes

KIND = "count sums"


def save_count_sums(sums: CountSums, path: str | Path) -> None:
    """Write sums of counts to ``path``, which never holds a part of a file."""
    archive.write(path, KIND, header_of(sums), arrays_of(sums))


def header_of(sums: CountSums) -> dict[str, Any]:
    """Return the readable header of sums of counts."""
    return {
        "n_classes": sums.n_classes,
        "n_features": sums.n_features,
        "n_rows": int(sums.counts.sum()),
        "feature_names": sums.feature_names,
        "threshold": sums.threshold,
        "has_fractions": sums.has_fractions,
    }


def arrays_of(sums: CountSums) -> dict[str, Any]:
    """Return the arrays that, with the header, define the sums."""
    return {
        "classes": sums.classes,
        "counts": sums.counts,
        "weights": sums.weights,
        "sums": sums.sums,
        "log_factorials": sums.log_factorials,
        "log_totals": sums.log_totals,
    }


def count_sums_from(header: Mapping[str, Any], arrays: Mapping[str, Any]) -> CountSums:
    """Return the sums in a file, after checking that the arrays are consistent."""
    k = header["n_classes"]
    d = header["n_features"]
    shapes = {
        "classes": (k,),
        "counts": (k,),
        "weights": (k,),
        "sums": (k, d),
        "log_factorials": (k,),
        "log_totals": (k,),
    }
    for name, shape in shapes.items():
        if name not in arrays:
            raise FileFormatError(f"the file has no field {name!r}: write it again")
        check_field(name, arrays[name], shape)
    check_feature_names(header["feature_names"], d)
    counts = arrays["counts"]
    if (arrays["sums"] < 0).any() or (arrays["weights"][counts == 0] > 0).any():
        raise FileFormatError("field 'sums' holds negative counts, or counts without rows")
    if int(counts.sum()) != header["n_rows"]:
        raise FileFormatError("field 'counts' does not agree with the number of rows")
    names = header["feature_names"]
    threshold = header["threshold"]
    return CountSums(
        classes=checked_classes(arrays["classes"]),
        feature_names=None if names is None else tuple(names),
        counts=counts,
        weights=arrays["weights"],
        sums=arrays["sums"],
        log_factorials=arrays["log_factorials"],
        log_totals=arrays["log_totals"],
        threshold=None if threshold is None else float(threshold),
        has_fractions=bool(header["has_fractions"]),
    ).frozen()
