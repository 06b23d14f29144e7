"""Triton loops on NVIDIA GPUs: sums and products of each class, without moving rows."""

import torch
import triton
import triton.language as tl

from suffice.core.table.foreign import DeviceArray

# a product of at most this many columns fits into the registers of a multiprocessor
WIDEST = 64
MOST_BYTES = 1 << 30  # largest memory of the partial sums
SLABS = 1056
# number of tiles that are summed in the rows' precision before the sum is added in float64
FLUSH = 4


def can_sum(x: DeviceArray, n_classes: int) -> bool:
    """Return whether rows are narrow and contiguous, and the partial sums fit into memory."""
    affordable = 8 * (SLABS + n_classes) * _width(x.shape[1]) ** 2 <= MOST_BYTES
    return affordable and x.shape[1] <= WIDEST and torch.from_dlpack(x).stride(1) == 1


def class_sums(
    x: DeviceArray,
    order: DeviceArray,
    starts: DeviceArray,
    shifts: DeviceArray,
    weight: DeviceArray | None,
) -> tuple[DeviceArray, DeviceArray, DeviceArray]:
    """Return weights (K,), sums (K, d) and products (K, d, d) about the shifts, in float64."""
    rows = torch.from_dlpack(x)
    sorted_rows = torch.from_dlpack(order)
    class_starts = torch.from_dlpack(starts)
    class_shifts = torch.from_dlpack(shifts)
    n, d = rows.shape
    k = len(class_starts) - 1
    width = _width(d)
    slab = triton.cdiv(n, SLABS)
    # each of the slabs, into which the sorted rows are cut, has its own products, sums and weights
    parts = [
        torch.empty((SLABS + k, m), dtype=torch.float64, device=rows.device)
        for m in (width * width, width, 1)
    ]
    unused = class_shifts  # Triton needs a pointer even if there are no weights
    weights = unused if weight is None else torch.from_dlpack(weight)
    with torch.cuda.device(rows.device):
        _partial_sums[(SLABS,)](
            rows,
            rows.stride(0),
            sorted_rows,
            class_starts,
            class_shifts.contiguous(),
            weights,
            *parts,
            n,
            d,
            slab,
            TILE=max(width, 32),
            WIDTH=width,
            FLUSHED=FLUSH,
            WIDE=rows.dtype == torch.float64,
            WEIGHTED=weight is not None,
            num_warps=4,
            num_stages=3,
        )
        totals = []
        for part in parts:
            m = part.shape[1]
            total = torch.empty((k, m), dtype=torch.float64, device=rows.device)
            totals.append(total)
            size = min(triton.next_power_of_2(m), 1024)
            _reduced[(k, triton.cdiv(m, size))](
                part, class_starts, total, slab, M=m, SIZE=size
            )
    products, sums, w = totals
    weights = torch.diff(class_starts).double() if weight is None else w[:, 0]
    return weights, sums[:, :d], products.reshape(k, width, width)[:, :d, :d]


