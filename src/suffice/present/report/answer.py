"""The first sections of a report: the answer, the models compared, and whether more rows help."""

import numpy as np

from suffice.core.text.lists import counted, listed
from suffice.core.text.numbers import cell, count, p_statement, percent
from suffice.evaluate.comparison.caveats import FEW_OF_A_CLASS, FEW_ROWS
from suffice.evaluate.comparison.models import CONSTANT
from suffice.evaluate.comparison.verdict import Gain, most_missed
from suffice.present.report import blocks as page
from suffice.present.report.findings import Findings
from suffice.typing import Floats

MOST_CLASSES = 8  # classes whose recall is shown


def answer(findings: Findings) -> page.Section:
    """Return the section that a reader in a hurry reads."""
    verdict = findings.verdict
    blocks: list[page.Block] = [page.Paragraph(verdict.headline, verdict.usable)]
    blocks.extend(page.Paragraph(caveat, "caution") for caveat in verdict.caveats)
    blocks.extend(page.Paragraph(sentence) for sentence in verdict.sentences)
    blocks.append(page.Paragraph(next_step(findings), "lead"))
    blocks.append(_facts(findings))
    blocks.append(_recall_of_classes(findings))
    blocks.append(page.Paragraph(_how_measured(findings), "note"))
    return page.Section("answer", "The answer", tuple(blocks))


def _facts(findings: Findings) -> page.Facts:
    verdict = findings.verdict
    interval = f"95 % interval {percent(verdict.low)} to {percent(verdict.high)}"
    facts = [page.Fact("error", verdict.error, interval, "percent")]
    facts.extend(_gain(gain) for gain in verdict.gains)
    return page.Facts(tuple(facts))


def _gain(gain: Gain) -> page.Fact:
    p = p_statement(gain.p_value)
    if gain.measure == "error":
        return page.Fact("constant classifier", gain.constant, f"its error; {p}", "percent")
    style = "percent" if gain.measure == "balanced accuracy" else "loss"
    remark = f"constant classifier {cell(gain.constant, style)}; {p}"
    return page.Fact(gain.measure, gain.model, remark, style)


def _recall_of_classes(findings: Findings) -> page.Intervals:
    classes = findings.verdict.recalls
    items = []
    for each in classes[:MOST_CLASSES]:
        remark = f"{count(each.n_found)} of {count(each.of)}"
        items.append(page.Interval(str(each.label), each.n_found / each.of, remark))
    note = ""
    if len(classes) > MOST_CLASSES:
        note = f"The {MOST_CLASSES} classes of which it finds least."
    return page.Intervals(
        caption="What it finds of each class",
        axis="share of the class",
        style="percent",
        items=tuple(items),
        note=note,
    )


def _how_measured(findings: Findings) -> str:
    measured = f"Measured on rows not seen in training: {findings.verdict.protocol}."
    groups = findings.sample.groups
    if groups is None:
        return measured
    n_groups = counted(len(np.unique(groups)), "group")
    column = findings.data.groups_name
    return f"{measured} Folds keep whole groups of {column} together ({n_groups})."


def next_step(findings: Findings) -> str:
    """Return what to do next, in one sentence."""
    verdict = findings.verdict
    suspects = findings.checks.suspects
    if suspects:
        return (
            f"Next: find out whether {suspects[0].column} is known before the class is; if not, "
            "leave it out."
        )
    if verdict.threshold is not None:
        return (
            f"Next: decide how many false alarms one more {verdict.threshold.label} found is "
            "worth, and choose the threshold by that, under Where it errs."
        )
    if verdict.usable == "no":
        return (
            "Next: look for other columns; these have not been shown to separate the classes."
        )
    if verdict.usable == "with care":
        return _next_step_with_care(findings)
    growth = findings.growth
    if growth is not None and growth.helps == "would help":
        return (
            "Next: use it as shown under How to use it, and collect more rows, since they would "
            "help."
        )
    return (
        "Next: use it as shown under How to use it, and once the classes of new rows are known, "
        "compare them with this page (suffice report --against)."
    )


def _next_step_with_care(findings: Findings) -> str:
    checks = findings.checks
    if checks.together:
        return (
            "Next: make this page again with whole groups held out, before anything depends on "
            "it."
        )
    if checks.caveats:
        repeated = counted(checks.n_duplicates, "repeated row")
        return f"Next: remove the {repeated} before anything depends on it."
    if findings.outcome.n_rows < FEW_ROWS:
        return "Next: collect more rows before anything depends on it."
    classes = findings.verdict.recalls
    smallest = min(classes, key=lambda each: each.of)
    if smallest.of < FEW_OF_A_CLASS:
        return (
            f"Next: collect more rows of class {smallest.label} before anything depends on it."
        )
    missed = most_missed(classes)
    growth = findings.growth
    if growth is not None and growth.helps == "would hardly help":
        return (
            f"Next: look for other columns that separate class {missed.label} from the others "
            "before anything depends on it."
        )
    return f"Next: collect more rows of class {missed.label} before anything depends on it."


