"""A fitted classifier as an expression over an Ibis table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from suffice.export.sql import to_sql

if TYPE_CHECKING:
    from collections.abc import Sequence

_ROWS = "suffice_rows"


def to_ibis(
    estimator: Any,
    table: Any,
    *,
    columns: Sequence[str] | None = None,
    keep: Sequence[str] | None = None,
    prefix: str = "",
) -> Any:
    """Return the table of ``label`` and ``p_<class>``, to be computed by its own database.

    Parameters are those of ``to_sql``; ``keep`` is by default every column that is no feature.
    """
    dialect = table.get_backend().name
    if keep is None:
        named = getattr(estimator, "feature_names_in_", ()) if columns is None else columns
        taken = set(named)
        keep = [column for column in table.columns if column not in taken]
    query = to_sql(
        estimator,
        _ROWS,
        dialect,
        columns=columns,
        keep=keep,
        prefix=prefix,
        booleans=[column for column, kind in table.schema().items() if kind.is_boolean()],
    )
    return table.alias(_ROWS).sql(query)
