"""A fitted classifier as an ONNX graph in 64-bit numbers."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from suffice.core.decision import Classifier, classifier_of
from suffice.core.model import views
from suffice.core.model.averaged import AveragedModel, Share, TemperedModel
from suffice.core.model.class_model import ClassModel
from suffice.core.model.linear import LinearModel
from suffice.core.model.scoring import Formula, LinearScores, MatrixPart, Scaled
from suffice.core.model.trees import BoostedTrees, Trees
from suffice.core.power_transform import Branch, PowerTransform
from suffice.core.table.schema import Category, Column
from suffice.errors import InvalidParameterError, extra
from suffice.export.fitted import Fitted, member_model, single_model
from suffice.export.graph import (
    ML,
    Deferred,
    Graph,
    Operand,
    concatenate,
    exp,
    expm1,
    is_missing,
    isnan,
    log,
    log1p,
    maximum,
    minimum,
    square,
    where,
)
from suffice.export.marginal import Marginal, empty_scores, integrates_missing, marginals
from suffice.persistence.archive import replacing
from suffice.typing import Codes, Floats, Labels

# most features for which a full covariance integrates missing features out
MOST_WITH_MISSING = 300
_LOWEST = -1e300  # replaces a score of −∞, which would become NaN in products


def to_onnx(estimator: Fitted, path: str | Path | None = None) -> Any:
    """Return an ONNX model in 64-bit numbers, and write it to ``path`` if given.

    The input is ``X`` (n, d). For a mixed table, each column has its own input (n, 1), which is
    text for a category. The outputs are ``label`` (n,) and ``probabilities`` (n, K), or ``scores``
    (n, K) for a classifier without posteriors. If a row is rejected or has no scores, its label is
    NaN or, among text labels, "". The function needs the extra ``onnx``.
    """
    extra("onnx", "onnx", "to_onnx")  # raise before any work is done
    model = _onnx_model(classifier_of(estimator))
    if path is not None:
        with replacing(path) as file:
            file.write(model.SerializeToString())
    return model


def _onnx_model(classifier: Classifier) -> Any:
    graph = Graph()
    inputs, rows = _inputs(graph, classifier)
    scores, posterior = _scores_and_posterior(classifier, rows)
    numbers = scores if posterior is None else posterior
    output = "scores" if posterior is None else "probabilities"
    graph.node("Identity", numbers, output=output)
    label_kind = _add_labels(graph, classifier, scores, posterior)
    outputs = [
        graph.declaration("label", label_kind, ["n"]),
        graph.declaration(output, "DOUBLE", ["n", len(classifier.classes)]),
    ]
    columns = classifier.columns or [f"x{j}" for j in range(classifier.n_features)]
    metadata = {
        "classes": json.dumps(classifier.classes.tolist(), ensure_ascii=False),
        "features": json.dumps(list(columns), ensure_ascii=False),
    }
    return graph.model(inputs, outputs, metadata)


def _scores_and_posterior(
    classifier: Classifier,
    rows: Deferred,
) -> tuple[Deferred, Deferred | None]:
    """Return scores (n, K), and posteriors or None. Rows that cannot be scored have NaN."""
    integrates = integrates_missing(classifier)
    # 0 · x is NaN if x is infinite, or if x is NaN and is not integrated out
    used = where(isnan(rows), 0.0, rows) if integrates else rows
    zero_or_nan = (0.0 * used).sum(1, keepdims=True)
    if isinstance(classifier.model, AveragedModel):
        posterior = averaged_posterior(classifier.model, rows, integrates=integrates)
        posterior = posterior + zero_or_nan
        return posterior, posterior
    scores = class_scores(single_model(classifier), rows, integrates=integrates) + zero_or_nan
    if not classifier.has_posterior:
        return scores, None
    return scores, _posterior(scores, classifier.temperature)


def _add_labels(
    graph: Graph,
    classifier: Classifier,
    scores: Deferred,
    posterior: Deferred | None,
) -> str:
    """Add the output ``label`` to the graph, and return its ONNX type."""
    decision = classifier.decision
    if decision.is_map or posterior is None:
        labels = classifier.classes
        code = graph.node("ArgMax", scores, axis=1, keepdims=0)
    else:
        labels = decision.actions
        code = graph.node("ArgMin", posterior @ decision.relative.T, axis=1, keepdims=0)
    # a row without scores gets the empty label, which is the last one
    finite_part = 0.0 * scores if posterior is None else posterior
    has_no_score = isnan(finite_part.sum(1))
    code = graph.node("Where", has_no_score, np.array(len(labels)), code)
    kind, labels_and_empty = _label_table(labels)
    graph.node("Gather", labels_and_empty, code, axis=0, output="label")
    return kind


def _label_table(labels: Labels) -> tuple[str, Labels]:
    """Return the ONNX type of the labels, and the labels followed by an empty label."""
    if labels.dtype.kind == "f":
        return "DOUBLE", np.append(labels.astype(np.float64), np.nan)
    if labels.dtype.kind in "iub":
        integers = np.iinfo(np.int64)
        if labels.max() > integers.max:
            raise InvalidParameterError(
                f"ONNX has no integer as large as the label {labels.max()}: fit the model to "
                "labels that are text"
            )
        return "INT64", np.append(labels.astype(np.int64), integers.min)
    texts = ["" if label is None else label for label in labels.tolist()]
    return "STRING", np.array([*texts, ""], object)


# --- rows ------------------------------------------------------------------------------------


def _inputs(graph: Graph, classifier: Classifier) -> tuple[list[Any], Deferred]:
    """Return the declarations of the inputs, and the rows in the form of the model, (n, d)."""
    encoding = classifier.encoding
    if encoding is None:
        declaration = graph.declaration("X", "DOUBLE", ["n", classifier.n_features])
        return [declaration], Deferred(graph, "X")
    schema = encoding.schema
    inputs = [_column_input(graph, each) for each in schema.columns if each.kind != "left out"]
    # features: numbers (NaN if missing), indicators of missing values, and indicators of levels
    columns = [Deferred(graph, number.name) for number in schema.numbers]
    empty_cells = []
    for j, fill in zip(schema.filled, schema.fills, strict=True):
        is_empty = isnan(columns[j])
        columns[j] = where(is_empty, fill, columns[j])
        empty_cells.append(is_empty.to_double())
    columns += empty_cells
    for category, reference in zip(schema.categories, encoding.reference, strict=True):
        if category.n_levels > 1:
            columns.append(_indicators(graph, category, reference))
    return inputs, concatenate(columns, axis=1)


def _column_input(graph: Graph, column: Column) -> Any:
    """Return the declaration of the input for one column of a mixed table."""
    if column.name in ("", "label", "probabilities"):
        raise InvalidParameterError(
            f"column {column.name!r} has the name of an output of the graph, or no name: rename "
            "it"
        )
    kind = "DOUBLE" if column.kind == "number" else "STRING"
    return graph.declaration(column.name, kind, ["n", 1])


def _indicators(graph: Graph, category: Category, reference: int) -> Deferred:
    """Return indicators of a column's levels, (n, L − 1); "" means missing."""
    unknown = category.n_levels  # code of an unknown level, whose row of the table is NaN
    codes = {"": len(category.levels) if category.missing else unknown}
    codes.update({level: code for code, level in enumerate(category.levels)})
    code_of_cell = graph.node(
        "LabelEncoder",
        Deferred(graph, category.name),
        domain=ML,
        keys_strings=list(codes),
        values_int64s=list(codes.values()),
        default_int64=unknown - 1 if category.other else unknown,
    )
    indicators = np.vstack([np.eye(unknown), np.full(unknown, np.nan)])
    table = graph.constant(np.delete(indicators, reference, axis=1))
    return table.rows_at(code_of_cell)


