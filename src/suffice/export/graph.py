"""An ONNX graph, written node by node."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from suffice.typing import Floats

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
