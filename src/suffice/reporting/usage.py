"""How to use the chosen model: commands and Python, word for word."""

import shlex
from dataclasses import dataclass

from sklearn.base import clone

from suffice.reporting.blocks import Block, Code, Paragraph, Section
from suffice.reporting.choosing import Judgement
from suffice.reporting.documented import DocumentedTable


@dataclass(frozen=True, slots=True)
class Provenance:
    """The command that made the report, and the model file beside it."""

    command: str | None = None
    model: str | None = None


def usage(data: DocumentedTable, judgement: Judgement, made: Provenance) -> Section:
    """Return the section of commands and code."""
    blocks: list[Block] = [Paragraph(_where(judgement, made), "lead")]
    if made.model is not None:
        blocks.append(Code("In a terminal: predictions for new rows", "sh", _commands(data, made)))
        blocks.append(Code("In Python: the saved model", "python", _loading(data, made)))
    blocks.append(Code("In Python: the same model again", "python", _fitting(judgement)))
    if made.command is not None:
        blocks.append(Code("This page again", "sh", made.command))
    return Section("use", "How to use it", tuple(blocks))


def _where(judgement: Judgement, made: Provenance) -> str:
    if made.model is None:
        return (
            f"{judgement.name}, fitted to all rows, is the report's estimator: "
            "report.estimator.save('model.suffice') keeps it."
        )
    return (
        f"{judgement.name}, fitted to all rows, is saved as {made.model} beside this page: "
        "numbers and settings, no code, safe to load."
    )


def _commands(data: DocumentedTable, made: Provenance) -> str:
    model = shlex.quote(made.model or "")
    lines = [f"suffice predict {model} new.csv -o predictions.csv", f"suffice show {model}"]
    if data.table.n_classes > 1:
        a, b = (shlex.quote(name) for name in data.class_names[:2])
        lines.append(f"suffice boundary {model} {a} {b}")
    lines.append(f"suffice sample {model} -n 1000 -o drawn.csv")
    return "\n".join(lines)


def _loading(data: DocumentedTable, made: Provenance) -> str:
    columns = ", ".join(map(repr, data.columns[:3])) + (", …" if len(data.columns) > 3 else "")
    return "\n".join(
        [
            "import suffice as sf",
            "",
            f"model = sf.load({made.model!r})",
            f"# X: a frame with the columns {columns}",
            "model.predict(X)",
            "model.predict_proba(X)  # posterior of each class",
            "model.log_density(X)    # low values are outliers",
        ]
    )


def _fitting(judgement: Judgement) -> str:
    words = " ".join(repr(clone(judgement.estimator)).split())
    ours = type(judgement.estimator).__module__.startswith("suffice.")
    lines = ["import suffice as sf", "", f"model = {'sf.' if ours else ''}{words}.fit(X, y)"]
    return "\n".join([*lines, "model.predict(X_new)"])
