"""Spark frames, summed by the executors: one row of sums a partition comes back to the driver."""

from __future__ import annotations

import pickle
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from itertools import islice
from typing import Any

import polars as pl

from suffice.errors import ClusterError, InvalidInputError
from suffice.sources.columns import Roles
from suffice.sources.frames import scans_of
from suffice.sources.source import SAMPLE_ROWS, Progress, Scan, Source, cast
from suffice.sources.summed import Summed, pairwise_sum, sums_of, with_rest_told

_LABEL = "the Spark frame"
_SCHEMA = "part int, sums binary"
_LACKING = re.compile(r"No module named '?([\w.]+)")
_CONDITION = re.compile(r"\[[A-Z_.]+\] [^\n]*")
_OURS = re.compile(r"suffice\.errors\.(\w+): (.*)")


def spark_source(frame: Any) -> Source:
    """Return the rows of a Spark frame, on the executors, after a look at the first."""
    sample = pl.DataFrame(_told(lambda: frame.limit(SAMPLE_ROWS).toArrow()))
    summed = partial(_summed, frame, sample)
    return Source(_LABEL, sample, partial(_scans, frame, sample), summed=summed)


def _scans(frame: Any, sample: pl.DataFrame, columns: Mapping[str, Any]) -> list[Scan]:
    """Return the rows as one table, fetched by the driver partition by partition."""
    rows = frame.toLocalIterator(prefetchPartitions=True)
    schema: Any = sample.schema
    batches = iter(lambda: list(islice(rows, SAMPLE_ROWS)), [])
    frames = (pl.DataFrame(list(map(tuple, b)), schema, orient="row") for b in batches)
    return scans_of(frames, sample, _LABEL, columns)


def _summed(
    frame: Any, sample: pl.DataFrame, roles: Roles, progress: Progress | None, **options: Any
) -> Summed:
    """Return the sums of every usable row, merged in the order of partitions."""
    columns = roles.columns(sample)
    partition = summing(roles, sample.clear(), **options)
    # by position, since Spark reads dots and backticks in names as syntax
    plain = frame.toDF(*map(str, range(sample.width)))
    wanted = plain.select(*(f"`{sample.columns.index(name)}`" for name in columns))
    sums = _told(lambda: wanted.mapInArrow(partition, _SCHEMA).collect())
    rows = sorted(sums, key=lambda row: row["part"])
    total = pairwise_sum([pickle.loads(row["sums"]) for row in rows])
    if progress:
        progress(total.n_rows, total.n_rows)
    return with_rest_told(total, roles)


def is_spark(source: Any) -> bool:
    """Return whether this is a Spark frame, classic or of Spark Connect."""
    return type(source).__module__.startswith("pyspark.sql") and hasattr(source, "mapInArrow")


def summing(roles: Roles, expected: pl.DataFrame, **options: Any) -> Callable[..., Any]:
    """Return the function for ``mapInArrow`` that turns a partition into one row of its sums."""

    def partition(batches: Iterable[Any]) -> Iterator[Any]:
        import pyarrow as pa
        from pyspark import TaskContext

        context: Any = TaskContext.get()
        columns = roles.columns(expected)
        named = (pl.DataFrame(batch.rename_columns(list(columns))) for batch in batches)
        frames = (frame.select(cast(columns)) for frame in named)
        part = sums_of(frames, roles, **{**options, "n_jobs": 1})
        row = {"part": [context.partitionId()], "sums": [pickle.dumps(part)]}
        types = pa.schema([("part", pa.int32()), ("sums", pa.binary())])
        yield pa.RecordBatch.from_pydict(row, schema=types)

    return partition


def _told(work: Callable[[], Any]) -> Any:
    """Return what Spark gives; failures of the rows are told as ours, others as Spark's."""
    try:
        return work()
    except Exception as error:
        text = str(error)
        if found := _OURS.search(text):
            msg = f"{_LABEL}: {found[2]}"
            raise InvalidInputError(msg) from error
        raise ClusterError(_failure(text)) from error


def _failure(text: str) -> str:
    if lacking := _LACKING.search(text):
        cure = "or set PYSPARK_PYTHON to a Python that has it before Spark starts"
        return f"the Spark workers lack {lacking[1]!r}: install the same suffice there, {cure}"
    known = _CONDITION.search(text)
    reason = known[0] if known else text.strip().splitlines()[0]
    return f"{_LABEL} cannot be summed ({reason.strip()}): see the log of Spark"
