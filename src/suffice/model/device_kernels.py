"""The CUDA kernels in Triton that read posteriors out of rows, and scores out of whitened rows."""

from typing import Any

import torch
import triton
import triton.language as tl

WIDEST = 128  # classes whose scores stay in the registers of a multiprocessor
_TILE, _CHUNK = 64, 32  # rows, and columns that are multiplied at once


def linear_answers(x: Any, terms: tuple[Any, ...], temperature: float, answer: str) -> Any:
    """Return softmax, log_softmax or argmax of (wₖᵀ(x − o) + bₖ) / T, and whether all are numbers.

    ``terms`` are the origin o (d,), weights (d, K) and constants b (K,).
    """
    rows, origin, w, b = map(torch.from_dlpack, (x, *terms))
    (n, d), k = rows.shape, len(b)
    argmax = answer == "argmax"
    kind = torch.int64 if argmax else rows.dtype
    out = torch.empty((n,) if argmax else (n, k), dtype=kind, device=rows.device)
    n_tiles = triton.cdiv(n, _TILE)
    lost = torch.empty(n_tiles, dtype=torch.int32, device=rows.device)
    with torch.cuda.device(rows.device):
        _linear[(n_tiles,)](
            rows, rows.stride(0), rows.stride(1), origin, w.contiguous(), b, out, lost, n, d, k,
            1.0 / temperature, TILE=_TILE, CHUNK=_CHUNK, CLASSES=max(16, _power_of_two(k)),
            WIDE=rows.dtype == torch.float64, ANSWER=answer, num_warps=4,
        )  # fmt: skip
    return out, not bool(lost.any())


def scores_of(z: Any, centres: Any, constants: Any) -> Any:
    """Return bₖ − ½ |zₖ − cₖ|² of whitened rows (n, K d), shape (n, K)."""
    k, n = len(constants), len(z)
    scores = torch.empty((n, k), dtype=z.dtype, device=z.device)
    d = z.shape[1] // k
    width = _power_of_two(d)
    tile = max(4096 // width, 1)
    with torch.cuda.device(z.device):
        _scores[(triton.cdiv(n * k, tile),)](
            z, centres, constants, scores, n * k, k, d, TILE=tile, WIDTH=width, num_warps=4
        )
    return scores


def _power_of_two(n: int) -> int:
    return 1 << (n - 1).bit_length()


@triton.jit
def _linear(
    x, down, across, origin, w, b, out, lost, n, d, k, sharpness,
    TILE: tl.constexpr, CHUNK: tl.constexpr, CLASSES: tl.constexpr,
    WIDE: tl.constexpr, ANSWER: tl.constexpr,
):  # fmt: skip
    row = tl.program_id(0).to(tl.int64) * TILE + tl.arange(0, TILE)
    label = tl.arange(0, CLASSES)
    here, real = row < n, label < k
    kind: tl.constexpr = tl.float64 if WIDE else tl.float32
    a = tl.zeros((TILE, CLASSES), kind)
    for first in range(0, d, CHUNK):
        column = first + tl.arange(0, CHUNK)
        inside = column < d
        both = here[:, None] & inside[None, :]
        v = tl.load(x + row[:, None] * down + column[None, :] * across, mask=both, other=0.0)
        v -= tl.load(origin + column, mask=inside, other=0.0)[None, :]
        both = inside[:, None] & real[None, :]
        u = tl.load(w + column[:, None] * k + label[None, :], mask=both, other=0.0)
        a = tl.dot(v, u, a, input_precision="ieee", out_dtype=kind)
    a = (a + tl.load(b + label, mask=real, other=0.0)[None, :]) * sharpness.to(kind)
    a = tl.where(real[None, :], a, float("-inf"))
    top = tl.max(a, 1)
    e = tl.exp(a - top[:, None])
    total = tl.sum(e, 1)
    # NaN where a score is NaN or the greatest is infinite
    tl.store(lost + tl.program_id(0), tl.max((here & (total != total)).to(tl.int32), 0))
    if ANSWER == "argmax":
        tl.store(out + row, tl.argmax(a, 1).to(tl.int64), mask=here)
    else:
        p = (
            a - top[:, None] - tl.log(total)[:, None]
            if ANSWER == "log_softmax"
            else e / total[:, None]
        )
        both = here[:, None] & real[None, :]
        tl.store(out + row[:, None] * k + label[None, :], p, mask=both)


@triton.jit
def _scores(z, centres, constants, scores, n, k, d, TILE: tl.constexpr, WIDTH: tl.constexpr):
    first = tl.program_id(0).to(tl.int64) * TILE  # of pairs of a row and a class
    pair, column = tl.arange(0, TILE), tl.arange(0, WIDTH)
    here = pair < n - first
    inside = here[:, None] & (column < d)[None, :]
    v = tl.load(z + first * d + (pair[:, None] * d + column[None, :]), mask=inside, other=0.0)
    label = ((first % k).to(tl.int32) + pair) % k
    v -= tl.load(centres + label[:, None] * d + column[None, :], mask=inside, other=0.0)
    tl.store(scores + first + pair, tl.load(constants + label) - 0.5 * tl.sum(v * v, 1), mask=here)
