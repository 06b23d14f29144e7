"""The CUDA kernels in Triton that read posteriors out of rows, and scores out of whitened rows.

Products of single precision are taken by tensor cores in three parts (TF32 keeps three digits,
three of them all), those of double precision as they are.
"""

from typing import Any

import torch
import triton
import triton.language as tl

MOST_CLASSES = 128  # whose scores stay in the registers of a multiprocessor
WIDEST = 64  # columns of rows that are whitened there
_CHUNK = 16  # columns that are multiplied at once


def linear_answers(x: Any, terms: tuple[Any, ...], temperature: float, answer: str) -> Any:
    """Return softmax, log_softmax or argmax of (wₖᵀ(x − o) + bₖ) / T, and tiles without any.

    ``terms`` are the origin o (d,), weights (d, K) and constants b (K,).
    """
    wide = x.itemsize == 8
    tile = 64 if wide or len(terms[-1]) > 32 else 128
    sizes = {"TILE": tile, "CHUNK": _CHUNK, "num_stages": 3 if wide else 1}
    return _answers(_linear, x, terms, temperature, answer, sizes)


def quadratic_answers(x: Any, terms: tuple[Any, ...], temperature: float, answer: str) -> Any:
    """Return the same of (bₖ − ½ |Wₖ (x − o) − cₖ|²) / T.

    ``terms`` are the origin o (d,), factors Wᵀ (K, d, d), centres c (K, d) and constants b (K,).
    """
    sizes = {"TILE": 128, "WIDTH": _power_of_two(x.shape[1]), "num_stages": 1}
    return _answers(_quadratic, x, terms, temperature, answer, sizes)


def _answers(
    kernel: Any,
    x: Any,
    terms: tuple[Any, ...],
    temperature: float,
    answer: str,
    sizes: Any,
) -> tuple[Any, Any]:
    rows, *given = map(torch.from_dlpack, (x, *terms))
    (n, d), k = rows.shape, len(given[-1])
    argmax = answer == "argmax"
    kind = torch.int64 if argmax else rows.dtype
    out = torch.empty((n,) if argmax else (n, k), dtype=kind, device=rows.device)
    n_tiles = triton.cdiv(n, sizes["TILE"])
    lost = torch.empty(n_tiles, dtype=torch.int32, device=rows.device)
    contiguous = [term.contiguous() for term in given]
    with torch.cuda.device(rows.device):
        kernel[(n_tiles,)](
            rows,
            *rows.stride(),
            *contiguous,
            out,
            lost,
            n,
            d,
            k,
            1.0 / temperature,
            CLASSES=_power_of_two(k),
            WIDE=rows.dtype == torch.float64,
            ANSWER=answer,
            num_warps=4,
            **sizes,
        )
    return out, lost


def scores_of(z: Any, centres: Any, constants: Any) -> Any:
    """Return bₖ − ½ |zₖ − cₖ|² of whitened rows (n, K d), shape (n, K)."""
    z, centres, constants = map(torch.from_dlpack, (z, centres, constants))
    k, n = len(constants), len(z)
    scores = torch.empty((n, k), dtype=z.dtype, device=z.device)
    d = z.shape[1] // k
    width = 1 << (d - 1).bit_length()
    tile = max(4096 // width, 1)
    with torch.cuda.device(z.device):
        _scores[(triton.cdiv(n * k, tile),)](
            z, centres, constants, scores, n * k, k, d, TILE=tile, WIDTH=width, num_warps=4
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
        both = (row < n)[:, None] & inside[None, :]
        v = tl.load(x + row[:, None] * down + column[None, :] * across, mask=both, other=0.0)
        v -= tl.load(origin + column, mask=inside, other=0.0)[None, :]
        both = inside[:, None] & (label < k)[None, :]
        u = tl.load(w + column[:, None] * k + label[None, :], mask=both, other=0.0)
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
    label, column = tl.arange(0, CLASSES), tl.arange(0, WIDTH)
    kind: tl.constexpr = tl.float64 if WIDE else tl.float32
    precision: tl.constexpr = "ieee" if WIDE else "tf32x3"
    inside = column < d
    both = (row < n)[:, None] & inside[None, :]
    v = tl.load(x + row[:, None] * down + column[None, :] * across, mask=both, other=0.0)
    v -= tl.load(origin + column, mask=inside, other=0.0)[None, :]
    square = inside[:, None] & inside[None, :]
    a = tl.zeros((TILE, CLASSES), kind)
    for c in range(k):
        at = factors + c * d * d + column[:, None] * d + column[None, :]
        u = tl.load(at, mask=square, other=0.0)
        z = tl.dot(v, u, input_precision=precision, out_dtype=kind)
        z -= tl.load(centres + c * d + column, mask=inside, other=0.0)[None, :]
        # bₖ − ½ |Wₖ (x − o) − cₖ|²
        score = tl.load(b + c) - 0.5 * tl.sum(z * z, 1)
        a = tl.where(label[None, :] == c, score[:, None], a)
    _write(a * sharpness.to(kind), row, label, out, lost, n, k, ANSWER)


@triton.jit
def _write(a, row, label, out, lost, n, k, ANSWER: tl.constexpr):
    """Write what is read out of the scores of a tile, and whether some row has none."""
    here, real = row < n, label < k
    a = tl.where(real[None, :], a, float("-inf"))
    top = tl.max(a, 1)
    e = tl.exp(a - top[:, None])
    total = tl.sum(e, 1)
    # NaN where a score is NaN or the greatest is infinite
    tl.store(lost + tl.program_id(0), tl.max((here & (total != total)).to(tl.int32), 0))
    if ANSWER == "argmax":
        tl.store(out + row, tl.argmax(a, 1).to(tl.int64), mask=here)
    else:
        p = e / total[:, None]
        if ANSWER == "log_softmax":
            p = a - top[:, None] - tl.log(total)[:, None]
        at = out + row[:, None] * k + label[None, :]
        tl.store(at, p, mask=here[:, None] & real[None, :])


@triton.jit
def _scores(z, centres, constants, scores, n, k, d, TILE: tl.constexpr, WIDTH: tl.constexpr):
    first = tl.program_id(0).to(tl.int64) * TILE  # of pairs of a row and a class
    pair, column = tl.arange(0, TILE), tl.arange(0, WIDTH)
    here = pair < n - first
    inside = here[:, None] & (column < d)[None, :]
    v = tl.load(z + first * d + (pair[:, None] * d + column[None, :]), mask=inside, other=0.0)
    label = ((first % k).to(tl.int32) + pair) % k
    v -= tl.load(centres + label[:, None] * d + column[None, :], mask=inside, other=0.0)
    tl.store(
        scores + first + pair, tl.load(constants + label) - 0.5 * tl.sum(v * v, 1), mask=here
    )
