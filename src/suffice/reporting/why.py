"""Why the chosen model answers as it does: importance, effects, rows in a plane, its equation."""

import numpy as np
import polars as pl

from suffice.reporting.blocks import (
    Axis,
    Block,
    CellStyle,
    Interval,
    Intervals,
    Plot,
    Section,
    Series,
)
from suffice.reporting.charts import plane
from suffice.reporting.chosen import chosen
from suffice.reporting.explaining import local_effects, log_posteriors
from suffice.reporting.findings import Findings
from suffice.text.numbers import number, percent
from suffice.typing import Floats

MOST_EFFECTS, MOST_LINES, MOST_ROWS = 4, 4, 500
LOSSES: dict[str, tuple[str, str, CellStyle]] = {
    "error": ("error", "percentage points", "points"),
    "log_loss": ("log-loss", "log-loss", "loss"),
}
FEWEST_VALUES = 4  # of a column that is drawn as a curve


def why(f: Findings) -> Section:
    """Return the section that explains the chosen model."""
    lead, *rest = chosen(f.data, f.judgement, ()).blocks
    single = f.sample.source is None and f.sample.table.n_features == 1
    effects = _sigmoid(f) if single else _effects(f)
    blocks = (lead, *_importance(f), *effects, *plane(f), *rest)
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
    return (Intervals(caption, axis, style, items, note),)


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
    caption = f"Posterior over {name}, the only feature, by the model fitted to all rows."
    return (_curves(f, 0, name, grid, np.exp(logs), caption, rows),)


def _effects(f: Findings) -> tuple[Block, ...]:
    """Return how the posterior moves with each of the most important columns of numbers."""
    places = {p.name: j for j, p in enumerate(f.sample.profiles) if p.kind == "number"}
    found: list[Block] = []
    for name in [i.feature for i in f.judgement.importance if i.feature in places][:MOST_EFFECTS]:
        j = places[name]
        known = np.flatnonzero(~f.sample.profiles[j].empty)
        few = f.sample.take(known[:: -(-len(known) // MOST_ROWS) or 1])
        profile = few.profiles[j]
        if profile.distinct < FEWEST_VALUES:
            continue
        estimator, _, classes = f.asked()
        curve = local_effects(estimator, few.asked, classes, j, profile.values)
        if curve is not None:
            caption = f"Posterior as {name} alone changes, within reach of real rows, on average."
            found.append(_curves(f, j, name, *curve, caption))
    return tuple(found)


def _curves(
    f: Findings,
    j: int,
    name: str,
    x: Floats,
    p: Floats,
    caption: str,
    rows: tuple[Series, ...] = (),
) -> Plot:
    """Return posteriors over a column: of two classes one, of many those that move most."""
    two, p = len(f.names) == 2, p.clip(0, 1)
    moved = np.argsort(-np.ptp(p, axis=0), kind="stable")[:MOST_LINES]
    shown = [f.positive] if two else sorted(moved.tolist())
    lines = []
    for at, k in enumerate(shown):
        points = zip(x, p[:, k], strict=True)
        tips = tuple(f"{name} {number(v)}: {f.names[k]} {percent(q)}" for v, q in points)
        lines.append(
            Series(f.names[k], "line", x, p[:, k], 0 if two else at if f.many else k, tips)
        )
    room = 0.02 * float(np.ptp(x) or 1.0)
    low, high = (0.0, 1.0) if rows else (p[:, shown].min() - 0.05, p[:, shown].max() + 0.05)
    what = f"posterior of {f.names[shown[0]]}" if two else "posterior"
    across = Axis(name, float(x.min()) - room, float(x.max()) + room)
    up = Axis(what, max(0.0, float(low)), min(1.0, float(high)))
    return Plot(f"effect-{j}", caption, across, up, (*rows, *lines))
