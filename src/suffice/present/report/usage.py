"""The section on how to use the model, and how the page was made."""

import base64
import platform
import re
import shlex
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from sklearn.base import clone

import suffice
from suffice.core.table.matrix import taken
from suffice.core.table.notation import Notations
from suffice.core.text.numbers import exact_number, percent, points_between
from suffice.errors import SufficeError
from suffice.estimators.saved import portable
from suffice.evaluate.comparison.models import CONSTANT, NAMED_MODELS
from suffice.present.report.blocks import Block, Code, DataTable, Download, Paragraph, Section
from suffice.present.report.findings import Findings
from suffice.selection.validation.fitting import weight_name

_MODEL_NAMES = {model.name for model in NAMED_MODELS}
MOST_BYTES = 300_000  # size of the largest file that is embedded in the page
_IN_LECTURES = ("GradientDescent", "NewtonDescent", "PerceptronLearning")
# packages whose versions are shown
PACKAGES = ("suffice", "numpy", "scipy", "scikit-learn", "polars")


@dataclass(frozen=True, slots=True)
class Provenance:
    """How a report was made: the command, the model file, and the seed."""

    command: str | None = None
    model: str | None = None
    seed: int = 0
    # Python code that reads X and y, if the rows come from a file
    reading: str | None = None
    notations: Notations | None = None  # notation of numbers and dates in the file of the rows


def usage(findings: Findings, provenance: Provenance) -> Section:
    """Return the section on commands, code and files."""
    model_file = _model_file(findings.estimator, provenance.notations)
    blocks: list[Block] = [
        Paragraph(_where_the_model_is(findings, provenance, model_file), "lead")
    ]
    details: list[Block] = []
    if provenance.model is not None and model_file is not None:
        commands = _commands(findings, provenance.model)
        loading = _loading_code(findings, provenance.model)
        blocks.append(Code("In a terminal: predictions for new rows", "sh", commands))
        blocks.append(Code("In Python: the saved model", "python", loading))
    fitting = _fitting_code(findings, provenance.reading)
    if model_file is None:
        fitting = f"import joblib\n{fitting}\njoblib.dump(model, 'model.joblib')"
    details.append(Code("In Python: the same model, fitted again", "python", fitting))
    if provenance.command is not None:
        details.append(Code("The command that made this page", "sh", provenance.command))
    predictions = _predictions_file(findings)
    if len(predictions) <= MOST_BYTES:
        content = "the prediction for each row while it was held out"
        blocks.append(_download("predictions.csv", content, predictions))
    if model_file is not None and len(model_file) <= MOST_BYTES:
        name = Path(provenance.model or "model.suffice").name
        content = f"{findings.name}, fitted to {findings.learnt_from}; load it with sf.load"
        blocks.append(_download(name, content, model_file))
    details.append(_versions(provenance.seed))
    return Section(
        key="use",
        title="How to use it",
        blocks=tuple(blocks),
        details=tuple(details),
        more="Code that fits the same model, the command that made this page, and versions",
    )


def _works(call: Callable[[], object]) -> bool:
    """Whether a method call of a fitted classifier succeeds."""
    try:
        call()
    except (AttributeError, SufficeError, NotImplementedError):
        return False
    return True


