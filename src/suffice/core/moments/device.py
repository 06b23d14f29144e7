"""Sums of rows that lie on a GPU, or in any library of the Array API, taken where they lie."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from suffice.core.moments.collect import ChunkSums, Storage, two_sum
from suffice.core.moments.scatter import SCATTERS, scatter_shape
from suffice.core.table import foreign
from suffice.core.table.foreign import (
    device_of,
    is_foreign,
    namespace,
    placed,
    to_numpy,
    triton_kernels,
)
from suffice.core.table.labels import as_labels, encode, union
from suffice.core.table.matrix import as_weights
from suffice.core.table.table import require_as_many
from suffice.typing import Codes, Labels

BLOCK_ROWS = 1 << 26
GATHERED = 1 << 29  # numbers of the tiles that are multiplied at once
_NARROW = 256  # labels in so small a range are sorted as bytes


def device_sums(
    x: Any,
    codes: Any,
    weight: Any,
    n_classes: int,
    storage: Storage,
    block: int = BLOCK_ROWS,
) -> Iterator[ChunkSums]:
    """Yield the sums of consecutive blocks of rows."""

    def sums(lo: int, hi: int) -> ChunkSums:
        w = None if weight is None else weight[lo:hi]
        return _block_sums(x[lo:hi, :], codes[lo:hi], w, n_classes, storage)

    yield from foreign.in_blocks(sums, x.shape[0], block)


def shared_sums(x: Any, a: Any, weight: Any, means: Any) -> tuple[Any, ...]:
    """Return Σ p, Σ p z and Σ p z zᵀ of components, z = x − μ_r, and the log-likelihood."""
    # p = w softmax(a) are the shares of components of log joint densities ``a`` (n, R) in rows
    xp = namespace(x)
    top = xp.max(a, axis=1, keepdims=True)
    e = xp.exp(a - top)
    total = xp.sum(e, axis=1, keepdims=True)
    logs = top[:, 0] + xp.log(total[:, 0])
    p = e / total if weight is None else e * (weight[:, None] / total)
    sums, products = [], []
    for r in range(a.shape[1]):
        z = x - means[r, :]
        pz = p[:, r : r + 1] * z
        sums.append(xp.sum(pz, axis=0))
        products.append(xp.matrix_transpose(pz) @ z)
    found = xp.sum(p, axis=0), xp.stack(sums), xp.stack(products)
    return *map(to_numpy, found), float(xp.sum(logs if weight is None else weight * logs))


def device_labels(x: Any, y: Any, classes: Any = None) -> tuple[Labels, Any]:
    """Return the classes (K,), on the host, and the code of each row (n,), where x is."""
    xp, place = namespace(x), device_of(x)
    require_as_many(x.shape[0], y.shape[0] if is_foreign(y) else len(y))
    if (
        is_foreign(y)
        and y.ndim == 1
        and namespace(y) is xp
        and xp.isdtype(y.dtype, "integral")
    ):
        labels, codes = _integer_labels(xp, y)
    else:  # the host says what is wrong with other labels, if anything
        labels, codes = encode(as_labels(to_numpy(y)))
    codes = xp.asarray(codes, device=place)
    if classes is None:
        return labels, codes
    known = union(np.unique(as_labels(classes)), labels)
    places = xp.asarray(np.searchsorted(known, labels), device=place)
    return known, xp.take(places, xp.astype(codes, xp.int64))


def device_codes(x: Any, codes: Codes, n_classes: int) -> Any:
    """Return codes of the host where x is, as narrow as they can be."""
    return placed(codes.astype(np.uint8 if n_classes <= _NARROW else np.int32), x)


def _integer_labels(xp: Any, y: Any) -> tuple[Labels, Any]:
    first = int(xp.min(y))
    if int(xp.max(y)) - first >= _NARROW:
        found, codes = xp.unique_inverse(y)
        return to_numpy(found), codes
    narrow = xp.astype(y - first, xp.uint8)
    found = to_numpy(xp.unique_values(narrow)).astype(np.int64)
    if found[-1] >= len(found):  # some numbers in between are no labels
        places = np.searchsorted(found, np.arange(_NARROW)).astype(np.uint8)
        narrow = xp.take(xp.asarray(places, device=device_of(y)), xp.astype(narrow, xp.int64))
    return found + first, narrow


def device_weights(x: Any, weight: Any) -> Any:
    """Return row weights where x is, checked, or None where every row counts once."""
    return None if weight is None else placed(as_weights(to_numpy(weight), x.shape[0]), x)


def device_counts(codes: Any, weight: Any, n_classes: int) -> Codes:
    """Return the number of rows of positive weight of each class, (K,)."""
    counted = codes if weight is None else codes[weight > 0]
    return np.asarray(np.diff(to_numpy(_class_starts(counted, n_classes))))


def is_constant(x: Any, columns: Codes) -> bool:
    """Return whether each of some columns holds one number alone."""
    xp = namespace(x)
    return all(bool(xp.all(x[:, int(j)] == x[0, int(j)])) for j in columns)


def _class_starts(codes: Any, n_classes: int) -> Any:
    """Return how many rows have a class before each, and all rows at last, (K + 1,)."""
    xp = namespace(codes)
    classes = xp.arange(n_classes + 1, dtype=xp.int32, device=device_of(codes))
    return xp.searchsorted(xp.astype(xp.sort(codes), xp.int32), classes)


def _block_sums(
    x: Any,
    codes: Any,
    weight: Any,
    n_classes: int,
    storage: Storage,
) -> ChunkSums:
    xp = namespace(x)
    if weight is not None and not bool(xp.all(weight > 0)):  # rows of weight zero are absent
        rows = xp.nonzero(weight > 0)[0]
        x, codes, weight = (
            xp.take(x, rows, axis=0),
            xp.take(codes, rows),
            xp.take(weight, rows),
        )
    if not xp.isdtype(x.dtype, "real floating") or xp.finfo(x.dtype).bits < 32:
        x = xp.astype(x, xp.float64)
    n, d = x.shape
    if not n:
        nothing, scatter = (
            np.zeros((n_classes, d)),
            np.zeros(scatter_shape(storage, n_classes, d)),
        )
        return ChunkSums(nothing[:, 0], nothing, nothing, SCATTERS[storage](scatter), None)
    order, starts = xp.argsort(codes, stable=True), _class_starts(codes, n_classes)
    # the first row of each class; of a class without rows any row, which counts nothing
    shifts = xp.take(x, xp.take(order, xp.clip(starts[:-1], max=n - 1)), axis=0)
    fused = triton_kernels(x, "moments") if storage != "diagonal" else None
    if fused is None or not fused.can_sum(x, n_classes):
        found = _tiled_sums(x, order, to_numpy(starts), shifts, weight, storage)
    else:
        found = fused.class_sums(x, order, starts, shifts, weight)
    weights, sums, raw = map(xp.from_dlpack, found)
    raw = xp.sum(raw, axis=0) if storage == "pooled" and raw.ndim == 3 else raw
    # S = Σ w z zᵀ − w m mᵀ,  m = Σ w z / w
    offsets = sums / xp.where(weights > 0, weights, xp.ones_like(weights))[:, None]
    if storage == "pooled":
        raw = raw - xp.matrix_transpose(offsets) @ sums
    else:
        raw = raw - (
            offsets * sums if raw.ndim == 2 else offsets[:, :, None] * sums[:, None, :]
        )
    if storage != "diagonal":
        raw = 0.5 * (raw + xp.matrix_transpose(raw))
    origin = to_numpy(shifts).astype(np.float64) * (to_numpy(weights) > 0)[:, None]
    means, low = two_sum(origin, to_numpy(offsets))
    return ChunkSums(to_numpy(weights), means, low, SCATTERS[storage](to_numpy(raw)), None)


def _tiled_sums(
    x: Any,
    order: Any,
    starts: Codes,
    shifts: Any,
    weight: Any,
    storage: Storage,
) -> tuple[Any, Any, Any]:
    """Return weights (K,), sums (K, d) and products about the shifts, by tiles of one class."""
    xp, place, (n, d), k = namespace(x), device_of(x), x.shape, len(starts) - 1
    height = min(max(1 << (n // (2 * k)).bit_length(), 16), max(1024, 16 * d))
    n_tiles = -(-np.diff(starts) // height)
    of = np.repeat(np.arange(k), n_tiles)  # class of each tile
    place_in_class = np.arange(len(of)) - np.repeat(np.cumsum(n_tiles) - n_tiles, n_tiles)
    first = starts[of] + height * place_in_class
    step = max(min(GATHERED // (height * d), GATHERED // (8 * k)), 1)
    bounds = [xp.asarray(v, device=place) for v in (of, first, starts[of], starts[of + 1])]
    totals: list[Any] = [0.0, 0.0, 0.0]
    for lo in range(0, len(of), step):
        which, begin, origin, end = (v[lo : min(lo + step, len(of))] for v in bounds)
        place_of = begin[:, None] + xp.arange(height, dtype=begin.dtype, device=place)[None, :]
        # past its class a tile repeats the first row, which is zero once shifted
        past = place_of >= end[:, None]
        place_of = xp.where(past, origin[:, None], place_of)
        rows = xp.take(order, xp.reshape(place_of, (-1,)))
        z, sums = _shifted_rows(x, rows, shifts, which, height)
        wz = z
        if weight is None:
            w = xp.astype(xp.clip(end - begin, max=height), xp.float64)
        else:
            each = xp.where(past, 0.0, xp.reshape(xp.take(weight, rows), past.shape))
            w, wz = xp.sum(each, axis=1), z * xp.astype(each, z.dtype)[:, :, None]
        if weight is not None or sums is None:
            sums = (xp.ones((1, height), dtype=z.dtype, device=place) @ wz)[:, 0, :]
        member = xp.arange(k, dtype=which.dtype, device=place)[:, None] == which[None, :]
        member = xp.astype(member, xp.float64)
        for i, part in enumerate(
            (w, xp.astype(sums, xp.float64), _products(xp, wz, z, storage))
        ):
            by_class = (
                xp.sum(part, axis=0) if i == 2 and storage == "pooled" else member @ part
            )
            totals[i] = totals[i] + by_class
    weights, sums, products = totals
    return weights, sums, xp.reshape(products, scatter_shape(storage, k, d))


def _shifted_rows(x: Any, rows: Any, shifts: Any, of: Any, height: int) -> tuple[Any, Any]:
    """Return rows less the shift of their tile (T, height, d), and sums (T, d) where found."""
    xp, fused, shape = (
        namespace(x),
        triton_kernels(x, "moments"),
        (of.shape[0], height, x.shape[1]),
    )
    if fused is not None:
        z, parts = map(xp.from_dlpack, fused.shifted_rows(x, rows, shifts, of, height))
        parts = xp.reshape(parts, (shape[0], -1, shape[2]))
        return xp.reshape(z, shape), xp.sum(parts, axis=1, dtype=xp.float64)
    z = xp.reshape(xp.take(x, rows, axis=0), shape)
    return z - xp.take(shifts, of, axis=0)[:, None, :], None


def _products(xp: Any, wz: Any, z: Any, storage: Storage) -> Any:
    """Return Σ w z zᵀ of each tile, as rows of numbers, or its diagonal."""
    if storage == "diagonal":
        return xp.sum(wz * z, axis=1, dtype=xp.float64)
    grams = xp.astype(xp.matmul(xp.matrix_transpose(wz), z), xp.float64)
    return xp.reshape(grams, (grams.shape[0], -1))
