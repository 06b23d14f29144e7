"""Query stages for an average of models: views of the features, and members' posteriors."""

from collections.abc import Collection, Iterator, Sequence

import numpy as np

from suffice.core.decision import Classifier
from suffice.core.model import views
from suffice.core.model.averaged import AveragedModel, Share, TemperedModel
from suffice.core.model.scoring import Formula, Scorer
from suffice.core.model.trees import BoostedTrees, Trees
from suffice.errors import InvalidParameterError
from suffice.export.dialect import Dialect, Stage, added, all_of, double, product
from suffice.export.fitted import member_model
from suffice.export.reading import ColumnReading, power_transformed
from suffice.export.stages import Stages, columns_read, decision_stages
from suffice.typing import Codes, Flags, Floats

MOST_NODES = 60_000  # limit on the nodes of all trees of a member
LEVELS = 8  # number of levels of a tree per stage; parsers limit the depth of formulas
# rows farther away, in units of a feature, get no prediction, because powers could overflow
_FAR = 1e30


def average_stages(
    classifier: Classifier,
    model: AveragedModel,
    dialect: Dialect,
    columns: Sequence[str],
    booleans: Collection[str],
) -> Iterator[Stage]:
    """Yield the stages of an average; a row with a missing feature gets no prediction."""
    d = model.n_features
    n_classes = len(classifier.classes)
    # the features are not scaled: the origin is 0 and the unit is 1
    as_is = Formula(Scorer.linear(np.zeros(d), np.zeros((1, d)), np.zeros(1)))
    reading = ColumnReading(
        encoding=columns_read(classifier),
        formula=as_is,
        integrates=False,
        dialect=dialect,
    )
    yield reading.raw(columns, booleans)
    measured = reading.measured()
    features = {f"f{i}": measured[f"c{j}"] for i, j in enumerate(model.features)}
    yield features
    # Σ_m s_m p_m(k | x)
    all_known = all_of([f"{feature} IS NOT NULL" for feature in features])
    zero = f"CASE WHEN {all_known} THEN {dialect.as_double(0.0)} END"
    yield {f"g{k}": zero for k in range(n_classes)}
    for share in model.shares:
        yield from _member_stages(share, len(features), classifier, dialect)
        weight = double(share.weight)
        yield {f"g{k}": f"g{k} + {weight} * p{k}" for k in range(n_classes)}
    yield from _posterior_stages(model)
    yield from decision_stages(classifier, dialect)


def _posterior_stages(model: AveragedModel) -> Iterator[Stage]:
    """Yield ε π_k + (1 − ε) g_k^(1/T) / Σ_j g_j^(1/T) from a mixture g0, g1, …."""
    power = double(1 / model.temperature)
    powers = {}
    for k in range(model.n_classes):
        # PostgreSQL raises an error if a power underflows
        powers[f"e{k}"] = (
            f"CASE WHEN g{k} > 1e-100 THEN POWER(g{k}, {power}) ELSE 0e0 * g{k} END"
        )
    yield powers
    yield {"bottom": added(list(powers))}
    posterior = {}
    for k, frequency in enumerate(model.frequencies):
        prior = double(model.doubt * frequency)
        posterior[f"p{k}"] = f"{prior} + {double(1 - model.doubt)} * e{k} / bottom"
    yield posterior


def _member_stages(
    share: Share,
    d: int,
    classifier: Classifier,
    dialect: Dialect,
) -> Iterator[Stage]:
    """Yield stages that turn features f0, f1, … into a member's posteriors p0, p1, …."""
    yield from _view_stages(share.view, d, dialect)
    model = member_model(share)
    if isinstance(model, Trees):
        yield from _forest_stages(model)
    elif isinstance(model, BoostedTrees):
        yield from _boosted_stages(model, dialect)
    else:
        member = Classifier.of(classifier.classes, None, model)
        stages = Stages.of(member, dialect, most_missing=0)
        try:
            yield from stages.from_numbers()
        except InvalidParameterError as error:
            raise InvalidParameterError(
                f"the member over {share.view.name} cannot be exported: {error}"
            ) from None
    if isinstance(share.model, TemperedModel):
        yield from _tempered_stages(share.model)


