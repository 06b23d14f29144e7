"""A fitted classifier as an ONNX graph in 64-bit numbers."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from suffice.archive import replacing
from suffice.decision import Classifier, classifier_of
from suffice.errors import InvalidParameterError
from suffice.export.marginal import (
    Quadric,
    empty_scores,
    integrates,
    own_members,
    quadrics,
    tail_constants,
)
from suffice.model.averaged import AveragedModel
from suffice.model.scoring import Formula, Linear, Scaled
from suffice.model.views import (
    FourierFeatures,
    LevelLogOdds,
    PiecewiseLinear,
    PowerTransformed,
    Softened,
    View,
)
from suffice.power import PowerTransform
from suffice.table.schema import Category, Encoding
from suffice.typing import Floats, Labels

OPSET = 17  # onnxruntime has kernels for 64-bit numbers of everything below
IR_VERSION = 8
MOST_WITH_HOLES = 300  # features of a full covariance that holes are integrated out of
_LOWEST = -1e300  # a score that stands for −∞, which breeds NaN
_ML = "ai.onnx.ml"


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

    def total(self, x: str, *, keep: bool = True, axis: int = 1) -> str:
        """Return sums over an axis."""
        return self.node("ReduceSum", x, np.array([axis]), keepdims=int(keep))

    def columns(self, x: str, which: Any) -> str:
        """Return some columns."""
        return self.node("Gather", x, np.asarray(which, np.int64), axis=1)

    def is_nan(self, x: str) -> str:
        """Return 1 where a number is NaN, else 0."""
        return self.node("Cast", self.node("IsNaN", x), to=self._onnx.TensorProto.DOUBLE)

    def without_nan(self, x: str) -> str:
        """Return 0 in the place of NaN."""
        return self.node("Where", self.node("IsNaN", x), np.array(0.0), x)

    def affine(self, x: str, offset: Floats) -> str:
        """Return x − offset."""
        return self.node("Sub", x, np.atleast_2d(offset))

    def model(self, inputs: list[Any], outputs: list[Any], notes: dict[str, str]) -> Any:
        """Return the finished model, checked."""
        helper = self._onnx.helper
        graph = helper.make_graph(self._nodes, "suffice", inputs, outputs, self._constants)
        opsets = [helper.make_opsetid("", OPSET), helper.make_opsetid(_ML, 2)]
        model = helper.make_model(graph, opset_imports=opsets, producer_name="suffice")
        model.ir_version = IR_VERSION
        helper.set_model_props(model, notes)
        self._onnx.checker.check_model(model, full_check=True)
        return model

    def value(self, name: str, kind: str, shape: list[Any]) -> Any:
        """Return the declaration of an input or output."""
        number = getattr(self._onnx.TensorProto, kind)
        return self._onnx.helper.make_tensor_value_info(name, number, shape)

    def _fresh(self) -> str:
        return f"suffice/{len(self._nodes)}/{len(self._constants)}"


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


def restored(graph: Graph, power: PowerTransform, y: str) -> str:
    """Return x with t(x) = y, (n, d)."""
    centre, scale, e = power.centre, power.scale, power.exponents
    z = graph.node("Div", graph.affine(y, centre), scale[None])
    v = graph.node("Abs", z)
    above = _side_back(graph, v, e, (power.high - centre) / scale)
    below = _side_back(graph, v, 2 - e, (centre - power.low) / scale)
    up = graph.node("GreaterOrEqual", z, np.array(0.0))
    u = graph.node("Where", up, above, graph.node("Neg", below))
    moved = graph.node("Add", graph.node("Mul", u, scale[None]), centre[None])
    return graph.node("Where", _booleans(graph, e == 1), y, moved)


def _side_back(graph: Graph, v: str, e: Floats, knee: Floats) -> str:
    """Return u with P(u) = v: 1 + u = (1 + e v)^(1/e), beyond the knee on a straight line."""
    bent, zero = e < 0, e == 0
    log_b = np.log1p(np.where(bent, knee, 0.0))
    top = np.where(bent, np.expm1(e * log_b) / np.where(bent, e, 1.0), np.finfo(np.float64).max)
    held = graph.node("Min", v, top[None])
    inner = graph.node("Add", graph.node("Mul", held, e[None]), np.array(1.0))
    logs = graph.node("Div", graph.node("Log", inner), np.where(zero, 1.0, e)[None])
    logs = graph.node("Where", _booleans(graph, zero), held, logs)
    curve = graph.affine(graph.node("Exp", logs), np.array(1.0))
    beyond = graph.node("Max", graph.affine(v, top), np.array(0.0))
    return graph.node("Add", curve, graph.node("Mul", beyond, np.exp((1 - e) * log_b)[None]))


def to_onnx(estimator: Any, path: str | Path | None = None) -> Any:
    """Return an ONNX graph in 64-bit numbers, and write it to ``path`` if there is one.

    Input ``X`` (n, d), or of a mixed table one (n, 1) for each column, text for categories;
    outputs ``label`` (n,) and ``probabilities`` (n, K), or ``scores`` (n, K) for a classifier
    without posteriors. A row that is refused or has no scores is NaN among numbers, "" among
    text. Needs the extra ``onnx``.
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
    integrate, name = integrates(classifier), "probabilities"
    inputs, rows = _inputs(graph, classifier)
    # 0 · x is NaN where x is infinite, or NaN and not integrated out
    used = graph.without_nan(rows) if integrate else rows
    refused = graph.total(graph.node("Mul", used, np.array(0.0)))
    model = classifier.model
    if isinstance(model, AveragedModel):
        average = averaged(graph, model, rows, integrate=integrate)
        scores = numbers = graph.node("Add", average, refused, output=name)
    else:
        scores = graph.node("Add", scored(graph, model, rows, integrate=integrate), refused)
        if classifier.has_posterior:
            numbers = _posterior(graph, scores, classifier.temperature, output=name)
        else:
            name = "scores"
            numbers = graph.node("Identity", scores, output=name)
    code, labels = _decided(classifier, graph, scores, numbers)
    kind = _label_kind(labels)
    empty = {"STRING": "", "DOUBLE": np.nan}.get(kind, np.iinfo(np.int64).min)
    values = labels.tolist() if kind != "STRING" else [x or "" for x in labels.tolist()]
    values = np.array([*values, empty], object if kind == "STRING" else labels.dtype)
    finite = numbers if classifier.has_posterior else graph.node("Mul", scores, np.array(0.0))
    unscored = graph.node("IsNaN", graph.total(finite, keep=False))
    code = graph.node("Where", unscored, np.array(len(labels)), code)
    graph.node("Gather", graph.constant(values), code, axis=0, output="label")
    outputs = [
        graph.value("label", kind, ["n"]),
        graph.value(name, "DOUBLE", ["n", len(classifier.classes)]),
    ]
    return graph.model(inputs, outputs, _notes(classifier))


