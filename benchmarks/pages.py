"""Do reports contradict themselves? ``python -m benchmarks pages FOLDER… [--fast]`` reads them.

A report is made of every CSV file of the folders, and of scikit-learn's tables. Of each it is
checked that

- the class that it names is the one with the largest share missed;
- the stated rule picks the stated model, and one that no fold chooses again has a caveat;
- no model is recommended whose posteriors are useless, where another has usable ones;
- every sentence of the first screen, of the reasons and of the comparison's verdict is the one
  that its own fields in JSON give, digit by digit, words such as "against" or "no fewer" included;
- every number of the page's other paragraphs is a number of its JSON;
- the recalls and the threshold are those counted on the held-out rows;
- "can be used", "with care" and "do not use" follow from the rule, and the next step names the
  class that is missed most, or a rare one;
- folded parts hold what their titles say; numbers of rows are explained;
- every caveat on the page is on the terminal and in JSON, too, and so are headline and next step;
- the file of the recommended model states the same probabilities.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import tempfile
from contextlib import contextmanager
from html import unescape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from click.testing import CliRunner
from sklearn import datasets

import suffice as sf
from benchmarks import page_answers
from benchmarks.page_sentences import explained, unexplained, without_remainders
from suffice.cli.group import suffice
from suffice.core.text.numbers import STYLES, cell, p_statement
from suffice.present.report import build

if TYPE_CHECKING:
    from collections.abc import Iterator

    from suffice.present.report import Report

NUMBER = re.compile(r"(?<![\w.])\d+(?:,\d{3})*(?:\.\d+)?(?:e[-−+]?\d+)?")
MOST_TIES = 6  # classes that a sentence names all of
CONSTANTS = {"95", "0.05", "2", "1970"}  # of intervals, of tests, "2e-9", of dates
_FORMATS = ("count", "number", "short", "loss", "percent", "points", "signed")


def main(arguments: list[str]) -> None:
    options = parser_of_arguments().parse_args(arguments)
    n_tables = 0
    n_failed = 0
    with tempfile.TemporaryDirectory() as folder:
        files = [file for each in options.folders for file in sorted(each.glob("*.csv"))]
        files += written_tables(Path(folder))
        for file in files:
            found = failures(file, Path(folder), *(["--fast"] if options.fast else []))
            n_tables += 1
            n_failed += bool(found)
            print(f"{file.parent.name}/{file.name}: {'; '.join(found) or 'ok'}", flush=True)
    print(f"{n_tables - n_failed} of {n_tables} tables without a contradiction")


def parser_of_arguments() -> argparse.ArgumentParser:
    """Return the parser of the command's arguments."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks pages",
        description="Make a report of each table and look for contradictions in it.",
    )
    parser.add_argument(
        "folders", nargs="*", type=_folder, help="folders of CSV files (default: none)"
    )
    parser.add_argument("--fast", action="store_true", help="make reports with --fast")
    return parser


def _folder(text: str) -> Path:
    path = Path(text)
    if not path.is_dir():
        raise argparse.ArgumentTypeError(f"{text} is not a folder")
    return path


def written_tables(folder: Path) -> list[Path]:
    """Return scikit-learn's tables as files."""
    files = []
    for name in ("iris", "wine", "breast_cancer"):
        table = getattr(datasets, f"load_{name}")(as_frame=True).frame
        file = folder / f"sklearn_{name}.csv"
        table.to_csv(file, index=False)
        files.append(file)
    return files


def failures(file: Path, folder: Path, *options: str) -> list[str]:
    """Return what contradicts itself in the report of a file."""
    page = folder / "page.html"
    command = ["report", str(file), "--force", "-o", str(page), *options]
    if "--target" not in options and '"target"' in _header(file):
        command += ["--target", "target"]
    with kept_report() as reports:
        answer = CliRunner().invoke(suffice, command, env={"COLUMNS": "1000"})
    if answer.exit_code:
        return [f"exit code {answer.exit_code}: {answer.output.strip().splitlines()[-1]}"]
    (report,) = reports
    model = folder / f"{file.stem}.suffice"
    document = json.loads(report.write("json"))
    return [
        *page_answers.usable(document),
        *page_answers.advice(document),
        *page_answers.useful_posteriors(document),
        *page_answers.calibration(document),
        *page_answers.every_channel(report, answer.output),
        *page_answers.folded_parts(report),
        *page_answers.row_numbers(report),
        *named_class(report),
        *stated_rule(report),
        *stated_sentences(report),
        *other_sentences(report),
        *unstable_choice(report),
        *useless_posteriors(report),
        *counted_rows(report),
        *caveats_of_page(report, page.read_text(), answer.output),
        *saved_model(report, model),
    ]


def _header(file: Path) -> str:
    """Return the first line of a file, each name in quotes."""
    with file.open(encoding="utf-8") as lines:
        names = lines.readline().strip().replace('"', "").split(",")
    return " ".join(f'"{name}"' for name in names)