def _tempered_stages(model: TemperedModel) -> Iterator[Stage]:
    """Yield softmax(log v / T),  v = (1 − ε) p + ε / K, from posteriors p0, p1, …."""
    n_classes = model.inner.n_classes
    kept = double(1 - model.doubt)
    least = double(model.doubt / n_classes)
    temperature = double(model.temperature)
    powers = {}
    for k in range(n_classes):
        powers[f"e{k}"] = f"EXP(LN({kept} * p{k} + {least}) / {temperature})"
    yield powers
    yield {"bottom": added(list(powers))}
    yield {f"p{k}": f"e{k} / bottom" for k in range(n_classes)}


# --- views -----------------------------------------------------------------------------------


def _view_stages(view: views.View, d: int, dialect: Dialect) -> Iterator[Stage]:
    """Yield stages that turn features f0, f1, … into those of a view, x0, x1, …."""
    stage: Stage = {}
    if isinstance(
        view, views.Softened
    ):  # the formula of the member already includes the noise
        yield from _view_stages(view.below, d, dialect)
    elif isinstance(view, views.KernelFeatures):
        yield from _view_stages(view.below, d, dialect)
        yield from _kernel_stages(view, dialect)
    elif isinstance(view, views.PowerTransformed):
        power = view.transform
        for j in range(d):
            value = power_transformed(power, j, f"f{j}")
            stage[f"x{j}"] = _unless_far(f"f{j}", power.centre[j], power.scale[j], value)
        yield stage
    elif isinstance(view, views.PiecewiseLinear):
        pieces = zip(view.features, view.left, view.length, strict=True)
        for i, (j, left, length) in enumerate(pieces):
            stage[f"x{i}"] = _piece(f"f{j}", left, length)
        yield stage
    else:
        yield {f"x{j}": f"f{j}" for j in range(d)}


def _kernel_stages(view: views.KernelFeatures, dialect: Dialect) -> Iterator[Stage]:
    """Yield the standardised features and the kernel at each landmark, as x0, x1, …."""
    standardized = {}
    for j, (centre, scale) in enumerate(zip(view.centre, view.scale, strict=True)):
        value = f"(x{j} - {double(centre)}) / {double(scale)}"
        standardized[f"z{j}"] = _unless_far(f"x{j}", centre, scale, value)
    yield standardized
    if view.kernel == "Laplace":
        yield _laplace_logs(view)
    else:
        yield {"q": added([f"z{j} * z{j}" for j in range(len(view.centre))])}
        yield _gaussian_logs(view)
    kernels = [dialect.exponential(f"y{i}") for i in range(len(view.landmarks))]
    yield {f"x{j}": value for j, value in enumerate([*standardized, *kernels])}


def _laplace_logs(view: views.KernelFeatures) -> Stage:
    """Return −Σ_j |z_j − l_j| / ℓ for each landmark."""
    stage = {}
    for i, landmark in enumerate(view.landmarks):
        distances = [f"ABS(z{j} - {double(value)})" for j, value in enumerate(landmark)]
        stage[f"y{i}"] = f"{added(distances)} / {double(-view.length)}"
    return stage


def _gaussian_logs(view: views.KernelFeatures) -> Stage:
    """Return −½ |z − l|² / ℓ² for each landmark, from q = |z|²."""
    stage = {}
    halves = np.square(view.landmarks).sum(1) / 2
    for i, (landmark, half) in enumerate(zip(view.landmarks, halves, strict=True)):
        exponent = f"{product(landmark, 'z')} - {double(half)} - 5e-1 * q"
        stage[f"y{i}"] = f"({exponent}) / {double(view.length**2)}"
    return stage


def _unless_far(x: str, centre: float, scale: float, value: str) -> str:
    """Return a value, or NULL if ``x`` is too far from the centre."""
    return f"CASE WHEN ABS({x} - {double(centre)}) < {double(_FAR * scale)} THEN {value} END"


def _piece(x: str, left: float, length: float) -> str:
    """Return the position of a number along a linear piece, from 0 to 1."""
    start = double(left)
    end = double(left + length)
    inside = f"({x} - {start}) / {double(length)}"
    return f"CASE WHEN {x} <= {start} THEN 0e0 WHEN {x} >= {end} THEN 1e0 ELSE {inside} END"


# --- trees -----------------------------------------------------------------------------------


def _forest_stages(trees: Trees) -> Iterator[Stage]:
    """Yield stages that descend all trees and average the class shares of their leaves."""
    is_leaf = _are_leaves(trees)
    leaf_shares, which = np.unique(trees.shares[is_leaf], axis=0, return_inverse=True)
    yield from _descent_stages(trees, which.ravel())
    yield _mean_shares([f"l{t}" for t in range(len(trees.roots))], leaf_shares)


