"""Why the chosen model answers as it does: importance, effects, rows in a plane, its equation."""

import numpy as np
import polars as pl

from suffice.reporting.blocks import (
    Axis,
    Block,
    CellStyle,
    Interval,
    Intervals,
    Paragraph,
    Plot,
    Section,
    Series,
)
from suffice.reporting.charts import plane
from suffice.reporting.chosen import chosen
from suffice.reporting.explaining import local_effects, log_posteriors
from suffice.reporting.findings import Findings
from suffice.text.lists import listed
from suffice.text.numbers import number, percent
from suffice.typing import Floats

MOST_EFFECTS, MOST_LINES, MOST_ROWS, MOST_NAMES = 4, 4, 500, 5
LOSSES: dict[str, tuple[str, str, CellStyle]] = {
    "error": ("error", "percentage points", "points"),
    "log_loss": ("log-loss", "log-loss", "loss"),
}
FEWEST_VALUES = 4  # of a column that is drawn as a curve


def why(f: Findings) -> Section:
    """Return the section that explains the chosen model."""
    single = f.sample.source is None and f.sample.table.n_features == 1
    effects = _sigmoid(f) if single else () if f.many else _effects(f)
    blocks = (*_importance(f), *effects, *plane(f), *chosen(f.data, f.judgement))
    return Section("why", "Why it answers so", blocks)


def _importance(f: Findings) -> tuple[Block, ...]:
    found = f.judgement.importance
    items = tuple(Interval(i.feature, i.mean, low=i.low, high=i.high) for i in found)
    note = (
        "Permutation importance on held-out rows, with 95 % intervals. Columns that say the same "
        "share their importance."
    )
    if not items:
        return ()
    what, axis, style = LOSSES[found[0].loss]
    caption = f"What it goes by: rise of the {what} when a column is shuffled"
    names = [i.feature for i in found if i.low > 0]
    first = f"It goes by {listed(names, MOST_NAMES)}." if names else "No single column matters."
    return Paragraph(first, "lead"), Intervals(caption, axis, style, items, note)


def _sigmoid(f: Findings) -> tuple[Block, ...]:
    """Return the posterior over the only feature, and of two classes the rows at 0 and 1."""
    x, name = f.sample.table.x[:, 0], f.sample.names[0]
    grid = np.linspace(x.min(), x.max(), 121)
    estimator, _, classes = f.asked()
    logs = log_posteriors(estimator, pl.DataFrame({name: grid}), classes)
    if logs is None:
        return ()
    at = np.arange(0, len(x), -(-len(x) // MOST_ROWS))
    tips, ids = (tuple(map(verb, at.tolist())) for verb in (f.tip, f.id))
    ends = (f.rows.truth[at] == f.positive).astype(float)
    rows = (Series("rows", "dots", x[at], ends, 1, tips, ids),) if len(classes) == 2 else ()
    by = f"the model fitted to {f.judgement.learnt_from}"
    caption = f"Posterior over {name}, the only feature, by {by}."
    return (_curves(f, 0, name, grid, np.exp(logs), caption, [np.eye(2)], rows),)


def _effects(f: Findings) -> tuple[Block, ...]:
    """Return how the posterior moves with each of the most important columns of numbers."""
    places = {p.name: j for j, p in enumerate(f.sample.profiles) if p.kind == "number"}
    found: dict[str, tuple[int, Floats, Floats]] = {}
    for name in [i.feature for i in f.judgement.importance if i.feature in places][:MOST_EFFECTS]:
        j = places[name]
        known = np.flatnonzero(~f.sample.profiles[j].empty)
        few = f.sample.take(known[:: -(-len(known) // MOST_ROWS) or 1])
        profile = few.profiles[j]
        if profile.distinct < FEWEST_VALUES:
            continue
        estimator, _, classes = f.asked()
        curve = local_effects(estimator, few.asked, classes, j, profile.values)
        # of columns that say the same, no single one can change: sums of effects leave 0 to 1
        if curve is not None and np.abs(curve[1] - 0.5).max() < 0.55:
            found[name] = (j, *curve)
    said = "Average posterior as {} changes and other columns do not (accumulated local effects)."
    range_ = [p for _, _, p in found.values()]
    return tuple(_curves(f, j, n, x, p, said.format(n), range_) for n, (j, x, p) in found.items())


def _curves(
    f: Findings,
    j: int,
    name: str,
    x: Floats,
    p: Floats,
    caption: str,
    drawn: list[Floats],
    rows: tuple[Series, ...] = (),
) -> Plot:
    """Return posteriors over a column, on the scale of all that are drawn: of two classes one."""
    two, p = len(f.names) == 2, p.clip(0, 1)
    moved = np.argsort(-np.ptp(p, axis=0), kind="stable")[:MOST_LINES]
    shown = [f.positive] if two else sorted(moved.tolist())
    lines = []
    for k in shown:
        points = zip(x, p[:, k], strict=True)
        tips = tuple(f"{name} {number(v)}: {f.names[k]} {percent(q)}" for v, q in points)
        lines.append(Series(f.names[k], "line", x, p[:, k], 0 if two else k, tips))
    room = 0.02 * float(np.ptp(x) or 1.0)
    shades = np.concatenate([each[:, shown] if two else each for each in drawn])
    high = min(1.0, 1.05 * float(shades.max()))
    what = f"posterior of {f.names[shown[0]]}" if two else "posterior"
    across = Axis(name, float(x.min()) - room, float(x.max()) + room)
    up = Axis(what, 0.0, high)
    return Plot(f"effect-{j}", caption, across, up, (*rows, *lines))
