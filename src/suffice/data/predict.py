"""``sf.predict_stream``: rows of any number, from anywhere, to answers in a file, in order."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
import polars as pl
from polars.io.plugins import register_io_source

from suffice.core.decision import Classifier, classifier_of
from suffice.core.table.mixed import levels_of
from suffice.core.text.lists import labels_of_one_type
from suffice.core.threads import over_stream
from suffice.data.chunks import RowsRead, frames_of, gaps_in, usable_rows
from suffice.data.columns import ColumnOptions, Roles, as_numbers, roles_for_predicting
from suffice.data.dask import is_dask
from suffice.data.formats import write_table
from suffice.data.frames import opened_for_scoring
from suffice.data.opening import open_source
from suffice.data.source import Progress, Source, Telling, TextStyle
from suffice.errors import InvalidInputError, InvalidParameterError

OUTLIER_RATE = 0.001
_DRAWS = 50_000
_FEW_NUMBERS = 90_000  # rows × features × classes that are scored without compiled code


@dataclass(frozen=True, slots=True, eq=False)
class Answers:
    """Rows to the answers of a classifier: on any machine."""

    classifier: Classifier
    roles: Roles
    schema: Mapping[
        str, Any
    ]  # of label, then posteriors, log density and outlier if it has them
    threshold: float | None  # log density of an outlier; None: no density to judge by

    @classmethod
    def of(
        cls,
        classifier: Classifier,
        roles: Roles,
        prefix: str = "",
        rate: float = OUTLIER_RATE,
    ) -> Self:
        labels, dense = classifier.classes.tolist(), classifier.has_density
        types: dict[str, Any] = {"label": _labels_of(classifier).dtype}
        types |= {f"p_{label}": pl.Float64() for label in labels if classifier.has_posterior}
        types |= {"log_density": pl.Float64(), "outlier": pl.Boolean()} if dense else {}
        schema = {prefix + word: dtype for word, dtype in types.items()}
        threshold = outlier_threshold(classifier, rate) if dense else None
        return cls(classifier, roles, schema, threshold)

    def __call__(self, frame: pl.DataFrame) -> tuple[pl.DataFrame, RowsRead]:
        """Return kept columns and answers of some rows, and what could not be answered."""
        roles, x = self.roles, np.empty((len(self.roles.numbers), frame.height))
        for j, name in enumerate(roles.numbers):
            x[j] = as_numbers(frame.get_column(name))
        rows: Any = x.T
        if roles.schema is not None:
            place: dict[str, Any] = dict(zip(roles.numbers, x, strict=True))
            columns = {
                n: place[n] if n in place else frame.get_column(n) for n in roles.features
            }
            rows = pl.DataFrame(columns)
        answers = self.to(rows)
        kept = [frame.get_column(roles.copied(n)).alias(n) for n in roles.kept]
        lacking, holes = answers.to_series(-1).is_null(), self.classifier.allow_missing
        gaps = gaps_in(x.T, roles.numbers, holes=holes) if lacking.any() else {}
        read = RowsRead(frame.height, int(lacking.sum()), gaps, self._new_levels(frame))
        return pl.DataFrame([*kept, *answers]), read

    def _new_levels(self, frame: pl.DataFrame) -> dict[str, int]:
        """Return how many rows have a level that is not known, where any has, by category."""
        counts, schema = dict[str, int](), self.roles.schema
        for category in schema.categories if schema else ():
            column, known = frame.get_column(category.name), {*category.levels}
            if not (category.other or known.issuperset(levels_of(column.unique()).levels)):
                found = levels_of(column)
                counts[category.name] = int(
                    (category.codes_of(*found)[found.codes >= 0] < 0).sum()
                )
        return counts

    def to(self, x: Any) -> pl.DataFrame:
        """Return a frame of answers (n rows); null where a row has none."""
        mixed = isinstance(x, pl.DataFrame)
        numbers = x.select(pl.selectors.numeric()).to_numpy() if mixed else x
        usable = usable_rows(numbers, holes=self.classifier.allow_missing)
        if usable is not None:
            answers = self.to(x.filter(pl.Series(usable)) if mixed else x[usable])
            place = pl.Series(np.where(usable, np.cumsum(usable) - 1, -1)).replace(-1, None)
            return answers.select(pl.all().gather(place))
        try:
            return self._columns(x)
        except InvalidInputError:  # some row is so far out that its distance overflows
            if len(x) == 1:
                return pl.DataFrame({name: [None] for name in self.schema}, schema=self.schema)
            middle = len(x) // 2
            return pl.concat([self.to(x[:middle]), self.to(x[middle:])])

    def _columns(self, x: Any) -> pl.DataFrame:
        if not len(x):
            return pl.DataFrame(schema=self.schema)
        classifier = self.classifier
        posterior = classifier.posterior(x) if classifier.has_posterior else None
        codes = (
            classifier.decide(x)
            if posterior is None
            else classifier.decision.decide(posterior)
        )
        columns = [_labels_of(classifier).gather(codes)]
        columns += [] if posterior is None else map(pl.Series, posterior.T)
        if self.threshold is not None:
            density = pl.Series(classifier.log_density(x))
            columns += [density, density < self.threshold]
        return pl.DataFrame(dict(zip(self.schema, columns, strict=True)))


def _labels_of(classifier: Classifier) -> pl.Series:
    """Return what each action predicts: the classes, and the label of rows that are refused."""
    refused = classifier.decision.actions[len(classifier.classes) :]
    return pl.Series(labels_of_one_type([*classifier.classes.tolist(), *refused.tolist()]))


def outlier_threshold(classifier: Classifier, rate: float) -> float:
    """Return the log density that a share ``rate`` of the model's own draws falls below."""
    rng, of_levels = np.random.default_rng(0), classifier.encoding is not None
    at_once = max(_FEW_NUMBERS // (classifier.n_features * len(classifier.classes)), 100)
    sizes = [min(at_once, _DRAWS - start) for start in range(0, _DRAWS, at_once)]
    drawn = (classifier.sample(n, rng)[0] for n in sizes)
    rows = (
        pl.DataFrame({n: c.tolist() for n, c in x.items()}) if of_levels else x for x in drawn
    )
    return float(np.quantile(np.concatenate([*map(classifier.log_density, rows)]), rate))


@dataclass(frozen=True, slots=True)
class Predicted:
    """How many rows were answered: all, those without an answer, and outliers."""

    rows: int
    unanswered: int
    outliers: int | None  # None: the model has no densities to judge by


def predict_stream(
    estimator: Any,
    source: Any,
    sink: str | Path | Callable[[pl.LazyFrame], object],
    *,
    keep: Sequence[str] | None = None,
    ignore: Sequence[str] = (),
    prefix: str = "",
    outlier_rate: float = OUTLIER_RATE,
    delimiter: str | None = None,
    missing: Sequence[str] = (),
    progress: Progress | None = None,
    client: Any = None,
    **text: Any,
) -> Predicted:
    """Return how many rows were scored to a file, one answer for every row, in their order.

    Written are the columns kept, ``label``, ``p_<class>`` for every class and, where the model has
    a density, ``log_density`` and ``outlier``. A row that lacks a number gets empty answers.

    Parameters
    ----------
    estimator : fitted estimator of this library, or Classifier
    source : path, glob, "-", data set name, list of paths, frame, stream, iterable or array
        As in ``summarize``. Columns are matched by name; those of arrays by position.
    sink : path, or callable
        A ``.csv``, ``.tsv``, ``.parquet``, ``.feather`` or ``.jsonl`` file, here or as
        ``"s3://bucket/answers.parquet"``; or a function that consumes a polars ``LazyFrame``.
    keep : list of str, optional
        Columns to copy beside the answers; by default those that look like ids.
    ignore : list of str
        Columns that are not ids, though they look like it.
    prefix : str
        Put before the name of every answer.
    outlier_rate : float
        A row is an outlier if its log density is below that quantile of the log densities of
        50,000 rows drawn from the model itself.
    delimiter, missing, decimal, thousands, header, skip_rows, comment, encoding, table, query
        As in ``summarize``, and so are ``progress`` and ``client``.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import suffice as sf
    >>> out = pathlib.Path(tempfile.mkdtemp()) / "out.csv"
    >>> sf.predict_stream(sf.LDA().fit_moments(sf.summarize("iris")), "iris", out)
    Predicted(rows=150, unanswered=0, outliers=0)
    """
    if not 0 <= outlier_rate <= 1:
        msg = f"outlier_rate={outlier_rate!r}: expected a share of rows, from 0 to 1"
        raise InvalidParameterError(msg)
    classifier = classifier_of(estimator)
    if classifier.has_density or classifier.encoding is not None:
        classifier = classifier.allowing_missing()
    schema = classifier.encoding.schema if classifier.encoding else None
    names = schema.names if schema else classifier.feature_names
    reading = TextStyle(delimiter, tuple(missing), **text)
    plain = None if is_dask(source) else opened_for_scoring(source, names)
    opened = plain or open_source(source, reading, client)
    options = ColumnOptions(
        ids=keep, ignore=ignore, schema=schema, holes=classifier.allow_missing
    )
    roles = roles_for_predicting(opened, names, classifier.n_features, options)
    answers = Answers.of(classifier, roles, prefix, outlier_rate)
    for name in sorted(set(roles.kept) & set(answers.schema)):
        msg = f"column {name!r} is kept and is also an answer's name: use a prefix for answers"
        raise InvalidInputError(msg)
    write = sink if callable(sink) else lambda frame: write_table(frame, sink)
    read, outliers = _written(opened, answers, write, opened.telling(progress))
    read.say("have no answer")
    return Predicted(read.rows, read.unusable, None if answers.threshold is None else outliers)


def _scored(source: Source, answers: Answers) -> tuple[Any, Iterator[Any]]:
    """Return the types of kept columns and answers, and these for all rows, in order."""
    roles, types = answers.roles, source.sample.schema
    if source.scored is not None:
        copied, parts = {n: types[n] for n in roles.kept}, source.scored(answers, roles)
    else:
        types = next(iter(source.scans(roles.columns(source.sample)))).frame.collect_schema()
        copied = {n: types[roles.copied(n)] for n in roles.kept}
        parts = over_stream(answers, frames_of(source, roles))
    return {**copied, **answers.schema}, parts


def _written(
    source: Source,
    answers: Answers,
    write: Callable[[pl.LazyFrame], object],
    told: Telling,
) -> tuple[RowsRead, int]:
    """Write the answers for all rows, in order; return how many were read, and outliers."""
    # a failure on the way is raised as it is, and not as the sink's
    schema, parts = _scored(source, answers)
    total, outliers, stopped = RowsRead(), 0, False
    failure: BaseException | None = None

    def counted(*_: Any) -> Iterator[pl.DataFrame]:
        nonlocal total, outliers, failure
        try:
            for frame, read in parts:
                if stopped:
                    return
                total += read
                outliers += (
                    int(frame.to_series(-1).sum()) if answers.threshold is not None else 0
                )
                told(total.rows)
                yield frame
        except BaseException as error:
            failure = error
            raise

    lazily = register_io_source(counted, schema=schema)
    # nothing that a sink asks of the answers may reach the rows
    apart: Any = {f"{what}_pushdown": False for what in ("predicate", "projection", "slice")}
    try:
        write(
            lazily.map_batches(
                lambda f: f.cast(schema), schema=schema, streamable=True, **apart
            )
        )
    except Exception:
        if failure is not None:
            raise failure from None
        raise
    finally:
        stopped = True
    return total, outliers
