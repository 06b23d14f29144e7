"""A fitted classifier as a query in stages, and as an expression over an Ibis table."""

from collections.abc import Collection, Iterator, Sequence
from itertools import chain
from typing import Any

import numpy as np

from suffice.core.decision import Classifier, classifier_of
from suffice.core.model import views
from suffice.core.model.averaged import AveragedModel, Share, TemperedModel
from suffice.core.model.scoring import Formula, Scorer
from suffice.core.model.trees import Trees
from suffice.errors import FeatureMismatchError, InvalidParameterError
from suffice.export import reading as engines
from suffice.export.marginal import own_members
from suffice.export.reading import ROWS, ColumnReading, Dialect, Stage, added, double
from suffice.export.stages import Stages, carried, decided, numbers_read, product
from suffice.typing import Floats

MOST_TERMS = {
    None: 3_000,
    1: 10_000,
    0: 1 << 62,
}  # of a query, by how many holes a row may have
MOST_NODES = 60_000  # of trees
_LEVELS = 8  # of a tree in one stage: parsers limit how deep a formula may nest
_FAR = 1e30  # units of an average beyond which a row has no answer, lest a power overflows
_STAGE = "suffice_"  # unlike the name of a table, which SQLite would take for the stage itself


def to_sql(
    estimator: Any,
    table: str | Sequence[str],
    dialect: str = "duckdb",
    *,
    columns: Sequence[str] | None = None,
    keep: Sequence[str] = (),
    prefix: str = "",
    booleans: Sequence[str] = (),
) -> str:
    """Return the query of ``label`` and ``p_<class>`` of every row of a table.

    Parameters
    ----------
    table : str or list of str
        Its name, or its names from schema to table.
    dialect : {"duckdb", "postgres", "sqlite"}
    columns : list of str, optional
        The feature columns in order; by default those of fit.
    keep : list of str
        Columns to copy beside the answers.
    prefix : str
        Put before the name of every answer.
    booleans : list of str
        Numbers that are truth values, which PostgreSQL does not take for 1 and 0 by itself.

    Examples
    --------
    >>> from suffice import LDA
    >>> query = LDA().fit([[0.0], [1.0], [5.0]], ["a", "a", "b"]).to_sql("rows", columns=["x"])
    >>> print(query.splitlines()[-5:-1])
    ['SELECT', '  label AS "label",', '  p0 AS "p_a",', '  p1 AS "p_b"']
    """
    classifier, words = classifier_of(estimator), engines.dialect_of(dialect)
    inputs, names = column_names(classifier, columns), _named(table)
    answers = _answers(classifier, prefix)
    keep, booleans = tuple(dict.fromkeys(_named(keep))), _named(booleans)
    both = [column for column in keep if column in answers.values()]
    if both:
        msg = f"column {both[0]!r} is kept, and is an answer's name: use a prefix for the answers"
        raise InvalidParameterError(msg)
    if not all(names):
        msg = f"the table {'.'.join(names)!r} has an empty name: write schema.table, or table"
        raise InvalidParameterError(msg)
    words.refuse_long(answers.values())
    words.refuse_twins([*inputs, *keep], "table")
    words.refuse_twins([*keep, *answers.values()], "answer")
    words.refuse_large(classifier.decision.actions.tolist())
    kept = {f"k{at}": engines.column_of_rows(column) for at, column in enumerate(keep)}
    final = {**dict(zip(kept, keep, strict=True)), **answers}
    for written in _written(classifier, words, inputs, booleans):
        first, *others = written
        stages = carried([{**kept, **first}, *others], final)
        width = max(map(len, stages))
        if width <= words.most_columns:
            break
    words.refuse_wide(width)
    return _query(stages, ".".join(map(engines.name, names)), final, words)


def _named(names: str | Sequence[str]) -> Sequence[str]:
    """Return a list of names, also of one: its letters are no names."""
    return [names] if isinstance(names, str) else names


def _written(
    classifier: Classifier,
    dialect: Dialect,
    columns: Sequence[str],
    booleans: Sequence[str],
) -> Iterator[Iterator[Stage]]:
    """Yield stages that take as many holes in a row as is not too long for a query, then fewer."""
    if isinstance(classifier.model, AveragedModel):
        yield _averaged(classifier, dialect, columns, booleans)
        return
    for most_holes, most_terms in MOST_TERMS.items():
        written = Stages.of(classifier, dialect, most_holes)
        if written.n_terms <= most_terms:
            yield chain([written.reading.raw(columns, booleans)], written.from_numbers())


def _query(stages: list[Stage], source: str, final: Stage, dialect: Dialect) -> str:
    lines, before = [], f"{source} AS {ROWS}"
    for at, stage in enumerate(stages):
        selected = ",\n    ".join(c if c == e else f"{e} AS {c}" for c, e in stage.items())
        fence = f"\n  {dialect.fence}" if dialect.fence else ""
        body = f"(\n  SELECT\n    {selected}\n  FROM {before}{fence}\n)"
        lines.append(f"{_STAGE}{at} AS {dialect.materialized} {body}")
        before = f"{_STAGE}{at}"
    answer = ",\n  ".join(
        f"{column} AS {engines.name(title)}" for column, title in final.items()
    )
    return f"WITH {', '.join(lines)}\nSELECT\n  {answer}\nFROM {before}"