def _inputs(graph: Graph, classifier: Classifier) -> tuple[list[Any], str]:
    """Return the declarations of the inputs, and rows as the model reads them, (n, d)."""
    encoding = classifier.encoding
    if encoding is None:
        return [graph.value("X", "DOUBLE", ["n", classifier.n_features])], "X"
    clash = {"label", "probabilities"} & set(classifier.columns)
    if clash:
        msg = f"column {min(clash)!r} has the name of an output of the graph: rename it"
        raise InvalidParameterError(msg)
    kinds = {c.name: "DOUBLE" if c.kind == "number" else "STRING" for c in encoding.schema.columns}
    inputs = [graph.value(name, kinds[name], ["n", 1]) for name in classifier.columns]
    return inputs, graph.node("Concat", *_encoded(graph, encoding), axis=1)


def _encoded(graph: Graph, encoding: Encoding) -> list[str]:
    """Return numbers, indicators of empty cells and those of levels; NaN is not observed."""
    schema, marks = encoding.schema, list[str]()
    columns = [number.name for number in schema.numbers]
    for j in schema.filled:
        empty, fill = graph.node("IsNaN", columns[j]), np.array(schema.numbers[j].fill)
        marks.append(graph.is_nan(columns[j]))
        columns[j] = graph.node("Where", empty, fill, columns[j])
    levels = [
        _indicators(graph, category, reference)
        for category, reference in zip(schema.categories, encoding.reference, strict=True)
        if category.n_levels > 1
    ]
    return [*columns, *marks, *levels]


def _indicators(graph: Graph, category: Category, reference: int) -> str:
    """Return the indicators of a column's levels, (n, L − 1); "" is an empty cell."""
    n, unknown = len(category.levels), category.n_levels
    codes = {"": n if category.missing else unknown}
    codes |= {level: at for at, level in enumerate(category.levels)}
    code = graph.node(
        "LabelEncoder",
        category.name,
        domain=_ML,
        keys_strings=list(codes),
        values_int64s=list(codes.values()),
        default_int64=unknown - 1 if category.other else unknown,
    )
    table = np.vstack([np.eye(unknown), np.full(unknown, np.nan)])
    kept = np.delete(table, reference, axis=1)
    return graph.node("GatherND", graph.constant(kept), code)


