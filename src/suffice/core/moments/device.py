"""Sums of rows on a GPU, or in any library with the Array API, computed on their device."""

from collections.abc import Iterator
from types import ModuleType
from typing import Any, NamedTuple, TypeGuard

import numpy as np

from suffice.core.moments.collect import ChunkSums
from suffice.core.moments.scatter import SCATTERS, Storage, scatter_shape
from suffice.core.moments.two_sum import two_sum
from suffice.core.table.foreign import (
    Device,
    DeviceArray,
    Namespace,
    device_of,
    in_blocks,
    is_foreign,
    is_on_cuda,
    namespace,
    placed,
    to_numpy,
)
from suffice.core.table.labels import as_labels, encode, union
from suffice.core.table.matrix import as_weights
from suffice.core.table.table import require_as_many
from suffice.typing import Codes, Floats, Labels, LabelsLike, WeightsLike

BLOCK_ROWS = 1 << 26
GATHERED = 1 << 29  # most numbers in the tiles that are multiplied at once
_NARROW = 256  # integer labels with a smaller range are sorted as bytes


def device_sums(
    x: DeviceArray,
    codes: DeviceArray,
    weight: DeviceArray | None,
    n_classes: int,
    storage: Storage,
    block: int = BLOCK_ROWS,
) -> Iterator[ChunkSums]:
    """Yield the sums of consecutive blocks of rows."""

    def sums_between(lo: int, hi: int) -> ChunkSums:
        w = None if weight is None else weight[lo:hi]
        return _block_sums(x[lo:hi, :], codes[lo:hi], w, n_classes, storage)

    yield from in_blocks(sums_between, x.shape[0], block)


class SharedSums(NamedTuple):
    """Sums over z = x − μ_r for each component r, weighted by p, and the rows' log-likelihood."""

    weights: Floats  # Σ p  (R,)
    sums: Floats  # Σ p z  (R, d)
    products: Floats  # Σ p z zᵀ  (R, d, d)
    log_likelihood: float


def shared_sums(
    x: DeviceArray, log_joint: DeviceArray, weight: DeviceArray | None, means: DeviceArray
) -> SharedSums:
    """Return the sums of R components with means (R, d), given log joint densities (n, R)."""
    xp = namespace(x)
    # p = w softmax(log joint), the weight of a row times the share of each component in it
    top = xp.max(log_joint, axis=1, keepdims=True)
    scaled = xp.exp(log_joint - top)
    total = xp.sum(scaled, axis=1, keepdims=True)
    log_densities = top[:, 0] + xp.log(total[:, 0])
    if weight is None:
        shares = scaled / total
    else:
        shares = scaled * (weight[:, None] / total)
        log_densities = weight * log_densities
    sums = []
    products = []
    for r in range(log_joint.shape[1]):
        z = x - means[r, :]
        pz = shares[:, r : r + 1] * z
        sums.append(xp.sum(pz, axis=0))
        products.append(xp.matrix_transpose(pz) @ z)
    return SharedSums(
        weights=to_numpy(xp.sum(shares, axis=0)),
        sums=to_numpy(xp.stack(sums)),
        products=to_numpy(xp.stack(products)),
        log_likelihood=float(xp.sum(log_densities)),
    )


def device_labels(
    x: DeviceArray, y: LabelsLike, classes: LabelsLike | None = None
) -> tuple[Labels, Any]:
    """Return the classes (K,), on the host, and the code of each row (n,), on the device of x."""
    xp = namespace(x)
    given = y if is_foreign(y) else np.asanyarray(y)
    require_as_many(x.shape[0], given.shape[0])
    codes: Codes | DeviceArray
    if _are_integers(given, xp):
        labels, codes = _integer_labels(xp, given)
    else:  # labels of other types are encoded on the host
        labels, codes = encode(as_labels(to_numpy(given)))
    codes_on_device = xp.asarray(codes, device=device_of(x))
    if classes is None:
        return labels, codes_on_device
    all_labels = union(np.unique(as_labels(classes)), labels)
    places = xp.asarray(np.searchsorted(all_labels, labels), device=device_of(x))
    return all_labels, xp.take(places, xp.astype(codes_on_device, xp.int64))


