"""A fitted classifier as one query that answers for every row of a table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from suffice.errors import InvalidParameterError
from suffice.export.dialects import dialect_of
from suffice.export.program import program_of
from suffice.export.stages import Scoring
from suffice.export.words import name, truth

if TYPE_CHECKING:
    from collections.abc import Sequence

    from suffice.export.dialects import Dialect
    from suffice.export.program import Program
    from suffice.export.stages import Stage

_STAGE = "suffice_"  # unlike the name of a table, which SQLite would take for the stage itself


def to_sql(
    estimator: Any,
    table: str | Sequence[str],
    dialect: str = "duckdb",
    *,
    columns: Sequence[str] | None = None,
    keep: Sequence[str] = (),
    prefix: str = "",
    booleans: Sequence[str] = (),
) -> str:
    """Return the query of ``label`` and ``p_<class>`` of every row of a table.

    Parameters
    ----------
    estimator : fitted classifier
        Of the Gaussian family, or a linear one. Scores that are quadratic with full covariances
        are written for up to 30 features.
    table : str or list of str
        Its name, or its names from schema to table.
    dialect : {"duckdb", "postgres", "sqlite"}
    columns : list of str, optional
        The feature columns in order; by default those of fit.
    keep : list of str
        Columns to copy beside the answers.
    prefix : str
        Put before the name of every answer.
    booleans : list of str
        Feature columns of truth values, which PostgreSQL does not take for 1 and 0 by itself.
    """
    program, words = program_of(estimator), dialect_of(dialect)
    inputs = {
        column: truth(name(column)) if column in booleans else name(column)
        for column in program.columns(columns)
    }
    answers = _answers(program, prefix)
    _refuse_clash(keep, list(answers.values()))
    words.refuse_long(list(answers.values()))
    stages = list(Scoring(program, words).stages(inputs))
    words.refuse_wide(len(keep) + max(map(len, stages)))
    kept = {f"k{at}": name(column) for at, column in enumerate(keep)}
    path = [table] if isinstance(table, str) else list(table)
    source = ".".join(map(name, path))
    final = {**dict(zip(kept, keep, strict=True)), **answers}
    return _query(stages, kept, source, final, words)


def _query(stages: list[Stage], kept: Stage, source: str, final: Stage, dialect: Dialect) -> str:
    lines, before = [], source
    for at, stage in enumerate(stages):
        carried = kept if at == 0 else {name: name for name in kept}
        selected = ",\n    ".join(_column(c, e) for c, e in {**carried, **stage}.items())
        fence = f"\n  {dialect.fence}" if dialect.fence else ""
        body = f"(\n  SELECT\n    {selected}\n  FROM {before}{fence}\n)"
        lines.append(f"{_STAGE}{at} AS {dialect.materialized}{body}")
        before = f"{_STAGE}{at}"
    answer = ",\n  ".join(f"{column} AS {name(title)}" for column, title in final.items())
    return f"WITH {', '.join(lines)}\nSELECT\n  {answer}\nFROM {before}"


def _column(name: str, expression: str) -> str:
    return name if expression == name else f"{expression} AS {name}"


def _answers(program: Program, prefix: str) -> Stage:
    """Return the columns of the last stage under the names they are given."""
    classes = program.classes.tolist()
    kind, letter = ("p", "p") if program.has_posterior else ("score", "a")
    columns = {f"{letter}{k}": f"{prefix}{kind}_{label}" for k, label in enumerate(classes)}
    if not program.has_posterior and len(classes) == 2:
        columns = {"a1": f"{prefix}score"}  # of the second class against the first
    return {"label": f"{prefix}label", **columns}


def _refuse_clash(keep: Sequence[str], answers: Sequence[str]) -> None:
    both = [column for column in keep if column in answers]
    if both:
        msg = (
            f"column {both[0]!r} is kept and is also an answer's name: use a prefix for the answers"
        )
        raise InvalidParameterError(msg)
