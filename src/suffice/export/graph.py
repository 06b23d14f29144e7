"""Build an ONNX graph by arithmetic with ``Deferred`` arrays, which adds nodes to the graph."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from suffice.typing import Array, Codes, Flags, Floats

OPSET = 17  # version in which onnxruntime computes all operators used here in 64-bit numbers
IR_VERSION = 8
ML = "ai.onnx.ml"  # domain of the operators for machine learning


class Graph:
    """An ONNX graph that is being built."""

    def __init__(self) -> None:
        import onnx

        self._onnx = onnx
        self._nodes: list[Any] = []
        self._constants: list[Any] = []
        self._types = {
            "DOUBLE": onnx.TensorProto.DOUBLE,
            "FLOAT": onnx.TensorProto.FLOAT,
            "INT64": onnx.TensorProto.INT64,
            "STRING": onnx.TensorProto.STRING,
        }

    def constant(self, values: Operand | Array) -> Deferred:
        """Return a constant for an array of doubles, integers, Booleans or text."""
        if isinstance(values, Deferred):
            return values
        array = np.ascontiguousarray(values).reshape(np.shape(values))
        name = self._fresh_name()
        if array.dtype.kind in "biuf":
            wide = {"b": np.bool_, "f": np.float64}.get(array.dtype.kind, np.int64)
            tensor = self._onnx.numpy_helper.from_array(array.astype(wide), name)
        else:
            text = [str(value).encode() for value in array.ravel().tolist()]
            kind = self._types["STRING"]
            tensor = self._onnx.helper.make_tensor(name, kind, array.shape, text)
        self._constants.append(tensor)
        return Deferred(self, name)

    def tensor(self, values: Floats) -> Any:
        """Return numbers as a node attribute, in double precision."""
        return self._onnx.numpy_helper.from_array(np.asarray(values, np.float64), "values")

    def node(
        self,
        operator: str,
        *inputs: Operand | Array,
        output: str | None = None,
        **attributes: object,
    ) -> Deferred:
        """Add a node and return its output; inputs that are not deferred become constants."""
        names = [self.constant(values).name for values in inputs]
        result = self._fresh_name() if output is None else output
        node = self._onnx.helper.make_node(operator, names, [result], **attributes)
        self._nodes.append(node)
        return Deferred(self, result)

    def cast(self, x: Deferred, kind: str) -> Deferred:
        """Return the array cast to "DOUBLE", "FLOAT" or "INT64"."""
        return self.node("Cast", x, to=self._types[kind])

    def declaration(self, name: str, kind: str, shape: Sequence[str | int]) -> Any:
        """Return the name, type and shape of an input or output."""
        return self._onnx.helper.make_tensor_value_info(name, self._types[kind], shape)

    def model(
        self,
        inputs: Sequence[Any],
        outputs: Sequence[Any],
        metadata: Mapping[str, str],
    ) -> Any:
        """Return the complete model, checked by ONNX."""
        helper = self._onnx.helper
        graph = helper.make_graph(self._nodes, "suffice", inputs, outputs, self._constants)
        opsets = [helper.make_opsetid("", OPSET), helper.make_opsetid(ML, 3)]
        model = helper.make_model(graph, opset_imports=opsets, producer_name="suffice")
        model.ir_version = IR_VERSION
        helper.set_model_props(model, metadata)
        self._onnx.checker.check_model(model, full_check=True)
        return model

    def _fresh_name(self) -> str:
        return f"suffice/{len(self._nodes)}/{len(self._constants)}"


@dataclass(frozen=True, slots=True, eq=False)
class Deferred:
    """An array that the graph will compute; operators and methods add nodes to the graph."""

    graph: Graph
    name: str

    # array + deferred then calls the operator of this class, not that of NumPy
    __array_ufunc__ = None

    def __add__(self, other: Operand) -> Deferred:
        return self.graph.node("Add", self, _doubles(other))

    def __radd__(self, other: Operand) -> Deferred:
        return self.graph.node("Add", _doubles(other), self)

    def __sub__(self, other: Operand) -> Deferred:
        return self.graph.node("Sub", self, _doubles(other))

    def __rsub__(self, other: Operand) -> Deferred:
        return self.graph.node("Sub", _doubles(other), self)

    def __mul__(self, other: Operand) -> Deferred:
        return self.graph.node("Mul", self, _doubles(other))

    def __rmul__(self, other: Operand) -> Deferred:
        return self.graph.node("Mul", _doubles(other), self)

    def __truediv__(self, other: Operand) -> Deferred:
        return self.graph.node("Div", self, _doubles(other))

    def __pow__(self, exponent: float) -> Deferred:
        return self.graph.node("Pow", self, _doubles(exponent))

    def __matmul__(self, other: Operand) -> Deferred:
        return self.graph.node("MatMul", self, _doubles(other))

    def __neg__(self) -> Deferred:
        return self.graph.node("Neg", self)

    def __abs__(self) -> Deferred:
        return self.graph.node("Abs", self)

    def __gt__(self, other: Operand) -> Deferred:
        return self.graph.node("Greater", self, _doubles(other))

    def __ge__(self, other: Operand) -> Deferred:
        return self.graph.node("GreaterOrEqual", self, _doubles(other))

    def __lt__(self, other: Operand) -> Deferred:
        return self.graph.node("Less", self, _doubles(other))

    def sum(self, axis: int, *, keepdims: bool = False) -> Deferred:
        return self.graph.node("ReduceSum", self, np.array([axis]), keepdims=int(keepdims))

    def max(self, axis: int, *, keepdims: bool = False) -> Deferred:
        return self.graph.node("ReduceMax", self, axes=[axis], keepdims=int(keepdims))

    def take(self, indices: Sequence[int] | Codes, axis: int) -> Deferred:
        """Return the columns, or slices along another axis, at fixed indices."""
        return self.graph.node("Gather", self, np.asarray(indices, np.int64), axis=axis)

    def new_axis(self, axis: int) -> Deferred:
        return self.graph.node("Unsqueeze", self, np.array([axis]))

    def rows_at(self, indices: Deferred) -> Deferred:
        """Return the rows at indices (m, 1) that the graph computes."""
        return self.graph.node("GatherND", self, indices)

    def with_rows(self, indices: Deferred, rows: Deferred) -> Deferred:
        """Return the array with new values in the rows at indices (m, 1)."""
        return self.graph.node("ScatterND", self, indices, rows)

    def to_double(self) -> Deferred:
        return self.graph.cast(self, "DOUBLE")

    def to_integer(self) -> Deferred:
        return self.graph.cast(self, "INT64")


Operand: TypeAlias = Deferred | Floats | float


def _doubles(x: Operand) -> Deferred | Floats:
    return x if isinstance(x, Deferred) else np.asarray(x, np.float64)


# --- functions with the names of NumPy functions ---------------------------------------------


def isnan(x: Deferred) -> Deferred:
    """Return whether each number is NaN."""
    return x.graph.node("IsNaN", x)


def is_missing(x: Deferred) -> Deferred:
    """Return 1 for each number that is NaN, else 0."""
    return isnan(x).to_double()


def where(condition: Deferred | Flags, x: Operand, y: Operand) -> Deferred:
    """Return ``x`` where the condition is true, else ``y``; one of the two must be deferred."""
    graph = x.graph if isinstance(x, Deferred) else None
    if isinstance(y, Deferred):
        graph = y.graph
    if graph is None:
        raise TypeError("neither x nor y is deferred: use np.where")
    return graph.node("Where", condition, _doubles(x), _doubles(y))


def exp(x: Deferred) -> Deferred:
    """Return eˣ."""
    return x.graph.node("Exp", x)


def log(x: Deferred) -> Deferred:
    """Return the natural logarithm."""
    return x.graph.node("Log", x)


def log1p(x: Deferred) -> Deferred:
    """Return log(1 + x)."""
    return log(1 + x)


def expm1(x: Deferred) -> Deferred:
    """Return eˣ − 1 without loss of digits near zero."""
    # eˣ − 1 = x (1 + x/2 (1 + x/3 (1 + x/4 (1 + x/5)))) + …
    series = x * (1 + x / 2 * (1 + x / 3 * (1 + x / 4 * (1 + x / 5))))
    return where(abs(x) < 1e-3, series, exp(x) - 1)


def square(x: Deferred) -> Deferred:
    """Return x²."""
    return x * x


def minimum(x: Deferred, y: Floats | float) -> Deferred:
    """Return the smaller of two numbers."""
    return x.graph.node("Min", x, _doubles(y))


def maximum(x: Deferred, y: Floats | float) -> Deferred:
    """Return the larger of two numbers."""
    return x.graph.node("Max", x, _doubles(y))


def concatenate(arrays: Sequence[Deferred], axis: int) -> Deferred:
    """Return arrays joined along an axis."""
    return arrays[0].graph.node("Concat", *arrays, axis=axis)