def _are_integers(y: object, xp: Namespace) -> TypeGuard[DeviceArray]:
    """Return whether y is a vector of integers of the library ``xp``."""
    if not is_foreign(y) or y.ndim != 1 or namespace(y) is not xp:
        return False
    return bool(xp.isdtype(y.dtype, "integral"))


def device_codes(x: DeviceArray, codes: Codes, n_classes: int) -> DeviceArray:
    """Copy codes to the device of x, in the smallest integer type."""
    return placed(codes.astype(np.uint8 if n_classes <= _NARROW else np.int32), x)


def _integer_labels(xp: Namespace, y: DeviceArray) -> tuple[Labels, DeviceArray]:
    first = int(xp.min(y))
    if int(xp.max(y)) - first >= _NARROW:
        labels, codes = xp.unique_inverse(y)
        return to_numpy(labels), codes
    offsets = xp.astype(y - first, xp.uint8)
    present = to_numpy(xp.unique_values(offsets)).astype(np.int64)
    if present[-1] < len(present):  # every integer in the range is a label
        return present + first, offsets
    code_of_offset = np.searchsorted(present, np.arange(_NARROW)).astype(np.uint8)
    table = xp.asarray(code_of_offset, device=device_of(y))
    return present + first, xp.take(table, xp.astype(offsets, xp.int64))


def device_weights(x: DeviceArray, weight: WeightsLike) -> Any:
    """Return checked row weights on the device of x, or None if every row has weight 1."""
    checked = as_weights(to_numpy(weight), x.shape[0])
    return None if checked is None else placed(checked, x)


def device_counts(codes: DeviceArray, weight: DeviceArray | None, n_classes: int) -> Codes:
    """Return the number of rows with positive weight in each class, (K,)."""
    counted = codes if weight is None else codes[weight > 0]
    starts = np.asarray(to_numpy(_class_starts(counted, n_classes)), np.intp)
    return np.diff(starts)


def is_constant(x: DeviceArray, columns: Codes) -> bool:
    """Return whether each of these columns is constant."""
    xp = namespace(x)
    return all(bool(xp.all(x[:, int(j)] == x[0, int(j)])) for j in columns)


def _class_starts(codes: DeviceArray, n_classes: int) -> DeviceArray:
    """Return where each class starts in rows sorted by class, and the number of rows, (K + 1,)."""
    xp = namespace(codes)
    classes = xp.arange(n_classes + 1, dtype=xp.int32, device=device_of(codes))
    starts: DeviceArray = xp.searchsorted(xp.astype(xp.sort(codes), xp.int32), classes)
    return starts


def _device_loops(x: DeviceArray) -> ModuleType | None:
    """Return the Triton loops, or None if x is not on an NVIDIA GPU or Triton is not installed."""
    if not is_on_cuda(x):
        return None
    try:
        from suffice.core.moments import device_loops
    except ImportError:
        return None
    return device_loops


class _Sums(NamedTuple):
    """Sums about a shift of each class, on the device."""

    weights: DeviceArray  # (K,)
    sums: DeviceArray  # Σ w z  (K, d)
    products: DeviceArray  # Σ w z zᵀ  (K, d, d), pooled (d, d) or diagonal (K, d)


