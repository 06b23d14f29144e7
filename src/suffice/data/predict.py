"""``suffice.streams.predict_stream``: write a model's predictions for the rows of a source."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

import numpy as np
import polars as pl
from polars.io.plugins import register_io_source

from suffice.core.decision import Classifier, classifier_of
from suffice.core.table.mixed import levels_of
from suffice.core.table.notation import Notation
from suffice.core.text.lists import labels_of_one_type
from suffice.core.threads import over_stream
from suffice.data.cluster.dask import is_dask
from suffice.data.columns.kinds import as_numbers
from suffice.data.columns.roles import Roles, roles_for_predicting
from suffice.data.density_threshold import OUTLIER_RATE, outlier_threshold
from suffice.data.formats.writing import write_table
from suffice.data.frames.pairs import array_source
from suffice.data.opening import open_source
from suffice.data.options import Columns, Compute, TextFormat
from suffice.data.rows.left_out import (
    RowsRead,
    all_finite,
    gaps_in,
    refuse_infinite_numbers,
)
from suffice.data.rows.loading import frames_of
from suffice.data.source import (
    ColumnType,
    Progress,
    RowsDone,
    ScoredRows,
    Source,
    exactly,
    values_of,
)
from suffice.errors import InvalidInputError, InvalidParameterError
from suffice.typing import Flags, Floats


@dataclass(frozen=True, slots=True, eq=False)
class Answers:
    """Computes a classifier's predictions for rows; works in any process."""

    classifier: Classifier
    roles: Roles
    # names and types of the output: the label, then posteriors, log density and outlier if
    # available
    schema: Mapping[str, pl.DataType]
    # log density below which a row is an outlier; None if the model has no density
    threshold: float | None

    @classmethod
    def of(
        cls,
        classifier: Classifier,
        roles: Roles,
        prefix: str = "",
        rate: float = OUTLIER_RATE,
    ) -> Self:
        schema: dict[str, pl.DataType] = {f"{prefix}label": _labels_of(classifier).dtype}
        if classifier.has_posterior:
            for label in classifier.classes.tolist():
                schema[f"{prefix}p_{label}"] = pl.Float64()
        threshold = None
        # texts have posteriors but no density, because new words have no probability
        if classifier.has_density and classifier.text is None:
            schema[f"{prefix}log_density"] = pl.Float64()
            schema[f"{prefix}outlier"] = pl.Boolean()
            threshold = outlier_threshold(classifier, rate)
        return cls(classifier, roles, schema, threshold)

    def __call__(self, frame: pl.DataFrame, label: str, first_row: int) -> ScoredRows:
        """Return the kept columns and predictions of rows, and counts of rows without prediction.

        Messages use ``label`` and ``first_row``.
        """
        roles = self.roles
        x = np.empty((len(roles.numbers), frame.height))
        for j, name in enumerate(roles.numbers):
            x[j] = as_numbers(values_of(frame, name))
        if not all_finite(x):
            refuse_infinite_numbers(np.isinf(x.T), roles.numbers, label, first_row)
        answers = self.to(x.T if roles.schema is None else self._mixed_rows(frame, x))
        kept = [frame.get_column(roles.copied(name)).alias(name) for name in roles.kept]
        lacks_answer = answers.to_series(-1).is_null()
        gaps: dict[str, int] = {}
        if lacks_answer.any():
            allow_missing = self.classifier.allow_missing
            gaps = gaps_in(x.T, roles.numbers, allow_missing=allow_missing)
        rows_read = RowsRead(
            rows=frame.height,
            unusable=int(lacks_answer.sum()),
            by_column=gaps,
            new_levels=self._new_levels(frame),
        )
        # A dictionary keeps the name of a column without a name; polars would give it one in a
        # list.
        columns = {column.name: column for column in (*kept, *answers)}
        return pl.DataFrame(columns), rows_read

    def _mixed_rows(self, frame: pl.DataFrame, x: Floats) -> pl.DataFrame:
        """Return the features in order, numbers from ``x`` (p, n) and levels from the frame."""
        numbers = dict(zip(self.roles.numbers, x, strict=True))
        columns: dict[str, Floats | pl.Series] = {}
        for name in self.roles.features:
            columns[name] = numbers[name] if name in numbers else frame.get_column(name)
        return pl.DataFrame(columns)

    def _new_levels(self, frame: pl.DataFrame) -> dict[str, int]:
        """Return the number of rows with a level that the model has not seen, by category."""
        schema = self.roles.schema
        counts: dict[str, int] = {}
        for category in schema.categories if schema else ():
            column = values_of(frame, category.name)
            distinct = levels_of(column.unique()).levels
            if category.other or set(category.levels).issuperset(distinct):
                continue
            levels = levels_of(column)
            codes = category.codes_of(levels.levels, levels.codes)
            counts[category.name] = int((codes[levels.codes >= 0] < 0).sum())
        return counts

    def to(self, x: Floats | pl.DataFrame) -> pl.DataFrame:
        """Return a frame of predictions (n rows), null for rows without a prediction."""
        if self.classifier.allow_missing:
            return self._answers(x)
        numbers = _numbers_in(x)
        if all_finite(numbers):
            return self._answers(x)
        is_complete = np.asarray(np.isfinite(numbers).all(axis=1))
        answers = self._answers(_rows_of(x, is_complete))
        place = np.where(is_complete, np.cumsum(is_complete) - 1, -1)
        return answers.select(pl.all().gather(pl.Series(place).replace(-1, None)))

    def _answers(self, x: Floats | pl.DataFrame) -> pl.DataFrame:
        try:
            return self._columns(x)
        except InvalidInputError:  # in some row, a distance overflows
            if len(x) == 1:
                return pl.DataFrame({name: [None] for name in self.schema}, schema=self.schema)
            middle = len(x) // 2
            return pl.concat([self._answers(x[:middle]), self._answers(x[middle:])])

    def _columns(self, x: Floats | pl.DataFrame) -> pl.DataFrame:
        if not len(x):
            return pl.DataFrame(schema=self.schema)
        classifier = self.classifier
        columns: list[pl.Series] = []
        if classifier.has_posterior:
            posterior = classifier.posterior(x)
            codes = classifier.decision.decide(posterior)
            columns += [pl.Series(p) for p in posterior.T]
        else:
            codes = classifier.decide(x)
        columns.insert(0, _labels_of(classifier).gather(codes))
        if self.threshold is not None:
            density = pl.Series(classifier.log_density(x))
            columns.append(density)
            columns.append(density < self.threshold)
        return pl.DataFrame(dict(zip(self.schema, columns, strict=True)))


