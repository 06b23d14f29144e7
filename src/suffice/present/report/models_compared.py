"""The section on the compared models."""

from suffice.core.text.lists import listed
from suffice.evaluate.comparison.comparison import failures_in_words
from suffice.evaluate.comparison.models import CONSTANT
from suffice.present.report import blocks as page
from suffice.present.report.findings import Findings

#: Columns of the table of models, each with heading, key in the comparison, and style.
MODEL_COLUMNS = (
    ("model", "model", "text"),
    ("approach", "approach", "text"),
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
    """Return the section on the compared models."""
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
    if comparison.slow:
        left_out = f"Not compared: {listed(comparison.left_out)}."
        # times in the unit of the sentence, and rounded in the same way
        times: dict[str, float] = {
            f"{model.name}_{model.time[1]}": round(model.time[0]) for model in comparison.slow
        }
        blocks.append(page.Paragraph(left_out, "note", times))
    blocks.extend(page.Paragraph(sentence, "note") for sentence in _failures(findings))
    blocks.append(_differences(findings))
    return page.Section("models", "Models compared", tuple(blocks), is_folded=True)


def _failures(findings: Findings) -> list[str]:
    """Return sentences on models that could not be evaluated, with the reasons."""
    sentences = failures_in_words(findings.comparison.failures)
    return [f"{sentence.rstrip('.')}." for sentence in sentences]


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
            "From, to: 95 % interval of the error (Wilson). p: p-value of the test whether the "
            f"error equals that of {findings.name} on the same rows (McNemar). It is adjusted for "
            "the number of pairs of models (Bonferroni), except for the constant classifier. "
            "Intervals and tests take into account that the folds share training rows. "
            "Brier: sum over the classes. AUC: mean over the classes. Calib. error: expected "
            "calibration error of the most probable class. Size: number of free parameters. Fit: "
            "time for one fold. Generative models describe the columns of each class and derive "
            "posteriors by Bayes' rule; discriminative models describe the posteriors or "
            "boundaries alone. AutoClassifier may average both."
        ),
        marked=tuple(chosen),
    )


def _differences(findings: Findings) -> page.Intervals:
    """Return a chart of the differences in error from the recommended model."""
    comparison = findings.comparison
    has_two_models = len(comparison.outcomes) == 2
    items = []
    for difference in comparison.differences():
        # the constant classifier is usually so much worse that it would determine the scale
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
        axis="percentage points of error; left of zero: fewer errors",
        style="points",
        items=tuple(items),
        note=(
            "All models are compared on the same held-out rows. The 95 % intervals hold for all "
            "models at once: if an interval excludes zero, the difference is significant."
        ),
    )
