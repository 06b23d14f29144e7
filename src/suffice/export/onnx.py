"""A fitted classifier as an ONNX graph in 64-bit numbers: its own formulas, written down."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from suffice.core.decision import Classifier, classifier_of
from suffice.core.model import views
from suffice.core.model.averaged import AveragedModel, TemperedModel
from suffice.core.model.scoring import Formula
from suffice.core.model.trees import Trees
from suffice.core.power_transform import Branch, PowerTransform
from suffice.core.table.schema import Category
from suffice.errors import InvalidParameterError, extra
from suffice.export.marginal import Marginal, empty_scores, integrates, marginals, own_members
from suffice.persistence.archive import replacing
from suffice.typing import Codes

OPSET = 17  # onnxruntime has kernels for 64-bit numbers of everything below
IR_VERSION = 8
ML = "ai.onnx.ml"
MOST_WITH_HOLES = 300  # features of a full covariance that holes are integrated out of
_LOWEST = -1e300  # a score that stands for −∞, which breeds NaN in products
_EMPTY: dict[str, tuple[Any, Any]] = {  # types of labels, and that of no label
    "STRING": (object, ""),
    "DOUBLE": (np.float64, np.nan),
    "INT64": (np.int64, np.iinfo(np.int64).min),
}


def to_onnx(estimator: Any, path: str | Path | None = None) -> Any:
    """Return an ONNX graph in 64-bit numbers, and write it to ``path`` if there is one.

    Input ``X`` (n, d), or of a mixed table one (n, 1) for each column, text for categories;
    outputs ``label`` (n,) and ``probabilities`` (n, K), or ``scores`` (n, K) for a classifier
    without posteriors. A row that is refused or has no scores is NaN among numbers, "" among
    text. Needs the extra ``onnx``.
    """
    extra("onnx", "onnx", "to_onnx")  # or say so before any work is done
    model = _written(classifier_of(estimator), Graph())
    if path is not None:
        with replacing(path) as file:
            file.write(model.SerializeToString())
    return model


def _written(classifier: Classifier, graph: Graph) -> Any:
    integrate, model = integrates(classifier), classifier.model
    inputs, rows = _inputs(graph, classifier)
    # 0 · x is NaN where x is infinite, or NaN and not integrated out
    used = np.where(np.isnan(rows), 0.0, rows) if integrate else rows
    refused = (0.0 * used).sum(1, keepdims=True)
    if isinstance(model, AveragedModel):
        scores = numbers = averaged_posterior(model, rows, integrate=integrate) + refused
    else:
        scores = numbers = class_scores(model, rows, integrate=integrate) + refused
        if classifier.has_posterior:
            numbers = _posterior(scores, classifier.temperature)
    name = "probabilities" if classifier.has_posterior else "scores"
    graph.node("Identity", numbers, output=name)
    decision, labels = classifier.decision, classifier.classes
    if decision.is_map:
        code = graph.node("ArgMax", scores, axis=1, keepdims=0)
    else:
        labels = decision.actions
        code = graph.node("ArgMin", numbers @ decision.relative.T, axis=1, keepdims=0)
    unscored = np.isnan((numbers if classifier.has_posterior else 0.0 * scores).sum(1))
    code = graph.node("Where", unscored, np.array(len(labels)), code)
    kind, known_labels = _typed(labels)
    graph.node("Gather", known_labels, code, axis=0, output="label")
    answers = graph.value(name, "DOUBLE", ["n", len(classifier.classes)])
    columns = classifier.columns or (f"x{j}" for j in range(classifier.n_features))
    known = {"classes": classifier.classes.tolist(), "features": list(columns)}
    notes = {key: json.dumps(each, ensure_ascii=False) for key, each in known.items()}
    return graph.model(inputs, [graph.value("label", kind, ["n"]), answers], notes)


def _typed(labels: Any) -> tuple[str, Any]:
    """Return the type of labels in a graph, and the labels with that of no label behind them."""
    kind = {**dict.fromkeys("iub", "INT64"), "f": "DOUBLE"}.get(labels.dtype.kind, "STRING")
    dtype, empty = _EMPTY[kind]
    values = ["" if label is None else label for label in labels.tolist()]
    if kind == "INT64" and labels.max() > np.iinfo(np.int64).max:
        raise InvalidParameterError(
            f"ONNX has no whole number as large as the label {labels.max()}: fit the model to text"
        )
    return kind, np.array([*values, empty], dtype)


def _inputs(graph: Graph, classifier: Classifier) -> tuple[list[Any], Any]:
    """Return the declarations of the inputs, and rows as the model reads them, (n, d)."""
    encoding = classifier.encoding
    if encoding is None:
        return [graph.value("X", "DOUBLE", ["n", classifier.n_features])], Deferred(graph, "X")
    clash = {"", "label", "probabilities"} & set(classifier.columns)
    if clash:
        msg = (
            f"column {min(clash)!r} has the name of an output of the graph, or none: rename it"
        )
        raise InvalidParameterError(msg)
    schema = encoding.schema
    kinds = {c.name: "DOUBLE" if c.kind == "number" else "STRING" for c in schema.columns}
    inputs = [graph.value(name, kinds[name], ["n", 1]) for name in classifier.columns]
    # numbers, indicators of empty cells and those of levels; NaN is not observed
    columns: list[Any] = [Deferred(graph, number.name) for number in schema.numbers]
    empty = {j: np.isnan(columns[j]) for j in schema.filled}
    for j, here in empty.items():
        columns[j] = np.where(here, schema.numbers[j].fill, columns[j])
    columns += [here.astype(float) for here in empty.values()]
    for category, reference in zip(schema.categories, encoding.reference, strict=True):
        if category.n_levels > 1:
            columns.append(_indicators(graph, category, reference))
    return inputs, np.concatenate(columns, axis=1)


def _indicators(graph: Graph, category: Category, reference: int) -> Deferred:
    """Return the indicators of a column's levels, (n, L − 1); "" is an empty cell."""
    n, unknown = len(category.levels), category.n_levels
    codes = {"": n if category.missing else unknown}
    codes |= {level: at for at, level in enumerate(category.levels)}
    words: Any = {"keys_strings": list(codes), "values_int64s": list(codes.values())}
    other = unknown - 1 if category.other else unknown
    column = Deferred(graph, category.name)
    code = graph.node("LabelEncoder", column, domain=ML, default_int64=other, **words)
    table = np.vstack([np.eye(unknown), np.full(unknown, np.nan)])
    return graph.array(np.delete(table, reference, axis=1))[code]


