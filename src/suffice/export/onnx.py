"""A fitted classifier as an ONNX graph in 64-bit numbers."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np

from suffice.archive import replacing
from suffice.errors import InvalidParameterError
from suffice.export.bending import straightened
from suffice.export.program import program_of
from suffice.model.parts import Linear, Scaled

if TYPE_CHECKING:
    from pathlib import Path

    from suffice.export.graph import Graph
    from suffice.export.program import Program
    from suffice.typing import Labels


def to_onnx(estimator: Any, path: str | Path | None = None) -> Any:
    """Return the graph of a fitted classifier, and write it to ``path`` if there is one.

    Input ``X`` (n, d); outputs ``label`` (n,) and ``probabilities`` (n, K), or ``scores`` (n, K)
    for a classifier without posteriors. A refused row is NaN among numbers, "" among text.
    """
    program = program_of(estimator)
    model = _written(program, _graph())
    if path is not None:
        with replacing(path) as file:
            file.write(model.SerializeToString())
    return model


def _graph() -> Graph:
    from suffice.export.graph import Graph

    try:
        return Graph()
    except ImportError as error:
        msg = "to_onnx needs the package onnx: pip install 'suffice[onnx]'"
        raise InvalidParameterError(msg) from error


def _written(program: Program, graph: Graph) -> Any:
    d, n_classes = program.n_features, len(program.classes)
    rows = "X"
    if program.transform is not None:
        rows = straightened(graph, program.transform, rows)
    scores = _scores(program, graph, graph.affine(rows, program.scorer.origin))
    name = "probabilities" if program.has_posterior else "scores"
    if program.has_posterior:
        numbers = _posterior(graph, scores, program.temperature, output=name)
    else:
        numbers = graph.node("Identity", scores, output=name)
    code, labels = _decided(program, graph, scores, numbers)
    kind = _label_kind(labels)
    values = labels if kind != "STRING" else [x or "" for x in labels.tolist()]
    graph.node("Gather", graph.constant(np.asarray(values)), code, axis=0, output="label")
    inputs = [graph.value("X", "DOUBLE", ["n", d])]
    outputs = [
        graph.value("label", kind, ["n"]),
        graph.value(name, "DOUBLE", ["n", n_classes]),
    ]
    return graph.model(inputs, outputs, _notes(program))


def _scores(program: Program, graph: Graph, x: str) -> str:
    """Return a_k of every class, (n, K)."""
    parts = program.scorer.parts
    if isinstance(parts[0], Linear):
        product = graph.node("MatMul", x, parts[0].weights.T.copy())
        return graph.node("Add", product, _lowest(parts[0].intercepts)[None])
    columns, codes = [], []
    for part in parts:
        columns += _distances(graph, part, x)
        codes += part.classes.tolist()
    distances = graph.node("Concat", *columns, axis=1)
    if codes != sorted(codes):
        distances = graph.node("Gather", distances, np.argsort(codes), axis=1)
    if program.tail is None:
        constants = np.empty(len(codes))
        for part in parts:
            constants[part.classes] = part.group.constants  # type: ignore[attr-defined]
        half = graph.node("Mul", distances, np.array(-0.5))
        return graph.node("Add", half, _lowest(constants)[None])
    # c − p log(1 + s Δ²)
    tail = program.tail
    inner = graph.node("Mul", distances, tail.shares[None])
    logs = graph.node("Log", graph.node("Add", inner, np.array(1.0)))
    bent = graph.node("Mul", logs, -tail.powers[None])
    return graph.node("Add", bent, _lowest(tail.constants)[None])


def _distances(graph: Graph, part: Any, x: str) -> list[str]:
    """Return Δ² of each class of a part, (n, 1)."""
    means = part.group.means
    if isinstance(part, Scaled):
        far = [graph.node("Div", graph.affine(x, mu), part.scale[None]) for mu in means]
    else:
        white = graph.node("MatMul", graph.affine(x, means[0]), part.whitening.T.copy())
        far = [graph.affine(white, mean) for mean in part.whitened_means]
    return [graph.total(graph.node("Mul", z, z)) for z in far]


def _posterior(graph: Graph, scores: str, temperature: float, *, output: str) -> str:
    """Return softmax(t a), (n, K), the largest score taken off first."""
    top = graph.node("ReduceMax", scores, axes=[1], keepdims=1)
    relative = graph.node("Sub", scores, top)
    if temperature != 1:
        relative = graph.node("Mul", relative, np.array(temperature))
    powers = graph.node("Exp", relative)
    return graph.node("Div", powers, graph.total(powers), output=output)


def _decided(program: Program, graph: Graph, scores: str, numbers: str) -> tuple[str, Labels]:
    """Return the code of the decision, (n,), and the labels that codes stand for."""
    decision = program.decision
    if decision.is_map:
        return graph.node("ArgMax", scores, axis=1, keepdims=0), program.classes
    # f(k) = max_a C[a, k] is common to all actions; without it equal posteriors tie exactly
    relative = decision.costs - decision.costs[: decision.n_classes].max(axis=0)
    risks = graph.node("MatMul", numbers, relative.T.copy())
    return graph.node("ArgMin", risks, axis=1, keepdims=0), decision.actions


def _lowest(constants: Any) -> Any:
    """Return constants with a number that exp makes 0 in the place of −∞, which breeds NaN."""
    return np.where(np.isfinite(constants), constants, -1e300)


def _label_kind(labels: Labels) -> str:
    return {"f": "DOUBLE", "i": "INT64", "u": "INT64", "b": "INT64"}.get(
        labels.dtype.kind, "STRING"
    )


def _notes(program: Program) -> dict[str, str]:
    """Return what a reader of the file may want to know."""
    features = program.features or [f"x{j}" for j in range(program.n_features)]
    return {
        "classes": json.dumps(program.classes.tolist(), ensure_ascii=False),
        "features": json.dumps(list(features), ensure_ascii=False),
    }