def shifted_rows(
    x: DeviceArray, rows: DeviceArray, shifts: DeviceArray, class_of: DeviceArray, height: int
) -> tuple[DeviceArray, DeviceArray]:
    """Return rows of x minus the shift of their tile (m, d), and the sums of sixteen rows each.

    A tile has ``height`` rows. The sums are (m / 16, d).
    """
    all_rows = torch.from_dlpack(x)
    wanted = torch.from_dlpack(rows)
    class_shifts = torch.from_dlpack(shifts)
    tile_classes = torch.from_dlpack(class_of)
    m = len(wanted)
    d = all_rows.shape[1]
    z = torch.empty((m, d), dtype=all_rows.dtype, device=all_rows.device)
    sums = torch.empty((m // 16, d), dtype=all_rows.dtype, device=all_rows.device)
    size = min(triton.next_power_of_2(d), 1024)
    with torch.cuda.device(all_rows.device):
        _shifted[(m // 16, triton.cdiv(d, size))](
            all_rows,
            all_rows.stride(0),
            all_rows.stride(1),
            wanted,
            class_shifts.contiguous(),
            tile_classes,
            z,
            sums,
            d,
            height,
            SIZE=size,
        )
    return z, sums


def _width(d: int) -> int:
    return max(16, 1 << (d - 1).bit_length())


@triton.jit
def _shifted(x, down, across, rows, shifts, class_of, z, sums, d, height, SIZE: tl.constexpr):
    place = tl.program_id(0) * 16 + tl.arange(0, 16)
    column = tl.program_id(1) * SIZE + tl.arange(0, SIZE)
    inside = (column < d)[None, :]
    row = tl.load(rows + place)
    k = tl.load(class_of + place // height)
    v = tl.load(x + row[:, None] * down + column[None, :] * across, mask=inside, other=0.0)
    v -= tl.load(shifts + k[:, None] * d + column[None, :], mask=inside, other=0.0)
    tl.store(z + place.to(tl.int64)[:, None] * d + column[None, :], v, mask=inside)
    at = sums + tl.program_id(0).to(tl.int64) * d + column
    tl.store(at, tl.sum(v, 0), mask=column < d)


@triton.jit
def _partial_sums(
    x,
    stride,
    order,
    starts,
    shifts,
    weights,
    products,
    sums,
    totals,
    n,
    d,
    slab,
    TILE: tl.constexpr,
    WIDTH: tl.constexpr,
    FLUSHED: tl.constexpr,
    WIDE: tl.constexpr,
    WEIGHTED: tl.constexpr,
):
    """Sum a slab of the sorted rows, and write the sums of class k to entry slab + k."""
    number = tl.program_id(0)
    position = number * slab
    last = tl.minimum(position + slab, n)
    column = tl.arange(0, WIDTH)
    kind: tl.constexpr = tl.float64 if WIDE else tl.float32
    k = 0
    while position < last:
        while tl.load(starts + k + 1) <= position:
            k += 1
        end = tl.minimum(last, tl.load(starts + k + 1)).to(tl.int32)
        shift = tl.load(shifts + k * d + column, mask=column < d, other=0.0)
        product = tl.zeros((WIDTH, WIDTH), tl.float64)
        total = tl.zeros((TILE, WIDTH), kind)
        weight = tl.zeros((TILE,), tl.float64)
        while position < end:
            some = tl.zeros((WIDTH, WIDTH), kind)
            for tile in range(FLUSHED):
                place = position + tile * TILE + tl.arange(0, TILE)
                is_inside = place < end
                row = tl.load(order + place, mask=is_inside, other=0).to(tl.int64)
                inside = is_inside[:, None] & (column < d)[None, :]
                z = tl.load(
                    x + row[:, None] * stride + column[None, :], mask=inside, other=0.0
                )
                z = tl.where(is_inside[:, None], z - shift[None, :], 0.0)
                wz = z
                if WEIGHTED:
                    w = tl.load(weights + row, mask=is_inside, other=0.0)
                    weight += w
                    wz = z * w.to(kind)[:, None]
                # "ieee" sums Σ w z zᵀ in full precision: the default, TF32, would keep three digits
                some = tl.dot(tl.trans(wz), z, some, input_precision="ieee", out_dtype=kind)
                total += wz
            product += some.to(tl.float64)
            position += FLUSHED * TILE
        position = end
        at = (number + k).to(tl.int64)
        across = column[:, None] * WIDTH + column[None, :]
        tl.store(products + at * WIDTH * WIDTH + across, product)
        tl.store(sums + at * WIDTH + column, tl.sum(total.to(tl.float64), 0))
        if WEIGHTED:
            tl.store(totals + at, tl.sum(weight, 0))


@triton.jit
def _reduced(parts, starts, out, slab, M: tl.constexpr, SIZE: tl.constexpr):
    """Add up the slabs' sums of one class, in the order of the slabs."""
    k = tl.program_id(0).to(tl.int64)
    column = tl.program_id(1) * SIZE + tl.arange(0, SIZE)
    first = tl.load(starts + k)
    end = tl.load(starts + k + 1)
    total = tl.zeros((SIZE,), tl.float64)
    if end > first:
        for number in range(first // slab, (end - 1) // slab + 1):
            total += tl.load(parts + (number + k) * M + column, mask=column < M, other=0.0)
    tl.store(out + k * M + column, total, mask=column < M)
