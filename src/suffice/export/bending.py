"""A Yeo–Johnson transform of every column, as nodes of an ONNX graph."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from suffice.export.graph import Graph
    from suffice.power import PowerTransform
    from suffice.typing import Floats

_NEARLY_ZERO = 1e-5  # exponent under which a series is exact


def straightened(graph: Graph, transform: PowerTransform, x: str) -> str:
    """Return transformed rows, (n, d): t(x) = c + s P(z) for z ≥ 0, c − s P(−z) below."""
    centre, scale, e = transform.centre, transform.scale, transform.exponents
    z = graph.node("Div", graph.affine(x, centre), scale[None])
    u = graph.node("Abs", z)
    above = _side(graph, u, e, (transform.high - centre) / scale)
    below = _side(graph, u, 2 - e, (centre - transform.low) / scale)
    up = graph.node("GreaterOrEqual", z, np.array(0.0))
    bent = graph.node("Where", up, above, graph.node("Neg", below))
    moved = graph.node("Add", graph.node("Mul", bent, scale[None]), centre[None])
    return graph.node("Where", _booleans(graph, e == 1), x, moved)


def _side(graph: Graph, u: str, e: Floats, knee: Floats) -> str:
    """Return P(u) = ((1 + u)^e − 1) / e, from a knee on a straight line where e < 0."""
    bent = e < 0
    b = np.where(bent, knee, 0.0)
    log_b = np.log1p(b)
    held = graph.node("Min", u, np.where(bent, b, np.finfo(np.float64).max)[None])
    curve = _curve(graph, graph.node("Log", graph.node("Add", held, np.array(1.0))), e)
    # P(u) = P(min(u, b)) + P′(b) max(u − b, 0),  P′(b) = (1 + b)^(e − 1)
    slope = np.where(bent, np.exp((e - 1) * log_b), 0.0)
    beyond = graph.node("Max", graph.affine(u, b), np.array(0.0))
    return graph.node("Add", curve, graph.node("Mul", beyond, slope[None]))


def _curve(graph: Graph, log: str, e: Floats) -> str:
    """Return (exp(e L) − 1) / e, by its series L (1 + e L/2 (1 + e L/3)) where e is nearly 0."""
    small = np.abs(e) < _NEARLY_ZERO
    power = graph.node("Exp", graph.node("Mul", log, np.where(small, 1.0, e)[None]))
    ratio = graph.node("Div", graph.affine(power, np.array(1.0)), np.where(small, 1.0, e)[None])
    third = graph.node("Add", graph.node("Mul", log, (e / 3)[None]), np.array(1.0))
    half = graph.node("Mul", graph.node("Mul", log, (e / 2)[None]), third)
    series = graph.node("Mul", log, graph.node("Add", half, np.array(1.0)))
    return graph.node("Where", _booleans(graph, small), series, ratio)


def _booleans(graph: Graph, mask: np.ndarray[tuple[int, ...], np.dtype[np.bool_]]) -> str:
    return graph.node("Greater", mask.astype(np.float64)[None], np.array(0.5))