def _rows_with_missing(rows: Deferred) -> tuple[Deferred, Deferred]:
    """Return the indices (m, 1) of incomplete rows, and 1 for each missing feature (m, d)."""
    missing = is_missing(rows)
    columns = rows.graph.node("NonZero", missing.sum(1) > 0.5)
    row_indices = rows.graph.node("Transpose", columns, perm=[1, 0])
    return row_indices, missing.rows_at(row_indices)


def _all_missing(rows: Deferred, d: int) -> Deferred:
    return is_missing(rows).sum(1, keepdims=True) > d - 0.5


# --- scores ----------------------------------------------------------------------------------


def class_scores(
    model: ClassModel | LinearModel,
    rows: Deferred,
    *,
    integrates: bool,
) -> Deferred:
    """Return the scores of a model, (n, K); a feature that is NaN is missing."""
    formula = model.formula
    d = len(formula.scorer.origin)
    numbers = rows.take(np.arange(d), axis=1) if formula.levels else rows
    covariances = marginals(formula) if integrates else []
    if d > MOST_WITH_MISSING and not all(each.is_diagonal for each in covariances):
        covariances = []
    x = _relative_to_origin(formula, numbers)
    if covariances:
        x = where(isnan(numbers), 0.0, x)
    parts = formula.scorer.matrix_parts()
    base = _by_class([_part_scores(part, x) for part in parts], parts)
    scores = base
    tail = formula.tail
    if tail is not None:
        scores = _tailed(base, tail.constants, tail.powers, tail.shares)
    if covariances:
        row_indices, missing = _rows_with_missing(numbers)
        of_observed = _marginal_scores(
            formula, covariances, missing, base.rows_at(row_indices), x.rows_at(row_indices)
        )
        scores = scores.with_rows(row_indices, of_observed)
    if formula.levels:
        scores = scores + _level_terms(formula, rows)
    if covariances and isinstance(model, ClassModel):
        is_empty = _all_missing(rows, model.n_features)
        scores = where(is_empty, empty_scores(model), scores)
    if formula.class_of is None:
        return scores
    return _component_sums(scores, formula.class_of)