@contextmanager
def kept_report() -> Iterator[list[Report]]:
    """Yield a list that holds the report which a command makes."""
    reports: list[Report] = []
    made = build.report_of

    def keeping(*arguments: Any, **named: Any) -> Report:
        reports.append(made(*arguments, **named))
        return reports[-1]

    build.report_of = keeping
    try:
        yield reports
    finally:
        build.report_of = made


def named_class(report: Report) -> list[str]:
    """Return whether the named classes are not all of those with the largest share missed."""
    tied = re.search(r"of the rows of each of the classes (.*?) \(\d", report.verdict)
    found = re.search(r" misses [\d,]+ of [\d,]+ rows? of class (.*?) \(", report.verdict)
    rows = report.judgement.held_out
    missed = np.bincount(rows.truth, rows.truth != rows.predicted, len(rows.classes))
    counts = np.bincount(rows.truth, minlength=len(rows.classes))
    shares = np.divide(missed, counts, out=np.zeros(len(counts)), where=counts > 0)
    names = [str(label) for label in rows.classes]
    most = [names[k] for k in np.flatnonzero(shares == shares.max())]
    if tied is not None:
        lacking = [name for name in most[:MOST_TIES] if name not in tied[1]]
        is_short = len(most) <= MOST_TIES
        return [f"{name} is missed as often and not named" for name in lacking if is_short]
    if found is None:
        return ["a class is missed and none is named"] if shares.any() else []
    if len(most) > 1:
        return [f"{most} are missed equally often and only {found[1]} is named"]
    if found[1] not in names:
        return [f"no class is called {found[1]!r}"]
    share = shares[names.index(found[1])]
    if share < shares.max():
        return [
            f"{found[1]} is named, of {share:.1%} missed, and the most is {shares.max():.1%}"
        ]
    return []


def stated_rule(report: Report) -> list[str]:
    """Return whether another model is recommended than the rule picks, or none is named."""
    losses = report.comparison.row_losses
    picked = losses.names[losses.recommended()]
    told = []
    if picked != report.comparison.reference:
        told.append(f"the rule picks {picked}, recommended is {report.comparison.reference}")
    if report.comparison.reference.lower() not in report.answer.headline.lower():
        told.append(f"the headline does not name {report.comparison.reference}")
    return told


def stated_sentences(report: Report) -> list[str]:
    """Return the numbers of the first screen, the reasons and the verdict that are of no field."""
    document = json.loads(report.write("json"))
    fragments = explained(document)
    names = names_of(report)
    wrong = []
    for text in sentences_of(report, document):
        numbers = unexplained(text, fragments, names)
        wrong += [f"{number} in {text!r} is of no field" for number in numbers]
    lacking = set(document["caveats"]) ^ {c["sentence"] for c in document["caveat_details"]}
    wrong += [f"the caveat {sentence!r} has no numbers of its own" for sentence in lacking]
    return wrong


def sentences_of(report: Report, document: dict[str, Any]) -> list[str]:
    """Return every text of the first screen, the reasons, and the verdict of the comparison."""
    texts = [
        document["headline"],
        *document["caveats"],
        document["next"],
        document["measured"],
        *document["reasons"],
        report.comparison.verdict,
    ]
    if document["real_errors"] is not None:
        texts.append(document["real_errors"]["sentence"])
    (answer,) = [section for section in document["sections"] if section["key"] == "answer"]
    for block in answer["blocks"]:
        texts.append(block.get("caption", ""))
        texts.append(block.get("note", ""))
        if block["kind"] == "text":
            texts.append(block["text"])
        if block["kind"] == "facts":
            for fact in block["items"]:
                value = cell(fact["value"], fact["style"])
                texts.append(f"{fact['name']}: {value}, {fact['remark']}")
        if block["kind"] == "intervals":
            texts += [f"{item['name']}: {item['remark']}" for item in block["items"]]
    return texts


def other_sentences(report: Report) -> list[str]:
    """Return the numbers of the page's other paragraphs that are no number of the JSON."""
    document = json.loads(report.write("json"))
    known = CONSTANTS | written_forms(document, strings=False)
    for block in _blocks(document):
        if block["kind"] in ("facts", "table", "checks"):
            known |= written_forms(block)
    fragments = explained(document)
    names = names_of(report)
    wrong = []
    for block in _blocks(document):
        if block["kind"] == "text":
            own = known | written_forms(block["figures"])
            text = without_remainders(block["text"], own)
            numbers = unexplained(text, fragments, names)
            unknown = [each for each in numbers if each.rstrip(".,") not in own]
            wrong += [f"{number} in {block['text']!r}" for number in unknown]
    return wrong


def _blocks(document: dict[str, Any]) -> list[dict[str, Any]]:
    return [block for section in document["sections"] for block in section["blocks"]]


