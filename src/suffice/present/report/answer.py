"""The answer: can it be used, what next; the models compared, and why one; more data."""

import numpy as np

from suffice.core.text.lists import counted, listed
from suffice.core.text.numbers import cell, count, p_statement, percent
from suffice.evaluate.comparison.models import CONSTANT
from suffice.evaluate.comparison.verdict import FEW_OF_A_CLASS, FEW_ROWS, most_missed
from suffice.present.report import blocks as page
from suffice.present.report.choosing import Findings

MOST_FOUND = 8  # classes shown
STYLES = {"error": "percent", "balanced accuracy": "percent"}
OTHER = "constant classifier"


def answer(f: Findings) -> page.Section:
    """Return the section that a reader in a hurry reads."""
    verdict = f.verdict
    interval = f"95 % interval {percent(verdict.low)} to {percent(verdict.high)}"
    facts = [page.Fact("error", verdict.error, interval, "percent")]
    for gain in verdict.gains:
        style, p = STYLES.get(gain.measure, "loss"), p_statement(gain.p_value)
        if gain.measure == "error":
            facts.append(page.Fact(OTHER, gain.constant, f"its error; {p}", style))
        else:
            said = f"{OTHER} {cell(gain.constant, style)}; {p}"
            facts.append(page.Fact(gain.measure, gain.model, said, style))
    found = tuple(
        page.Interval(str(c.label), c.found / c.of, f"{count(c.found)} of {count(c.of)}")
        for c in verdict.recalls[:MOST_FOUND]
    )
    few = f"The {MOST_FOUND} classes of which it finds least." * (
        len(verdict.recalls) > MOST_FOUND
    )
    measured = f"Measured on rows not seen in training: {verdict.protocol}."
    if f.sample.groups is not None:
        n_groups = counted(len(np.unique(f.sample.groups)), "group")
        measured += f" Folds keep whole groups of {f.data.groups_name} together ({n_groups})."
    blocks: list[page.Block] = [
        page.Paragraph(verdict.headline, verdict.usable),
        *(page.Paragraph(caveat, "caution") for caveat in verdict.caveats),
        *map(page.Paragraph, verdict.sentences),
        page.Paragraph(f"Next: {_next(f)}.", "lead"),
        page.Facts(tuple(facts)),
        page.Intervals(
            "What it finds of each class", "share of the class", "percent", found, few
        ),
        page.Paragraph(measured, "note"),
    ]
    return page.Section("answer", "The answer", tuple(blocks))


def _next(f: Findings) -> str:
    verdict, curve, checks = f.verdict, f.growth, f.checks
    if checks.suspects:
        name = checks.suspects[0].column
        return f"find out whether {name} is known before the class is; if not, leave it out"
    if verdict.threshold is not None:
        return (
            f"decide how many false alarms one more {verdict.threshold.label} found is worth, and "
            "choose the threshold by that, under Where it errs"
        )
    if verdict.usable == "no":
        return "other columns may tell more; these are not shown to tell the classes apart"
    if verdict.usable == "with care":
        least = min(verdict.recalls, key=lambda each: each.of)
        who = least if least.of < FEW_OF_A_CLASS else most_missed(verdict.recalls)
        which = "" if f.outcome.n_rows < FEW_ROWS else f" of class {who.label}"
        more = f"collect more rows{which}"
        if which and who.of >= FEW_OF_A_CLASS and curve and curve.helps == "would hardly help":
            more = f"see whether other columns tell class {who.label} apart"
        what = "settle the doubts above" if checks.caveats else more
        what = "make this page again with whole groups held out" if checks.together else what
        return f"{what} before anything depends on it"
    if curve is not None and curve.helps == "would help":
        return (
            "use it as shown under How to use it, and collect more rows, since they would help"
        )
    return (
        "use it as shown under How to use it, and once the classes of new rows are known, compare "
        "them with this page (suffice report --against)"
    )


