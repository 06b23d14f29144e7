"""Why the chosen model answers as it does: importance, effects, rows in a plane, its equation."""

from itertools import combinations
from typing import Any

import numpy as np
import polars as pl

from suffice.core.text.lists import listed, plural
from suffice.core.text.numbers import cell, count, number, percent
from suffice.evaluate.comparison.models import core
from suffice.evaluate.curves.feature_separation import separation, standardised_coefficients
from suffice.present.report import blocks as page
from suffice.present.report.charts import plane
from suffice.present.report.choosing import Findings
from suffice.present.report.documented import Profile
from suffice.present.report.explaining import local_effects, log_posteriors
from suffice.typing import Floats

MOST_EFFECTS, MOST_LINES, MOST_ROWS, MOST_NAMES, MOST_LEVELS = 4, 4, 500, 5, 8
MOST_AVERAGED = 6  # settings of an average that are shown
LOSSES = {
    "error": ("error", "percentage points of error", "points", " points"),
    "log_loss": ("log-loss", "units of log-loss", "loss", ""),
}
FEWEST_VALUES = 4  # of a column that is drawn as a curve


def why(f: Findings) -> page.Section:
    """Return the section that explains the chosen model."""
    single = f.sample.source is None and f.sample.table.n_features == 1
    effects = (
        _sigmoid(f) if single else () if f.many or f.held_out.logs is None else _effects(f)
    )
    blocks = (*_importance(f), *effects, *plane(f), *_chosen(f))
    return page.Section("why", "How it decides", blocks)


def _importance(f: Findings) -> tuple[page.Block, ...]:
    if not f.importance:
        left = (
            "A first look: importance, effects, learning curve and simulations are left out."
        )
        return (page.Paragraph(left, "note"),) if f.fast else ()
    most, needed = f.importance[0], [i.feature for i in f.importance if i.low > 0]
    what, axis, style, unit = LOSSES[most.loss]
    mean, *ends = (cell(value, style) for value in (most.mean, most.low, most.high))
    rise = f"{mean.removeprefix('+')}{unit}"
    if not needed:
        said = (
            f"No single column is needed: shuffling {most.feature} raises the {what} most, by "
            f"{rise} (95 % interval {' to '.join(ends)}), which may be chance."
        )
        return (page.Paragraph(said, "lead"),)
    names = listed(needed[:MOST_NAMES])
    said = f"It relies most on {names}: shuffling {most.feature} raises the {what} by {rise}."
    note = (
        "On held-out rows, with 95 % intervals. Strongly correlated columns are to be judged "
        "together: one may stand in for another, and shuffling one makes rows that never occur."
    )
    if most.loss == "log_loss":
        note = f"By the log-loss, since the error shows too little here. {note}"
    if len(f.importance) < len(f.sample.columns):
        note += f" The {len(f.importance)} largest of {len(f.sample.columns)}."
    caption = f"Permutation importance: rise of the {what} when a column is shuffled"
    items = tuple(
        page.Interval(i.feature, i.mean, low=i.low, high=i.high) for i in f.importance
    )
    return page.Paragraph(said, "lead"), page.Intervals(caption, axis, style, items, note)


