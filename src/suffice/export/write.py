"""Write a fitted classifier for another system, as SQL, ONNX or JSON."""

from pathlib import Path
from typing import Literal

from suffice.core.decision import classifier_of
from suffice.errors import InvalidParameterError, require_word
from suffice.export.document import document_text, to_document
from suffice.export.fitted import FittedEstimator
from suffice.export.onnx import to_onnx
from suffice.export.sql import to_sql
from suffice.persistence.archive import replacing


def write_export(
    estimator: FittedEstimator,
    path: Path,
    to: Literal["sql", "onnx", "json"],
    *,
    dialect: str | None = None,
    table: str | None = None,
) -> None:
    """Write a query, a graph or a document to ``path``, either completely or not at all."""
    require_word(to, ("sql", "onnx", "json"), "to")
    if classifier_of(estimator).text is not None:
        raise InvalidParameterError(
            "this model counts the words of a text, which exports cannot write: export a model "
            "fitted to columns of counts"
        )
    if to != "sql" and (dialect is not None or table is not None):
        raise InvalidParameterError(
            f"dialect and table are for to='sql', not for to={to!r}: leave them out"
        )
    if to == "sql":
        query = to_sql(estimator, (table or "rows").split("."), dialect or "duckdb")
        data = query.encode() + b";\n"
    elif to == "onnx":
        data = to_onnx(estimator).SerializeToString()
    else:
        data = document_text(to_document(estimator)).encode() + b"\n"
    with replacing(path) as file:
        file.write(data)