COLUMNS = (  # of the table of models: heading, name in the comparison, style
    ("model", "model", "text"),
    ("error", "error", "percent"),
    ("from", "error_low", "percent"),
    ("to", "error_high", "percent"),
    ("log-loss", "log_loss", "loss"),
    ("Brier", "brier", "loss"),
    ("calib. error", "calibration_error", "loss"),
    ("AUC", "auc", "loss"),
    ("size", "n_parameters", "count"),
    ("fit", "fit_seconds", "seconds"),
    ("p", "p_adjusted", "p"),
)


def models_compared(f: Findings) -> page.Section:
    """Return the section of the models compared."""
    comparison, told = f.comparison, f.comparison.rows()
    headings, names, styles = zip(*COLUMNS, strict=True)
    table = page.DataTable(
        f"Held-out losses: {comparison.n_rows:,} rows, {comparison.protocol}",
        headings,
        styles,
        tuple(tuple(row[name] for name in names) for row in told),
        f"From, to: 95 % interval of the error (Wilson). p: whether it errs as often as {f.name}, "
        "on the same rows (McNemar), adjusted for the number of models (Bonferroni) but for the "
        "constant classifier. Both are widened, since folds share training rows. Brier and AUC: "
        "sum and mean over classes. Calib. error: expected calibration error of the most probable "
        "class. Size: free parameters. Fit: time for one fold.",
        tuple(i for i, row in enumerate(told) if row["model"] == f.name),
    )
    remarks = []
    if f.sample.table.n_rows < f.data.table.n_rows:
        remarks.append(
            f"The models were compared on a stratified sample of {f.sample.table.n_rows:,} of "
            f"{f.data.table.n_rows:,} rows; {f.name} was then fitted to {f.learnt_from}."
        )
    if comparison.left_out:
        remarks.append(f"Not compared, to save time: {listed(comparison.left_out)}.")
    notes = (page.Paragraph(remark, "note") for remark in remarks)
    lead = page.Paragraph(comparison.verdict, "lead")
    return page.Section("models", "Models compared", (lead, table, *notes, _differences(f)))


def _differences(f: Findings) -> page.Intervals:
    """Return how much more often than the recommended model each other one errs."""
    comparison = f.comparison
    items = tuple(
        page.Interval(d.model, d.mean, d.verdict.replace("alike", ""), d.low, d.high)
        for d in comparison.differences()
        if d.model != CONSTANT or len(comparison.outcomes) == 2  # else it would rule the scale
    )
    note = (
        "Paired on the same held-out rows. The 95 % intervals hold for all models at once: where "
        "one excludes zero, the difference is significant."
    )
    caption = f"More or fewer errors than {comparison.reference}"
    return page.Intervals(
        caption, "percentage points; left: fewer errors", "points", items, note
    )


def more_data(f: Findings) -> page.Section | None:
    """Return the section that says whether more rows would help."""
    growth = f.growth
    if growth is None:
        return None
    n, error = growth.sizes, growth.error
    later = np.array([(f.n_rows, f.error, f.low, f.high) for f in growth.forecast]).T
    seen, coming = (
        tuple(f"{count(a)} rows: {percent(e)}" for a, e in zip(*pair, strict=True))
        for pair in ((n, error), later[:2])
    )
    error, rate, low, high = (100 * share for share in (error, *later[1:]))
    series = (
        page.Series("", "band", later[0], low, 1, upper=high),
        page.Series("observed", "line", n, error, 0, seen),
        page.Series("expected", "line", later[0], rate, 1, coming),
    )
    caption = (
        "Error on held-out rows by the number of training rows: observed with part of the rows, "
        "and expected with all rows and more, with its 95 % interval."
    )
    across = page.Axis("training rows", float(n[0]), float(later[0, -1]), log=True)
    up = page.Axis("error, %", 0.0, min(100.0, 1.05 * float(max(error.max(), high.max()))))
    drawn = page.Plot("growth", caption, across, up, series)
    useless = f"That cannot be said: its error is no lower than that of the {OTHER}."
    said = useless if f.verdict.usable == "no" else growth.sentence
    return page.Section("more", "Would more data help?", (page.Paragraph(said, "lead"), drawn))