def _relative_to_origin(formula: Formula, numbers: Deferred) -> Deferred:
    """Return the rows after the power transform, relative to the origin of the scores."""
    origin = formula.scorer.origin
    if formula.power is not None:
        numbers = _transformed(formula.power.select(np.arange(len(origin))), numbers)
    return numbers - origin


def _part_scores(part: MatrixPart, x: Deferred) -> Deferred:
    """Return the scores of the m classes of a part, (n, m)."""
    if isinstance(part, LinearScores):
        # wₖᵀx + bₖ
        return x @ part.weights.T + part.constants
    if isinstance(part, Scaled):
        # Σⱼ ((xⱼ − μₖⱼ) / σⱼ)²
        differences = [(x - mu) / part.scale for mu in part.means]
    else:
        # |W (x − μ₀) − W (μₖ − μ₀)|²
        z = (x - part.means[0]) @ part.whitening.T
        differences = [z - m for m in part.whitened_means]
    distances = [square(each).sum(1, keepdims=True) for each in differences]
    return part.constants - 0.5 * concatenate(distances, axis=1)


def _tailed(scores: Deferred, constants: Operand, powers: Operand, shares: Floats) -> Deferred:
    """Return c_k − p_k log(1 + s_k Δ²), given −½ Δ² (n, K)."""
    return constants - powers * log1p(-2 * shares * scores)


def _by_class(
    arrays: Sequence[Deferred],
    parts: Sequence[MatrixPart] | Sequence[Marginal],
    axis: int = 1,
) -> Deferred:
    """Return the arrays of all parts joined, in the order of the classes."""
    codes = np.concatenate([part.classes for part in parts])
    joined = concatenate(arrays, axis)
    order = np.argsort(codes)
    if np.array_equal(order, np.arange(len(codes))):
        return joined
    return joined.take(order, axis)


def _marginal_scores(
    formula: Formula,
    covariances: Sequence[Marginal],
    missing: Deferred,
    base: Deferred,
    x: Deferred,
) -> Deferred:
    """Return the scores (m, K) of incomplete rows, from scores with zeros for missing values."""
    drops = []
    log_dets = []
    for marginal in covariances:
        drop, _, log_det = _solved(marginal, missing, x)
        drops.append(drop)
        log_dets.append(log_det * np.ones((1, len(marginal.classes))))
    # a_o = −½ (Δ² − drop) − ½ log|P_mm|, up to a constant; the tail has fewer degrees of freedom
    scores = base + 0.5 * _by_class(drops, covariances)
    tail = formula.tail
    if tail is not None:
        n_missing = missing.sum(1, keepdims=True)
        gains = x.graph.constant(tail.hole_constants(len(formula.scorer.origin)))
        constants = tail.constants + gains.rows_at(n_missing.to_integer())
        scores = _tailed(scores, constants, tail.powers - 0.5 * n_missing, tail.shares)
    return scores - 0.5 * _by_class(log_dets, covariances)


