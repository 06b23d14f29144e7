"""How to use the chosen model: commands and Python, word for word; files; what made the page."""

import base64
import platform
import re
import shlex
import tempfile
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import polars as pl
from sklearn.base import clone

from suffice.errors import SufficeError
from suffice.present.report.blocks import Block, Code, DataTable, Download, Paragraph, Section
from suffice.present.report.choosing import Findings
from suffice.selection.validation.fitting import weight_name

LARGEST = 300_000  # bytes of a file that the page carries
MADE_WITH = ("suffice", "numpy", "scipy", "scikit-learn", "polars")


@dataclass(frozen=True, slots=True)
class Provenance:
    """The command that made the report, the model file beside it, and the seed."""

    command: str | None = None
    model: str | None = None
    seed: int = 0


def usage(f: Findings, made: Provenance) -> Section:
    """Return the section of commands, code and files."""
    packed = _packed(f.estimator)
    blocks: list[Block] = [Paragraph(_where(f, made, packed), "lead")]
    if made.model is not None and packed is not None:
        commands, loading = _commands(f, made.model), _loading(f, made.model)
        blocks.append(Code("In a terminal: predictions for new rows", "sh", commands))
        blocks.append(Code("In Python: the saved model", "python", loading))
    fitting = _fitting(f)
    if packed is None:
        fitting = f"import joblib\n{fitting}\njoblib.dump(model, 'model.joblib')"
    blocks.append(Code("In Python: the same model, fitted again", "python", fitting))
    if made.command is not None:
        blocks.append(Code("This page, made again", "sh", made.command))
    blocks += _predictions(f)
    if packed is not None:
        what = f"{f.name}, fitted to {f.learnt_from}: sf.load reads it"
        blocks += _carried(Path(made.model or "model.suffice").name, what, packed)
    versions = [("Python", platform.python_version()), *((n, version(n)) for n in MADE_WITH)]
    body = (("seed", str(made.seed)), *versions)
    blocks.append(DataTable("Made with", ("", "value"), ("text", "text"), body))
    return Section("use", "How to use it", tuple(blocks))


def _packed(estimator: Any) -> bytes | None:
    """Return a classifier as a file, None where files cannot keep it."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.suffice")
        return path.read_bytes() if _answers(estimator, "save", path) else None


def _where(f: Findings, made: Provenance, packed: bytes | None) -> str:
    if packed is None:
        return (
            f"{f.name} cannot be saved as a .suffice file here: these hold single models of "
            "suffice, no pipeline and no model of scikit-learn. The code below fits it, and keeps "
            "it with joblib."
        )
    if made.model is None:
        return (
            f"{f.name}, fitted to {f.learnt_from}, is the report's estimator: "
            "report.estimator.save('model.suffice') keeps it."
        )
    large = " It is too large for the page to carry it as well." * (len(packed) > LARGEST)
    return (
        f"{f.name}, fitted to {f.learnt_from}, is saved as {made.model} beside "
        f"this page: numbers and settings, no code, safe to load.{large}"
    )


def _commands(f: Findings, file: str) -> str:
    model, fitted = shlex.quote(file), f.estimator
    lines = [f"suffice predict {model} new.csv -o predictions.csv", f"suffice show {model}"]
    if _answers(fitted, "boundary", *fitted.classes_[:2]):
        names = f.names[:2]
        words = shlex.join(["--", *names] if any(n.startswith("-") for n in names) else names)
        lines.append(f"suffice boundary {model} {words}")
    if _answers(fitted, "sample", 1):
        lines.append(f"suffice sample {model} -n 1000 -o drawn.csv")
    return "\n".join(lines)


def _answers(fitted: Any, verb: str, *arguments: Any) -> bool:
    """Whether a fitted classifier has a verb, and it works."""
    try:
        getattr(fitted, verb)(*arguments)
    except (AttributeError, SufficeError, NotImplementedError):
        return False
    return True


def _loading(f: Findings, file: str) -> str:
    data = f.data
    columns = ", ".join(map(repr, data.columns[:3])) + (", …" if len(data.columns) > 3 else "")
    one, fitted = data.asked[:1], f.estimator
    asked = {
        "predict": "model.predict(X)",
        "predict_proba": "model.predict_proba(X)  # posterior of each class",
        "log_density": "model.log_density(X)    # low values are outliers",
    }
    lines = [line for verb, line in asked.items() if _answers(fitted, verb, one)]
    at = f.verdict.threshold
    if at is not None:
        k = [str(c) for c in fitted.classes_].index(str(at.label))
        said = f"# {at.label}, from the threshold of the answer on"
        lines.append(f"model.predict_proba(X)[:, {k}] >= {at.value:.3g}  {said}")
    head = [
        "import suffice as sf",
        "",
        f"model = sf.load({file!r})",
        f"# columns of X: {columns}",
    ]
    return "\n".join([*head, *lines])


def _fitting(f: Findings) -> str:
    """Return the code that fits the same model, with all that it must import."""
    bare = clone(f.estimator)
    words, imports = " ".join(bare.__repr__(N_CHAR_MAX=100_000).split()), set()
    parts = (bare, *bare.get_params().values())
    for part in (part for part in parts if hasattr(part, "get_params")):
        name, module = type(part).__name__, type(part).__module__
        if module.startswith("suffice.estimators."):
            imports.add("import suffice as sf")
            words = re.sub(rf"(?<![\w.]){name}\(", f"sf.{name}(", words)
        else:
            public = ".".join(p for p in module.split(".") if not p.startswith("_"))
            imports.add(f"from {public} import {name}")
    taken = None if f.data.table.weight is None else weight_name(bare)
    weights = f", {taken}=weights" if taken else ""
    fit = f"model = {words}.fit(X, y{weights})"
    return "\n".join([*sorted(imports), "", fit, "model.predict(X_new)"])


def _predictions(f: Findings) -> tuple[Download, ...]:
    """Return what was predicted for each row while it was held out, as CSV."""
    rows, ids = f.held_out, [str(i) for i in f.sample.ids]
    table: dict[str, Any] = {f.sample.id_name: ids, "true": rows.labels.astype(str)}
    table["predicted"] = [
        "" if label is None else str(label) for label in rows.predicted_labels
    ]
    if rows.logs is not None and not f.many:
        table |= dict(
            zip(map("p({})".format, f.names), rows.posteriors.round(4).T, strict=True)
        )
    what = "what was predicted for each row while it was held out"
    return _carried("predictions.csv", what, pl.DataFrame(table).write_csv().encode())


def _carried(name: str, what: str, content: bytes) -> tuple[Download, ...]:
    if len(content) > LARGEST:
        return ()
    return (Download(name, what, base64.b64encode(content).decode()),)
