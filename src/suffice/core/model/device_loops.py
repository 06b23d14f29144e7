"""CUDA loops in Triton that compute posteriors from rows, and scores from whitened rows.

Tensor cores multiply single-precision numbers as three TF32 products: a single TF32 product would
keep only three digits, but three keep all. Double-precision numbers are multiplied directly.
"""

from typing import Literal, TypeAlias

import torch
import triton
import triton.language as tl

from suffice.core.table.foreign import DeviceArray

# the scores of at most this many classes fit into the registers of a multiprocessor
MOST_CLASSES = 128
WIDEST = 64  # rows with at most this many columns can be whitened in registers
_CHUNK = 16  # number of columns in one matrix product
_N_WARPS = 4

Answer: TypeAlias = Literal["softmax", "log_softmax", "argmax"]


def linear_answers(
    x: DeviceArray,
    terms: tuple[DeviceArray, DeviceArray, DeviceArray],
    temperature: float,
    answer: Answer,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return softmax, log softmax or argmax of (wₖᵀ(x − o) + bₖ) / T, as ``answer`` says.

    The second result marks the tiles that have a row without a finite score. ``terms`` holds the
    origin o (d,), the weights (d, K) and the constants b (K,).
    """
    rows = torch.from_dlpack(x)
    origin, weights, constants = (torch.from_dlpack(term).contiguous() for term in terms)
    n, d = rows.shape
    k = len(constants)
    wide = rows.dtype == torch.float64
    tile = 64 if wide or k > 32 else 128
    out, lost = _outputs(rows, k, tile, answer)
    down, across = rows.stride()
    with torch.cuda.device(rows.device):
        _linear[(len(lost),)](
            rows,
            down,
            across,
            origin,
            weights,
            constants,
            out,
            lost,
            n,
            d,
            k,
            1.0 / temperature,
            TILE=tile,
            CHUNK=_CHUNK,
            CLASSES=_power_of_two(k),
            WIDE=wide,
            ANSWER=answer,
            num_warps=_N_WARPS,
            num_stages=3 if wide else 1,
        )
    return out, lost


def quadratic_answers(
    x: DeviceArray,
    terms: tuple[DeviceArray, DeviceArray, DeviceArray, DeviceArray],
    temperature: float,
    answer: Answer,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return softmax, log softmax or argmax of (bₖ − ½ |Wₖ (x − o) − cₖ|²) / T.

    The second result is that of ``linear_answers``. ``terms`` holds the origin o (d,), the factors
    Wᵀ (K, d, d), the centres c (K, d) and the constants b (K,).
    """
    rows = torch.from_dlpack(x)
    origin, factors, centres, constants = (
        torch.from_dlpack(term).contiguous() for term in terms
    )
    n, d = rows.shape
    k = len(constants)
    tile = 128
    out, lost = _outputs(rows, k, tile, answer)
    down, across = rows.stride()
    with torch.cuda.device(rows.device):
        _quadratic[(len(lost),)](
            rows,
            down,
            across,
            origin,
            factors,
            centres,
            constants,
            out,
            lost,
            n,
            d,
            k,
            1.0 / temperature,
            TILE=tile,
            WIDTH=_power_of_two(d),
            CLASSES=_power_of_two(k),
            WIDE=rows.dtype == torch.float64,
            ANSWER=answer,
            num_warps=_N_WARPS,
            num_stages=1,
        )
    return out, lost


def _outputs(
    rows: torch.Tensor,
    k: int,
    tile: int,
    answer: Answer,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return empty arrays for the results and for a flag for each tile of rows."""
    n = len(rows)
    if answer == "argmax":
        out = torch.empty((n,), dtype=torch.int64, device=rows.device)
    else:
        out = torch.empty((n, k), dtype=rows.dtype, device=rows.device)
    lost = torch.empty(triton.cdiv(n, tile), dtype=torch.int32, device=rows.device)
    return out, lost


def scores_of(
    z: DeviceArray,
    centres: DeviceArray,
    constants: DeviceArray,
) -> torch.Tensor:
    """Return bₖ − ½ |zₖ − cₖ|² of whitened rows (n, K d), shape (n, K)."""
    whitened = torch.from_dlpack(z)
    c = torch.from_dlpack(centres)
    b = torch.from_dlpack(constants)
    n = len(whitened)
    k = len(b)
    d = whitened.shape[1] // k
    scores = torch.empty((n, k), dtype=whitened.dtype, device=whitened.device)
    width = 1 << (d - 1).bit_length()
    tile = max(4096 // width, 1)
    with torch.cuda.device(whitened.device):
        _scores[(triton.cdiv(n * k, tile),)](
            whitened,
            c,
            b,
            scores,
            n * k,
            k,
            d,
            TILE=tile,
            WIDTH=width,
            num_warps=_N_WARPS,
        )
    return scores


def _power_of_two(n: int) -> int:
    return max(16, 1 << (n - 1).bit_length())


@triton.jit
def _linear(
    x,
    down,
    across,
    origin,
    w,
    b,
    out,
    lost,
    n,
    d,
    k,
    sharpness,
    TILE: tl.constexpr,
    CHUNK: tl.constexpr,
    CLASSES: tl.constexpr,
    WIDE: tl.constexpr,
    ANSWER: tl.constexpr,
):
    row = tl.program_id(0).to(tl.int64) * TILE + tl.arange(0, TILE)
    label = tl.arange(0, CLASSES)
    kind: tl.constexpr = tl.float64 if WIDE else tl.float32
    precision: tl.constexpr = "ieee" if WIDE else "tf32x3"
    a = tl.zeros((TILE, CLASSES), kind)
    for first in range(0, d, CHUNK):
        column = first + tl.arange(0, CHUNK)
        inside = column < d
        cells = x + row[:, None] * down + column[None, :] * across
        v = tl.load(cells, mask=(row < n)[:, None] & inside[None, :], other=0.0)
        v -= tl.load(origin + column, mask=inside, other=0.0)[None, :]
        weights = w + column[:, None] * k + label[None, :]
        u = tl.load(weights, mask=inside[:, None] & (label < k)[None, :], other=0.0)
        a = tl.dot(v, u, a, input_precision=precision, out_dtype=kind)
    a += tl.load(b + label, mask=label < k, other=0.0)[None, :]
    _write(a * sharpness.to(kind), row, label, out, lost, n, k, ANSWER)


@triton.jit
def _quadratic(
    x,
    down,
    across,
    origin,
    factors,
    centres,
    b,
    out,
    lost,
    n,
    d,
    k,
    sharpness,
    TILE: tl.constexpr,
    WIDTH: tl.constexpr,
    CLASSES: tl.constexpr,
    WIDE: tl.constexpr,
    ANSWER: tl.constexpr,
):
    row = tl.program_id(0).to(tl.int64) * TILE + tl.arange(0, TILE)
    label = tl.arange(0, CLASSES)
    column = tl.arange(0, WIDTH)
    kind: tl.constexpr = tl.float64 if WIDE else tl.float32
    precision: tl.constexpr = "ieee" if WIDE else "tf32x3"
    inside = column < d
    cells = x + row[:, None] * down + column[None, :] * across
    v = tl.load(cells, mask=(row < n)[:, None] & inside[None, :], other=0.0)
    v -= tl.load(origin + column, mask=inside, other=0.0)[None, :]
    square = inside[:, None] & inside[None, :]
    a = tl.zeros((TILE, CLASSES), kind)
    for c in range(k):
        factor = factors + c * d * d + column[:, None] * d + column[None, :]
        u = tl.load(factor, mask=square, other=0.0)
        z = tl.dot(v, u, input_precision=precision, out_dtype=kind)
        z -= tl.load(centres + c * d + column, mask=inside, other=0.0)[None, :]
        # bₖ − ½ |Wₖ (x − o) − cₖ|²
        score = tl.load(b + c) - 0.5 * tl.sum(z * z, 1)
        a = tl.where(label[None, :] == c, score[:, None], a)
    _write(a * sharpness.to(kind), row, label, out, lost, n, k, ANSWER)


@triton.jit
def _write(a, row, label, out, lost, n, k, ANSWER: tl.constexpr):
    """Write the results for the scores of a tile, and whether it has a row without finite score."""
    is_row = row < n
    is_class = label < k
    a = tl.where(is_class[None, :], a, float("-inf"))
    top = tl.max(a, 1)
    e = tl.exp(a - top[:, None])
    total = tl.sum(e, 1)
    # the total is NaN if a score is NaN or the greatest score is infinite
    tl.store(lost + tl.program_id(0), tl.max((is_row & (total != total)).to(tl.int32), 0))
    if ANSWER == "argmax":
        tl.store(out + row, tl.argmax(a, 1).to(tl.int64), mask=is_row)
    else:
        p = e / total[:, None]
        if ANSWER == "log_softmax":
            p = a - top[:, None] - tl.log(total)[:, None]
        cells = out + row[:, None] * k + label[None, :]
        tl.store(cells, p, mask=is_row[:, None] & is_class[None, :])


@triton.jit
def _scores(z, centres, constants, scores, n, k, d, TILE: tl.constexpr, WIDTH: tl.constexpr):
    first = tl.program_id(0).to(tl.int64) * TILE  # the tile's first pair of a row and a class
    pair = tl.arange(0, TILE)
    column = tl.arange(0, WIDTH)
    is_pair = pair < n - first
    inside = is_pair[:, None] & (column < d)[None, :]
    v = tl.load(z + first * d + (pair[:, None] * d + column[None, :]), mask=inside, other=0.0)
    label = ((first % k).to(tl.int32) + pair) % k
    v -= tl.load(centres + label[:, None] * d + column[None, :], mask=inside, other=0.0)
    score = tl.load(constants + label) - 0.5 * tl.sum(v * v, 1)
    tl.store(scores + first + pair, score, mask=is_pair)
