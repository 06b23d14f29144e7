"""A fitted classifier as a SQL query, or as an expression over an Ibis table."""

from collections.abc import Collection, Iterator, Sequence
from typing import Any

from suffice.core.decision import Classifier, classifier_of
from suffice.core.model.averaged import AveragedModel
from suffice.errors import FeatureMismatchError, InvalidParameterError
from suffice.export.dialect import ROWS, Dialect, Stage, column_of_rows, dialect_of, name
from suffice.export.fitted import Fitted
from suffice.export.sql_average import average_stages
from suffice.export.stages import Stages, carried

# Limits on the terms of a query, by the number of columns that may be empty in a row; None means
# any number of columns.
MOST_TERMS: dict[int | None, float] = {None: 3_000, 1: 10_000, 0: float("inf")}
# Stages have this prefix, because SQLite would confuse a stage with a table of the same name.
_STAGE = "suffice_"


def to_sql(
    estimator: Fitted,
    table: str | Sequence[str],
    dialect: str = "duckdb",
    *,
    columns: str | Sequence[str] | None = None,
    keep: str | Sequence[str] = (),
    prefix: str = "",
    booleans: str | Sequence[str] = (),
) -> str:
    """Return a query that computes ``label`` and ``p_<class>`` for every row of a table.

    Parameters
    ----------
    estimator : fitted estimator, or its ``model_``
    table : str or list of str
        Name of the table, or its parts from the schema to the table.
    dialect : {"duckdb", "postgres", "sqlite"}
    columns : list of str, optional
        The feature columns in order; by default those of the fit.
    keep : list of str
        Columns to copy to the output.
    prefix : str
        Prefix of the names of the prediction columns.
    booleans : list of str
        Names of the Boolean feature columns, which PostgreSQL does not cast to numbers by itself.

    Examples
    --------
    >>> from suffice import LDA
    >>> from suffice.export import to_sql
    >>> lda = LDA().fit([[0.0], [1.0], [5.0]], ["a", "a", "b"])
    >>> query = to_sql(lda, "rows", columns=["x"])
    >>> print(query.splitlines()[-5:-1])
    ['SELECT', '  label AS "label",', '  p0 AS "p_a",', '  p1 AS "p_b"']
    """
    classifier = classifier_of(estimator)
    engine = dialect_of(dialect)
    table_names = _as_list(table)
    feature_columns = column_names(classifier, columns)
    kept_columns = list(dict.fromkeys(_as_list(keep)))
    answers = _answers(classifier, prefix)
    for column in kept_columns:
        if column in answers.values():
            raise InvalidParameterError(
                f"column {column!r} is kept, but a prediction column has the same name: set a "
                "prefix for the prediction columns"
            )
    if not all(table_names):
        raise InvalidParameterError(
            f"the table {'.'.join(table_names)!r} has an empty name: write schema.table, or table"
        )
    engine.refuse_long_names(answers.values())
    engine.refuse_equal_names([*feature_columns, *kept_columns], "table")
    engine.refuse_equal_names([*kept_columns, *answers.values()], "answer")
    engine.refuse_large_integers(classifier.decision.actions.tolist())
    titles = {f"k{i}": column for i, column in enumerate(kept_columns)}
    kept = {letter: column_of_rows(column) for letter, column in titles.items()}
    titles.update(answers)
    width = 0
    for program in _programs(classifier, engine, feature_columns, _as_list(booleans)):
        first, *others = program
        stages = carried([{**kept, **first}, *others], titles)
        width = max(len(stage) for stage in stages)
        if width <= engine.most_columns:
            break
    engine.refuse_wide(width)
    return _query(stages, ".".join(name(each) for each in table_names), titles, engine)


def _as_list(names: str | Sequence[str]) -> list[str]:
    """Return names as a list, also a single name."""
    return [names] if isinstance(names, str) else list(names)


def column_names(classifier: Classifier, columns: str | Sequence[str] | None) -> list[str]:
    """Return the names of the feature columns: the given ones, or those of the fit."""
    d = classifier.n_features
    if columns is None and not classifier.columns:
        raise FeatureMismatchError(
            f"the model was fitted without column names: name its {d} columns, in order, with "
            "columns=[...] of to_sql, or fit it on a frame"
        )
    names = _as_list(classifier.columns if columns is None else columns)
    if len(names) != d:
        raise FeatureMismatchError(
            f"{len(names)} columns are named, but the model reads {d}: name all of them, in order"
        )
    return names


def _answers(classifier: Classifier, prefix: str) -> dict[str, str]:
    """Return the output name of each prediction column of the last stage."""
    titles = {"label": f"{prefix}label"}
    labels = classifier.classes.tolist()
    if classifier.has_posterior:
        for k, label in enumerate(labels):
            titles[f"p{k}"] = f"{prefix}p_{label}"
    elif len(labels) == 2:
        titles["a1"] = f"{prefix}score"  # score of the second class against the first
    else:
        for k, label in enumerate(labels):
            titles[f"a{k}"] = f"{prefix}score_{label}"
    return titles


def _programs(
    classifier: Classifier,
    dialect: Dialect,
    columns: Sequence[str],
    booleans: Collection[str],
) -> Iterator[list[Stage]]:
    """Yield the stages of a query for any number of empty columns per row, then for fewer."""
    model = classifier.model
    if isinstance(model, AveragedModel):
        yield list(average_stages(classifier, model, dialect, columns, booleans))
        return
    for most_missing, most_terms in MOST_TERMS.items():
        stages = Stages.of(classifier, dialect, most_missing)
        if stages.n_terms <= most_terms:
            yield [stages.reading.raw(columns, booleans), *stages.from_numbers()]


def _query(
    stages: Sequence[Stage],
    table: str,
    titles: dict[str, str],
    dialect: Dialect,
) -> str:
    """Return one query: a common table expression for each stage, then the predictions."""
    expressions = []
    source = f"{table} AS {ROWS}"
    fence = f"\n  {dialect.fence}" if dialect.fence else ""
    for i, stage in enumerate(stages):
        selected = []
        for column, expression in stage.items():
            is_copied = column == expression
            selected.append(column if is_copied else f"{expression} AS {column}")
        listed = ",\n    ".join(selected)
        body = f"(\n  SELECT\n    {listed}\n  FROM {source}{fence}\n)"
        expressions.append(f"{_STAGE}{i} AS {dialect.materialized} {body}")
        source = f"{_STAGE}{i}"
    answers = ",\n  ".join(f"{column} AS {name(title)}" for column, title in titles.items())
    return f"WITH {', '.join(expressions)}\nSELECT\n  {answers}\nFROM {source}"


def to_ibis(
    estimator: Fitted,
    table: Any,
    *,
    columns: str | Sequence[str] | None = None,
    keep: str | Sequence[str] | None = None,
    prefix: str = "",
) -> Any:
    """Return an Ibis table with ``label`` and ``p_<class>``, computed in the table's database.

    The parameters are those of ``to_sql``. By default, ``keep`` has all columns that are not
    features.
    """
    if keep is None:
        features = set(column_names(classifier_of(estimator), columns))
        keep = [column for column in table.columns if column not in features]
    booleans = [column for column, kind in table.schema().items() if kind.is_boolean()]
    query = to_sql(
        estimator,
        ROWS,
        table.get_backend().name,
        columns=columns,
        keep=keep,
        prefix=prefix,
        booleans=booleans,
    )
    return table.alias(ROWS).sql(query)