def unstable_choice(report: Report) -> list[str]:
    """Return whether no fold chooses the model again, and no caveat says so."""
    choice = report.comparison.choice
    if choice is None or choice.n_rows or report.comparison.reference in choice.choices:
        return []
    if any(caveat.code == "choice" for caveat in report.comparison.caveats):
        return []
    return [f"{report.comparison.reference} is chosen in no fold, and no caveat says so"]


def useless_posteriors(report: Report) -> list[str]:
    """Return whether useless posteriors are recommended, and another model has usable ones."""
    comparison = report.comparison
    constant = comparison.baseline.name
    if comparison.difference(constant, "log_loss").verdict != "better":
        return []
    usable = []
    for outcome in comparison.outcomes:
        if outcome.name != constant:
            test = comparison.against(outcome.name).difference(constant, "log_loss")
            if test.verdict == "worse":
                usable.append(outcome.name)
    return [
        f"{comparison.reference} has useless posteriors, {name} usable ones" for name in usable
    ]


def counted_rows(report: Report) -> list[str]:
    """Return recalls and thresholds that the held-out rows do not have."""
    document = json.loads(report.write("json"))
    rows = report.judgement.held_out
    names = [str(label) for label in rows.classes]
    wrong = []
    for each in document["classes"]:
        is_class = rows.truth == names.index(each["class"])
        counts = [int(is_class.sum()), int((is_class & (rows.predicted == rows.truth)).sum())]
        if counts != [each["n_rows"], each["n_found"]]:
            wrong.append(f"of class {each['class']} {counts[1]} of {counts[0]} rows are found")
    threshold = document["threshold"]
    if threshold is None:
        return wrong
    k = names.index(threshold["class"])
    next_step = document["next"].replace("\N{NO-BREAK SPACE}", " ")
    stated = re.search(
        r"threshold of (\S+), the model would find ([\d,]+) of ([\d,]+) rows?, with", next_step
    )
    if stated is None:
        has_other_task = "known before" in next_step or "--groups" in next_step
        return wrong if has_other_task else [*wrong, "no threshold is stated"]
    # the number as a reader would copy it
    is_called = rows.posteriors[:, k] >= float(stated[1])
    n_found = int((is_called & (rows.truth == k)).sum())
    n_false_alarms = int((is_called & (rows.truth != k)).sum())
    if [n_found, n_false_alarms] != [threshold["n_found"], threshold["n_false_alarms"]]:
        wrong.append(
            f"from {stated[1]} on, {n_found} are found, {n_false_alarms} false alarms"
        )
    if n_found != int(stated[2].replace(",", "")):
        wrong.append(f"the next step states {stated[2]} found, and {n_found} are")
    return wrong


def written_forms(value: Any, *, strings: bool = True) -> set[str]:
    """Return every way in which the numbers of a JSON value may be written in a sentence."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        return set().union(*(written_forms(each, strings=strings) for each in value), set())
    if isinstance(value, str):
        return set(NUMBER.findall(value)) if strings else set()
    if value is None or isinstance(value, bool) or not np.isfinite(value):
        return set()
    forms = set()
    for style in _FORMATS:
        forms |= set(
            NUMBER.findall(STYLES[style](float(value)).replace("\N{NO-BREAK SPACE}", " "))
        )
    forms |= set(NUMBER.findall(p_statement(abs(float(value)))))
    forms.add(f"{100 * abs(float(value)):.1f}")
    return forms


def names_of(report: Report) -> list[str]:
    """Return what is called by a name that may hold digits."""
    classes = {str(label) for label in report.judgement.held_out.classes}
    columns = set(map(str, report.judgement.data.columns))
    models = {outcome.name for outcome in report.comparison.outcomes}
    return sorted(classes | columns | models | {report.title})


def caveats_of_page(report: Report, page: str, terminal: str) -> list[str]:
    """Return the caveats of the page that the terminal or JSON lacks."""
    document = json.loads(report.write("json"))
    missing = []
    for text in re.findall(r'<p class="caution">(.*?)</p>', page):
        caveat = unescape(re.sub(r"</?span[^>]*>", "", text)).replace(
            "\N{NO-BREAK SPACE}", " "
        )
        told = [each.replace("\N{NO-BREAK SPACE}", " ") for each in document["caveats"]]
        if caveat not in told:
            missing.append(f"JSON lacks the caveat {caveat!r}")
        if caveat not in terminal:
            missing.append(f"the terminal lacks the caveat {caveat!r}")
    return missing


def saved_model(report: Report, file: Path) -> list[str]:
    """Return whether the saved model is missing, or states other probabilities."""
    if not file.exists():
        return ["no model is saved"]
    loaded = sf.load(file)
    rows = report.judgement.data.named_rows
    if not np.array_equal(loaded.predict(rows), report.estimator.predict(rows)):
        return ["the saved model predicts other classes"]
    if not hasattr(report.estimator, "predict_proba"):
        return []
    stated = report.estimator.predict_proba(rows)
    if not np.allclose(loaded.predict_proba(rows), stated, rtol=1e-9, atol=1e-12):
        return ["the saved model states other probabilities"]
    os.remove(file)
    return []