@dataclass(frozen=True, slots=True, eq=False)
class Holes:
    """Rows with holes: which they are, and their features that are missing."""

    at: str  # (m, 1)
    missing: str  # 1 or 0  (m, d)

    @classmethod
    def of(cls, graph: Graph, rows: str) -> Holes:
        """Return those of rows in which NaN is a hole."""
        missing = graph.is_nan(rows)
        some = graph.node("Greater", graph.total(missing, keep=False), np.array(0.5))
        at = graph.node("Transpose", graph.node("NonZero", some), perm=[1, 0])
        return cls(at, graph.node("GatherND", missing, at))


def scored(graph: Graph, model: Any, rows: str, *, integrate: bool) -> str:
    """Return the scores of a model, (n, K); where rows have NaN, those of what was observed."""
    formula: Formula = model.formula
    d = len(formula.scorer.origin)
    numbers = graph.columns(rows, range(d)) if formula.levels else rows
    found = quadrics(formula) if integrate else []
    if d > MOST_WITH_HOLES and not all(quadric.is_diagonal for quadric in found):
        found = []
    x = _measured(graph, formula, numbers)
    x = graph.node("Where", graph.node("IsNaN", numbers), np.array(0.0), x) if found else x
    base = _base(formula, graph, x)
    scores = _bent(graph, formula, base)
    if found:
        holes = Holes.of(graph, numbers)
        own = (graph.node("GatherND", each, holes.at) for each in (base, x))
        scores = graph.node(
            "ScatterND", scores, holes.at, _marginal(graph, formula, found, holes, *own)
        )
    if formula.levels:
        scores = graph.node("Add", scores, _levels(graph, formula, rows))
    if not found:
        return scores
    nothing = _all_missing(graph, rows, model.n_features)
    return graph.node("Where", nothing, _lowest(empty_scores(model))[None], scores)


def _measured(graph: Graph, formula: Formula, numbers: str) -> str:
    """Return transformed numbers from the origin of the scores."""
    d, power = len(formula.scorer.origin), formula.power
    moved = numbers
    if power is not None:
        moved = transformed(graph, power.select(np.arange(d)), numbers)
    return graph.affine(moved, formula.scorer.origin)


def _all_missing(graph: Graph, rows: str, d: int) -> str:
    return graph.node("Greater", graph.total(graph.is_nan(rows)), np.array(d - 0.5))


def _base(formula: Formula, graph: Graph, x: str) -> str:
    """Return a_k of every class, or Δ² where tails bend it, (n, K)."""
    parts = formula.scorer.parts
    if isinstance(parts[0], Linear):
        product = graph.node("MatMul", x, parts[0].weights.T.copy())
        return graph.node("Add", product, _lowest(formula.constants)[None])
    columns = [column for part in parts for column in _distances(graph, part, x)]
    distances = _by_class(graph, columns, parts)
    if formula.tail is not None:
        return distances
    half = graph.node("Mul", distances, np.array(-0.5))
    return graph.node("Add", half, _lowest(formula.constants)[None])


def _by_class(graph: Graph, columns: list[str], parts: Any, axis: int = 1) -> str:
    """Return what parts say of their classes, in the order of the classes."""
    codes = [k for part in parts for k in part.classes.tolist()]
    joined = graph.node("Concat", *columns, axis=axis)
    if codes == sorted(codes):
        return joined
    return graph.node("Gather", joined, np.argsort(codes), axis=axis)


def _bent(graph: Graph, formula: Formula, base: str, n_missing: str | None = None) -> str:
    """Return c − p log(1 + s Δ²) where there is a tail."""
    tail = formula.tail
    if tail is None:
        return base
    constants, powers = graph.constant(_lowest(tail.constants)[None]), graph.constant(tail.powers)
    if n_missing is not None:
        gains = graph.constant(tail_constants(tail, len(formula.scorer.origin)))
        count = graph.node("Cast", n_missing, to=7)  # 64-bit integers
        constants = graph.node("Add", constants, graph.node("GatherND", gains, count))
        powers = graph.node("Sub", powers, graph.node("Mul", n_missing, np.array(0.5)))
    inner = graph.node("Mul", base, tail.shares[None])
    logs = graph.node("Log", graph.node("Add", inner, np.array(1.0)))
    return graph.node("Sub", constants, graph.node("Mul", logs, powers))