def _holes(rows: Any) -> tuple[Any, Any]:
    """Return which rows have holes, (m, 1), and 1 or 0 for their missing features, (m, d)."""
    missing = np.isnan(rows).astype(float)
    at = rows.graph.node("NonZero", missing.sum(1) > 0.5).T
    return at, missing[at]


def class_scores(model: Any, rows: Any, *, integrate: bool) -> Any:
    """Return the scores of a model, (n, K); where rows have NaN, those of what was observed."""
    formula: Formula = model.formula
    d, parts = len(formula.scorer.origin), formula.scorer.parts
    numbers = rows[:, np.arange(d)] if formula.levels else rows
    found = marginals(formula) if integrate else []
    if d > MOST_WITH_HOLES and not all(each.is_diagonal for each in found):
        found = []
    x = _measured(formula, numbers)
    x = np.where(np.isnan(numbers), 0.0, x) if found else x
    base = _by_class([part.scores(x) for part in parts], parts)
    scores: Any = base if formula.tail is None else formula.tail.bent(base)
    if found:
        at, missing = _holes(numbers)
        scores = scores.with_rows(at, _marginal(formula, found, missing, base[at], x[at]))
    if formula.levels:
        scores = scores + _levels(formula, rows)
    if found:
        scores = np.where(_all_missing(rows, model.n_features), empty_scores(model), scores)
    return scores if formula.class_of is None else _of_classes(scores, formula.class_of)