def _block_sums(
    x: DeviceArray,
    codes: DeviceArray,
    weight: DeviceArray | None,
    n_classes: int,
    storage: Storage,
) -> ChunkSums:
    xp = namespace(x)
    if weight is not None and not bool(xp.all(weight > 0)):  # drop rows with weight zero
        rows = xp.nonzero(weight > 0)[0]
        x = xp.take(x, rows, axis=0)
        codes = xp.take(codes, rows)
        weight = xp.take(weight, rows)
    if not xp.isdtype(x.dtype, "real floating") or xp.finfo(x.dtype).bits < 32:
        x = xp.astype(x, xp.float64)
    if not x.shape[0]:
        return _sums_of_no_rows(n_classes, x.shape[1], storage)
    order = xp.argsort(codes, stable=True)
    starts = _class_starts(codes, n_classes)
    # the shift of a class is its first row; for a class without rows, the shift is not used
    first_rows = xp.take(order, xp.clip(starts[:-1], max=x.shape[0] - 1))
    shifts = xp.take(x, first_rows, axis=0)
    loops = None if storage == "diagonal" else _device_loops(x)
    if loops is not None and loops.can_sum(x, n_classes):
        sums = _Sums(*map(xp.from_dlpack, loops.class_sums(x, order, starts, shifts, weight)))
        if storage == "pooled":
            sums = sums._replace(products=xp.sum(sums.products, axis=0))
    else:
        sums = _tiled_sums(x, order, to_numpy(starts), shifts, weight, storage)
    weights = to_numpy(sums.weights)
    offsets = _offsets(xp, sums)
    origins = to_numpy(shifts).astype(np.float64) * (weights > 0)[:, None]
    means, means_low = two_sum(origins, to_numpy(offsets))
    products = _centred_products(xp, sums, offsets, storage)
    return ChunkSums(
        weights=weights,
        means=means,
        means_low=means_low,
        scatter=SCATTERS[storage](to_numpy(products)),
        fourth=None,
    )


def _offsets(xp: Namespace, sums: _Sums) -> DeviceArray:
    """Return m = Σ w z / w of each class, (K, d)."""
    divisors: DeviceArray = xp.where(
        sums.weights > 0, sums.weights, xp.ones_like(sums.weights)
    )
    return sums.sums / divisors[:, None]


def _centred_products(
    xp: Namespace, sums: _Sums, offsets: DeviceArray, storage: Storage
) -> DeviceArray:
    # M = Σ w z zᵀ − w m mᵀ,  m = Σ w z / w
    if storage == "diagonal":
        return sums.products - offsets * sums.sums
    if storage == "pooled":
        products = sums.products - xp.matrix_transpose(offsets) @ sums.sums
    else:
        products = sums.products - offsets[:, :, None] * sums.sums[:, None, :]
    symmetric: DeviceArray = 0.5 * (products + xp.matrix_transpose(products))
    return symmetric


def _sums_of_no_rows(n_classes: int, n_features: int, storage: Storage) -> ChunkSums:
    return ChunkSums(
        weights=np.zeros(n_classes),
        means=np.zeros((n_classes, n_features)),
        means_low=np.zeros((n_classes, n_features)),
        scatter=SCATTERS[storage](np.zeros(scatter_shape(storage, n_classes, n_features))),
        fourth=None,
    )


class _Tiles(NamedTuple):
    """T tiles of equal height, each with sorted rows of one class, in arrays on the device."""

    class_of: DeviceArray  # (T,)
    first: DeviceArray  # position of each tile's first row among the sorted rows  (T,)
    class_start: DeviceArray  # position of the first row of the tile's class  (T,)
    class_end: DeviceArray  # position after the last row of the tile's class  (T,)