def _solved(
    marginal: Marginal,
    missing: Deferred,
    x: Deferred,
) -> tuple[Deferred, Deferred, Deferred]:
    """Return the terms by which missing features change scores, in the notation of ``Marginal``.

    For n incomplete rows and c classes, they are g_mᵀ P_mm⁻¹ g_m (n, c), P_mm⁻¹ g_m (n, d, c) with
    zeros for observed features, and log|P_mm| (n, 1).
    """
    d = len(marginal.precision)
    # scale each feature so that P has ones on its diagonal
    root = np.sqrt(np.diagonal(marginal.precision))[:, None]
    unit = marginal.scaled(1 / root[:, 0])
    is_hole = missing.new_axis(2)
    px = x @ (marginal.precision / root).T
    g = (px.new_axis(2) - unit.pulls.T) * is_hole
    log_det = missing @ (2 * np.log(root))
    if marginal.is_diagonal:
        solved = g
    else:
        # Gaussian elimination [B | g] → [I | B⁻¹ g], where B_mm = P_mm, and B is the identity for
        # observed features
        eye = np.eye(d)
        block = is_hole * missing.new_axis(1) * (unit.precision - eye) + eye
        system = concatenate([block, g], axis=2)
        pivots = []
        for j in range(d):
            row = system.take([j], axis=1)
            column = system.take([j], axis=2)
            pivot = row.take([j], axis=2)
            pivots.append(pivot)
            system = system - (column - eye[:, [j]]) * (row / pivot)
        solved = system.take(d + np.arange(len(marginal.classes)), axis=2)
        log_det = log_det + log(concatenate(pivots, axis=1)).sum(1)
    return (g * solved).sum(1), solved / root, log_det


def _level_terms(formula: Formula, rows: Deferred) -> Deferred:
    """Return Σ log p(level | k) over categories with a known level, (n, K)."""
    d = len(formula.scorer.origin)
    tables = [np.maximum(table, _LOWEST) for table in formula.levels]
    sizes = [table.shape[1] - 1 for table in tables]
    # If the level is known, the score is log p of the reference level plus, for other levels, the
    # difference from it.
    of_reference = np.stack([table[:, 0] for table in tables])
    added = np.hstack([table[:, 1:] - table[:, :1] for table in tables]).T
    first_indicators = d + np.cumsum([0, *sizes[:-1]])
    is_known = 1 - is_missing(rows.take(first_indicators, axis=1))
    indicators = rows.take(d + np.arange(sum(sizes)), axis=1)
    indicators = where(isnan(indicators), 0.0, indicators)
    return is_known @ of_reference + indicators @ added


def _component_sums(scores: Deferred, class_of: Codes) -> Deferred:
    """Return log Σ exp a over the components of each class, (n, K)."""
    sums = []
    for k in np.unique(class_of):
        components = scores.take(np.flatnonzero(class_of == k), axis=1)
        top = maximum(components.max(1, keepdims=True), _LOWEST)
        sums.append(top + log(exp(components - top).sum(1, keepdims=True)))
    return concatenate(sums, axis=1)


def _posterior(scores: Deferred, temperature: float) -> Deferred:
    """Return softmax(a / T), (n, K); NaN if all scores are −∞."""
    top = scores.max(1, keepdims=True)
    powers = exp((scores - where(top < _LOWEST / 10, np.nan, top)) / temperature)
    return powers / powers.sum(1, keepdims=True)


# --- power transform -------------------------------------------------------------------------


def _transformed(power: PowerTransform, x: Deferred) -> Deferred:
    """Return the transformed rows, (n, d): c + s P(z) for z ≥ 0, c − s P(−z) for z < 0."""
    up, down = power.branches
    z = (x - power.centre) / power.scale
    u = where(z >= 0, _branch(up, abs(z)), -_branch(down, abs(z)))
    return where(power.exponents == 1, x, power.centre + power.scale * u)


def _inverse_transformed(power: PowerTransform, y: Deferred) -> Deferred:
    """Return the rows whose power transform is ``y``, (n, d)."""
    up, down = power.branches
    v = (y - power.centre) / power.scale
    z = where(v >= 0, _inverse_branch(up, abs(v)), -_inverse_branch(down, abs(v)))
    return where(power.exponents == 1, y, power.centre + power.scale * z)