def _of_classes(scores: Any, class_of: Codes) -> Any:
    """Return log Σ exp a over the components of each class, (n, K)."""
    own = [scores[:, np.flatnonzero(class_of == k)] for k in np.unique(class_of)]
    tops = [np.maximum(a.max(1, keepdims=True), _LOWEST) for a in own]
    pairs = zip(own, tops, strict=True)
    sums = [top + np.log(np.exp(a - top).sum(1, keepdims=True)) for a, top in pairs]
    return np.concatenate(sums, axis=1)


def _measured(formula: Formula, numbers: Any) -> Any:
    origin, power = formula.scorer.origin, formula.power
    x = numbers if power is None else _moved(power.select(np.arange(len(origin))), numbers)
    return x - origin


def _moved(power: PowerTransform, x: Any, verb: Any = Branch.apply) -> Any:
    """Return transformed rows, (n, d): c + s P(z) for z ≥ 0, c − s P(−z) below; or undo that."""
    up, down = power.branches
    z = (x - power.centre) / power.scale
    u = np.where(z >= 0, verb(up, abs(z)), -verb(down, abs(z)))
    return np.where(power.exponents == 1, x, power.centre + power.scale * u)


def _all_missing(rows: Any, d: int) -> Any:
    return np.isnan(rows).astype(float).sum(1, keepdims=True) > d - 0.5


def _by_class(columns: list[Any], parts: Any, axis: int = 1) -> Any:
    """Return what parts say of their classes, in the order of the classes."""
    codes = [k for part in parts for k in part.classes.tolist()]
    joined: Any = np.concatenate(columns, axis=axis)
    return (
        joined
        if codes == sorted(codes)
        else joined[(*[slice(None)] * axis, np.argsort(codes))]
    )


def _marginal(formula: Formula, found: list[Marginal], missing: Any, base: Any, x: Any) -> Any:
    """Return the scores of rows with holes, (m, K), from those at the origin in each hole."""
    drops, log_dets = [], []
    for each in found:
        drop, _, log_det = _solved(each, missing, x)
        drops.append(drop)
        log_dets.append(log_det * np.ones((1, len(each.classes))))
    # a_o = −½ (Δ² − drop) − ½ log|P_mm|, up to a constant; the tail has fewer degrees
    scores, tail = base + 0.5 * _by_class(drops, found), formula.tail
    if tail is not None:
        n = missing.sum(1, keepdims=True)
        gains = x.graph.array(tail.hole_constants(len(formula.scorer.origin)))
        constants = tail.constants + gains[n.astype(int)]
        scores = replace(tail, constants=constants, powers=tail.powers - 0.5 * n).bent(scores)
    return scores - 0.5 * _by_class(log_dets, found)


def _solved(marginal: Marginal, missing: Any, x: Any) -> tuple[Any, Any, Any]:
    """Return g_mᵀ P_mm⁻¹ g_m, (m, c), P_mm⁻¹ g_m, (m, d, c), and log|P_mm|, (m, 1)."""
    root = np.sqrt(np.diagonal(marginal.precision))[:, None]
    # each feature in its own unit, so that P has ones on its diagonal
    unit, eye = marginal.scaled(1 / root[:, 0]), np.eye(len(root))
    hole = missing[:, :, None]
    g = ((x @ (marginal.precision / root).T)[:, :, None] - unit.pulls.T) * hole
    solved, log_det = g, missing @ (2 * np.log(root))
    if not marginal.is_diagonal:
        # the identity in the place of observed features: [B | g] → [I | B⁻¹ g], B_mm = P_mm
        block = hole * missing[:, None] * (unit.precision - eye) + eye
        system, pivots = np.concatenate([block, g], axis=2), []
        for j in range(len(eye)):
            row, column = system[:, [j]], system[:, :, [j]]
            pivots.append(row[:, :, [j]])
            system = system - (column - eye[:, [j]]) * (row / pivots[-1])
        solved = system[:, :, len(eye) + np.arange(len(marginal.classes))]
        log_det = log_det + np.log(np.concatenate(pivots, axis=1)).sum(1)
    return (g * solved).sum(1), solved / root, log_det


