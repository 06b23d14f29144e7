"""The answer of a report: whether the model can be used, its caveats, and the next step."""

from dataclasses import dataclass
from typing import Self

import numpy as np

from suffice.core.text.lists import counted, listed
from suffice.core.text.numbers import cell, count, exact_number, p_statement, percent
from suffice.core.text.tables import json_value
from suffice.evaluate.comparison.caveats import (
    FEW_OF_A_CLASS,
    FEW_ROWS,
    Caveat,
    caveats_of_calibration,
    caveats_of_values,
)
from suffice.evaluate.comparison.comparison import Comparison
from suffice.evaluate.comparison.paired import LARGEST, LOSSES, ChoiceEstimate
from suffice.evaluate.comparison.real_errors import RealErrors, Split
from suffice.evaluate.comparison.verdict import (
    ClassRecall,
    Gain,
    Standing,
    StatedError,
    Threshold,
    Usable,
    all_most_missed,
    choice_document,
    most_missed,
)
from suffice.present.report import blocks as page
from suffice.present.report.explanation import first_picture
from suffice.present.report.findings import Findings

MOST_CLASSES = 8  # most classes whose recall is shown


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer that begins the page, the terminal output, the JSON and ``Report.verdict``."""

    usable: Usable
    headline: str
    model: str  # the recommended model
    # whether the model can be used, with the error in the headline and the recall of each class
    standing: Standing
    threshold: Threshold | None  # lower threshold that finds more rows of the rarer class
    auc: float
    choice: ChoiceEstimate | None  # the error including the choice of the model
    own_error: float  # error of the model itself, without the choice
    own_interval: tuple[float, float]  # 95 % interval of ``own_error``
    caveats: tuple[str, ...]
    # sentences on a useful threshold, if any, and on why this model was chosen
    reasons: tuple[str, ...]
    next_step: str
    measured: str  # a sentence on how the errors were measured
    real_errors: RealErrors | None = None  # errors for other kinds of split
    caveat_details: tuple[Caveat, ...] = ()  # the caveats with their numbers
    # names of the models that remain after each step of the choice
    choice_rule: dict[str, object] | None = None

    @classmethod
    def of(cls, findings: Findings) -> Self:
        """Return the answer that follows from the findings."""
        verdict = findings.verdict
        details = _caveats(findings)
        return cls(
            usable=verdict.usable,
            headline=verdict.headline,
            model=verdict.model,
            standing=verdict.standing,
            threshold=verdict.threshold,
            auc=verdict.auc,
            choice=verdict.choice,
            own_error=verdict.own.error,
            own_interval=verdict.own.interval,
            caveats=tuple(caveat.sentence for caveat in details),
            reasons=verdict.sentences,
            next_step=next_step(findings),
            measured=_how_measured(findings),
            real_errors=verdict.real_errors,
            caveat_details=details,
            choice_rule=_choice_rule(findings.comparison),
        )

    @property
    def error(self) -> StatedError:
        """The error in the headline."""
        return self.standing.error

    @property
    def text(self) -> str:
        """The headline and all caveats."""
        return " ".join((self.headline, *self.caveats))

    def document(self) -> dict[str, object]:
        """Return the answer as a dictionary for JSON."""
        return {
            "verdict": self.text,
            "usable": self.usable,
            "headline": self.headline,
            "recommended": self.model,
            "error": self.error.error,
            "error_low": self.error.low,
            "error_high": self.error.high,
            "p": self.error.p_value,
            "includes_choice": self.error.includes_choice,
            "against_constant": [_gain_document(gain) for gain in self.standing.gains],
            "classes": [_recall_document(each) for each in self.standing.recalls],
            "threshold": None
            if self.threshold is None
            else _threshold_document(self.threshold, self.auc),
            "choice": choice_document(self.choice),
            "choice_rule": self.choice_rule,
            "own_error": self.own_error,
            "own_error_low": self.own_interval[0],
            "own_error_high": self.own_interval[1],
            "caveats": list(self.caveats),
            "caveat_details": [caveat.document() for caveat in self.caveat_details],
            "reasons": list(self.reasons),
            "next": self.next_step,
            "measured": self.measured,
            "real_errors": None if self.real_errors is None else self.real_errors.document(),
        }


def _gain_document(gain: Gain) -> dict[str, object]:
    return {
        "measure": gain.measure,
        "model": gain.model,
        "constant": gain.constant,
        "p": gain.p_value,
    }


def _recall_document(recall: ClassRecall) -> dict[str, object]:
    return {"class": str(recall.label), "n_found": recall.n_found, "n_rows": recall.of}


def _threshold_document(threshold: Threshold, auc: float) -> dict[str, object]:
    return {
        "class": str(threshold.label),
        "posterior": threshold.value,
        "n_found": threshold.n_found,
        "n_rows": threshold.of,
        "n_false_alarms": threshold.false_alarms,
        "auc": auc,
    }


def _caveats(findings: Findings) -> tuple[Caveat, ...]:
    """Return all caveats without repetition, serious ones first."""
    caveats = (
        *findings.comparison.caveats,
        *caveats_of_calibration(findings.calibration),
        *caveats_of_values(findings.checks),
    )
    by_sentence = {caveat.sentence: caveat for caveat in caveats}
    return tuple(sorted(by_sentence.values(), key=lambda caveat: caveat.severity == "minor"))


def _choice_rule(comparison: Comparison) -> dict[str, object] | None:
    """Return the models after each step of the choice, for JSON; None if the user chose."""
    if not comparison.is_chosen:
        return None
    losses = comparison.row_losses
    made = losses.recommendation()
    return {
        "loss": LOSSES[made.loss],
        "best": losses.names[made.best],
        # mean loss of each model; the log-loss of a row is at most ``largest``
        "losses": dict(zip(losses.names, json_value(losses.means[made.loss]), strict=True)),
        "largest": LARGEST,
        "close": [losses.names[m] for m in made.close],
        "unbeaten_by_error": [losses.names[m] for m in made.unbeaten_in_error],
        "set_aside": [losses.names[m] for m in made.set_aside],
    }


def answer_section(findings: Findings, answer: Answer) -> page.Section:
    """Return the section with the answer, which is the first on the page."""
    blocks: list[page.Block] = [page.Paragraph(answer.headline, answer.usable)]
    blocks.extend(page.Paragraph(caveat, "caution") for caveat in answer.caveats)
    blocks.append(page.Paragraph(answer.next_step, "lead"))
    blocks.append(_facts(findings))
    picture = first_picture(findings)
    if picture is not None:
        blocks.append(picture)
    blocks.append(_recall_of_classes(findings))
    return page.Section(key="answer", title="The answer", blocks=tuple(blocks))


def _facts(findings: Findings) -> page.Facts:
    verdict = findings.verdict
    interval = f"95 % interval {percent(verdict.low)} to {percent(verdict.high)}"
    if verdict.includes_choice:
        low, high = verdict.own.interval
        own = f"95 % interval {percent(low)} to {percent(high)}"
        facts = [
            page.Fact("error, model chosen in each fold", verdict.error, interval, "percent"),
            page.Fact(f"error of {verdict.model} itself", verdict.own.error, own, "percent"),
        ]
    else:
        facts = [page.Fact("error", verdict.error, interval, "percent")]
    if verdict.real_errors is not None:
        facts.extend(_errors_of_splits(verdict.real_errors, verdict.split))
    facts.extend(_gain(gain) for gain in verdict.gains)
    return page.Facts(tuple(facts))


def _errors_of_splits(errors: RealErrors, own: Split) -> list[page.Fact]:
    """Return the errors for kinds of split other than the one that the page uses."""
    facts = []
    for each in errors.errors:
        if each.split != own:
            interval = f"95 % interval {percent(each.low)} to {percent(each.high)}"
            facts.append(
                page.Fact(
                    f"error, {errors.named(each.split)}", each.error, interval, "percent"
                )
            )
    return facts


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
        n_more = counted(len(classes) - MOST_CLASSES, "more class")
        note = f"The {MOST_CLASSES} classes with the lowest recall. {n_more} not shown."
    return page.Intervals(
        caption=(
            "Recall: share of the rows of each class that "
            f"{findings.verdict.model} predicts correctly"
        ),
        axis="recall",
        style="percent",
        items=tuple(items),
        note=note,
    )


def _how_measured(findings: Findings) -> str:
    measured = (
        "All errors are measured on rows that were not used in training: "
        f"{findings.verdict.protocol}."
    )
    groups = findings.sample.groups
    if groups is None:
        return measured
    n_groups = counted(len(np.unique(groups)), "group")
    column = findings.data.groups_name
    return f"{measured} Folds keep whole groups of {column} together ({n_groups})."


def next_step(findings: Findings) -> str:
    """Return a sentence on what to do next."""
    verdict = findings.verdict
    suspects = findings.checks.suspects
    errors = verdict.real_errors
    if errors is not None and _is_worse_for_groups(errors, findings):
        name = errors.groups_name
        return (
            f"Next: run the report again with --groups {name}. Folds then hold out each {name} as "
            f"a whole, and {name} is not used as a feature."
        )
    if suspects:
        return (
            f"Next: find out whether {suspects[0].column} is known before the class is; if not, "
            "leave it out."
        )
    if verdict.threshold is not None:
        return _next_step_with_threshold(verdict.threshold)
    if verdict.usable == "no":
        return (
            "Next: look for other columns; these have not been shown to separate the classes."
        )
    if verdict.usable == "with care":
        return _next_step_with_care(findings)
    growth = findings.growth
    if growth is not None and growth.helps == "would help":
        return (
            "Next: use the model as shown in the section “How to use it” of the report, and "
            "collect more rows, which would help."
        )
    return (
        "Next: use the model as shown in the section “How to use it” of the report. Once you know "
        "the classes of new rows, check the model on them with suffice report --against."
    )


def _is_worse_for_groups(errors: RealErrors, findings: Findings) -> bool:
    """Whether the error is larger for unseen groups of a column that the report suggests."""
    worst = errors.headline
    is_given = findings.sample.groups is not None
    return worst.is_worse and worst.split == "unseen groups" and not is_given


def _next_step_with_threshold(threshold: Threshold) -> str:
    return (
        "Next: decide how many false alarms you accept for each further row of class "
        f"{threshold.label} that the model finds. Choose the threshold in the section “Where it "
        "errs” of the report. "
        f"With a threshold of {exact_number(threshold.value)}, the model would find "
        f"{threshold.n_found:,} of {counted(threshold.of, 'row')}, with "
        f"{counted(threshold.false_alarms, 'false alarm')}."
    )


def _next_step_with_care(findings: Findings) -> str:
    checks = findings.checks
    if checks.together:
        return (
            "Next: run the report again with whole groups held out (--groups) before you rely on "
            "the model."
        )
    copies = findings.comparison.copies
    if copies is not None and copies.n_seen:
        return (
            "Next: run the report again with a number of folds, so that identical rows stay in one "
            "fold."
        )
    if findings.outcome.n_rows < FEW_ROWS:
        return "Next: collect more rows before you rely on the model."
    classes = findings.verdict.recalls
    missed = most_missed(classes)
    names = [str(each.label) for each in all_most_missed(classes)]
    small = [each for each in classes if each.of < FEW_OF_A_CLASS]
    if small:
        if not missed.misses_half:
            names = [str(most_missed(small).label)]
        # the class that a caveat names, unless all rows of the class are found
        rarest = min(small, key=lambda each: each.of)
        if rarest.n_found < rarest.of and str(rarest.label) not in names:
            names.append(str(rarest.label))
        return f"Next: collect more rows of {_classes(names)} before you rely on the model."
    growth = findings.growth
    if growth is not None and growth.helps == "would hardly help":
        return (
            f"Next: look for other columns that separate {_classes(names)} from the others before "
            "you rely on the model."
        )
    return f"Next: collect more rows of {_classes(names)} before you rely on the model."


def _classes(names: list[str]) -> str:
    if len(names) == 1:
        return f"class {names[0]}"
    return f"classes {listed(names)}"
