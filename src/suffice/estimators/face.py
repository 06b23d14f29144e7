"""Fitted classifiers as programs of other systems; the room that writes them is above this one."""

from __future__ import annotations

import importlib
from importlib import import_module
from typing import TYPE_CHECKING, Any

from sklearn.utils.validation import (
    _check_y,
    check_consistent_length,
    check_is_fitted,
    validate_data,
)

from suffice.text import tables as notebook

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


def checked_table(estimator: Any, X: Any, y: Any, *, reset: bool) -> tuple[Any, Any]:
    """Return rows and labels to learn from."""
    if y is None:
        msg = (
            f"{type(estimator).__name__} requires y to be passed, but the target y is None: "
            "pass one label per row"
        )
        raise ValueError(msg)
    x = _validated(estimator, X, reset=reset)
    labels = _check_y(y, multi_output=False, y_numeric=False, estimator=estimator)
    check_consistent_length(x, labels)
    return x, labels


def checked_rows(estimator: Any, X: Any) -> Any:
    """Return rows to predict, with the features seen in fit."""
    check_is_fitted(estimator)
    return _validated(estimator, X, reset=False)


def _validated(estimator: Any, X: Any, *, reset: bool) -> Any:
    return validate_data(estimator, X, reset=reset, dtype="numeric", ensure_all_finite=False)


class Tells:
    """Reports and notebook summaries of a classifier."""

    def report(self, X: Any, y: Any, path: str | Path | None = None, **options: Any) -> Any:
        """Return a report about this classifier on labelled rows; see ``sf.report``.

        Settings count, what was learnt does not: all errors are of rows held out from a copy.
        """
        # by name: reports stand above estimators
        write = import_module("suffice.reporting").report
        return write(X, y, path, estimator=self, **options)

    def _html_repr(self) -> str:
        """Return scikit-learn's diagram, and what was learnt if anything was."""
        diagram: str = super()._html_repr()  # type: ignore[misc]
        return diagram if "classes_" not in vars(self) else diagram + self._learnt()

    def _learnt(self) -> str:
        classes = notebook.shown(vars(self)["classes_"].tolist())
        moments = getattr(self, "moments_", None)
        if moments is None:
            return notebook.html_table(["class"], [[label] for label in classes])
        priors = getattr(self, "priors_", moments.weights / moments.total_weight).tolist()
        rows = zip(classes, moments.counts.tolist(), priors, strict=False)
        return notebook.html_table(["class", "rows", "prior"], rows)


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
        write = importlib.import_module("suffice.export.sql").to_ibis
        return write(self, table, columns=columns, keep=keep, prefix=prefix)

    def to_onnx(self, path: str | Path | None = None) -> Any:
        """Return an ONNX graph in 64-bit numbers, and write it to ``path`` if there is one.

        Input ``X`` (n, d); outputs ``label`` (n,) and ``probabilities`` (n, K), or ``scores``
        for a classifier without posteriors. Needs the extra ``onnx``.
        """
        return importlib.import_module("suffice.export.onnx").to_onnx(self, path)