def _levels(formula: Formula, rows: Any) -> Any:
    """Return Σ log p(level | k) of known levels, (n, K)."""
    start, levels = (
        len(formula.scorer.origin),
        [np.maximum(t, _LOWEST) for t in formula.levels],
    )
    sizes = [term.shape[1] - 1 for term in levels]
    seen = 1 - np.isnan(rows[:, start + np.cumsum([0, *sizes[:-1]])]).astype(float)
    features = rows[:, start + np.arange(sum(sizes))]
    # log p of the reference where the category is known, and what another level adds to it
    more = np.hstack([term[:, 1:] - term[:, :1] for term in levels]).T
    known = np.where(np.isnan(features), 0.0, features)
    return seen @ np.stack([term[:, 0] for term in levels]) + known @ more


def averaged_posterior(model: AveragedModel, rows: Any, *, integrate: bool) -> Any:
    """Return the average of the posteriors of its members, (n, K)."""
    seen = filled = rows[:, model.features]
    if integrate and not all(share.integrates for share in model.shares):
        filled = _imputed(model.best, rows)[:, model.features]
    total: Any = model.doubt * model.frequencies
    for share in own_members(model):
        inner: Any = share.model
        own = integrate and share.integrates
        x = _viewed(share.view, seen if own else filled)
        if own:  # what is missing stays so
            x = np.where(np.isnan(seen), np.nan, x)
        if isinstance(inner, TemperedModel):
            posterior = _tempered(inner, x)
        else:
            posterior = _posterior(class_scores(inner, x, integrate=own), inner.temperature)
        if integrate and not own:
            nothing = _all_missing(seen, len(model.features))
            posterior = np.where(nothing, model.frequencies, posterior)
        total = total + (1 - model.doubt) * share.weight * posterior
    return total


def _tempered(model: TemperedModel, x: Any) -> Any:
    inner = model.inner
    if isinstance(inner, Trees):
        p = _leaves(inner, x)
    else:
        p = _posterior(class_scores(inner, x, integrate=False), 1.0)
    scores = np.log((1 - model.doubt) * p + model.doubt / inner.n_classes)
    return _posterior(scores, model.temperature)


def _leaves(trees: Trees, x: Any) -> Any:
    node, k = np.arange(len(trees.left)), trees.shares.shape[1]
    tree = np.searchsorted(trees.roots, node, side="right") - 1
    leaf, base = trees.left == node, trees.roots[tree]
    ends = np.repeat(np.flatnonzero(leaf), k)
    nodes = {
        "treeids": tree,
        "nodeids": node - base,
        "featureids": trees.feature,
        "values": trees.threshold.astype(float),
        "modes": np.where(leaf, "LEAF", "BRANCH_LEQ"),
        "truenodeids": np.where(leaf, 0, trees.left - base),
        "falsenodeids": np.where(leaf, 0, trees.right - base),
    }
    targets = {
        "treeids": tree[ends],
        "nodeids": (node - base)[ends],
        "ids": np.tile(np.arange(k), leaf.sum()),
        "weights": trees.shares[leaf].ravel(),
    }
    words = {f"nodes_{name}": each.tolist() for name, each in nodes.items()}
    words |= {f"target_{name}": each.tolist() for name, each in targets.items()}
    words |= {"n_targets": k, "aggregate_function": "AVERAGE"}
    x = x.astype(np.float32)
    return x.graph.node("TreeEnsembleRegressor", x, domain=ML, **words).astype(float)


