"""Rows of any number, from anywhere, to sums: one pass, bounded memory."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from suffice.core.moments import Moments
from suffice.core.table.schema import Schema
from suffice.data.checkpoint import Checkpoint, summed_with_checkpoint
from suffice.data.chunks import frames_of, require_rows
from suffice.data.columns import ColumnOptions, Roles, require_columns, roles_for_learning
from suffice.data.frames import array_chunks
from suffice.data.opening import on_cluster, open_source
from suffice.data.source import Progress, Source, TextStyle
from suffice.data.summed import MOST_PATTERNS, sums_by_column, sums_of_frames
from suffice.errors import InvalidParameterError, warn


def summarize(
    source: Any,
    target: Any = None,
    features: Sequence[str] | Schema | None = None,
    weight: Any = None,
    groups: str | None = None,
    *,
    ignore: Sequence[str] = (),
    ids: Sequence[str] | None = None,
    categorical: Sequence[str] = (),
    delimiter: str | None = None,
    missing: Sequence[str] = (),
    storage: str = "auto",
    fourth: bool = False,
    progress: Progress | None = None,
    checkpoint: str | Path | None = None,
    client: Any = None,
    method: str = "auto",
    device: Any = None,
    n_jobs: int | None = None,
    **text: Any,
) -> Any:
    """Return the sums of every usable row of a source, read once in bounded memory.

    Parameters
    ----------
    source : path, glob, URL, "-", data set name, list of paths, frame, stream, iterable or array
        CSV, TSV, Parquet, Feather or JSON Lines files, here or as ``"s3://bucket/*.parquet"``; a
        database such as ``"duckdb:FILE"``; ``"-"`` for standard input; a built-in data set; a
        pandas, polars or pyarrow table; anything that exports an Arrow stream; an iterable of
        frames, or of chunks ``(X, y)`` or ``(X, y, sample_weight)``; an array (n, d); an Ibis
        table; a Spark or Dask DataFrame, or a list of delayed values or futures.
    target : str, optional
        The label column. Where it is left out the obvious column is taken, with a warning.
        For an array, the labels (n,); ``weight`` is then an array too.
    features : list of str, optional
        The columns to sum; by default every column that has no other role and tells something:
        numbers, dates (as days since 1970), text and truth values (as categories). The ``schema``
        of other moments: its columns, with the levels that they have there.
    weight : str, optional
        The column of row weights.
    groups : str, optional
        A column, such as a site or a day: the answer then maps its values to sums of their rows.
    ignore, ids : lists of str, optional
        Columns to leave out. Ids are found by themselves unless they are named.
    categorical : list of str
        Columns of numbers that are categories.
    missing : list of str
        What stands for a missing value in text files, beside an empty cell, NA, NaN, null and ?.
    delimiter, decimal, thousands, header, skip_rows, comment, encoding
        How text files are written, where it is not found by itself.
    table, query
        Of a database by its address: which table, or the rows of which query.
    storage, n_jobs
        As in ``Moments.of``.
    fourth : bool
        Whether to collect the fourth moments of ``shrinkage="ledoit-wolf"``.
    progress : callable, optional
        Called after each block with the number of rows read and of rows in all, perhaps None.
    checkpoint : path, optional
        Where to remember which files are counted and their sums: a scan that was cut short
        resumes from there; files added since are added.
    client : distributed.Client or str, optional
        A Dask cluster, or the address of its scheduler, to sum files and Dask collections on.
    method : {"auto", "database", "stream"}
        Of a table of a database: sum inside it, which takes complete columns of numbers, or
        stream its rows out. "auto" takes what is quicker, and logs it (logger "suffice").
    device : str or torch.device, optional
        Where to sum complete numbers that are read here, such as "cuda".

    Returns
    -------
    Moments, or with ``groups`` a mapping of each of its values to ``Moments``

    Notes
    -----
    Ids, free text, constants, and rows without a label, are left out with one warning each. A row
    that lacks a number counts with what it has. Batches of the reader change no bit.

    Examples
    --------
    >>> from suffice import summarize
    >>> summarize("iris")
    Moments(3 classes × 4 features, 150 rows, weight 150, per-class scatter)
    """
    sums: Any = {"storage": storage, "fourth": fourth, "n_jobs": n_jobs, "device": device}
    options = {**sums, "progress": progress, "checkpoint": checkpoint, "client": client}
    if not (target is None or isinstance(target, str)):
        source = array_chunks(source, target, weight)
    reading = TextStyle(delimiter, tuple(missing), method=method, **text)
    opened = open_source(source, reading, client)
    apart = {
        "rows without named columns": opened.roles,
        "checkpoint": checkpoint,
        "client": client,
    }
    for name in [
        name for name, value in apart.items() if groups is not None and value is not None
    ]:
        msg = f"groups and {name} do not go together: sum the parts of each group apart"
        raise InvalidParameterError(msg)
    if opened.roles is not None:
        total = summarize_source(opened, opened.roles, **options)
        return total if opened.named else replace(total, feature_names=None)
    if groups is not None:
        require_columns(opened, [groups])
        ignore = (*ignore, groups)
    said = ColumnOptions(target, None, weight, ignore, ids, tuple(categorical))
    known: Any = {"schema" if isinstance(features, Schema) else "features": features}
    roles = roles_for_learning(opened, replace(said, **known))
    if groups is not None:
        return sums_by_column(opened, roles, groups, progress, **sums)
    return summarize_source(opened, roles, **options)


def summarize_source(
    source: Source,
    roles: Roles,
    *,
    progress: Progress | None = None,
    checkpoint: str | Path | None = None,
    client: Any = None,
    **options: Any,
) -> Moments:
    """Return the sums of an opened source under known roles."""
    roles = replace(roles, kept=())
    if checkpoint is not None:
        options["checkpoint"] = Checkpoint(checkpoint, source, roles, **options)
    source = on_cluster(source, client)
    told = source.telling(progress)
    if source.summed:
        total = source.summed(roles, told, **options)
    elif checkpoint is not None:
        total = summed_with_checkpoint(source, roles, told, **options)
    else:
        total = sums_of_frames(frames_of(source, roles), roles, told, **options)
    total.left_out.say()
    if total.moments.cells_lost:
        lost = (
            f"rare ones were made smaller, at the cost of {total.moments.cells_lost:,} numbers"
        )
        warn(f"more than {MOST_PATTERNS} patterns of empty cells in a class: {lost}")
    require_rows(int(total.moments.counts.sum()), source.label)
    return total.moments
