"""The answer: can it be used, how much better than a constant one, what next, and more data."""

import numpy as np

from suffice.comparison.models import CONSTANT
from suffice.comparison.verdict import FEW_ROWS
from suffice.reporting.blocks import (
    Axis,
    Block,
    CellStyle,
    Fact,
    Facts,
    Interval,
    Intervals,
    Paragraph,
    Plot,
    Section,
    Series,
)
from suffice.reporting.choosing import Judgement
from suffice.text.numbers import cell, count, p_statement, percent

MOST_FOUND = 8  # classes shown
STYLES: dict[str, CellStyle] = {"error": "percent", "balanced accuracy": "percent"}
OTHER = "constant classifier"


def answer(judgement: Judgement) -> Section:
    """Return the section that a reader in a hurry reads."""
    verdict = judgement.verdict
    interval = f"95 % interval {percent(verdict.low)} to {percent(verdict.high)}"
    facts = [Fact("error", verdict.error, interval, "percent")]
    for gain in verdict.gains:
        style = STYLES.get(gain.measure, "loss")
        p = p_statement(gain.p_value)
        if gain.measure == "error":
            facts.append(Fact(OTHER, gain.constant, f"its error; {p}", style))
        else:
            said = f"{OTHER} {cell(gain.constant, style)}; {p}"
            facts.append(Fact(gain.measure, gain.model, said, style))
    found = tuple(
        Interval(str(f.label), f.found / f.of, f"{count(f.found)} of {count(f.of)}")
        for f in verdict.found[:MOST_FOUND]
    )
    few = f"The {MOST_FOUND} classes it misses most." * (len(verdict.found) > MOST_FOUND)
    blocks: list[Block] = [
        Paragraph(verdict.headline, verdict.usable),
        *(Paragraph(caveat, "caution") for caveat in verdict.caveats),
        *map(Paragraph, verdict.sentences),
        Paragraph(f"Next: {_next(judgement)}.", "lead"),
        Facts(tuple(facts)),
        Intervals("What it finds of each class", "share of the class", "percent", found, few),
        Paragraph(f"How it was measured: {verdict.protocol}.", "note"),
    ]
    return Section("answer", "The answer", tuple(blocks))


def _next(judgement: Judgement) -> str:
    """Return what to do with this page."""
    verdict, curve, checks = judgement.verdict, judgement.growth, judgement.checks
    if checks.suspects:
        name = checks.suspects[0].column
        return f"find out whether {name} is known before the class is; if not, leave it out"
    if verdict.threshold is not None:
        return (
            f"settle how many false alarms one more {verdict.threshold.label} found is worth, and "
            "choose the threshold by it, under Where it errs"
        )
    if verdict.usable == "no":
        return "look for other columns, since these do not tell the classes apart"
    if verdict.usable == "with care":
        who = min(verdict.found, key=lambda each: (each.found >= each.of / 2, each.of))
        which = "" if judgement.outcome.n_rows < FEW_ROWS else f" of class {who.label}"
        what = "see to what is said above" if checks.caveats else f"collect more rows{which}"
        return f"{what} before anything depends on it"
    if curve is not None and curve.helps == "would help":
        return "use it as shown under How to use it, and collect more rows, since they would help"
    return (
        "use it as shown under How to use it, and once the classes of new rows are known, compare "
        "them with this page (suffice report --against)"
    )


def differences(judgement: Judgement) -> tuple[Intervals, ...]:
    """Return how much more often than the recommended model each other one errs."""
    comparison = judgement.comparison
    items = tuple(
        Interval(d.model, d.mean, d.verdict.replace("alike", ""), d.low, d.high)
        for d in comparison.differences()
        if d.model != CONSTANT or len(comparison.outcomes) == 2  # else it would rule the scale
    )
    note = (
        "Paired on the same held-out rows. The 95 % intervals hold for all models at once: where "
        "one excludes zero, the difference is significant."
    )
    caption = f"Difference in error from {comparison.reference}"
    return (Intervals(caption, "percentage points, left is better", "points", items, note),)


def more_data(judgement: Judgement) -> Section | None:
    """Return the section that says whether more rows would help."""
    growth = judgement.growth
    if growth is None:
        return None
    n, error = growth.sizes, growth.error
    ahead = [(float(f.n_rows), f.error, f.low, f.high) for f in growth.forecast]
    later = np.array(ahead).T
    seen, coming = (
        tuple(f"{count(a)} rows: {percent(e)}" for a, e in zip(*pair, strict=True))
        for pair in ((n, error), later[:2])
    )
    series = (
        Series("", "band", later[0], later[2], 1, upper=later[3]),
        Series("observed", "line", n, error, 0, seen),
        Series("expected", "line", later[0], later[1], 1, coming),
    )
    caption = (
        "Error on held-out rows by the number of rows learnt from, and what to expect of more, "
        "with 95 % intervals."
    )
    across = Axis("rows learnt from", float(n[0]), float(later[0, -1]), log=True)
    up = Axis("error", 0.0, min(1.0, 1.05 * float(max(error.max(), later[3].max()))))
    drawn = Plot("growth", caption, across, up, series)
    useless = f"That cannot be told: its error is no lower than that of the {OTHER}."
    said = useless if judgement.verdict.usable == "no" else growth.sentence
    return Section("more", "Would more data help?", (Paragraph(said, "lead"), drawn))
