"""The CUDA kernel in Triton that turns whitened rows into scores, read once."""

from typing import Any

import torch
import triton
import triton.language as tl


def scores_of(z: Any, constants: Any) -> Any:
    """Return cₖ − ½ |zₖ|² of whitened rows (n, K d), shape (n, K)."""
    k, n = len(constants), len(z)
    scores = torch.empty((n, k), dtype=z.dtype, device=z.device)
    d = z.shape[1] // k
    width = triton.next_power_of_2(d)
    tile = max(4096 // width, 1)
    with torch.cuda.device(z.device):
        _scores[(triton.cdiv(n * k, tile),)](
            z, constants, scores, n * k, k, d, TILE=tile, WIDTH=width, num_warps=4
        )
    return scores


@triton.jit
def _scores(z, constants, scores, n, k, d, TILE: tl.constexpr, WIDTH: tl.constexpr):
    first = tl.program_id(0).to(tl.int64) * TILE  # of pairs of a row and a class
    pair, column = tl.arange(0, TILE), tl.arange(0, WIDTH)
    here = pair < n - first
    inside = here[:, None] & (column < d)[None, :]
    v = tl.load(z + first * d + (pair[:, None] * d + column[None, :]), mask=inside, other=0.0)
    constant = tl.load(constants + ((first % k).to(tl.int32) + pair) % k)
    tl.store(scores + first + pair, constant - 0.5 * tl.sum(v * v, 1), mask=here)