def _model_file(estimator: Any, notations: Notations | None) -> bytes | None:
    """Return the content of a classifier's file; None if the classifier cannot be saved."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.suffice")
        if not _works(lambda: portable(estimator, notations).save(path)):
            return None
        return path.read_bytes()


def _where_the_model_is(
    findings: Findings,
    provenance: Provenance,
    model_file: bytes | None,
) -> str:
    if model_file is None:
        return (
            f"{findings.name} cannot be saved as a .suffice file. Such files hold models of "
            "suffice, scikit-learn, LightGBM, XGBoost and CatBoost that predict probabilities. The "
            "code below fits it and saves it with joblib. "
            f"{_best_that_can_be_saved(findings)}"
        )
    if provenance.model is None:
        return (
            f"{findings.name}, fitted to {findings.learnt_from}, is the report's estimator: "
            "report.save_model('model.suffice') saves it."
        )
    sentence = (
        f"{findings.name}, fitted to {findings.learnt_from}, is saved as {provenance.model} next "
        "to this page. The file holds numbers and settings but no code, so it is safe to load."
    )
    if len(model_file) > MOST_BYTES:
        sentence += " It is too large to embed in this page."
    return sentence


def _best_that_can_be_saved(findings: Findings) -> str:
    """Return a sentence on the best model that can be saved, and on its errors."""
    comparison = findings.comparison
    for outcome in comparison.outcomes:
        is_other = outcome.name not in (findings.name, CONSTANT)
        if is_other and outcome.name in _MODEL_NAMES:
            points = points_between(outcome.error, comparison[findings.name].error)
            return (
                f"Of the models that can be saved, {outcome.name} is best: it misclassifies "
                f"{percent(outcome.error)}, {points} percentage points "
                f"against {findings.name}."
            )
    return "No model that was compared can be saved."


def _commands(findings: Findings, file: str) -> str:
    model = shlex.quote(file)
    fitted = findings.estimator
    lines = [
        f"suffice predict {model} new.csv -o predictions.csv",
        f"suffice show {model}",
    ]
    if _works(lambda: fitted.boundary(*fitted.classes_[:2])):
        classes = list(findings.class_names[:2])
        # after "--", names that begin with "-" are not taken as options
        if any(name.startswith("-") for name in classes):
            classes.insert(0, "--")
        lines.append(f"suffice boundary {model} {shlex.join(classes)}")
    if _works(lambda: fitted.sample(1)):
        lines.append(f"suffice sample {model} -n 1000 -o drawn.csv")
    return "\n".join(lines)


def _loading_code(findings: Findings, file: str) -> str:
    columns = findings.data.columns
    first_columns = ", ".join(repr(name) for name in columns[:3])
    if len(columns) > 3:
        first_columns += ", …"
    has_dates = any(profile.kind == "date" for profile in findings.data.profiles)
    parsing = ", try_parse_dates=True" if has_dates else ""
    lines = [
        "import polars as pl",
        "import suffice as sf",
        "",
        f"model = sf.load({file!r})",
        f'X = pl.read_csv("new.csv"{parsing})  # columns {first_columns}',
    ]
    fitted = findings.estimator
    one_row = taken(findings.data.named_rows, np.arange(1))
    if _works(lambda: fitted.predict(one_row)):
        lines.append("model.predict(X)")
    if _works(lambda: fitted.predict_proba(one_row)):
        lines.append("model.predict_proba(X)  # posterior of each class")
    if _works(lambda: fitted.model_.log_density(one_row)):
        lines.append("model.model_.log_density(X)  # low values are outliers")
    threshold = findings.verdict.threshold
    if threshold is not None:
        k = [str(label) for label in fitted.classes_].index(str(threshold.label))
        lines.append(
            f"model.predict_proba(X)[:, {k}] >= {exact_number(threshold.value)}  # "
            f"class {threshold.label}, at the recommended threshold"
        )
    return "\n".join(lines)


def _fitting_code(findings: Findings, reading: str | None) -> str:
    """Return Python code that fits the same model, including all imports.

    ``reading`` is code that reads X and y, if the rows come from a file.
    """
    unfitted = clone(findings.estimator)
    constructor, imports = _constructor(unfitted)
    weight = None if findings.data.table.weight is None else weight_name(unfitted)
    arguments = "X, y"
    rows = reading or "# X, y: the rows and the labels of this report"
    if weight:
        arguments = f"X, y, {weight}=weights"
        rows = "# X, y, weights: the rows, the labels and the weights of this report"
    lines_of_rows = rows.strip().splitlines()
    imports.update(line for line in lines_of_rows if line.startswith(("import ", "from ")))
    lines = [
        *sorted(imports),
        "",
        *(line for line in lines_of_rows if line and line not in imports),
        f"model = {constructor}.fit({arguments})",
        "model.predict(X)",
    ]
    return "\n".join(lines)


def _constructor(unfitted: Any) -> tuple[str, set[str]]:
    """Return the call that constructs a classifier, and the imports that the call needs."""
    call = " ".join(unfitted.__repr__(N_CHAR_MAX=100_000).split())
    imports = set()
    for part in (unfitted, *unfitted.get_params().values()):
        name = type(part).__name__
        module = type(part).__module__
        if module.startswith("suffice."):
            statement, public_name = _public_name(name, module)
            imports.add(statement)
            call = re.sub(rf"(?<![\w.]){name}\(", f"{public_name}(", call)
        elif hasattr(part, "get_params"):
            imports.add(f"from {_public_module(type(part))} import {name}")
    return call, imports


def _public_module(cls: type) -> str:
    """Return the shortest package that exports a class, such as sklearn.ensemble."""
    parts = cls.__module__.split(".")
    for n_parts in range(1, len(parts)):
        name = ".".join(parts[:n_parts])
        if getattr(import_module(name), cls.__name__, None) is cls:
            return name
    return cls.__module__


def _public_name(name: str, module: str) -> tuple[str, str]:
    """Return the import of a class of suffice, and its name after that import."""
    if name in dir(suffice):
        return "import suffice as sf", f"sf.{name}"
    if name in _IN_LECTURES:
        return "import suffice as sf", f"sf.lectures.{name}"
    if module == "suffice.estimators.encoder":
        return f"from suffice.sklearn import {name}", name
    return f"from {module} import {name}", name


def _predictions_file(findings: Findings) -> bytes:
    """Return the held-out prediction of each row as CSV."""
    held_out = findings.held_out
    predicted = ["" if label is None else str(label) for label in held_out.predicted_labels]
    columns: dict[str, Any] = {
        findings.sample.id_name: [str(row_id) for row_id in findings.sample.ids],
        "true": held_out.labels.astype(str),
        "predicted": predicted,
    }
    if held_out.logs is not None and not findings.has_many_classes:
        for name, posteriors in zip(findings.class_names, held_out.posteriors.T, strict=True):
            columns[f"p({name})"] = posteriors.round(4)
    return pl.DataFrame(columns).write_csv().encode()


def _download(name: str, content: str, data: bytes) -> Download:
    return Download(name, content, base64.b64encode(data).decode())


def _versions(seed: int) -> DataTable:
    body = [("seed", str(seed)), ("Python", platform.python_version())]
    body.extend((package, version(package)) for package in PACKAGES)
    return DataTable("Made with", ("", "value"), ("text", "text"), tuple(body))
