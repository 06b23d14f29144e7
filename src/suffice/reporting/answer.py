"""The answer: can it be used, how much better than the base rate, what it misses, and more data."""

from typing import Any

import numpy as np

from suffice.comparison.paired import CONSTANT
from suffice.reporting.blocks import (
    Axis,
    Block,
    CellStyle,
    DataTable,
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
ALIKE = "no significant difference"


def answer(judgement: Judgement) -> Section:
    """Return the section that a reader in a hurry reads."""
    verdict = judgement.verdict
    interval = f"95 % interval {percent(verdict.low)} to {percent(verdict.high)}"
    facts = [Fact("error", verdict.error, interval, "percent")]
    for gain in verdict.gains:
        style = STYLES.get(gain.measure, "loss")
        said = f"constant answer {cell(gain.constant, style)}; {p_statement(gain.p_value)}"
        if gain.measure == "error":
            facts.append(Fact("base rate", gain.constant, p_statement(gain.p_value), style))
        else:
            facts.append(Fact(gain.measure, gain.model, said, style))
    shares: list[Any] = [
        (f.label, f.found / f.of, f"{count(f.found)} of {count(f.of)}") for f in verdict.found
    ]
    found = tuple(Interval(str(label), *rest) for label, *rest in shares[:MOST_FOUND])
    few = f"The {MOST_FOUND} classes it misses most." if len(shares) > MOST_FOUND else ""
    blocks: list[Block] = [
        Paragraph(verdict.headline, verdict.usable),
        *map(Paragraph, verdict.sentences),
        Facts(tuple(facts)),
        Intervals("What it finds of each class", "share of the class", "percent", found, few),
        *(Paragraph(caveat, "caution") for caveat in verdict.caveats),
        Paragraph(f"How it was measured: {verdict.protocol}.", "note"),
    ]
    return Section("answer", "The answer", tuple(blocks))


def differences(judgement: Judgement) -> tuple[Intervals, ...]:
    """Return how much more often than the recommended model each other one errs."""
    comparison = judgement.comparison
    items = tuple(
        Interval(d.model, d.mean, said.get(d.verdict, d.verdict), d.low, d.high)
        for said in ({"alike": ALIKE},)
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
    n, error, reach = growth.sizes, growth.error, 1.96 * growth.standard_error
    low, high = (error - reach).clip(0), error + reach
    ahead = [(float(f.n_rows), f.error, f.low, f.high) for f in growth.forecast]
    later = np.array(ahead).T
    seen, coming = (
        tuple(f"{count(a)} rows: {percent(e)}" for a, e in zip(*pair, strict=True))
        for pair in ((n, error), later[:2])
    )
    series = (
        Series("", "band", n, low, upper=high),
        Series("", "band", later[0], later[2], 1, upper=later[3]),
        Series("observed", "line", n, error, 0, seen),
        Series("expected", "line", later[0], later[1], 1, coming),
    )
    caption = (
        "Error on held-out rows by the number of rows learnt from, and what to expect of more."
    )
    across = Axis("rows learnt from", float(n[0]), float(later[0, -1]), log=True)
    up = Axis("error", 0.0, min(1.0, 1.05 * float(max(high.max(), later[3].max()))))
    styles: tuple[CellStyle, ...] = ("count", "percent", "percent", "percent")
    table = DataTable(
        "Expected with more rows", ("rows", "error", "from", "to"), styles, tuple(ahead)
    )
    drawn = Plot("growth", caption, across, up, series)
    useless = (
        "Its error is no lower than that of always predicting one class, so that the curve cannot "
        "tell whether more rows would help."
    )
    said = useless if judgement.verdict.usable == "no" else growth.sentence
    blocks = (Paragraph(said, "lead"), drawn, table)
    return Section("more", "Would more data help?", blocks)
