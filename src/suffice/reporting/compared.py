"""The models compared as a table, and why one of them is chosen."""

from suffice.reporting.blocks import Block, CellStyle, DataTable, Paragraph, Section
from suffice.reporting.choosing import Judgement
from suffice.reporting.documented import DocumentedTable
from suffice.text.lists import listed
from suffice.text.numbers import loss as loss_text
from suffice.text.numbers import p_statement, percent

COLUMNS: tuple[tuple[str, str, CellStyle], ...] = (
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


def models_compared(
    data: DocumentedTable, sample: DocumentedTable, judgement: Judgement, figures: tuple[Block, ...]
) -> Section:
    """Return the section of the models compared."""
    comparison = judgement.comparison
    told = comparison.rows()
    at = [row["model"] for row in told].index(judgement.name)
    table = DataTable(
        f"Held-out losses: {comparison.n_rows:,} rows, {comparison.protocol}",
        tuple(heading for heading, _, _ in COLUMNS),
        tuple(style for _, _, style in COLUMNS),
        tuple(tuple(row[name] for _, name, _ in COLUMNS) for row in told),
        note=(
            "Every loss is a mean over held-out rows; from and to bound the 95 % interval of the "
            f"error. p: against {judgement.name}, paired by rows (McNemar's test with the variance "
            "that overlapping training sets call for), adjusted for the number of models "
            "(Bonferroni), but for the constant classifier. Brier: summed over classes. Size: "
            "free parameters. Fit: time for one fold."
        ),
        marked=(at,),
    )
    blocks: list[Block] = [
        Paragraph(comparison.verdict, "lead"),
        Paragraph(reason(judgement)),
        table,
        *_remarks(data, sample, judgement),
    ]
    return Section("models", "Models compared", (*blocks, *figures))


def reason(judgement: Judgement) -> str:
    """Return why this classifier was chosen, with its price."""
    own, price = judgement.name, judgement.verdict.price
    if judgement.asked_for:
        return f"{own} was asked for; the others are there to compare it with."
    if judgement.verdict.usable == "no":
        return (
            "No model is significantly better than the constant classifier; "
            f"{own} is the simplest of those that come closest to being useful."
        )
    written = [o for o in judgement.comparison.outcomes if o.is_readable]
    if not judgement.outcome.is_readable:
        simple = min(written, key=lambda o: o.error)
        more, loss = (
            next(d for d in judgement.comparison.differences(of) if d.model == simple.name)
            for of in ("error", "log_loss")
        )
        return (
            f"{own} cannot be written down as an equation or one tree. Of the models that can, "
            f"{simple.name} has the fewest errors, {percent(simple.error)}: {100 * more.mean:.1f} "
            f"points more ({p_statement(more.p_value)}), with log-loss "
            f"{loss_text(simple.log_loss)} against {loss_text(judgement.outcome.log_loss)} "
            f"({p_statement(loss.p_value)}). It is the one to use where an equation is wanted."
        )
    cost = f", at {price}" if price else ""
    return (
        f"{own} is the simplest model that is about as good as the best{cost}: no model has "
        "significantly fewer errors or less log-loss, and its log-loss is within one standard "
        "error of the least."
    )


def _remarks(data: DocumentedTable, sample: DocumentedTable, judgement: Judgement) -> list[Block]:
    remarks: list[Block] = []
    if sample.table.n_rows < data.table.n_rows:
        words = (
            f"The models were compared on a stratified sample of {sample.table.n_rows:,} of "
            f"{data.table.n_rows:,} rows; {judgement.name} was then fitted to "
            f"{judgement.learnt_from}."
        )
        remarks.append(Paragraph(words, "note"))
    slow = judgement.comparison.left_out
    if slow:
        remarks.append(Paragraph(f"Left out for time: {listed(slow)}.", "note"))
    return remarks
