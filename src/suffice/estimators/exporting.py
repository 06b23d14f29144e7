"""Fitted classifiers as programs of other systems; the room that writes them is above this one."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


class Exports:
    """Scoring where the data lives."""

    def to_sql(
        self,
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

        Notes
        -----
        A row that lacks a number gets NULL. Scores that are quadratic with full covariances are
        written for up to 30 features, all others for any number.

        Examples
        --------
        >>> from suffice import LDA
        >>> query = LDA().fit([[0.0], [1.0], [5.0]], ["a", "a", "b"]).to_sql("rows", columns=["x"])
        >>> print(query.splitlines()[-5:])
        ['SELECT', '  label AS "label",', '  p0 AS "p_a",', '  p1 AS "p_b"', 'FROM suffice_6']
        """
        write = importlib.import_module("suffice.export.sql").to_sql
        options = {"columns": columns, "keep": keep, "prefix": prefix}
        query: str = write(self, table, dialect, booleans=booleans, **options)
        return query

    def to_ibis(
        self,
        table: Any,
        *,
        columns: Sequence[str] | None = None,
        keep: Sequence[str] | None = None,
        prefix: str = "",
    ) -> Any:
        """Return an Ibis table of ``label`` and ``p_<class>``, computed by the table's database.

        Parameters are those of ``to_sql``; ``keep`` is by default every column that is no feature.
        """
        write = importlib.import_module("suffice.export.ibis").to_ibis
        return write(self, table, columns=columns, keep=keep, prefix=prefix)

    def to_onnx(self, path: str | Path | None = None) -> Any:
        """Return an ONNX graph in 64-bit numbers, and write it to ``path`` if there is one.

        Input ``X`` (n, d); outputs ``label`` (n,) and ``probabilities`` (n, K), or ``scores``
        for a classifier without posteriors. Needs the extra ``onnx``.
        """
        return importlib.import_module("suffice.export.onnx").to_onnx(self, path)