def _averaged(
    classifier: Classifier,
    dialect: Dialect,
    columns: Sequence[str],
    booleans: Collection[str],
) -> Iterator[Stage]:
    """Yield the stages of an average; a row that lacks a feature has no answer."""
    model: Any = classifier.model
    d, k = model.n_features, len(classifier.classes)
    as_is = Formula(Scorer.linear(np.zeros(d), np.zeros((1, d)), np.zeros(1)))
    reading = ColumnReading(numbers_read(classifier), as_is, integrates=False, dialect=dialect)
    yield reading.raw(columns, booleans)
    measured = reading.measured()
    features = {f"f{at}": measured[f"c{j}"] for at, j in enumerate(model.features)}
    yield features
    known = engines.tree([f"{f} IS NOT NULL" for f in features], lambda a, b: f"({a} AND {b})")
    # Σ_m s_m p_m(k | x), from ε π_k on
    first = [dialect.as_double(model.doubt * p) for p in model.frequencies]
    yield {f"g{at}": f"CASE WHEN {known} THEN {p} END" for at, p in enumerate(first)}
    for share in own_members(model):
        yield from _member(share, len(features), classifier, dialect)
        weight = double((1 - model.doubt) * share.weight)
        yield {f"g{at}": f"g{at} + {weight} * p{at}" for at in range(k)}
    yield {f"p{at}": f"g{at}" for at in range(k)}
    yield from decided(classifier, dialect)


def _member(share: Share, d: int, classifier: Classifier, dialect: Dialect) -> Iterator[Stage]:
    """Yield stages from features f0, f1 … to the posteriors p0, p1 … of a member."""
    yield from _seen(share.view, d, dialect)
    model: Any = share.model
    inner: Any = model.inner if isinstance(model, TemperedModel) else model
    if isinstance(inner, Trees):
        yield from _leaves(inner)
    else:
        alone = Stages.of(Classifier.of(classifier.classes, None, inner), dialect, 0)
        try:
            yield from alone.from_numbers()
        except InvalidParameterError as error:
            raise InvalidParameterError(
                f"the member over {share.view.name}: {error}"
            ) from None
    if isinstance(model, TemperedModel):
        k = inner.n_classes
        # softmax(log v / T),  v = (1 − ε) p + ε / K
        keep, least = double(1 - model.doubt), double(model.doubt / k)
        cooled = f"EXP(LN({keep} * p{{}} + {least}) / {double(model.temperature)})"
        powers = {f"e{at}": cooled.format(at) for at in range(k)}
        yield powers
        yield {"bottom": added(list(powers))}
        yield {f"p{at}": f"e{at} / bottom" for at in range(k)}


def _seen(view: views.View, d: int, dialect: Dialect) -> Iterator[Stage]:
    """Yield stages from features f0, f1 … to those of a view, x0, x1 …."""
    if isinstance(view, views.PowerTransformed):
        power = view.transform
        moved = [engines.power_transformed(power, j, f"f{j}") for j in range(d)]
        yield {
            f"x{j}": _near(f"f{j}", power.centre[j], power.scale[j], moved[j])
            for j in range(d)
        }
    elif isinstance(view, views.PiecewiseLinear):
        pieces = enumerate(zip(view.features, view.left, view.length, strict=True))
        yield {f"x{i}": _piece(f"f{j}", left, length) for i, (j, left, length) in pieces}
    elif isinstance(view, views.Plain):
        yield {f"x{j}": f"f{j}" for j in range(d)}
    else:
        yield from _seen(view.below, d, dialect)
    if isinstance(view, views.KernelFeatures):
        units = enumerate(zip(view.centre, view.scale, strict=True))
        z = {f"z{j}": _near(f"x{j}", c, s) for j, (c, s) in units}
        yield z
        yield from _log_kernel(view)
        more = [dialect.exponential(f"y{i}") for i in range(len(view.landmarks))]
        yield {f"x{j}": each for j, each in enumerate([*z, *more])}


def _log_kernel(view: views.KernelFeatures) -> Iterator[Stage]:
    """Yield stages from features z0, z1 … to the logarithm of the kernel at each landmark."""
    if view.kernel == "Laplace":
        apart = (
            [f"ABS(z{j} - {double(v)})" for j, v in enumerate(row)] for row in view.landmarks
        )
        unit = double(-view.length)
        yield {f"y{i}": f"{added(each)} / {unit}" for i, each in enumerate(apart)}
        return
    # −½ |z − l|² / ℓ²
    yield {"q": added([f"z{j} * z{j}" for j in range(len(view.centre))])}
    halves, unit = enumerate(np.square(view.landmarks).sum(1) / 2), double(view.length**2)
    near = (
        f"{product(view.landmarks[i], 'z')} - {double(half)} - 5e-1 * q" for i, half in halves
    )
    yield {f"y{i}": f"({each}) / {unit}" for i, each in enumerate(near)}