def _boosted_stages(trees: BoostedTrees, dialect: Dialect) -> Iterator[Stage]:
    """Yield stages that descend all trees and compute softmax(b_k + Σ v)."""
    is_leaf = _are_leaves(trees)
    leaf_values, which = np.unique(trees.value[is_leaf], return_inverse=True)
    yield from _descent_stages(trees, which.ravel())
    tree_of_leaf = np.searchsorted(trees.roots, np.flatnonzero(is_leaf), side="right") - 1
    terms: list[list[str]] = [[double(b)] for b in trees.baseline]
    for t, k in enumerate(trees.class_of_tree):
        numbers = np.unique(which[tree_of_leaf == t])
        cases = [f"WHEN {-1 - i} THEN {double(leaf_values[i])}" for i in numbers]
        terms[k].append(f"CASE l{t} {' '.join(cases)} ELSE 0e0 END")
    yield {f"a{k}": added(of_class) for k, of_class in enumerate(terms)}
    scores = [f"a{k}" for k in range(trees.n_classes)]
    # exp(a_k) / Σ exp(a_j), after subtracting the largest score
    yield {"top": dialect.largest(scores)}
    yield {f"e{k}": dialect.exponential(f"({score} - top)") for k, score in enumerate(scores)}
    yield {"bottom": added([f"e{k}" for k in range(trees.n_classes)])}
    yield {f"p{k}": f"e{k} / bottom" for k in range(trees.n_classes)}


def _are_leaves(trees: Trees | BoostedTrees) -> Flags:
    return np.asarray(trees.left == np.arange(len(trees.left)))


def _descent_stages(trees: Trees | BoostedTrees, leaf_numbers: Codes) -> Iterator[Stage]:
    """Yield stages that descend all trees, a few levels at a time.

    The columns l0, l1, … have the node that a row has reached in each tree, or −1 − i for leaf i.
    """
    n_nodes = len(trees.left)
    if n_nodes > MOST_NODES:
        raise InvalidParameterError(
            f"a member of trees has {n_nodes} nodes, and SQL takes {MOST_NODES}: use to_onnx(), "
            "fit AutoGaussian, which has no trees, or export best_estimator_"
        )
    codes = np.arange(n_nodes)
    codes[_are_leaves(trees)] = -1 - leaf_numbers
    # a tree that is a single leaf starts at the code of that leaf
    yield {f"l{t}": str(codes[root]) for t, root in enumerate(trees.roots)}
    reached = {f"l{t}": [int(r)] for t, r in enumerate(trees.roots) if codes[r] >= 0}
    while reached:
        stage = {}
        below = {}
        for column, nodes in reached.items():
            cases = []
            ends: list[int] = []
            for node in nodes:
                path, inner_nodes = _path(trees, codes, node, LEVELS)
                cases.append(f"WHEN {node} THEN {path}")
                ends += inner_nodes
            stage[column] = f"CASE {column} {' '.join(cases)} ELSE {column} END"
            if ends:
                below[column] = ends
        yield stage
        reached = below


def _path(
    trees: Trees | BoostedTrees,
    codes: Codes,
    node: int,
    n_levels: int,
) -> tuple[str, list[int]]:
    """Return an expression for the node after some levels, and the inner nodes it may reach."""
    if codes[node] < 0:
        return str(codes[node]), []
    if n_levels == 0:
        return str(node), [node]
    left, left_ends = _path(trees, codes, int(trees.left[node]), n_levels - 1)
    right, right_ends = _path(trees, codes, int(trees.right[node]), n_levels - 1)
    goes_left = f"x{trees.feature[node]} <= {double(trees.threshold[node])}"
    return f"CASE WHEN {goes_left} THEN {left} ELSE {right} END", left_ends + right_ends


def _mean_shares(columns: Sequence[str], leaf_shares: Floats) -> Stage:
    """Return the mean share of each class over the leaves that a row reaches in all trees."""
    stage = {}
    for k, shares in enumerate(leaf_shares.T / len(columns)):
        cases = [
            f"WHEN {-1 - i} THEN {double(share)}" for i, share in enumerate(shares) if share
        ]
        if cases:
            terms = [f"CASE {column} {' '.join(cases)} ELSE 0e0 END" for column in columns]
            stage[f"p{k}"] = added(terms)
        else:
            stage[f"p{k}"] = "0e0"
    return stage