def _sigmoid(f: Findings) -> tuple[page.Block, ...]:
    """Return the posterior over the only feature, and of two classes the rows at 0 and 1."""
    x, name = f.sample.table.x[:, 0], f.sample.names[0]
    grid = np.linspace(x.min(), x.max(), 121)
    logs = log_posteriors(f.estimator, pl.DataFrame({name: grid}), f.sample.table.classes)
    if logs is None:
        return ()
    at = np.arange(0, len(x), -(-len(x) // MOST_ROWS))
    tips, ids = (tuple(map(verb, at.tolist())) for verb in (f.tip, f.id))
    ends = (f.held_out.truth[at] == f.positive).astype(float)
    rows = (
        (page.Series("rows", "dots", x[at], ends, 1, tips, ids),) if len(f.names) == 2 else ()
    )
    caption = (
        f"Posterior over {name}, the only feature, by the model fitted to {f.learnt_from}."
    )
    return (_curves(f, 0, name, grid, np.exp(logs), caption, [np.eye(2)], rows),)


def _effects(f: Findings) -> tuple[page.Block, ...]:
    """Return how the posterior moves with each of the columns that are needed most."""
    places = {p.name: j for j, p in enumerate(f.sample.profiles)}
    found: dict[str, tuple[int, Floats, Floats]] = {}
    levels: list[page.Block] = []
    order = np.argsort(f.sample.table.codes, kind="stable")  # every so many rows of each class
    for name in [i.feature for i in f.importance if i.low > 0][:MOST_EFFECTS]:
        j, classes = places[name], f.sample.table.classes
        profile = f.sample.profiles[j]
        if profile.kind == "category" or profile.distinct < FEWEST_VALUES:
            levels += _by_level(f, profile)
            continue
        known = order[~profile.empty[order]]
        few = f.sample.take(known[:: -(-len(known) // MOST_ROWS) or 1])
        curve = local_effects(f.estimator, few.asked, classes, j, few.profiles[j].values)
        # of columns that say the same, no single one can change: sums of effects leave 0 to 1
        if curve is not None and np.abs(curve[1] - 0.5).max() < 0.55:
            found[name] = (j, *curve)
    k, range_ = len(f.names), [p for _, _, p in found.values()]
    of = f" of {f.names[f.positive]}" * (k == 2)
    end = f"; of {k} classes the {MOST_LINES} that move most" * (k > MOST_LINES)
    drawn = []
    for name, (j, x, p) in found.items():
        how = f"as {name} changes and other columns do not (accumulated local effects)"
        drawn.append(_curves(f, j, name, x, p, f"Average posterior{of} {how}{end}.", range_))
    return (*drawn, *levels)


def _by_level(f: Findings, column: Profile) -> tuple[page.DataTable, ...]:
    """Return the average posteriors of the rows of each level; of two classes beside the truth."""
    values = np.where(column.empty, len(column.levels) or np.nan, column.values)
    levels, codes, counts = np.unique(values, return_inverse=True, return_counts=True)
    stated, columns, k = f.held_out.posteriors, f.names, f.positive
    if len(columns) == 2:
        stated = np.c_[stated[:, k], f.held_out.truth == k]
        columns = (f"posterior of {f.names[k]}", "observed")
    body = []
    for at in np.sort(np.argsort(-counts, kind="stable")[:MOST_LEVELS]):  # the most frequent
        level = (
            (*column.levels, "empty")[int(levels[at])] if column.levels else number(levels[at])
        )
        body.append((level, int(counts[at]), *stated[codes == at].mean(0).tolist()))
    more = len(levels) - len(body)
    note = "Averages over held-out rows, which may differ in other columns too."
    note += f" {plural(more, 'more level')} not shown." * (more > 0)
    head, styles = (
        (column.name, "rows", *columns),
        ("text", "count", *["percent"] * len(columns)),
    )
    return (page.DataTable(f"Posterior by {column.name}", head, styles, tuple(body), note),)


def _curves(
    f: Findings,
    j: int,
    name: str,
    x: Floats,
    p: Floats,
    said: str,
    drawn: Any,
    rows: Any = (),
) -> page.Plot:
    """Return posteriors over a column, on the scale of all that are drawn: of two classes one."""
    two, p = len(f.names) == 2, p.clip(0, 1)
    moved = np.argsort(-np.ptp(p, axis=0), kind="stable")[:MOST_LINES]
    shown = [f.positive] if two else sorted(moved.tolist())
    lines = []
    for k in shown:
        points = zip(x, p[:, k], strict=True)
        tips = tuple(f"{name} {number(v)}: {f.names[k]} {percent(q)}" for v, q in points)
        lines.append(page.Series(f.names[k], "line", x, p[:, k], 0 if two else k, tips))
    room = 0.02 * float(np.ptp(x) or 1.0)
    shades = np.concatenate([each[:, shown] if two else each for each in drawn])
    what = f"posterior of {f.names[shown[0]]}, %" if two else "posterior, %"
    across = page.Axis(name, float(x.min()) - room, float(x.max()) + room)
    up = page.Axis(what, 0.0, min(1.0, 1.05 * float(shades.max())), percent=True)
    return page.Plot(f"effect-{j}", said, across, up, (*rows, *lines))


MOST_PAIRS = 3  # of classes whose boundary is written out
MOST_LINEAR, MOST_QUADRATIC = 6, 2  # features of a boundary that is written out
MOST_FEATURES, MOST_CLASSES = 15, 9  # of a table of parameters
STYLES = ("text", *["short"] * MOST_CLASSES)


def _chosen(f: Findings) -> tuple[page.Block, ...]:
    model = f.explained
    if hasattr(f.estimator, "choices_"):
        return _averaged(f)
    if model is None:
        stated = hasattr(f.estimator, "boundary") and f.held_out.logs is not None
        edges = _boundaries(f.estimator, f.estimator.coef_.shape[1]) if stated else ()
        return (page.Paragraph(_without_densities(f)), *edges, *_linear(f))
    linear, d = model.model_.shared_covariance is not None, model.model_.n_features
    return (
        page.Paragraph(model_in_words(f)),
        page.Equation("Score of class k for a row x; the largest one decides", _score(model)),
        *(_boundaries(model, d, linear=linear) if model.moments_.power is None else ()),
        *_parameters(f, model),
    )


def _without_densities(f: Findings) -> str:
    size = f.outcome.n_parameters
    kept = (
        "It keeps rows instead of parameters" if np.isnan(size) else f"{size:,.0f} parameters"
    )
    linear = hasattr(core(f.estimator), "coef_")
    short = "" if f.outcome.is_readable else "; it has no short equation"
    return f"{f.name}: {'scores linear in the features; ' * linear}{kept}{short}."


def _linear(f: Findings) -> tuple[page.DataTable, ...]:
    fitted, model = f.estimator, core(f.estimator)
    weights = np.atleast_2d(getattr(model, "coef_", np.zeros((0, 0))))
    encoding, names = getattr(model, "encoding_", None), f.data.names
    if encoding is not None:
        names = encoding.feature_names
    elif fitted is not model and hasattr(fitted[0], "get_feature_names_out"):
        names = fitted[:-1].get_feature_names_out()
    if (
        len(names) != weights.shape[1]
        or len(names) > MOST_FEATURES
        or len(weights) > MOST_CLASSES
    ):
        return ()
    columns = _scored(f.names, len(weights))
    body = [("intercept", *np.ravel(model.intercept_).tolist())]
    body += [(str(n), *w.tolist()) for n, w in zip(names, weights.T, strict=True)]
    steps = () if fitted is model else fitted.named_steps.values()
    scaled = ", as the steps before it scale it" * any(hasattr(s, "scale_") for s in steps)
    caption = f"Coefficients: change of a class's score for one unit of a feature{scaled}"
    return (page.DataTable(caption, ("", *columns), STYLES[: len(columns) + 1], tuple(body)),)


def _scored(names: tuple[str, ...], n_scores: int) -> tuple[str, ...]:
    return names if n_scores > 1 else (f"{names[1]} against {names[0]}",)


def model_in_words(f: Findings) -> str:
    """Return what kind of model was chosen, by its fitted covariances."""
    model, gaussian = f.explained, f.explained.model_
    tied = gaussian.shared_covariance is not None
    sigma = np.atleast_3d(gaussian.covariance_matrices.T).T
    diagonal = sigma.shape[-1] > 1 and not np.any(sigma * (1 - np.eye(sigma.shape[-1])))
    alone = "features independent within a class, " * diagonal
    shape = "one covariance shared by all classes" if tied else "a covariance for each class"
    bent = "linear" if tied else "quadratic"
    of = "" if model.moments_.power is None else " in transformed features"
    return (
        f"{f.name}: one Gaussian for each class, {alone}{shape}; boundaries are {bent}{of}. "
        f"{count(f.outcome.n_parameters)} free parameters{_regularisation(model)}."
    )


def _averaged(f: Findings) -> tuple[page.Block, ...]:
    settings = sorted(
        (c for c in f.estimator.choices_ if c.weight > 0), key=lambda c: -c.weight
    )
    body = tuple((float(c.weight), float(c.log_loss), c.describe()) for c in settings)
    size = f.outcome.n_parameters
    known = "" if np.isnan(size) else f", with {size:,.0f} free parameters together,"
    said = (
        f"{f.name} averages the posteriors of {plural(len(body), 'classifier')}{known} and has no "
        "short equation. "
        "Classes and posteriors on this page are of the average; densities, samples and outliers "
        "are of its best single Gaussian."
    )
    shown, rest = body[:MOST_AVERAGED], body[MOST_AVERAGED:]
    left = percent(sum(share for share, *_ in rest))
    note = (
        f"{plural(len(rest), 'more setting')} with {left} together not shown." if rest else ""
    )
    head, styles = ("share", "log-loss", "setting"), ("percent", "loss", "text")
    return page.Paragraph(said), page.DataTable("What is averaged", head, styles, shown, note)


def _regularisation(model: Any) -> str:
    said = []
    for name, what in (("pooling", "λ"), ("shrinkage", "γ"), ("temperature", "T")):
        value = model.get_params()[name]
        if isinstance(value, (int, float)) and not (name == "temperature" and value == 1):
            said.append(f"{name} {what} = {number(value, 3)}")
        elif isinstance(value, str):
            said.append(f"{name} by {value.upper()}")
    return f"; {', '.join(said)}" if said else ""


def _score(model: Any) -> tuple[str, ...]:
    gaussian, z = model.model_, "x" if model.moments_.power is None else "z"
    t = gaussian.temperature
    posterior = f"p(k | x) = softmaxₖ(a(x){'' if t == 1 else f' / {number(t, 3)}'})"
    score = f"aₖ(x) = −½ ({z} − μₖ)ᵀ Σₖ⁻¹ ({z} − μₖ) − ½ log|Σₖ| + log πₖ"
    if gaussian.shared_covariance is not None:
        score = f"aₖ(x) = wₖᵀ{z} + wₖ₀,   wₖ = Σ⁻¹μₖ,   wₖ₀ = −½ μₖᵀΣ⁻¹μₖ + log πₖ"
    bent = " of z, and z the features after Yeo–Johnson's power transform" * (z == "z")
    return score, posterior, f"with mean μ, covariance Σ and prior π{bent}"


def _boundaries(model: Any, d: int, *, linear: bool = True) -> tuple[page.Block, ...]:
    """Return the boundaries that are short enough to be written out."""
    classes = model.classes_.tolist()
    if len(classes) > MOST_PAIRS or d > (MOST_LINEAR if linear else MOST_QUADRATIC):
        return ()
    found = {pair: model.boundary(*pair) for pair in combinations(classes, 2)}
    lines = tuple(f"{a} | {b}:   {edge.equation(digits=4)}" for (a, b), edge in found.items())
    if d == len(found) == 1 and linear:
        (edge,) = found.values()
        at = number(-edge.intercept / edge.normal[0])
        lines = (*lines, f"that is, {edge.feature_names[0]} = {at}")
    caption = "Where two classes are equally probable; above zero the first is more probable"
    return (page.Equation(caption, lines),)


def _parameters(f: Findings, model: Any) -> tuple[page.Block, ...]:
    """Return priors, and means or coefficients of the features that matter most."""
    names, plain = f.names, model.moments_.power is None
    if len(names) > MOST_CLASSES:
        return ()
    weights, importance = _weights(model)
    order = np.argsort(-importance, kind="stable")[:MOST_FEATURES]
    means, numbers = (
        model.means_ if plain else f.moments.means,
        {p.name for p in f.data.profiles},
    )
    said = [f"{'mean' if n in numbers else 'share'} of {n}" for n in f.data.names]
    rows = [(said[j], *means[:, j].tolist()) for j in order]
    n = f.data.table.n_features
    first = (
        "those that move a score" if weights is not None else "those that separate the classes"
    )
    few = f"{len(order)} of {n:,} features, {first} most first." if n > len(order) else ""
    body, styles = (("prior", *model.priors_.tolist()), *rows), STYLES[: len(names) + 1]
    tables = [page.DataTable("Priors and class means", ("", *names), styles, body, few)]
    if weights is not None:
        columns, of = _scored(names, len(weights)), "" if plain else ", transformed"
        body = tuple((f.data.names[j], *weights[:, j].tolist()) for j in order)
        what = (
            f"Change of a class's score for one standard deviation (all rows) of a feature{of}"
        )
        note = "Largest first; of several classes, relative to their mean."
        head = ("feature", *columns)
        tables.append(page.DataTable(what, head, STYLES[: len(columns) + 1], body, note))
    return tuple(tables)


def _weights(model: Any) -> tuple[Floats | None, Floats]:
    """Return standardised coefficients, if scores are linear, and the weight of each feature."""
    moments = model.moments_
    if model.model_.shared_covariance is None:
        return None, separation(moments)
    weights = standardised_coefficients(model.coef_, np.sqrt(moments.total_variances))
    return weights, np.abs(weights).max(0)
