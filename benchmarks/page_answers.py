"""What a report advises, promises and repeats, checked against its numbers.

Each function returns what is wrong. The rules are written again from ``docs/compare.md``, and read
nothing but the report's JSON, its blocks and the terminal.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from benchmarks.page_sentences import CONSTANT, LEVEL, Document, with_plain_spaces
from suffice.present.report.blocks import DataTable, Equation, Plot

if TYPE_CHECKING:
    from suffice.present.report import Report

FEW_OF_A_CLASS = 10


def usable(document: Document) -> list[str]:
    """Return whether the verdict is another than the rule of "can it be used" gives."""
    better = {gain["measure"] for gain in document["against_constant"] if _is_better(gain)}
    is_doubted = any(caveat["severity"] == "serious" for caveat in document["caveat_details"])
    misses = any(3 * each["n_found"] < 2 * each["n_rows"] for each in document["classes"])
    expected = "with care" if better else "no"
    if "error" in better and not is_doubted and not misses:
        expected = "yes"
    if document["usable"] == expected:
        return []
    return [f"usable is {document['usable']!r}, and the rule gives {expected!r}"]


def _is_better(gain: dict[str, Any]) -> bool:
    if gain["p"] is None or not gain["p"] <= LEVEL:
        return False
    if gain["measure"] == "balanced accuracy":
        return bool(gain["model"] > gain["constant"])
    return bool(gain["model"] <= gain["constant"])


def advice(document: Document) -> list[str]:
    """Return whether the next step names another class than those missed most, or rare ones."""
    named = re.search(
        r"(?:more rows of|that separate) class(?:es)? (.*?) (?:before|from the others)",
        document["next"],
    )
    if named is None:
        return []
    classes = document["classes"]
    shares = {each["class"]: 1 - each["n_found"] / each["n_rows"] for each in classes}
    most = [name for name, share in shares.items() if share == max(shares.values())]
    rare = [each["class"] for each in classes if each["n_rows"] < FEW_OF_A_CLASS]
    wrong = []
    if not any(name in named[1] for name in (*most, *rare)):
        wrong.append(f"the next step names {named[1]}, and {most} are missed most")
    if max(shares.values()) >= 0.5:
        lacking = [name for name in most if name not in named[1]]
        wrong += [f"the next step does not name {name}, missed by half" for name in lacking]
    return wrong


def useful_posteriors(document: Document) -> list[str]:
    """Return whether posteriors worse than the class frequencies are recommended without need."""
    rule = document["choice_rule"]
    if rule is None or rule["loss"] != "log_loss":
        return []
    losses = rule["losses"]
    name = document["recommended"]
    if losses[name] is None or losses[name] < losses[CONSTANT]:
        return []
    return [
        f"{name} has a log-loss above that of the class frequencies, {other} does not"
        for other in rule["unbeaten_by_error"]
        if losses[other] is not None and losses[other] < losses[CONSTANT]
    ]


def calibration(document: Document) -> list[str]:
    """Return whether a caveat on calibration quotes two shares that read alike."""
    wrong = []
    for caveat in document["caveat_details"]:
        if caveat["code"] == "calibration":
            shares = re.findall(r"[\d.]+ %", with_plain_spaces(caveat["sentence"]))
            for stated, observed in zip(shares[::2], shares[1::2], strict=True):
                if stated == observed:
                    wrong.append(f"both shares are {stated} in {caveat['sentence']!r}")
    return wrong


def every_channel(report: Report, terminal: str) -> list[str]:
    """Return the channels that lack the headline or the next step."""
    wrong = []
    told = with_plain_spaces(terminal)
    for text in (report.answer.headline, report.answer.next_step):
        sentence = with_plain_spaces(text)
        if sentence not in told:
            wrong.append(f"the terminal lacks {sentence!r}")
        if sentence not in with_plain_spaces(report.verdict + report.answer.next_step):
            wrong.append(f"Report.verdict lacks {sentence!r}")
    return wrong


def folded_parts(report: Report) -> list[str]:
    """Return what the title of a folded part promises in vain, or does not name."""
    wrong = []
    for section in report.sections:
        details = section.details
        tables = [block.caption for block in details if isinstance(block, DataTable)]
        holds = {
            "equations": any(isinstance(block, Equation) for block in details),
            "rows plotted over two columns": any(
                isinstance(block, Plot) and block.key == "features" for block in details
            ),
            "what is averaged": "What is averaged" in tables,
            "outliers": "Least likely rows" in tables,
            "reasons for the worst predictions": (
                "What speaks against the true class in the worst predictions" in tables
            ),
            "recall and precision": "Recall and precision of each class" in tables,
        }
        for words, is_held in holds.items():
            if (words in section.more) != is_held:
                how = "holds none" if words in section.more else "does not say so"
                wrong.append(f"{section.title!r}: {words}, and its folded part {how}")
    return wrong


def row_numbers(report: Report) -> list[str]:
    """Return the tables of numbered rows beside which nothing says where numbers start."""
    if not report.judgement.data.rows_are_numbered:
        return []
    worst = [
        block
        for section in report.sections
        for block in section.all_blocks
        if isinstance(block, DataTable) and block.caption == "Worst predictions"
    ]
    return [
        "rows are numbered, and it is not said from which number"
        for table in worst
        if "numbered from 0" not in table.note
    ]
