"""Exact sums in files of moments: writing of the grid and the integers, and checks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from suffice.core.moments.exact_sums import ExactSums
from suffice.core.moments.int128 import Int128
from suffice.core.moments.moments import Moments, from_exact
from suffice.core.moments.rounding_grid import RoundingGrid
from suffice.errors import FileFormatError, SufficeError
from suffice.typing import Array

_WEIGHTS = "exact_weights"
_SUMS = "exact_sums"
_PRODUCTS = "exact_products"


def exact_arrays(exact: ExactSums) -> dict[str, Array]:
    """Return the integers of exact sums, with those of 128 bits split into two halves."""
    return {
        _WEIGHTS: exact.weights,
        f"{_SUMS}_high": exact.sums.high,
        f"{_SUMS}_low": exact.sums.low,
        f"{_PRODUCTS}_high": exact.products.high,
        f"{_PRODUCTS}_low": exact.products.low,
    }


def with_exact(m: Moments, header: Mapping[str, Any], arrays: Mapping[str, Array]) -> Moments:
    """Return moments with the exact sums of the file, or raise if both disagree."""
    if "exact" not in header:
        return m
    if m.storage == "diagonal":
        raise FileFormatError(
            "the file has exact sums of diagonal scatter, which suffice never writes"
        )
    n_groups = m.n_classes if m.storage == "per-class" else 1
    d = m.n_features
    exact = ExactSums(
        grid=_grid(header["exact"], d),
        classes=m.classes,
        counts=m.counts,
        weights=_integers(arrays, _WEIGHTS, (m.n_classes,), "i"),
        sums=_wide_integers(arrays, _SUMS, (m.n_classes, d)),
        products=_wide_integers(arrays, _PRODUCTS, (n_groups, d, d)),
        storage=m.storage,
    )
    moments = from_exact(exact, m.feature_names)
    is_same = (
        np.array_equal(moments.weights, m.weights)
        and np.array_equal(moments.means, m.means)
        and np.array_equal(moments.means_low, m.means_low)
        and np.array_equal(moments.scatter.values, m.scatter.values)
    )
    if not is_same:
        raise FileFormatError(
            "the exact sums of the file do not give its means and scatters: the file was altered, "
            "so sum the rows again"
        )
    return moments


def _grid(fields: Any, n_features: int) -> RoundingGrid:
    try:
        grid = RoundingGrid.from_json(fields)
    except SufficeError as error:
        raise FileFormatError(f"the grid of the file cannot be used: {error}") from error
    if grid.n_features != n_features:
        raise FileFormatError(
            f"the grid has {grid.n_features} features, but the sums have {n_features}: sum the "
            "rows again"
        )
    return grid


def _integers(
    arrays: Mapping[str, Array], name: str, shape: tuple[int, ...], kind: str
) -> Array:
    array = arrays[name]
    if array.shape != shape or array.dtype.kind != kind or array.dtype.itemsize != 8:
        raise FileFormatError(
            f"field {name!r} has shape {array.shape} of {array.dtype}, expected {shape} of 64-bit "
            "integers"
        )
    return array


def _wide_integers(arrays: Mapping[str, Array], name: str, shape: tuple[int, ...]) -> Int128:
    return Int128(
        high=_integers(arrays, f"{name}_high", shape, "u"),
        low=_integers(arrays, f"{name}_low", shape, "u"),
    )