def _branch(branch: Branch, u: Deferred) -> Deferred:
    """Return P(u) = P(min(u, b)) + P′(b) max(u − b, 0)."""
    e = branch.exponent
    logs = minimum(log1p(u), branch.log_knee)
    # ((1 + u)^e − 1) / e,  log(1 + u) where e = 0
    curve = expm1(e * logs) / np.where(e == 0, 1.0, e)
    curve = where(e == 0, logs, curve)
    return curve + branch.slope * maximum(u - branch.knee, 0.0)


def _inverse_branch(branch: Branch, v: Deferred) -> Deferred:
    """Return u such that P(u) = v."""
    e = branch.exponent
    low = minimum(v, branch.top)
    # 1 + u = (1 + e v)^(1/e),  exp v where e = 0
    logs = where(e == 0, low, log1p(e * low) / np.where(e == 0, 1.0, e))
    return expm1(logs) + maximum(v - branch.top, 0.0) / branch.slope


# --- averages --------------------------------------------------------------------------------


def averaged_posterior(model: AveragedModel, rows: Deferred, *, integrates: bool) -> Deferred:
    """Return the average of the members' posteriors, (n, K)."""
    observed = rows.take(model.features, axis=1)
    filled = observed
    if integrates and not all(share.integrates for share in model.shares):
        filled = _imputed(model.best, rows).take(model.features, axis=1)
    mixture: Operand = np.zeros(model.n_classes)
    for share in model.shares:
        if integrates and share.integrates:
            x = _viewed(share.view, observed)
            # missing values stay missing, whatever the view computes for NaN
            x = where(isnan(observed), np.nan, x)
            posterior = _member_posterior(share, x, integrates=True)
        else:
            x = _viewed(share.view, filled)
            posterior = _member_posterior(share, x, integrates=False)
        mixture = mixture + share.weight * posterior
    # ε π_k + (1 − ε) m_k^(1/T) / Σ_j m_j^(1/T)
    powers = rows.graph.constant(mixture) ** (1 / model.temperature)
    shares = powers / powers.sum(1, keepdims=True)
    posterior = model.doubt * model.frequencies + (1 - model.doubt) * shares
    if integrates:
        is_empty = _all_missing(observed, len(model.features))
        posterior = where(is_empty, model.frequencies, posterior)
    return posterior


def _member_posterior(share: Share, x: Deferred, *, integrates: bool) -> Deferred:
    """Return a member's posterior for rows under its view, (n, K)."""
    model = member_model(share)
    if isinstance(model, Trees):
        posterior = _leaf_shares(model, x)
    elif isinstance(model, BoostedTrees):
        posterior = _posterior(_boosted_scores(model, x), 1.0)
    else:
        scores = class_scores(model, x, integrates=integrates)
        posterior = _posterior(scores, model.temperature)
    tempered = share.model
    if not isinstance(tempered, TemperedModel):
        return posterior
    # softmax(log((1 − ε) p + ε / K) / T)
    doubt = tempered.doubt
    smoothed = (1 - doubt) * posterior + doubt / tempered.inner.n_classes
    return _posterior(log(smoothed), tempered.temperature)


def _leaf_shares(trees: Trees, x: Deferred) -> Deferred:
    """Return the class shares of the leaf that a row reaches, averaged over trees, (n, K)."""
    n_nodes, n_classes = trees.shares.shape
    is_leaf = trees.left == np.arange(n_nodes)
    leaf_of_share = np.repeat(np.flatnonzero(is_leaf), n_classes)
    class_of_share = np.tile(np.arange(n_classes), is_leaf.sum())
    shares = trees.shares[is_leaf].ravel() / len(trees.roots)
    return _leaf_sums(trees, x, leaf_of_share, class_of_share, shares)


def _boosted_scores(trees: BoostedTrees, x: Deferred) -> Deferred:
    """Return b_k + Σ v, where v are the values of the leaves that a row reaches, (n, K)."""
    leaves = np.flatnonzero(trees.left == np.arange(len(trees.left)))
    class_of_leaf = trees.class_of_tree[_tree_of_nodes(trees)[leaves]]
    return _leaf_sums(trees, x, leaves, class_of_leaf, trees.value[leaves]) + trees.baseline


