"""Spark frames, which the executors sum and score; only results reach the driver."""

import pickle
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import Any, TypeAlias, TypeVar

import polars as pl

from suffice.data.columns.roles import Roles
from suffice.data.frames.tables import scans_of
from suffice.data.options import SumSettings
from suffice.data.source import (
    SAMPLE_ROWS,
    ColumnTypes,
    RowScorer,
    RowsDone,
    Scan,
    ScoredRows,
    Source,
    cast,
    original_of,
)
from suffice.data.sums.running import (
    Summed,
    pairwise_sum,
    sums_of_frames,
    warn_of_merged_levels,
)
from suffice.errors import ClusterError, InvalidInputError

_LABEL = "the Spark frame"
_SCHEMA = "part int, value binary"
_MISSING_MODULE = re.compile(r"No module named '?([\w.]+)")
_CONDITION = re.compile(r"\[[A-Z_.]+\] [^\n]*")
_OURS = re.compile(r"suffice\.errors\.(\w+): (.*)")

SparkFrame: TypeAlias = Any  # a frame of PySpark, an optional dependency
Result = TypeVar("Result")
# A function that an executor applies to the rows of a partition. Its second argument names the
# partition in messages.
Work: TypeAlias = Callable[[Iterable[pl.DataFrame], str], Iterable[object]]


def is_spark(source: object) -> bool:
    """Return whether this is a Spark frame, of classic Spark or Spark Connect."""
    return type(source).__module__.startswith("pyspark.sql") and hasattr(source, "mapInArrow")


def spark_source(frame: SparkFrame) -> Source:
    """Return the source for a Spark frame; the driver reads the first rows, executors all."""
    sample = pl.DataFrame(_asked(lambda: frame.limit(SAMPLE_ROWS).toArrow()))
    return Source(
        label=_LABEL,
        sample=sample,
        scans=partial(_scans, frame, sample),
        summed=partial(_summed, frame, sample),
        scored=partial(_scored, frame, sample),
    )


def _scans(frame: SparkFrame, sample: pl.DataFrame, columns: ColumnTypes) -> list[Scan]:
    rows = frame.toLocalIterator(prefetchPartitions=True)

    def frames() -> Iterator[pl.DataFrame]:
        while True:
            batch = [tuple(row) for row in islice(rows, SAMPLE_ROWS)]
            if not batch:
                return
            yield pl.DataFrame(batch, sample.schema, orient="row")

    return scans_of(frames(), sample, _LABEL, columns)


def _summed(
    frame: SparkFrame,
    sample: pl.DataFrame,
    roles: Roles,
    settings: SumSettings,
    report: RowsDone,
) -> Summed:
    one_thread = replace(settings, n_jobs=1)

    def work(frames: Iterable[pl.DataFrame], label: str) -> list[Summed]:
        return [sums_of_frames(frames, roles, one_thread, label)]

    rows = _asked(lambda: _mapped(frame, sample, roles, work).collect())
    ordered = sorted(rows, key=lambda row: row["part"])
    total = pairwise_sum([pickle.loads(row["value"]) for row in ordered])
    report(total.n_rows)
    warn_of_merged_levels(total, roles)
    return total


def _scored(
    frame: SparkFrame,
    sample: pl.DataFrame,
    scorer: RowScorer,
    roles: Roles,
) -> Iterator[ScoredRows]:
    def work(frames: Iterable[pl.DataFrame], label: str) -> Iterator[ScoredRows]:
        first_row = 0
        for rows in frames:
            yield scorer(rows, label, first_row)
            first_row += rows.height

    mapped = _mapped(frame, sample, roles, work)
    rows = _asked(lambda: mapped.toLocalIterator(prefetchPartitions=True))
    while True:
        row = _asked(lambda: next(rows, None))
        if row is None:
            return
        yield pickle.loads(row["value"])


def _mapped(frame: SparkFrame, sample: pl.DataFrame, roles: Roles, work: Work) -> SparkFrame:
    """Return a Spark frame with the pickled results of ``work`` on each partition."""
    columns = roles.columns(sample)
    names = list(dict.fromkeys(original_of(name) for name in columns))
    # Select by position, because Spark parses dots and backticks in names.
    numbers = [str(j) for j in range(sample.width)]
    numbered = frame.toDF(*numbers)
    places = [sample.columns.index(name) for name in names]
    wanted = numbered.select([f"`{place}`" for place in places])

    def partition(batches: Iterable[Any]) -> Iterator[Any]:
        import pyarrow as pa
        from pyspark import TaskContext

        context: Any = TaskContext.get()
        number = context.partitionId()
        types = pa.schema([("part", pa.int32()), ("value", pa.binary())])
        named = (pl.DataFrame(batch.rename_columns(names)) for batch in batches)
        frames = (frame.select(cast(columns)) for frame in named)
        for value in work(frames, f"partition {number}"):
            row = {"part": [number], "value": [pickle.dumps(value)]}
            yield pa.RecordBatch.from_pydict(row, schema=types)

    return wanted.mapInArrow(partition, _SCHEMA)


def _asked(work: Callable[[], Result]) -> Result:
    """Return the result of ``work``; bad rows raise InvalidInputError, all else ClusterError."""
    try:
        return work()
    except Exception as error:
        text = str(error)
        ours = _OURS.search(text)
        if ours:
            raise InvalidInputError(f"{_LABEL}: {ours[2]}") from error
        missing = _MISSING_MODULE.search(text)
        if missing:
            raise ClusterError(
                f"the Spark workers lack {missing[1]!r}: install the same suffice there, or set "
                "PYSPARK_PYTHON to a Python that has it before Spark starts"
            ) from error
        condition = _CONDITION.search(text)
        reason = condition[0].strip() if condition else text.strip().splitlines()[0].strip()
        msg = f"{_LABEL} cannot be summed ({reason}): see the log of Spark"
        raise ClusterError(msg) from error
