"""The stages of an average of models: each member's view of the rows, its posteriors, their sum."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any

import numpy as np

from suffice.decision import Classifier
from suffice.errors import InvalidParameterError
from suffice.export.marginal import own_members
from suffice.export.reading import ColumnReading, Dialect, Stage, number, total, transformed, tree
from suffice.export.stages import Stages, decided, numbers_read, product
from suffice.model import views
from suffice.model.averaged import Share, TemperedModel, Trees
from suffice.model.scoring import Formula, Scorer
from suffice.typing import Floats

MOST_NODES = 60_000  # of trees
_LEVELS = 8  # of a tree in one stage: parsers limit how deep a formula may nest
_FAR = 1e30  # units beyond which a row has no answer, lest a power overflows


def averaged_stages(
    classifier: Classifier, dialect: Dialect, columns: Sequence[str], booleans: Collection[str]
) -> Iterator[Stage]:
    """Yield every stage; a row that lacks a feature has no answer."""
    model: Any = classifier.model
    d, k = model.n_features, len(classifier.classes)
    as_they_are = Formula(Scorer.linear(np.zeros(d), np.zeros((1, d)), np.zeros(1)))
    reading = ColumnReading(
        numbers_read(classifier), as_they_are, integrates=False, dialect=dialect
    )
    yield reading.raw(columns, booleans)
    measured = reading.measured()
    features = {f"f{at}": measured[f"c{j}"] for at, j in enumerate(model.features)}
    yield features
    known = tree([f"{f} IS NOT NULL" for f in features], lambda a, b: f"({a} AND {b})")
    # Σ_m s_m p_m(k | x), from ε π_k on
    first = [dialect.double_number(model.doubt * p) for p in model.frequencies]
    sums = {f"g{at}": f"CASE WHEN {known} THEN {p} END" for at, p in enumerate(first)}
    yield sums
    for share, _ in own_members(model):
        yield from _member(share, len(features), classifier, dialect)
        weight = number((1 - model.doubt) * share.weight)
        yield {f"g{at}": f"g{at} + {weight} * p{at}" for at in range(k)}
    yield {f"p{at}": f"g{at}" for at in range(k)}
    yield from decided(classifier, dialect)


def _member(share: Share, d: int, classifier: Classifier, dialect: Dialect) -> Iterator[Stage]:
    """Yield stages from features f0, f1 … to the posteriors p0, p1 … of a member."""
    yield from _seen(share.view, d)
    model: Any = share.model
    inner: Any = model.inner if isinstance(model, TemperedModel) else model
    if isinstance(inner, Trees):
        yield from _leaves(inner)
    else:
        alone = Stages.of(Classifier.of(classifier.classes, None, inner), dialect, 0)
        try:
            yield from alone.from_numbers()
        except InvalidParameterError as error:
            raise InvalidParameterError(f"the member over {share.view.name}: {error}") from None
    if isinstance(model, TemperedModel):
        k = len(model.priors)
        # softmax(log v / T),  v = (1 − ε) p + ε / K
        keep, least = number(1 - model.doubt), number(model.doubt / k)
        cooled = f"EXP(LN({keep} * p{{}} + {least}) / {number(model.temperature)})"
        powers = {f"e{at}": cooled.format(at) for at in range(k)}
        yield powers
        yield {"bottom": total(list(powers))}
        yield {f"p{at}": f"e{at} / bottom" for at in range(k)}


def _seen(view: views.View, d: int) -> Iterator[Stage]:
    """Yield stages from features f0, f1 … to those of a view, x0, x1 …."""
    if isinstance(view, views.PowerTransformed):
        power = view.transform
        moved = [transformed(power, j, f"f{j}") for j in range(d)]
        yield {f"x{j}": _near(f"f{j}", power.centre[j], power.scale[j], moved[j]) for j in range(d)}
    elif isinstance(view, views.PiecewiseLinear):
        pieces = enumerate(zip(view.features, view.left, view.length, strict=True))
        yield {f"x{i}": _piece(f"f{j}", left, length) for i, (j, left, length) in pieces}
    elif isinstance(view, views.Plain):
        yield {f"x{j}": f"f{j}" for j in range(d)}
    else:
        yield from _seen(view.below, d)
    if isinstance(view, views.FourierFeatures):
        units = enumerate(zip(view.centre, view.scale, strict=True))
        z = {
            f"z{j}": _near(f"x{j}", c, s, f"(x{j} - {number(c)}) / {number(s)}")
            for j, (c, s) in units
        }
        yield z
        n = view.frequencies.shape[1]
        yield {f"y{i}": product(view.frequencies[:, i], "z") for i in range(n)}
        waves = [f"{wave}(y{i})" for wave in ("COS", "SIN") for i in range(n)]
        yield {f"x{j}": each for j, each in enumerate([*z, *waves])}


def _near(x: str, centre: float, scale: float, value: str) -> str:
    return f"CASE WHEN ABS({x} - {number(centre)}) < {number(_FAR * scale)} THEN {value} END"


def _piece(x: str, left: float, length: float) -> str:
    """Return how far a feature is along a piece, from 0 to 1."""
    start, end = number(left), number(left + length)
    inside = f"({x} - {start}) / {number(length)}"
    return f"CASE WHEN {x} <= {start} THEN 0e0 WHEN {x} >= {end} THEN 1e0 ELSE {inside} END"


def _leaves(trees: Trees) -> Iterator[Stage]:
    """Yield stages that walk down all trees, some levels at a time, to the mean of their leaves.

    Where a tree has come to a leaf, its column holds −1, −2, … for the shares of that leaf.
    """
    if len(trees.left) > MOST_NODES:
        raise InvalidParameterError(
            f"the member extra trees has {len(trees.left)} nodes, and SQL takes {MOST_NODES}: use "
            "to_onnx(), fit AutoGaussian, which has no trees, or export best_estimator_"
        )
    nodes = np.arange(len(trees.left))
    is_leaf, bounds = trees.left == nodes, _bounds(trees.threshold)
    shares, kind = np.unique(trees.shares[is_leaf], axis=0, return_inverse=True)
    code = nodes.copy()
    code[is_leaf] = -1 - kind.ravel()

    def below(node: int, levels: int) -> tuple[str, list[int]]:
        """Return where a node leads, and the nodes there that are no leaves."""
        if is_leaf[node] or not levels:
            return str(code[node]), [] if is_leaf[node] else [node]
        (left, some), (right, more) = (
            below(way[node], levels - 1) for way in (trees.left, trees.right)
        )
        here = f"x{trees.feature[node]} <= {number(bounds[node])}"
        return f"CASE WHEN {here} THEN {left} ELSE {right} END", some + more

    inside = {f"l{t}": [root] for t, root in enumerate(trees.roots)}
    walk = {at: str(root) for at, (root,) in inside.items()}
    yield dict(walk)
    while any(inside.values()):
        for at, here in inside.items():
            found = {node: below(node, _LEVELS) for node in here}
            cases = " ".join(f"WHEN {node} THEN {way}" for node, (way, _) in found.items())
            walk[at] = f"CASE {at} {cases} ELSE {at} END" if cases else at
            inside[at] = [node for _, ends in found.values() for node in ends]
        yield dict(walk)
    yield {f"p{k}": _mean_share(list(walk), of_class) for k, of_class in enumerate(shares.T)}


def _mean_share(leaves: Sequence[str], shares: Floats) -> str:
    """Return the mean over trees of the share of a class, (kinds of leaves,)."""
    some = [(-1 - at, share / len(leaves)) for at, share in enumerate(shares) if share]
    cases = " ".join(f"WHEN {at} THEN {number(share)}" for at, share in some)
    return total([f"CASE {leaf} {cases} ELSE 0e0 END" for leaf in leaves]) if cases else "0e0"


def _bounds(threshold: Floats) -> Floats:
    """Return the largest numbers that are rounded to single precision below each threshold."""
    low = threshold.astype(np.float32)
    # halfway to the next number: the even one of the two has it
    middle = (low.astype(float) + np.nextafter(low, np.float32(np.inf)).astype(float)) / 2
    below = np.nextafter(middle, -np.inf)
    return np.asarray(np.where(middle.astype(np.float32) <= low, middle, below))