def _viewed(view: views.View, x: Any) -> Any:
    if isinstance(view, views.PowerTransformed):
        return _moved(view.transform, x)
    if isinstance(view, views.Softened):
        return _viewed(view.below, x)
    if not isinstance(view, views.KernelFeatures):
        return view.apply(x)
    z = (_viewed(view.below, x) - view.centre) / view.scale
    return np.concatenate([z, _nearness(view, z)], axis=1)


def _nearness(view: views.KernelFeatures, z: Any) -> Any:
    """Return the kernel between rows and landmarks, (n, m)."""
    landmarks = view.landmarks.T
    if view.kernel == "Laplace":
        apart = [abs(z[:, [j]] - landmarks[[j]]) for j in range(len(landmarks))]
        return np.exp(sum(apart[1:], apart[0]) / -view.length)
    apart = ((z * z).sum(1, keepdims=True) + (landmarks**2).sum(0)) / 2 - z @ landmarks
    return np.exp(apart / -(view.length**2))


def _imputed(model: Any, rows: Any) -> Any:
    """Return rows, NaN replaced by Σ_k p(k | x_o) E[x_m | x_o, k], (n, d)."""
    formula, (at, missing), found = model.formula, _holes(rows), marginals(model.formula)
    posterior = _posterior(class_scores(model, rows, integrate=True), model.temperature)
    x, own = np.where(np.isnan(rows), 0.0, _measured(formula, rows))[at], rows[at]
    # E[x_m | x_o, k] = −P_mm⁻¹ g_m from the origin
    each = _by_class([_solved(part, missing, x)[1] for part in found], found, axis=2)
    fill = formula.scorer.origin - (each * posterior[at][:, None]).sum(2)
    if formula.power is not None:
        fill = _moved(formula.power, fill, Branch.inverse)
    return rows.with_rows(at, np.where(np.isnan(own), fill, own))


def _posterior(scores: Any, temperature: float) -> Any:
    """Return softmax(a / T), (n, K), the largest score taken off first; NaN where all are −∞."""
    top = scores.max(1, keepdims=True)
    powers = np.exp((scores - np.where(top < _LOWEST / 10, np.nan, top)) / temperature)
    return powers / powers.sum(1, keepdims=True)


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

    def node(
        self,
        kind: str,
        *inputs: Any,
        output: str | None = None,
        **more: Any,
    ) -> Deferred:
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


def _expm1(x: Any) -> Any:
    # eˣ − 1 = x (1 + x/2 (1 + x/3 (1 + x/4 (1 + x/5)))) + …
    series = x * (1 + x / 2 * (1 + x / 3 * (1 + x / 4 * (1 + x / 5))))
    return np.where(abs(x) < 1e-3, series, np.exp(x) - 1)


# what ONNX calls NumPy's functions, where that is not the same word
_KINDS = {"matmul": "MatMul", "isnan": "IsNaN", "greater_equal": "GreaterOrEqual"}
_CUT = ("subtract", "multiply", "divide", "minimum", "maximum", "negative", "absolute")
_KINDS |= {name: name[:3].capitalize() for name in _CUT}
_COMPOSED: dict[Any, Callable[..., Any]] = {
    np.square: lambda x: x * x,
    np.log1p: lambda x: np.log(1 + x),
    np.expm1: _expm1,
}
_FUNCTIONS: dict[Any, Callable[..., Deferred]] = {
    np.where: lambda graph, here, x, y: graph.node("Where", here, _double(x), _double(y)),
    np.clip: lambda graph, x, low, high, **_: graph.node("Clip", x, low, high),
    np.concatenate: lambda graph, arrays, axis: graph.node("Concat", *arrays, axis=axis),
    np.stack: lambda graph, arrays, axis: graph.node(
        "Concat", *(graph.node("Unsqueeze", a, np.array([axis])) for a in arrays), axis=axis
    ),
}