def _marginal(
    graph: Graph, formula: Formula, found: list[Quadric], holes: Holes, base: str, x: str
) -> str:
    """Return the scores of rows with holes, (m, K), from those at the origin in each hole."""
    drops, log_dets = [], []
    for quadric in found:
        drop, _, log_det = _solved(graph, quadric, holes, x)
        drops.append(drop)
        log_dets.append(graph.node("Mul", log_det, np.ones((1, len(quadric.classes)))))
    drop, log_det = (_by_class(graph, each, found) for each in (drops, log_dets))
    half = graph.node("Mul", log_det, np.array(0.5))
    if formula.tail is not None:
        bent = _bent(graph, formula, graph.node("Sub", base, drop), graph.total(holes.missing))
        return graph.node("Sub", bent, half)
    gain = graph.node("Sub", graph.node("Mul", drop, np.array(0.5)), half)
    return graph.node("Add", base, gain)


def _solved(graph: Graph, quadric: Quadric, holes: Holes, x: str) -> tuple[str, str, str]:
    """Return g_mᵀ P_mm⁻¹ g_m, (m, c), P_mm⁻¹ g_m, (m, d, c), and log|P_mm|, (m, 1)."""
    root = np.sqrt(np.diagonal(quadric.precision))[:, None]
    # each feature in its own unit, so that P has ones on its diagonal
    unit, d = quadric.scaled(1 / root[:, 0]), len(root)
    missing = graph.node("Unsqueeze", holes.missing, np.array([2]))
    product = graph.node("MatMul", x, (quadric.precision / root).T.copy())
    product = graph.node("Unsqueeze", product, np.array([2]))
    g = graph.node("Mul", graph.node("Sub", product, unit.pulls.T[None].copy()), missing)
    solved, log_det = g, graph.node("MatMul", holes.missing, 2 * np.log(root))
    if not quadric.is_diagonal:
        # the identity in the place of observed features: [B | g] → [I | B⁻¹ g], B_mm = P_mm
        across = graph.node("Unsqueeze", holes.missing, np.array([1]))
        others = (unit.precision - np.eye(d))[None]
        block = graph.node("Mul", graph.node("Mul", missing, across), others)
        system = graph.node("Concat", graph.node("Add", block, np.eye(d)[None]), g, axis=2)
        pivots = []
        for j in range(d):
            row = graph.columns(system, [j])
            pivots.append(graph.node("Gather", row, np.array([j]), axis=2))
            row = graph.node("Div", row, pivots[-1])
            column = graph.node("Gather", system, np.array([j]), axis=2)
            column = graph.node("Sub", column, np.eye(d)[None, :, [j]])
            system = graph.node("Sub", system, graph.node("Mul", column, row))
        solved = graph.node("Gather", system, d + np.arange(len(quadric.classes)), axis=2)
        logs = graph.node("Log", graph.node("Concat", *pivots, axis=1))
        log_det = graph.node("Add", log_det, graph.total(logs, keep=False))
    drop = graph.total(graph.node("Mul", g, solved), keep=False)
    return drop, graph.node("Div", solved, root[None]), log_det


def _levels(graph: Graph, formula: Formula, rows: str) -> str:
    """Return Σ log p(level | k) of known levels, (n, K)."""
    start = len(formula.scorer.origin)
    sizes = [term.shape[1] - 1 for term in formula.levels]
    first, known = (
        start + np.cumsum([0, *sizes[:-1]]),
        _lowest(np.stack([t[:, 0] for t in formula.levels])),
    )
    features = graph.columns(rows, range(start, start + sum(sizes)))
    # log p of the reference where the category is known, and what another level adds to it
    more = np.hstack([_lowest(t[:, 1:]) - _lowest(t[:, :1]) for t in formula.levels]).T.copy()
    seen = graph.node("Sub", np.array(1.0), graph.is_nan(graph.columns(rows, first)))
    references = graph.node("MatMul", seen, known)
    return graph.node("Add", references, graph.node("MatMul", graph.without_nan(features), more))


def averaged(graph: Graph, model: AveragedModel, rows: str, *, integrate: bool) -> str:
    """Return the average of the posteriors of its members, (n, K)."""
    members, seen = own_members(model), graph.columns(rows, model.features)
    filled = seen
    if integrate and not all(share.integrates for share in model.shares):
        filled = graph.columns(_imputed(graph, model.best, rows), model.features)
    total = graph.constant(model.doubt * model.frequencies[None])
    for share, inner in members:
        own = integrate and share.integrates
        x = _viewed(graph, share.view, seen if own else filled)
        if own:  # what is missing stays so
            x = graph.node("Where", graph.node("IsNaN", seen), np.array(np.nan), x)
        scores = scored(graph, inner, x, integrate=own)
        posterior = _posterior(graph, scores, inner.temperature)
        if integrate and not own:
            nothing = _all_missing(graph, seen, len(model.features))
            posterior = graph.node("Where", nothing, inner.priors[None], posterior)
        weight = (1 - model.doubt) * share.weight
        total = graph.node("Add", total, graph.node("Mul", posterior, np.array(weight)))
    return total


