"""Masked sums in files: writing, and checks when reading."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from suffice.core.moments.int128 import Int128
from suffice.core.moments.masked_sums import MaskedSums, SumLayout
from suffice.core.moments.rounding_grid import RoundingGrid
from suffice.errors import FileFormatError, SufficeError
from suffice.persistence import archive
from suffice.typing import Array

KIND = "masked sums"


def save_masked(masked: MaskedSums, path: str | Path) -> None:
    """Write masked sums to a file."""
    header = {
        "party": masked.party,
        "parties": masked.parties,
        "round": masked.round,
        "grid": masked.layout.grid.to_json(),
        "feature_names": masked.layout.feature_names,
        "storage": masked.layout.storage,
    }
    arrays = {
        "classes": masked.layout.classes,
        "numbers_high": masked.numbers.high,
        "numbers_low": masked.numbers.low,
    }
    archive.write(path, KIND, header, arrays)


def load_masked(path: str | Path) -> MaskedSums:
    """Return the masked sums in a file, after checks."""
    header, arrays = archive.read(path)
    if header["suffice"] != KIND:
        raise FileFormatError(
            f"{path} holds {header['suffice']!r}, not masked sums: write it with suffice mask"
        )
    try:
        return _masked(header, arrays)
    except (KeyError, TypeError, ValueError) as error:
        if isinstance(error, SufficeError) and isinstance(error, FileFormatError):
            raise
        raise FileFormatError(
            f"{path} does not hold usable masked sums ({error}): write it again"
        ) from error


def _masked(header: Mapping[str, Any], arrays: Mapping[str, Array]) -> MaskedSums:
    names = header["feature_names"]
    if header["storage"] not in ("per-class", "pooled"):
        raise FileFormatError(f"the storage {header['storage']!r} of masked sums is not known")
    layout = SumLayout(
        grid=RoundingGrid.from_json(header["grid"]),
        classes=arrays["classes"],
        feature_names=None if names is None else tuple(names),
        storage=header["storage"],
    )
    high = arrays["numbers_high"]
    low = arrays["numbers_low"]
    shape = (sum(layout.sizes),)
    has_shape = high.shape == shape and low.shape == shape
    if not has_shape or high.dtype != np.uint64 or low.dtype != np.uint64:
        raise FileFormatError(
            f"masked sums of this size have {shape[0]} numbers, but the file has {len(high)}: "
            "write it again"
        )
    parties = tuple(header["parties"])
    if header["party"] not in parties or list(parties) != sorted(set(parties)):
        raise FileFormatError("the parties of the masked sums are not a sorted list of names")
    return MaskedSums(layout, header["party"], parties, header["round"], Int128(high, low))
