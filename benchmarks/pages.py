"""Do reports contradict themselves? ``python -m benchmarks pages FOLDER… [--fast]`` reads them.

A report is made of every CSV file of the folders, and of scikit-learn's tables. Of each it is
checked that

- the class that it names is the one with the largest share missed;
- the stated rule picks the stated model, and one that no fold chooses again has a caveat;
- no model is recommended whose posteriors are useless, where another has usable ones;
- every number of a caveat and of the reason for the model is the one of its own field in JSON;
- every number of its first sentences follows from the numbers in its JSON;
- each number of the headline, of the threshold and of the recalls is the one of its own field in
  JSON, and the recalls and the threshold are those counted on the held-out rows;
- every caveat on the page is on the terminal and in JSON, too;
- the file of the recommended model states the same probabilities.
"""

from __future__ import annotations

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
from suffice.cli.group import suffice
from suffice.core.text.numbers import STYLES, p_statement
from suffice.present.report import build

if TYPE_CHECKING:
    from collections.abc import Iterator

    from suffice.present.report import Report

NUMBER = re.compile(r"(?<![\w.])\d+(?:,\d{3})*(?:\.\d+)?(?:e[-−+]?\d+)?")
MOST_TIES = 6  # classes that a sentence names all of
CONSTANTS = {"95", "0.05", "2"}  # of intervals, of tests, "2e-9"
_FORMATS = ("count", "number", "short", "loss", "percent", "points", "signed")