def _near(x: str, centre: float, scale: float, value: str = "") -> str:
    c, found = double(centre), value or f"({x} - {double(centre)}) / {double(scale)}"
    return f"CASE WHEN ABS({x} - {c}) < {double(_FAR * scale)} THEN {found} END"


def _piece(x: str, left: float, length: float) -> str:
    """Return how far a feature is along a piece, from 0 to 1."""
    start, end = double(left), double(left + length)
    inside = f"({x} - {start}) / {double(length)}"
    return f"CASE WHEN {x} <= {start} THEN 0e0 WHEN {x} >= {end} THEN 1e0 ELSE {inside} END"


def _leaves(trees: Trees) -> Iterator[Stage]:
    """Yield stages that walk down all trees, some levels at a time, to the mean of their leaves."""
    # where a tree has come to a leaf, its column holds −1, −2, … for the shares of that leaf
    if len(trees.left) > MOST_NODES:
        raise InvalidParameterError(
            f"a member of trees has {len(trees.left)} nodes, and SQL takes {MOST_NODES}: use "
            "to_onnx(), fit AutoGaussian, which has no trees, or export best_estimator_"
        )
    code, bounds = np.arange(len(trees.left)), _bounds(trees.threshold)
    is_leaf = trees.left == code
    shares, kind = np.unique(trees.shares[is_leaf], axis=0, return_inverse=True)
    code[is_leaf] = -1 - kind.ravel()

    def below(node: int, levels: int) -> tuple[str, list[int]]:
        """Return where a node leads, and the nodes there that are no leaves."""
        if is_leaf[node] or not levels:
            return str(code[node]), [] if is_leaf[node] else [node]
        both = (below(way[node], levels - 1) for way in (trees.left, trees.right))
        (left, some), (right, more) = both
        here = f"x{trees.feature[node]} <= {double(bounds[node])}"
        return f"CASE WHEN {here} THEN {left} ELSE {right} END", some + more

    inside = {f"l{t}": [root] for t, root in enumerate(trees.roots)}
    yield {at: str(root) for at, (root,) in inside.items()}
    while walking := {at: here for at, here in inside.items() if here}:
        walk = {}
        for at, here in walking.items():
            found = {node: below(node, _LEVELS) for node in here}
            cases = " ".join(f"WHEN {node} THEN {way}" for node, (way, _) in found.items())
            walk[at] = f"CASE {at} {cases} ELSE {at} END"
            inside[at] = [node for _, ends in found.values() for node in ends]
        yield walk
    means = {}
    for k, of_class in enumerate(shares.T / len(inside)):
        some = [f"WHEN {-1 - at} THEN {double(p)}" for at, p in enumerate(of_class) if p]
        each = [f"CASE {at} {' '.join(some)} ELSE 0e0 END" for at in inside]
        means[f"p{k}"] = added(each) if some else "0e0"
    yield means


def _bounds(threshold: Floats) -> Floats:
    """Return the largest numbers that are rounded to single precision below each threshold."""
    low = threshold.astype(np.float32)
    # halfway to the next number: the even one of the two has it
    middle = (low.astype(float) + np.nextafter(low, np.float32(np.inf)).astype(float)) / 2
    below = np.nextafter(middle, -np.inf)
    return np.asarray(np.where(middle.astype(np.float32) <= low, middle, below))


def _answers(classifier: Classifier, prefix: str) -> Stage:
    classes = classifier.classes.tolist()
    kind, letter = ("p", "p") if classifier.has_posterior else ("score", "a")
    columns = {f"{letter}{k}": f"{prefix}{kind}_{label}" for k, label in enumerate(classes)}
    if not classifier.has_posterior and len(classes) == 2:
        columns = {"a1": f"{prefix}score"}  # of the second class against the first
    return {"label": f"{prefix}label", **columns}


def column_names(classifier: Classifier, named: Sequence[str] | None) -> tuple[str, ...]:
    """Return the names of the feature columns: those given, or those seen in fit."""
    d = classifier.n_features
    if named is None and not classifier.columns:
        raise FeatureMismatchError(
            f"the model knows no column names: name its {d} columns, in order, "
            "by columns=[...], or fit it on a frame"
        )
    columns = tuple(classifier.columns if named is None else _named(named))
    if len(columns) != d:
        raise FeatureMismatchError(
            f"{len(columns)} columns are named, but the model reads {d}"
        )
    return columns


def to_ibis(
    estimator: Any,
    table: Any,
    *,
    columns: Sequence[str] | None = None,
    keep: Sequence[str] | None = None,
    prefix: str = "",
) -> Any:
    """Return an Ibis table of ``label`` and ``p_<class>``, computed by the table's database.

    Parameters are those of ``to_sql``; ``keep`` is by default every column that is no feature.
    """
    dialect = table.get_backend().name
    if keep is None:
        taken = set(column_names(classifier_of(estimator), columns))
        keep = [column for column in table.columns if column not in taken]
    truths = [column for column, kind in table.schema().items() if kind.is_boolean()]
    known: Any = {"columns": columns, "keep": keep, "prefix": prefix, "booleans": truths}
    return table.alias(ROWS).sql(to_sql(estimator, ROWS, dialect, **known))