def _numbers_in(x: Floats | pl.DataFrame) -> Floats:
    if isinstance(x, pl.DataFrame):
        return x.select(pl.selectors.numeric()).to_numpy()
    return x


def _rows_of(x: Floats | pl.DataFrame, chosen: Flags) -> Floats | pl.DataFrame:
    return x.filter(pl.Series(chosen)) if isinstance(x, pl.DataFrame) else x[chosen]


def _labels_of(classifier: Classifier) -> pl.Series:
    """Return all possible values of the column ``label``: the classes, and that of a rejection."""
    refused = classifier.decision.actions[len(classifier.classes) :]
    return pl.Series(labels_of_one_type([*classifier.classes.tolist(), *refused.tolist()]))


@dataclass(frozen=True, slots=True)
class Predicted:
    """Numbers of rows: all rows, rows without a prediction, and outliers."""

    rows: int
    unanswered: int
    outliers: int | None  # None if the model has no density


def predict_stream(
    estimator: object,
    source: object,
    sink: str | Path | Callable[[pl.LazyFrame], object],
    *,
    columns: Columns | None = None,
    text: TextFormat | None = None,
    table: str | None = None,
    prefix: str = "",
    outlier_rate: float = OUTLIER_RATE,
    on: object = None,
    progress: Progress | None = None,
) -> Predicted:
    """Write one prediction for every row, in the same order; return the numbers of rows.

    The output has the columns ``label`` and ``p_<class>`` for every class, after the ids. If the
    model has a density, ``log_density`` and ``outlier`` follow. If the model needs all numbers, a
    row with a missing number gets empty predictions. An infinite number raises an error that names
    its row and column.

    Parameters
    ----------
    estimator : fitted estimator of this library, or Classifier
    source : path, glob, "-", dataset name, list of paths, frame, stream, iterable or array
        As in ``summarize``. Columns are matched by name, and columns of arrays by position.
    sink : path, or callable
        A local ``.csv``, ``.tsv``, ``.parquet``, ``.feather`` or ``.jsonl`` file, a remote one such
        as ``"s3://bucket/predictions.parquet"``, or a function that consumes a polars
        ``LazyFrame``.
    columns : Columns, optional
        Its ``ids`` are copied to the output. By default, these are the columns that look like ids
        and are not in ``ignore``. Features cannot be chosen here, because the model determines
        them.
    text, table, on, progress
        As in ``summarize``.
    prefix : str
        Prefix of the names of the prediction columns.
    outlier_rate : float
        Expected share of outliers among rows that are like those of the fit. A row is an outlier if
        its log density is below this quantile of 50,000 simulated new rows. For LDA and QDA without
        shrinkage, the simulation includes the error of the estimates. For other models, rows are
        drawn from the fitted densities.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import suffice as sf
    >>> from suffice.streams import predict_stream
    >>> out = pathlib.Path(tempfile.mkdtemp()) / "out.csv"
    >>> predict_stream(sf.LDA().fit_moments(sf.summarize("iris")), "iris", out)
    Predicted(rows=150, unanswered=0, outliers=0)
    """
    if not 0 <= outlier_rate <= 1:
        msg = f"outlier_rate={outlier_rate!r}: expected a share of rows, from 0 to 1"
        raise InvalidParameterError(msg)
    classifier = classifier_of(estimator)
    if classifier.has_density or classifier.encoding is not None:
        classifier = classifier.allowing_missing()
    schema = classifier.schema
    names = schema.names if schema else classifier.feature_names
    opened = None if is_dask(source) else array_source(source, names)
    if opened is None:
        written = replace(text or TextFormat(), columns=notations_for(classifier))
        opened = open_source(source, written, table, Compute.of(on))
    roles = roles_for_predicting(
        opened,
        names,
        classifier.n_features,
        columns or Columns(),
        schema=schema,
        allow_missing=classifier.allow_missing,
    )
    if classifier.text is not None:
        roles = replace(roles, words=frozenset({classifier.text.name}))
    answers = Answers.of(classifier, roles, prefix, outlier_rate)
    for name in roles.kept:
        if name in answers.schema:
            msg = (
                f"column {name!r} is kept, but a prediction column has the same name: set a "
                "prefix"
            )
            raise InvalidInputError(msg)
    write = sink if callable(sink) else lambda frame: write_table(frame, sink)
    rows_read, n_outliers = _written(opened, answers, write, opened.report_to(progress))
    rows_read.warn(predicting=True)
    return Predicted(
        rows=rows_read.rows,
        unanswered=rows_read.unusable,
        outliers=None if answers.threshold is None else n_outliers,
    )