def main(arguments: list[str]) -> None:
    options = [argument for argument in arguments if argument.startswith("--")]
    folders = [Path(argument) for argument in arguments if not argument.startswith("--")]
    n_tables = 0
    n_failed = 0
    with tempfile.TemporaryDirectory() as folder:
        files = [file for each in folders for file in sorted(each.glob("*.csv"))]
        files += written_tables(Path(folder))
        for file in files:
            found = failures(file, Path(folder), *options)
            n_tables += 1
            n_failed += bool(found)
            print(f"{file.parent.name}/{file.name}: {'; '.join(found) or 'ok'}", flush=True)
    print(f"{n_tables - n_failed} of {n_tables} tables without a contradiction")


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
    return [
        *named_class(report),
        *stated_rule(report),
        *stated_numbers(report),
        *stated_fields(report),
        *stated_reasons(report),
        *stated_caveats(report),
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
    found = re.search(r"It misses [\d,]+ of [\d,]+ rows? of class (.*?) \(", report.verdict)
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
    if report.comparison.reference not in report.answer.headline:
        told.append(f"the headline does not name {report.comparison.reference}")
    return told


def stated_numbers(report: Report) -> list[str]:
    """Return the numbers of the first sentences that no number of the JSON explains."""
    document = json.loads(report.write("json"))
    known = set(CONSTANTS)
    for section in document["sections"]:
        for block in section["blocks"]:
            if block["kind"] != "text":
                known |= written_forms(block)
    known |= written_forms(verdict_numbers(report))
    names = sorted(names_of(report), key=len, reverse=True)
    unexplained = []
    for sentence in (report.answer.headline, *report.answer.reasons, report.answer.next_step):
        text = sentence.replace("\N{NO-BREAK SPACE}", " ")
        for name in names:
            text = text.replace(name, " ")
        numbers = [number for number in NUMBER.findall(text) if number not in known]
        unexplained += [f"{number} in {sentence!r}" for number in numbers]
    return unexplained


# sentences of the first screen, and the field of JSON that each of their numbers must equal
_INTERVAL = r"\(95 % interval (?P<low>\S+) % to (?P<high>\S+) %\)"
STATEMENTS = (
    (
        r"choosing a model and fitting it misclassifies (?P<error>\S+) % of .*? " + _INTERVAL,
        {"error": "error", "low": "error_low", "high": "error_high"},
    ),
    (
        r"[:.] [Ii]t misclassifies (?P<error>\S+) % of .*? " + _INTERVAL,
        {"error": "error", "low": "error_low", "high": "error_high"},
    ),
    (
        r"itself misclassifies (?P<error>\S+) % " + _INTERVAL,
        {"error": "own_error", "low": "own_error_low", "high": "own_error_high"},
    ),
    (
        r"(?:than|against) the (?P<constant>\S+) % of the constant",
        {"constant": "constant_error"},
    ),
    (r"\(log-loss (?P<loss>[\d.]+) against", {"loss": "log_loss"}),
)


def stated_fields(report: Report) -> list[str]:
    """Return the numbers of the headline and the caveats that differ from their own field."""
    document = json.loads(report.write("json"))
    gains = {gain["measure"]: gain for gain in document["against_constant"]}
    fields = {**document, "constant_error": gains["error"]["constant"]}
    if "log-loss" in gains:
        fields["log_loss"] = gains["log-loss"]["model"]
    own = " ".join(
        each for each in document["caveats"] if each.startswith("The posteriors of")
    )
    text = f"{document['headline']} {own}".replace("\N{NO-BREAK SPACE}", " ")
    wrong = []
    n_errors = 0
    for pattern, names in STATEMENTS:
        for match in re.finditer(pattern, text):
            n_errors += names.get("error") == "error"
            for group, value in match.groupdict().items():
                if value is not None and value not in written_forms(fields[names[group]]):
                    wrong.append(
                        f"{value} is stated for {names[group]}, {fields[names[group]]}"
                    )
    if n_errors != 1:
        wrong.append(f"the headline states the error {n_errors} times")
    if document["includes_choice"] != ("itself misclassifies" in text):
        wrong.append("the headline mixes the error of the model with that of its choice")
    return wrong


# reasons for the model: who is named, and the field of its row that each number must equal
REASONS = (
    (r"Why (?P<model>.+?): least log-loss \((?P<log_loss>[\d.]+)\)", {"log_loss"}),
    (r"Why (?P<model>.+?): least error \((?P<error>[\d.]+) %\)", {"error"}),
    (
        r"Why (?P<model>.+?): it is the simplest, with (?P<n_parameters>\S+) par",
        {"n_parameters"},
    ),
    (r"of the least (?:log-loss )?\((?P<model>[^(]+), (?P<log_loss>[\d.]+)\)", {"log_loss"}),
    (r"(?:^|\. )(?P<model>[^.:]+?) errs (?:as|less) often \((?P<error>[\d.]+) %\)", {"error"}),
    (
        r"one tree: (?P<model>.+?) \((?P<error>[\d.]+) % errors, log-loss (?P<log_loss>[\d.]+)\)",
        {"error", "log_loss"},
    ),
)


def stated_reasons(report: Report) -> list[str]:
    """Return the numbers of the reason for the model that differ from those of the named model."""
    models = {str(row["model"]).lower(): row for row in report.comparison.rows()}
    wrong = []
    for reason in report.answer.reasons:
        text = reason.replace("\N{NO-BREAK SPACE}", " ")
        least = re.search(r"least log-loss \((?:[^,()]+, )?([\d.]+)\)", text)
        worse = re.search(r"one standard error worse \(([\d.]+)\)", text)
        if least is not None and worse is not None and least[1] == worse[1]:
            wrong.append(f"{worse[1]} is called both the least log-loss and a worse one")
        for pattern, fields in REASONS:
            for match in re.finditer(pattern, text):
                model = models.get(match["model"].lower())
                if model is None:
                    wrong.append(f"no model is called {match['model']!r}")
                    continue
                wrong += [
                    f"{match[field]} is stated for {field} of {match['model']}, {model[field]}"
                    for field in fields
                    if match[field] not in written_forms(model[field])
                ]
    return wrong


def stated_caveats(report: Report) -> list[str]:
    """Return the numbers of caveats that none of their own fields in JSON explains."""
    document = json.loads(report.write("json"))
    names = sorted(names_of(report), key=len, reverse=True)
    wrong = []
    for caveat in document["caveat_details"]:
        if caveat["sentence"] not in document["caveats"]:
            wrong.append(f"the answer lacks the caveat {caveat['sentence']!r}")
        if caveat["code"] in ("leak", "identifier", "together"):
            continue  # checks of the data write these, and hold no numbers apart
        known = CONSTANTS | written_forms(caveat["figures"]) | rounded_up(caveat["figures"])
        text = caveat["sentence"].replace("\N{NO-BREAK SPACE}", " ")
        for name in names:
            text = text.replace(name, " ")
        numbers = [number for number in NUMBER.findall(text) if number not in known]
        wrong += [f"{number} in {caveat['sentence']!r} is in no field" for number in numbers]
    return wrong


def rounded_up(figures: dict[str, float]) -> set[str]:
    """Return the bound of all models as it is written: never below itself."""
    if "most_right" not in figures:
        return set()
    return {f"{np.ceil(1000 * figures['most_right']) / 10:.1f}"}


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
        r"posterior of (\S+) on, it would find ([\d,]+) of ([\d,]+), with", next_step
    )
    if stated is None:
        return wrong if "known before" in next_step else [*wrong, "no threshold is stated"]
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