def _tree_of_nodes(trees: Trees | BoostedTrees) -> Codes:
    """Return the tree index of each node, (N,)."""
    nodes = np.arange(len(trees.left))
    return np.asarray(np.searchsorted(trees.roots, nodes, side="right") - 1)


def _leaf_sums(
    trees: Trees | BoostedTrees,
    x: Deferred,
    leaves: Codes,
    classes: Codes,
    values: Floats,
) -> Deferred:
    """Return the sums of values over the leaves that a row reaches, (n, K), in double precision.

    Each value (m,) belongs to a leaf (m,) and a class (m,).
    """
    tree = _tree_of_nodes(trees)
    first_node = trees.roots[tree]
    number = np.arange(len(tree)) - first_node  # index of each node within its tree
    is_leaf = trees.left == np.arange(len(tree))
    return x.graph.node(
        "TreeEnsembleRegressor",
        x,
        domain=ML,
        n_targets=trees.n_classes,
        aggregate_function="SUM",
        nodes_treeids=tree.tolist(),
        nodes_nodeids=number.tolist(),
        nodes_featureids=trees.feature.tolist(),
        nodes_values_as_tensor=x.graph.tensor(trees.threshold),
        nodes_modes=np.where(is_leaf, "LEAF", "BRANCH_LEQ").tolist(),
        nodes_truenodeids=np.where(is_leaf, 0, trees.left - first_node).tolist(),
        nodes_falsenodeids=np.where(is_leaf, 0, trees.right - first_node).tolist(),
        target_treeids=tree[leaves].tolist(),
        target_nodeids=number[leaves].tolist(),
        target_ids=classes.tolist(),
        target_weights_as_tensor=x.graph.tensor(values),
    ).to_double()


def _viewed(view: views.View, x: Deferred) -> Deferred:
    """Return rows under a view, (n, D)."""
    if isinstance(view, views.Plain):
        return x
    if isinstance(view, views.Softened):  # the member's formula includes its noise
        return _viewed(view.below, x)
    if isinstance(view, views.PowerTransformed):
        return _transformed(view.transform, x)
    if isinstance(view, views.PiecewiseLinear):
        pieces = (x.take(view.features, axis=1) - view.left) / view.length
        return maximum(minimum(pieces, 1.0), 0.0)
    z = (_viewed(view.below, x) - view.centre) / view.scale
    return concatenate([z, _nearness(view, z)], axis=1)


def _nearness(view: views.KernelFeatures, z: Deferred) -> Deferred:
    """Return the kernel between rows and landmarks, (n, m)."""
    landmarks = view.landmarks.T
    if view.kernel == "Laplace":
        # exp(−Σ_j |z_j − l_j| / ℓ)
        distance = abs(z.take([0], axis=1) - landmarks[[0]])
        for j in range(1, len(landmarks)):
            distance = distance + abs(z.take([j], axis=1) - landmarks[[j]])
        return exp(distance / -view.length)
    # exp(−½ |z − l|² / ℓ²)
    squares = square(z).sum(1, keepdims=True) + np.square(landmarks).sum(0)
    return exp((squares / 2 - z @ landmarks) / -(view.length**2))


def _imputed(model: ClassModel, rows: Deferred) -> Deferred:
    """Return rows with NaN replaced with Σ_k p(k | x_o) E[x_m | x_o, k], (n, d)."""
    formula = model.formula
    covariances = marginals(formula)
    row_indices, missing = _rows_with_missing(rows)
    posterior = _posterior(class_scores(model, rows, integrates=True), model.temperature)
    x = where(isnan(rows), 0.0, _relative_to_origin(formula, rows)).rows_at(row_indices)
    # E[x_m | x_o, k] = −P_mm⁻¹ g_m, relative to the origin
    solutions = [_solved(marginal, missing, x)[1] for marginal in covariances]
    each_class = _by_class(solutions, covariances, axis=2)
    weights = posterior.rows_at(row_indices).new_axis(1)
    fill = formula.scorer.origin - (each_class * weights).sum(2)
    if formula.power is not None:
        fill = _inverse_transformed(formula.power, fill)
    incomplete = rows.rows_at(row_indices)
    return rows.with_rows(row_indices, where(isnan(incomplete), fill, incomplete))
