"""A fitted classifier as an ONNX graph in 64-bit numbers."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np

from suffice.archive import replacing
from suffice.decision import classifier_of
from suffice.errors import InvalidParameterError
from suffice.model.scoring import Linear, Scaled

if TYPE_CHECKING:
    from pathlib import Path

    from suffice.decision import Classifier
    from suffice.model.scoring import Formula
    from suffice.power import PowerTransform
    from suffice.typing import Floats, Labels

OPSET = 17  # onnxruntime has kernels for 64-bit numbers of everything below
IR_VERSION = 8


class Graph:
    """Nodes and constants so far; every verb adds one node and returns the name of its output."""

    def __init__(self) -> None:
        import onnx

        self._onnx = onnx
        self._nodes: list[Any] = []
        self._constants: list[Any] = []

    def constant(self, values: Any) -> str:
        """Return the name of an array of doubles, integers or text."""
        array = np.asarray(values)
        if array.dtype.kind not in "biuf":
            text = [str(value).encode() for value in array.ravel().tolist()]
            kind = self._onnx.TensorProto.STRING
            tensor = self._onnx.helper.make_tensor(self._fresh(), kind, array.shape, text)
        else:
            wide = array.astype(np.float64 if array.dtype.kind == "f" else np.int64)
            tensor = self._onnx.numpy_helper.from_array(wide, self._fresh())
        self._constants.append(tensor)
        return str(tensor.name)

    def node(self, kind: str, *inputs: Any, output: str | None = None, **attributes: Any) -> str:
        """Return the output of a node; inputs that are no names become constants."""
        names = [given if isinstance(given, str) else self.constant(given) for given in inputs]
        result = output or self._fresh()
        self._nodes.append(self._onnx.helper.make_node(kind, names, [result], **attributes))
        return result

    def total(self, x: str, *, keep: bool = True) -> str:
        """Return sums over the last axis."""
        return self.node("ReduceSum", x, np.array([1]), keepdims=int(keep))

    def affine(self, x: str, offset: Floats) -> str:
        """Return x − offset."""
        return self.node("Sub", x, np.atleast_2d(offset))

    def model(self, inputs: list[Any], outputs: list[Any], notes: dict[str, str]) -> Any:
        """Return the finished model, checked."""
        helper = self._onnx.helper
        graph = helper.make_graph(self._nodes, "suffice", inputs, outputs, self._constants)
        opset = helper.make_opsetid("", OPSET)
        model = helper.make_model(graph, opset_imports=[opset], producer_name="suffice")
        model.ir_version = IR_VERSION
        helper.set_model_props(model, notes)
        self._onnx.checker.check_model(model, full_check=True)
        return model

    def value(self, name: str, kind: str, shape: list[Any]) -> Any:
        """Return the declaration of an input or output."""
        number = getattr(self._onnx.TensorProto, kind)
        return self._onnx.helper.make_tensor_value_info(name, number, shape)

    def _fresh(self) -> str:
        return f"v{len(self._nodes)}_{len(self._constants)}"


_NEARLY_ZERO = 1e-5  # exponent under which a series is exact


def transformed(graph: Graph, power: PowerTransform, x: str) -> str:
    """Return transformed rows, (n, d): t(x) = c + s P(z) for z ≥ 0, c − s P(−z) below."""
    centre, scale, e = power.centre, power.scale, power.exponents
    z = graph.node("Div", graph.affine(x, centre), scale[None])
    u = graph.node("Abs", z)
    above = _side(graph, u, e, (power.high - centre) / scale)
    below = _side(graph, u, 2 - e, (centre - power.low) / scale)
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


def to_onnx(estimator: Any, path: str | Path | None = None) -> Any:
    """Return an ONNX graph in 64-bit numbers, and write it to ``path`` if there is one.

    Input ``X`` (n, d); outputs ``label`` (n,) and ``probabilities`` (n, K), or ``scores`` (n, K)
    for a classifier without posteriors. A refused row is NaN among numbers, "" among text. Needs
    the extra ``onnx``.
    """
    model = _written(classifier_of(estimator), _graph())
    if path is not None:
        with replacing(path) as file:
            file.write(model.SerializeToString())
    return model


def _graph() -> Graph:
    try:
        return Graph()
    except ImportError as error:
        msg = "to_onnx needs the package onnx: pip install 'suffice[onnx]'"
        raise InvalidParameterError(msg) from error


def _written(classifier: Classifier, graph: Graph) -> Any:
    formula = classifier.model.formula
    rows = "X" if formula.power is None else transformed(graph, formula.power, "X")
    scores = _scores(formula, graph, graph.affine(rows, formula.scorer.origin))
    name = "probabilities" if classifier.has_posterior else "scores"
    if classifier.has_posterior:
        numbers = _posterior(graph, scores, classifier.temperature, output=name)
    else:
        numbers = graph.node("Identity", scores, output=name)
    code, labels = _decided(classifier, graph, scores, numbers)
    kind = _label_kind(labels)
    values = labels if kind != "STRING" else [x or "" for x in labels.tolist()]
    graph.node("Gather", graph.constant(np.asarray(values)), code, axis=0, output="label")
    inputs = [graph.value("X", "DOUBLE", ["n", classifier.n_features])]
    outputs = [
        graph.value("label", kind, ["n"]),
        graph.value(name, "DOUBLE", ["n", len(classifier.classes)]),
    ]
    return graph.model(inputs, outputs, _notes(classifier))


def _scores(formula: Formula, graph: Graph, x: str) -> str:
    """Return a_k of every class, (n, K)."""
    parts = formula.scorer.parts
    if isinstance(parts[0], Linear):
        product = graph.node("MatMul", x, parts[0].weights.T.copy())
        return graph.node("Add", product, _lowest(formula.constants)[None])
    columns, codes = [], []
    for part in parts:
        columns += _distances(graph, part, x)
        codes += part.classes.tolist()
    distances = graph.node("Concat", *columns, axis=1)
    if codes != sorted(codes):
        distances = graph.node("Gather", distances, np.argsort(codes), axis=1)
    if formula.tail is None:
        half = graph.node("Mul", distances, np.array(-0.5))
        return graph.node("Add", half, _lowest(formula.constants)[None])
    # c − p log(1 + s Δ²)
    tail = formula.tail
    inner = graph.node("Mul", distances, tail.shares[None])
    logs = graph.node("Log", graph.node("Add", inner, np.array(1.0)))
    bent = graph.node("Mul", logs, -tail.powers[None])
    return graph.node("Add", bent, _lowest(tail.constants)[None])


def _distances(graph: Graph, part: Any, x: str) -> list[str]:
    """Return Δ² of each class of a part, (n, 1)."""
    means = part.means
    if isinstance(part, Scaled):
        far = [graph.node("Div", graph.affine(x, mu), part.scale[None]) for mu in means]
    else:
        white = graph.node("MatMul", graph.affine(x, means[0]), part.whitening.T.copy())
        far = [graph.affine(white, mean) for mean in part.whitened_means]
    return [graph.total(graph.node("Mul", z, z)) for z in far]


def _posterior(graph: Graph, scores: str, temperature: float, *, output: str) -> str:
    """Return softmax(a / T), (n, K), the largest score taken off first."""
    top = graph.node("ReduceMax", scores, axes=[1], keepdims=1)
    relative = graph.node("Sub", scores, top)
    if temperature != 1:
        relative = graph.node("Div", relative, np.array(temperature))
    powers = graph.node("Exp", relative)
    return graph.node("Div", powers, graph.total(powers), output=output)


def _decided(classifier: Classifier, graph: Graph, scores: str, numbers: str) -> tuple[str, Labels]:
    """Return the code of the decision, (n,), and the labels that codes stand for."""
    decision = classifier.decision
    if decision.is_map:
        return graph.node("ArgMax", scores, axis=1, keepdims=0), classifier.classes
    risks = graph.node("MatMul", numbers, decision.relative.T.copy())
    return graph.node("ArgMin", risks, axis=1, keepdims=0), decision.actions


def _lowest(constants: Any) -> Any:
    """Return constants with a number that exp makes 0 in the place of −∞, which breeds NaN."""
    return np.where(np.isfinite(constants), constants, -1e300)


def _label_kind(labels: Labels) -> str:
    return {"f": "DOUBLE", "i": "INT64", "u": "INT64", "b": "INT64"}.get(
        labels.dtype.kind, "STRING"
    )


def _notes(classifier: Classifier) -> dict[str, str]:
    """Return what a reader of the file may want to know."""
    features = classifier.feature_names or [f"x{j}" for j in range(classifier.n_features)]
    return {
        "classes": json.dumps(classifier.classes.tolist(), ensure_ascii=False),
        "features": json.dumps(list(features), ensure_ascii=False),
    }