def verdict_numbers(report: Report) -> dict[str, Any]:
    """Return the numbers of the verdict as fields."""
    verdict = report.judgement.verdict
    numbers: dict[str, Any] = {
        "low": verdict.low,
        "high": verdict.high,
        "error": verdict.error,
        "own": [verdict.own.error, *verdict.own.interval],
        "p": [p_statement(gain.p_value) for gain in verdict.gains],
        "missed": [
            (each.of - each.n_found, each.of, each.n_found) for each in verdict.recalls
        ],
        "shares": [1 - each.n_found / each.of for each in verdict.recalls],
        "protocol": verdict.protocol,
        "n_half": sum(each.misses_half for each in verdict.recalls) - 1,
        "log_losses": [outcome.log_loss for outcome in report.comparison.outcomes],
        "errors": [outcome.error for outcome in report.comparison.outcomes],
    }
    choice = verdict.choice
    if choice is not None:
        numbers["choice"] = [choice.error, choice.low, choice.high, choice.n_rows]
        numbers["folds"] = [choice.choices.count(verdict.model), len(choice.choices)]
    threshold = verdict.threshold
    if threshold is not None:
        n_predicted = threshold.n_found + threshold.false_alarms
        numbers["threshold"] = [threshold.value, threshold.n_found, threshold.of]
        numbers["alarms"] = [threshold.false_alarms, threshold.n_found / max(n_predicted, 1)]
        numbers["auc"] = verdict.auc
    return numbers


def written_forms(value: Any) -> set[str]:
    """Return every way in which the numbers of a JSON value may be written in a sentence."""
    if isinstance(value, dict):
        return set().union(*(written_forms(each) for each in value.values()), set())
    if isinstance(value, (list, tuple)):
        return set().union(*(written_forms(each) for each in value), set())
    if isinstance(value, str):
        return set(NUMBER.findall(value))
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


def names_of(report: Report) -> set[str]:
    """Return what is called by a name that may hold digits."""
    classes = {str(label) for label in report.judgement.held_out.classes}
    columns = set(map(str, report.judgement.data.columns))
    models = {outcome.name for outcome in report.comparison.outcomes}
    return {name for name in classes | columns | models if len(name) > 1}


def caveats_of_page(report: Report, page: str, terminal: str) -> list[str]:
    """Return the caveats of the page that the terminal or JSON lacks."""
    document = json.loads(report.write("json"))
    missing = []
    for text in re.findall(r'<p class="caution">(.*?)</p>', page):
        caveat = unescape(text).replace("\N{NO-BREAK SPACE}", " ")
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