def _viewed(graph: Graph, view: View, x: str) -> str:
    """Return rows as a view shows them."""
    if isinstance(view, PowerTransformed):
        return transformed(graph, view.transform, x)
    if isinstance(view, Softened):  # its noise is in the formula
        return _viewed(graph, view.below, x)
    if isinstance(view, LevelLogOdds):
        return graph.node("MatMul", _viewed(graph, view.below, x), view.change)
    if isinstance(view, PiecewiseLinear):
        far = graph.affine(graph.columns(x, view.features), view.left)
        return graph.node(
            "Clip", graph.node("Div", far, view.length[None]), np.array(0.0), np.array(1.0)
        )
    if isinstance(view, FourierFeatures):
        below = graph.affine(_viewed(graph, view.below, x), view.centre)
        z = graph.node("Div", below, view.scale[None])
        phase = graph.node("MatMul", z, view.frequencies)
        waves = graph.node("Cos", phase), graph.node("Sin", phase)
        return graph.node("Concat", z, *waves, axis=1)
    return x


def _imputed(graph: Graph, model: Any, rows: str) -> str:
    """Return rows, NaN replaced by Σ_k p(k | x_o) E[x_m | x_o, k], (n, d)."""
    formula: Formula = model.formula
    scores = scored(graph, model, rows, integrate=True)
    posterior = _posterior(graph, scores, model.temperature)
    x = graph.node(
        "Where", graph.node("IsNaN", rows), np.array(0.0), _measured(graph, formula, rows)
    )
    holes = Holes.of(graph, rows)
    p, own, x = (graph.node("GatherND", each, holes.at) for each in (posterior, rows, x))
    found = quadrics(formula)
    # E[x_m | x_o, k] = −P_mm⁻¹ g_m from the origin
    parts = [_solved(graph, quadric, holes, x)[1] for quadric in found]
    each = _by_class(graph, parts, found, axis=2)
    mean = graph.node("MatMul", each, graph.node("Unsqueeze", p, np.array([2])))
    moved = graph.node(
        "Sub", formula.scorer.origin[None], graph.node("Squeeze", mean, np.array([2]))
    )
    fill = moved if formula.power is None else restored(graph, formula.power, moved)
    whole = graph.node("Where", graph.node("IsNaN", own), fill, own)
    return graph.node("ScatterND", rows, holes.at, whole)


def _distances(graph: Graph, part: Any, x: str) -> list[str]:
    """Return Δ² of each class of a part, (n, 1)."""
    means = part.means
    if isinstance(part, Scaled):
        far = [graph.node("Div", graph.affine(x, mu), part.scale[None]) for mu in means]
    else:
        white = graph.node("MatMul", graph.affine(x, means[0]), part.whitening.T.copy())
        far = [graph.affine(white, mean) for mean in part.whitened_means]
    return [graph.total(graph.node("Mul", z, z)) for z in far]


def _posterior(graph: Graph, scores: str, temperature: float, *, output: str | None = None) -> str:
    """Return softmax(a / T), (n, K), the largest score taken off first; NaN where all are −∞."""
    top = graph.node("ReduceMax", scores, axes=[1], keepdims=1)
    lost = graph.node("Less", top, np.array(_LOWEST / 10))
    relative = graph.node("Sub", scores, graph.node("Where", lost, np.array(np.nan), top))
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
    """Return constants with a number that exp makes 0 in the place of −∞."""
    return np.where(np.isfinite(constants), constants, _LOWEST)


def _label_kind(labels: Labels) -> str:
    return {"f": "DOUBLE", "i": "INT64", "u": "INT64", "b": "INT64"}.get(
        labels.dtype.kind, "STRING"
    )


def _notes(classifier: Classifier) -> dict[str, str]:
    """Return what a reader of the file may want to know."""
    features = classifier.columns or [f"x{j}" for j in range(classifier.n_features)]
    return {
        "classes": json.dumps(classifier.classes.tolist(), ensure_ascii=False),
        "features": json.dumps(list(features), ensure_ascii=False),
    }
