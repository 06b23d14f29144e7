"""Spark frames, summed and scored by the executors: sums and answers come back to the driver."""

import pickle
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from itertools import islice
from typing import Any

import polars as pl

from suffice.data.columns import Roles
from suffice.data.frames import scans_of
from suffice.data.source import SAMPLE_ROWS, Scan, Source, Telling, cast
from suffice.data.summed import Summed, pairwise_sum, sums_of_frames, with_rest_told
from suffice.errors import ClusterError, InvalidInputError

_LABEL = "the Spark frame"
_SCHEMA = "part int, value binary"
_LACKING = re.compile(r"No module named '?([\w.]+)")
_CONDITION = re.compile(r"\[[A-Z_.]+\] [^\n]*")
_OURS = re.compile(r"suffice\.errors\.(\w+): (.*)")


def spark_source(frame: Any) -> Source:
    """Return the rows of a Spark frame, on the executors, after a look at the first."""
    sample = pl.DataFrame(_told(lambda: frame.limit(SAMPLE_ROWS).toArrow()))
    summed, scored = partial(_sums, frame, sample), partial(_scored, frame, sample)
    return Source(_LABEL, sample, partial(_scans, frame, sample), summed=summed, scored=scored)


def _scans(frame: Any, sample: pl.DataFrame, columns: Mapping[str, Any]) -> list[Scan]:
    rows = frame.toLocalIterator(prefetchPartitions=True)
    schema: Any = sample.schema
    batches = iter(lambda: list(islice(rows, SAMPLE_ROWS)), [])
    frames = (pl.DataFrame(list(map(tuple, b)), schema, orient="row") for b in batches)
    return scans_of(frames, sample, _LABEL, columns)


def _sums(
    frame: Any,
    sample: pl.DataFrame,
    roles: Roles,
    told: Telling,
    **options: Any,
) -> Summed:
    def work(frames: Iterable[pl.DataFrame]) -> list[Summed]:
        return [sums_of_frames(frames, roles, **{**options, "n_jobs": 1})]

    sums = _told(lambda: _mapped(frame, sample, roles, work).collect())
    rows = sorted(sums, key=lambda row: row["part"])
    total = pairwise_sum([pickle.loads(row["value"]) for row in rows])
    told(total.n_rows)
    return with_rest_told(total, roles)


def is_spark(source: Any) -> bool:
    """Return whether this is a Spark frame, classic or of Spark Connect."""
    return type(source).__module__.startswith("pyspark.sql") and hasattr(source, "mapInArrow")


def _scored(frame: Any, sample: pl.DataFrame, scorer: Any, roles: Roles) -> Iterator[Any]:
    mapped = _mapped(frame, sample, roles, partial(map, scorer))
    rows = _told(lambda: mapped.toLocalIterator(prefetchPartitions=True))
    while (row := _told(lambda: next(rows, None))) is not None:
        yield pickle.loads(row["value"])


def _mapped(frame: Any, sample: pl.DataFrame, roles: Roles, work: Callable[..., Any]) -> Any:
    columns = roles.columns(sample)
    names = list(dict.fromkeys(name.lstrip("\0") for name in columns))
    # by position, since Spark reads dots and backticks in names as syntax
    plain = frame.toDF(*map(str, range(sample.width)))
    wanted = plain.select(*(f"`{sample.columns.index(name)}`" for name in names))

    def partition(batches: Iterable[Any]) -> Iterator[Any]:
        import pyarrow as pa
        from pyspark import TaskContext

        context: Any = TaskContext.get()
        named = (pl.DataFrame(batch.rename_columns(names)) for batch in batches)
        types = pa.schema([("part", pa.int32()), ("value", pa.binary())])
        for value in work(frame.select(cast(columns)) for frame in named):
            row = {"part": [context.partitionId()], "value": [pickle.dumps(value)]}
            yield pa.RecordBatch.from_pydict(row, schema=types)

    return wanted.mapInArrow(partition, _SCHEMA)


def _told(work: Callable[[], Any]) -> Any:
    """Return what Spark gives; failures of the rows are told as ours, others as Spark's."""
    try:
        return work()
    except Exception as error:
        text = str(error)
        if found := _OURS.search(text):
            raise InvalidInputError(f"{_LABEL}: {found[2]}") from error
        known = _CONDITION.search(text)
        reason = (known[0] if known else text.strip().splitlines()[0]).strip()
        msg = f"{_LABEL} cannot be summed ({reason}): see the log of Spark"
        if lacking := _LACKING.search(text):
            cure = "or set PYSPARK_PYTHON to a Python that has it before Spark starts"
            msg = f"the Spark workers lack {lacking[1]!r}: install the same suffice there, {cure}"
        raise ClusterError(msg) from error