def notations_for(classifier: Classifier) -> dict[str, Notation]:
    """Return the training file's notation of each number that the classifier needs."""
    if classifier.text is not None:
        return {}
    encoding = classifier.encoding
    if encoding is None:
        numbers = classifier.feature_names or ()
    else:
        numbers = tuple(number.name for number in encoding.schema.numbers)
    common = classifier.notations.common() if classifier.notations else {}
    # An empty notation says that the column is a number, even if cells have leading zeros.
    return {name: common.get(name, Notation()) for name in numbers}


def _scored(
    source: Source,
    answers: Answers,
) -> tuple[dict[str, ColumnType], Iterator[ScoredRows]]:
    """Return the types of the output columns, and their values part by part."""
    roles = answers.roles
    types: dict[str, ColumnType] = {}
    if source.scored is not None:
        for name in roles.kept:
            types[name] = source.sample.schema[name]
        types.update(answers.schema)
        return types, source.scored(answers, roles)
    first_scan = next(iter(source.scans(roles.columns(source.sample))))
    scanned = first_scan.frame.collect_schema()
    for name in roles.kept:
        types[name] = scanned[roles.copied(name)]
    types.update(answers.schema)

    # A database connection can be used only in the thread that opened it, which is this one.
    frames = frames_of(source, roles)

    def numbered() -> Iterator[tuple[pl.DataFrame, int]]:
        first_row = 0
        for frame in frames:
            yield frame, first_row
            first_row += frame.height

    def scored(part: tuple[pl.DataFrame, int]) -> ScoredRows:
        frame, first_row = part
        return answers(frame, source.label, first_row)

    return types, over_stream(scored, numbered())


def _written(
    source: Source,
    answers: Answers,
    write: Callable[[pl.LazyFrame], object],
    report: RowsDone,
) -> tuple[RowsRead, int]:
    """Write the predictions for all rows in order; return the numbers of rows and outliers."""
    # Scanning starts outside the sink, so that an error in the rows is not reported as one of the
    # sink.
    schema, parts = _scored(source, answers)
    total = RowsRead()
    n_outliers = 0
    stopped = False
    failure: BaseException | None = None

    def counted(*_: object) -> Iterator[pl.DataFrame]:
        nonlocal total, n_outliers, failure
        try:
            for frame, rows_read in parts:
                if stopped:
                    return
                total += rows_read
                if answers.threshold is not None:
                    n_outliers += int(frame.to_series(-1).sum())
                report(total.rows)
                yield frame
        except BaseException as error:
            failure = error
            raise

    rows = register_io_source(counted, schema=schema)
    # Without these options, polars might apply operations of the sink before the predictions.
    answered = rows.map_batches(
        lambda frame: frame.select(
            exactly(name).cast(dtype) for name, dtype in schema.items()
        ),
        schema=schema,
        streamable=True,
        predicate_pushdown=False,
        projection_pushdown=False,
        slice_pushdown=False,
    )
    try:
        write(answered)
    except Exception:
        if failure is not None:
            raise failure from None
        raise
    finally:
        stopped = True
    return total, n_outliers
