"""How to use the chosen model: commands and Python, word for word."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from suffice.reporting.blocks import Block, Code, Section, Text

if TYPE_CHECKING:
    from suffice.reporting.judging import Judgement
    from suffice.reporting.rows import Rows


@dataclass(frozen=True, slots=True)
class Place:
    """Where things are: the command that made the report, and the model file beside it."""

    command: str | None = None
    model: str | None = None


def usage(rows: Rows, judgement: Judgement, place: Place) -> Section:
    """Return the section of commands and code."""
    blocks: list[Block] = [Text(_where(judgement, place), "lead")]
    if place.model is not None:
        blocks.append(Code("In a terminal: answers for new rows", "sh", _commands(rows, place)))
        blocks.append(Code("In Python: the saved model", "python", _loading(rows, place)))
    blocks.append(Code("In Python: the same model again", "python", _fitting(judgement)))
    if place.command is not None:
        blocks.append(Code("This page again", "sh", place.command))
    return Section("use", "How to use it", tuple(blocks))


def _where(judgement: Judgement, place: Place) -> str:
    if place.model is None:
        return (
            f"{judgement.name}, fitted to all rows, is the report's estimator: "
            "report.estimator.save('model.suffice') keeps it."
        )
    return (
        f"{judgement.name}, fitted to all rows, is saved as {place.model} beside this page: "
        "numbers and settings, no code, safe to load."
    )


def _commands(rows: Rows, place: Place) -> str:
    model = shlex.quote(place.model or "")
    lines = [f"suffice predict {model} new.csv -o answers.csv", f"suffice show {model}"]
    if rows.n_classes > 1:
        a, b = (shlex.quote(name) for name in rows.class_names[:2])
        lines.append(f"suffice boundary {model} {a} {b}")
    lines.append(f"suffice sample {model} -n 1000 -o drawn.csv")
    return "\n".join(lines)


def _loading(rows: Rows, place: Place) -> str:
    columns = ", ".join(map(repr, rows.names[:3])) + (", …" if rows.n_features > 3 else "")
    return "\n".join(
        [
            "import suffice as sf",
            "",
            f"model = sf.load({place.model!r})",
            f"# X: a frame with the columns {columns}",
            "model.predict(X)",
            "model.predict_proba(X)  # posterior of each class",
            "model.log_density(X)    # low values are outliers",
        ]
    )


def _fitting(judgement: Judgement) -> str:
    words = " ".join(repr(unfitted(judgement.estimator)).split())
    ours = type(judgement.estimator).__module__.startswith("suffice.")
    lines = ["import suffice as sf", "", f"model = {'sf.' if ours else ''}{words}.fit(X, y)"]
    return "\n".join([*lines, "model.predict(X_new)"])


def unfitted(estimator: Any) -> Any:
    """Return the estimator without what it learnt."""
    from sklearn.base import clone

    return clone(estimator)