def _tiles(xp: Namespace, device: Device, starts: Codes, height: int) -> _Tiles:
    n_tiles = -(-np.diff(starts) // height)
    class_of = np.repeat(np.arange(len(n_tiles)), n_tiles)
    place_in_class = np.arange(len(class_of)) - np.repeat(
        np.cumsum(n_tiles) - n_tiles, n_tiles
    )
    return _Tiles(
        class_of=xp.asarray(class_of, device=device),
        first=xp.asarray(starts[class_of] + height * place_in_class, device=device),
        class_start=xp.asarray(starts[class_of], device=device),
        class_end=xp.asarray(starts[class_of + 1], device=device),
    )


def _tiled_sums(
    x: DeviceArray,
    order: DeviceArray,
    starts: Codes,
    shifts: DeviceArray,
    weight: DeviceArray | None,
    storage: Storage,
) -> _Sums:
    """Return the sums about the shifts of the classes, computed by matrix products of tiles."""
    xp = namespace(x)
    n, d = x.shape
    k = len(starts) - 1
    height = min(max(1 << (n // (2 * k)).bit_length(), 16), max(1024, 16 * d))
    tiles = _tiles(xp, device_of(x), starts, height)
    n_tiles = tiles.class_of.shape[0]
    step = max(min(GATHERED // (height * d), GATHERED // (8 * k)), 1)
    zero = xp.zeros((), dtype=xp.float64, device=device_of(x))
    total = _Sums(zero, zero, zero)
    for lo in range(0, n_tiles, step):
        hi = min(lo + step, n_tiles)
        some_tiles = _Tiles(
            class_of=tiles.class_of[lo:hi],
            first=tiles.first[lo:hi],
            class_start=tiles.class_start[lo:hi],
            class_end=tiles.class_end[lo:hi],
        )
        sums = _sums_of_tiles(x, order, some_tiles, height, shifts, weight, storage)
        total = _Sums(
            weights=total.weights + sums.weights,
            sums=total.sums + sums.sums,
            products=total.products + sums.products,
        )
    return total._replace(products=xp.reshape(total.products, scatter_shape(storage, k, d)))


def _sums_of_tiles(
    x: DeviceArray,
    order: DeviceArray,
    tiles: _Tiles,
    height: int,
    shifts: DeviceArray,
    weight: DeviceArray | None,
    storage: Storage,
) -> _Sums:
    """Return the sums of some tiles by class, with each matrix of products as one row."""
    xp = namespace(x)
    device = device_of(x)
    lanes = xp.arange(height, dtype=tiles.first.dtype, device=device)
    places = tiles.first[:, None] + lanes[None, :]
    # a tile that is longer than the rest of its class is filled with the class's first row, which
    # is the shift and adds zero to the sums
    is_past = places >= tiles.class_end[:, None]
    places = xp.where(is_past, tiles.class_start[:, None], places)
    rows = xp.take(order, xp.reshape(places, (-1,)))
    z, sums = _shifted_rows(x, rows, shifts, tiles.class_of, height)
    if weight is None:
        weights = xp.astype(xp.clip(tiles.class_end - tiles.first, max=height), xp.float64)
        wz = z
    else:
        w = xp.where(is_past, 0.0, xp.reshape(xp.take(weight, rows), is_past.shape))
        weights = xp.sum(w, axis=1)
        wz = z * xp.astype(w, z.dtype)[:, :, None]
    if weight is not None or sums is None:
        sums = (xp.ones((1, height), dtype=z.dtype, device=device) @ wz)[:, 0, :]
    products = _products(xp, wz, z, storage)
    classes = xp.arange(shifts.shape[0], dtype=tiles.class_of.dtype, device=device)
    is_member = xp.astype(classes[:, None] == tiles.class_of[None, :], xp.float64)
    return _Sums(
        weights=is_member @ weights,
        sums=is_member @ xp.astype(sums, xp.float64),
        products=xp.sum(products, axis=0) if storage == "pooled" else is_member @ products,
    )


def _shifted_rows(
    x: DeviceArray,
    rows: DeviceArray,
    shifts: DeviceArray,
    class_of: DeviceArray,
    height: int,
) -> tuple[DeviceArray, DeviceArray | None]:
    """Return the rows minus their shift (T, height, d), and their sums if Triton computed them."""
    xp = namespace(x)
    shape = (class_of.shape[0], height, x.shape[1])
    loops = _device_loops(x)
    if loops is None:
        z = xp.reshape(xp.take(x, rows, axis=0), shape)
        return z - xp.take(shifts, class_of, axis=0)[:, None, :], None
    z, partial_sums = loops.shifted_rows(x, rows, shifts, class_of, height)
    z = xp.reshape(xp.from_dlpack(z), shape)
    partial_sums = xp.reshape(xp.from_dlpack(partial_sums), (shape[0], -1, shape[2]))
    return z, xp.sum(partial_sums, axis=1, dtype=xp.float64)


def _products(xp: Namespace, wz: DeviceArray, z: DeviceArray, storage: Storage) -> DeviceArray:
    """Return Σ w z zᵀ of each tile as one row (T, d²), or its diagonal (T, d)."""
    if storage == "diagonal":
        squares: DeviceArray = xp.sum(wz * z, axis=1, dtype=xp.float64)
        return squares
    grams = xp.astype(xp.matmul(xp.matrix_transpose(wz), z), xp.float64)
    products: DeviceArray = xp.reshape(grams, (grams.shape[0], -1))
    return products