#: Columns of the table of models: heading, name in the comparison, style.
MODEL_COLUMNS = (
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


def models_compared(findings: Findings) -> page.Section:
    """Return the section of the models compared."""
    comparison = findings.comparison
    blocks: list[page.Block] = [
        page.Paragraph(comparison.verdict, "lead"),
        _table_of_models(findings),
    ]
    n_judged = findings.sample.table.n_rows
    n_rows = findings.data.table.n_rows
    if n_judged < n_rows:
        on_sample = (
            f"The models were compared on a stratified sample of {n_judged:,} of {n_rows:,} rows; "
            f"{findings.name} was then fitted to {findings.learnt_from}."
        )
        blocks.append(page.Paragraph(on_sample, "note"))
    if comparison.left_out:
        left_out = f"Not compared, to save time: {listed(comparison.left_out)}."
        blocks.append(page.Paragraph(left_out, "note"))
    blocks.append(_differences(findings))
    return page.Section("models", "Models compared", tuple(blocks))


def _table_of_models(findings: Findings) -> page.DataTable:
    comparison = findings.comparison
    models = comparison.rows()
    headings, names, styles = zip(*MODEL_COLUMNS, strict=True)
    chosen = [i for i, model in enumerate(models) if model["model"] == findings.name]
    rows = []
    for model in models:
        row = tuple(model[name] for name in names)
        rows.append(row)
    return page.DataTable(
        caption=f"Held-out losses: {comparison.n_rows:,} rows, {comparison.protocol}",
        columns=headings,
        styles=styles,
        rows=tuple(rows),
        note=(
            "From, to: 95 % interval of the error (Wilson). p: whether it errs as often as "
            f"{findings.name}, on the same rows (McNemar), adjusted for the number of models "
            "(Bonferroni) but for the constant classifier. Both are widened, since folds share "
            "training rows. Brier and AUC: sum and mean over classes. Calib. error: expected "
            "calibration error of the most probable class. Size: free parameters. Fit: time for "
            "one fold."
        ),
        marked=tuple(chosen),
    )


def _differences(findings: Findings) -> page.Intervals:
    """Return how much more often than the recommended model each other one errs."""
    comparison = findings.comparison
    has_two_models = len(comparison.outcomes) == 2
    items = []
    for difference in comparison.differences():
        # the constant classifier is so much worse that it would rule the scale
        if difference.model == CONSTANT and not has_two_models:
            continue
        item = page.Interval(
            name=difference.model,
            value=difference.mean,
            remark="" if difference.verdict == "alike" else difference.verdict,
            low=difference.low,
            high=difference.high,
        )
        items.append(item)
    return page.Intervals(
        caption=f"More or fewer errors than {comparison.reference}",
        axis="percentage points; left: fewer errors",
        style="points",
        items=tuple(items),
        note=(
            "Paired on the same held-out rows. The 95 % intervals hold for all models at once: "
            "where one excludes zero, the difference is significant."
        ),
    )


def more_data(findings: Findings) -> page.Section | None:
    """Return the section that says whether more rows would help."""
    growth = findings.growth
    if growth is None:
        return None
    sizes = growth.sizes.astype(float)
    expected_sizes = np.array([forecast.n_rows for forecast in growth.forecast], float)
    expected_errors = np.array([forecast.error for forecast in growth.forecast])
    low = 100 * np.array([forecast.low for forecast in growth.forecast])
    high = 100 * np.array([forecast.high for forecast in growth.forecast])
    observed = page.Series(
        name="observed",
        shape="line",
        x=sizes,
        y=100 * growth.error,
        tips=_error_tips(sizes, growth.error),
    )
    expected = page.Series(
        name="expected",
        shape="line",
        x=expected_sizes,
        y=100 * expected_errors,
        look=1,
        tips=_error_tips(expected_sizes, expected_errors),
    )
    interval = page.Series("", "band", expected_sizes, low, look=1, upper=high)
    highest = 100 * float(growth.error.max())
    highest = max(highest, float(high.max()))
    plot = page.Plot(
        key="growth",
        caption=(
            "Error on held-out rows by the number of training rows: observed with part of the "
            "rows, and expected with all rows and more, with its 95 % interval."
        ),
        x=page.Axis("training rows", float(sizes[0]), float(expected_sizes[-1]), log=True),
        y=page.Axis("error, %", 0.0, min(100.0, 1.05 * highest)),
        series=(interval, observed, expected),
    )
    lead = growth.sentence
    if findings.verdict.usable == "no":
        lead = (
            "That cannot be said: its error is no lower than that of the constant classifier."
        )
    blocks = (page.Paragraph(lead, "lead"), plot)
    return page.Section("more", "Would more data help?", blocks)


def _error_tips(sizes: Floats, errors: Floats) -> tuple[str, ...]:
    pairs = zip(sizes, errors, strict=True)
    return tuple(f"{count(size)} rows: {percent(error)}" for size, error in pairs)
