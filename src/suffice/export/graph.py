"""Arrays that an ONNX graph will compute: NumPy's functions of them write the graph down."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

OPSET = 17  # onnxruntime has kernels for 64-bit numbers of everything below
IR_VERSION = 8
ML = "ai.onnx.ml"


class Graph:
    """Nodes and constants so far."""

    def __init__(self) -> None:
        import onnx

        self._onnx = onnx
        self._nodes: list[Any] = []
        self._constants: list[Any] = []

    def array(self, values: Any) -> Deferred:
        """Return an array of doubles, integers, truth values or text as a constant."""
        array = np.ascontiguousarray(values).reshape(np.shape(values))
        if array.dtype.kind not in "biuf":
            text = [str(value).encode() for value in array.ravel().tolist()]
            kind = self._onnx.TensorProto.STRING
            tensor = self._onnx.helper.make_tensor(self._fresh(), kind, array.shape, text)
        else:
            wide = {"b": np.bool_, "f": np.float64}.get(array.dtype.kind, np.int64)
            tensor = self._onnx.numpy_helper.from_array(array.astype(wide), self._fresh())
        self._constants.append(tensor)
        return Deferred(self, tensor.name)

    def node(self, kind: str, *inputs: Any, output: str | None = None, **more: Any) -> Deferred:
        """Return the output of a node; inputs that are no arrays of the graph become constants."""
        names = [(x if isinstance(x, Deferred) else self.array(x)).name for x in inputs]
        result = output or self._fresh()
        self._nodes.append(self._onnx.helper.make_node(kind, names, [result], **more))
        return Deferred(self, result)

    def model(self, inputs: list[Any], outputs: list[Any], notes: dict[str, str]) -> Any:
        helper = self._onnx.helper
        graph = helper.make_graph(self._nodes, "suffice", inputs, outputs, self._constants)
        opsets = [helper.make_opsetid("", OPSET), helper.make_opsetid(ML, 2)]
        model = helper.make_model(graph, opset_imports=opsets, producer_name="suffice")
        model.ir_version = IR_VERSION
        helper.set_model_props(model, notes)
        self._onnx.checker.check_model(model, full_check=True)
        return model

    def value(self, name: str, kind: str, shape: list[Any]) -> Any:
        number = getattr(self._onnx.TensorProto, kind)
        return self._onnx.helper.make_tensor_value_info(name, number, shape)

    def _fresh(self) -> str:
        return f"suffice/{len(self._nodes)}/{len(self._constants)}"


@dataclass(frozen=True, slots=True, eq=False)
class Deferred(NDArrayOperatorsMixin):
    """An array that a graph will compute; what NumPy does to it adds a node."""

    graph: Graph
    name: str

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **_: Any) -> Any:
        if method != "__call__":
            return NotImplemented
        if ufunc in _COMPOSED:
            return _COMPOSED[ufunc](*inputs)
        kind = _KINDS.get(ufunc.__name__, ufunc.__name__.capitalize())
        return self.graph.node(kind, *map(_double, inputs))

    def __array_function__(self, function: Any, _: Any, inputs: Any, options: Any) -> Any:
        return _FUNCTIONS[function](self.graph, *inputs, **options)

    def __getitem__(self, key: Any) -> Deferred:
        """Return rows at indices that the graph computes; else columns, and new axes."""
        if isinstance(key, Deferred):
            return self.graph.node("GatherND", self, key)
        found = self
        for axis, at in enumerate(key):
            if at is None:
                found = self.graph.node("Unsqueeze", found, np.array([axis]))
            elif not isinstance(at, slice):
                found = self.graph.node("Gather", found, np.asarray(at, np.int64), axis=axis)
        return found

    @property
    def T(self) -> Deferred:  # noqa: N802
        return self.graph.node("Transpose", self, perm=[1, 0])

    def astype(self, dtype: Any, **_: Any) -> Deferred:
        kinds = self.graph._onnx.TensorProto
        kind = {int: kinds.INT64, np.float32: kinds.FLOAT}.get(dtype, kinds.DOUBLE)
        return self.graph.node("Cast", self, to=kind)

    def sum(self, axis: int, *, keepdims: bool = False) -> Deferred:
        return self.graph.node("ReduceSum", self, np.array([axis]), keepdims=int(keepdims))

    def max(self, axis: int, *, keepdims: bool = False) -> Deferred:
        return self.graph.node("ReduceMax", self, axes=[axis], keepdims=int(keepdims))

    def with_rows(self, at: Deferred, rows: Deferred) -> Deferred:
        return self.graph.node("ScatterND", self, at, rows)


def _double(x: Any) -> Any:
    return x if isinstance(x, Deferred) else np.asarray(x, np.float64)


def _stacked(graph: Graph, arrays: Any, axis: int) -> Deferred:
    axes = np.array([axis])
    return graph.node("Concat", *(graph.node("Unsqueeze", a, axes) for a in arrays), axis=axis)


def _expm1(x: Any) -> Any:
    # eˣ − 1 = x (1 + x/2 (1 + x/3 (1 + x/4 (1 + x/5)))) + …
    series = x * (1 + x / 2 * (1 + x / 3 * (1 + x / 4 * (1 + x / 5))))
    return np.where(abs(x) < 1e-3, series, np.exp(x) - 1)


# what ONNX calls NumPy's functions, where that is not the same word
_KINDS = {
    "subtract": "Sub",
    "multiply": "Mul",
    "divide": "Div",
    "matmul": "MatMul",
    "minimum": "Min",
    "maximum": "Max",
    "isnan": "IsNaN",
    "negative": "Neg",
    "absolute": "Abs",
    "greater_equal": "GreaterOrEqual",
}
_COMPOSED: dict[Any, Callable[..., Any]] = {
    np.square: lambda x: x * x,
    np.log1p: lambda x: np.log(1 + x),
    np.expm1: _expm1,
}
_FUNCTIONS: dict[Any, Callable[..., Deferred]] = {
    np.where: lambda graph, here, x, y: graph.node("Where", here, _double(x), _double(y)),
    np.clip: lambda graph, x, low, high, **_: graph.node("Clip", x, low, high),
    np.concatenate: lambda graph, arrays, axis: graph.node("Concat", *arrays, axis=axis),
    np.stack: _stacked,
}
