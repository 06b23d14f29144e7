"""``suffice.summarize``: the sums of a source's rows, in one pass and bounded memory."""

from collections.abc import Hashable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, overload

import polars as pl

from suffice.core.moments import Moments
from suffice.core.moments.exact_products import warn_of_coarse_grid
from suffice.core.moments.rounding_grid import RoundingGrid
from suffice.core.table.schema import Schema
from suffice.data.cluster.dask import sums_of_files
from suffice.data.columns.roles import Roles, require_columns, roles_for_learning
from suffice.data.frames.pairs import array_chunks, chunk_source
from suffice.data.opening import open_source
from suffice.data.options import Columns, Compute, SumSettings, TextFormat
from suffice.data.rereading import reading_again
from suffice.data.rows.left_out import require_rows
from suffice.data.rows.loading import frames_of, notations_of, require_classes
from suffice.data.source import Progress, Source, exactly
from suffice.data.sums.checkpoint import Checkpoint, sums_with_checkpoint
from suffice.data.sums.groups import sums_by_column
from suffice.data.sums.running import MOST_PATTERNS, Summed, sums_of_frames
from suffice.errors import InvalidParameterError, LostDetailWarning, require_word, warn
from suffice.typing import Floats, LabelsLike, WeightsLike

_HEADROOM = 8  # an "auto" grid holds values 2⁸ times as far out as the first rows


@overload
def summarize(
    source: object,
    target: LabelsLike | None = None,
    *,
    columns: Columns | Sequence[str] | Schema | None = None,
    weight: WeightsLike = None,
    groups: None = None,
    text: TextFormat | None = None,
    table: str | None = None,
    storage: str = "auto",
    fourth: bool = False,
    exact: RoundingGrid | Literal["auto"] | None = None,
    checkpoint: str | Path | None = None,
    on: object = None,
    progress: Progress | None = None,
    n_jobs: int | None = None,
) -> Moments: ...


@overload
def summarize(
    source: object,
    target: LabelsLike | None = None,
    *,
    columns: Columns | Sequence[str] | Schema | None = None,
    weight: WeightsLike = None,
    groups: str,
    text: TextFormat | None = None,
    table: str | None = None,
    storage: str = "auto",
    fourth: bool = False,
    exact: RoundingGrid | Literal["auto"] | None = None,
    checkpoint: str | Path | None = None,
    on: object = None,
    progress: Progress | None = None,
    n_jobs: int | None = None,
) -> dict[Hashable, Moments]: ...


def summarize(
    source: Any,
    target: Any = None,
    *,
    columns: Columns | Sequence[str] | Schema | None = None,
    weight: Any = None,
    groups: str | None = None,
    text: TextFormat | None = None,
    table: str | None = None,
    storage: str = "auto",
    fourth: bool = False,
    exact: RoundingGrid | Literal["auto"] | None = None,
    checkpoint: str | Path | None = None,
    on: object = None,
    progress: Progress | None = None,
    n_jobs: int | None = None,
) -> Moments | dict[Hashable, Moments]:
    """Return the sums of all usable rows of a source, read once in bounded memory.

    Parameters
    ----------
    source : path, glob, URL, "-", dataset name, list of paths, frame, stream, iterable or array
        Local CSV, TSV, Parquet, Feather or JSON Lines files, or remote ones such as
        ``"s3://bucket/*.parquet"``; a database such as ``"duckdb:FILE"``; ``"-"`` for standard
        input; the name of a built-in dataset; a pandas, polars or pyarrow table; an object that
        exports an Arrow stream; an iterable of frames, or of chunks ``(X, y)`` or ``(X, y,
        sample_weight)``; an array (n, d); an Ibis table; a Spark or Dask DataFrame; or a list of
        Dask's delayed values or futures.
    target : str, optional
        The label column. By default, it is guessed, with a warning. If ``source`` is an array,
        ``target`` is the array of labels (n,), and ``weight`` is an array, too.
    columns : Columns, list of str, or schema of other moments, optional
        The roles of the other columns; a list names the features. By default, every informative
        column is a feature.
    weight : str, optional
        The column of row weights.
    groups : str, optional
        A column, such as a site or a day. The result is then a mapping from the values of the
        column to the sums of their rows.
    text : TextFormat, optional
        The format of text files; parts that are not given are detected.
    table : str, optional
        The name of a table, or an SQL query, if ``source`` is the address of a database.
    storage, fourth, n_jobs
        As in ``Moments.of``.
    exact : RoundingGrid or "auto", optional
        As in ``Moments.of``. ``"auto"`` makes a grid from the first rows that also holds values 256
        times as far out. Use this grid, ``moments.exact.grid``, for sums that are to be added to
        these. A database table is streamed out, unless ``on="database"``.
    checkpoint : path, optional
        File that stores the sums and the list of counted files. An interrupted scan resumes from
        it, and files that were added later are included.
    on : Dask client, device, "database" or "local", optional
        Where to sum. With a ``distributed.Client``, or the address of its scheduler, the Dask
        cluster sums files and Dask collections. With a PyTorch device such as ``"cuda"``, the
        device sums complete numbers; ``(client, "cuda")`` uses the devices of the workers. With
        ``"database"``, a database sums complete numeric columns of its tables. With ``"local"``,
        its rows are streamed out. The default is the faster of these two; the logger "suffice"
        reports which.
    progress : callable, optional
        A function that is called after each block with the number of rows read, and the total or
        None.

    Returns
    -------
    Moments, or with ``groups`` a mapping of each of its values to ``Moments``

    Notes
    -----
    Ids, free text, constants, and rows without a label are left out, with one warning for each
    kind. A row with missing numbers contributes its other numbers. An infinite number raises an
    error that names its row (counted from 0) and column. The sums have the same bits for every
    batch size of the reader.

    Examples
    --------
    >>> from suffice import summarize
    >>> summarize("iris")
    Moments(3 classes × 4 features, 150 rows, weight 150, per-class scatter)
    """
    compute = Compute.of(on)
    if exact is not None:
        _refuse_inexact_places(compute)
    settings = SumSettings(
        storage,
        fourth,
        device=compute.device,
        n_jobs=n_jobs,
        exact=exact,
    )
    if target is not None and not isinstance(target, str):
        opened = chunk_source(array_chunks(source, target, weight), "the array")
    else:
        opened = open_source(source, text or TextFormat(), table, compute)
    if groups is not None:
        _check_groups(opened, checkpoint, compute)
    if opened.roles is not None:
        _refuse_names(columns, table)
        _refuse_column_names(target, weight)
        total = summarize_source(
            opened,
            opened.roles,
            settings,
            progress=progress,
            checkpoint=checkpoint,
            client=compute.client,
        )
        return total if opened.named else replace(total, feature_names=None)
    question = Columns.of(columns)
    if groups is None:

        def summed(source: Source) -> Moments:
            return summarize_source(
                source,
                roles_for_learning(source, target, weight, question),
                settings,
                progress=progress,
                checkpoint=checkpoint,
                client=compute.client,
            )

        return reading_again(opened, summed)
    require_columns(opened, [groups])
    question = replace(question, ignore=(*question.ignore, groups))

    def summed_by_group(source: Source) -> dict[Hashable, Moments]:
        roles = roles_for_learning(source, target, weight, question)
        gridded = replace(settings, exact=_grid(source, roles, settings.exact))
        kept = replace(roles, kept=(groups,))
        return sums_by_column(source, kept, groups, gridded, progress)

    return reading_again(opened, summed_by_group)


def _refuse_names(columns: object, table: str | None) -> None:
    """Raise if columns or tables are named, which arrays do not have."""
    if columns is not None:
        raise InvalidParameterError(
            "columns names columns of a table, but the rows are arrays, whose columns are all "
            "features: leave columns out, or select them in the array"
        )
    if table is not None:
        raise InvalidParameterError(
            "table names a table of a database, but the rows are arrays: leave table out"
        )


def _refuse_column_names(target: object, weight: object) -> None:
    """Raise if label or weight columns are named, which chunks of arrays do not have."""
    for name, column in (("target", target), ("weight", weight)):
        if isinstance(column, str):
            raise InvalidParameterError(
                f"the rows are chunks of arrays, which have no column for {name} {column!r}: give "
                "chunks (X, y) or (X, y, sample_weight), and leave the name out"
            )


def _check_groups(
    source: Source,
    checkpoint: str | Path | None,
    compute: Compute,
) -> None:
    """Raise if the source or another parameter does not allow sums by group."""
    if source.roles is not None:
        raise InvalidParameterError(
            "groups needs rows with named columns: sum the rows of each group separately"
        )
    if checkpoint is not None:
        raise InvalidParameterError(
            "groups and checkpoint cannot be used together: sum the rows of each group "
            "separately"
        )
    if compute.client is not None:
        raise InvalidParameterError(
            "groups and a cluster cannot be used together: sum the rows of each group "
            "separately"
        )


def summarize_source(
    source: Source,
    roles: Roles,
    settings: SumSettings,
    *,
    progress: Progress | None = None,
    checkpoint: str | Path | None = None,
    client: object = None,
) -> Moments:
    """Return the sums of an opened source with known roles."""
    roles = replace(roles, kept=())
    settings = replace(settings, exact=_grid(source, roles, settings.exact))
    saved = None
    if checkpoint is not None:
        saved = Checkpoint(checkpoint, source, roles, settings)
    total = _total(source, roles, settings, progress, saved, client)
    total.left_out.warn()
    moments = total.moments
    if moments.cells_lost:
        warn(
            f"a class has more than {MOST_PATTERNS} patterns of missing values: in rows with "
            f"rare patterns, {moments.cells_lost:,} numbers were dropped",
            LostDetailWarning,
        )
    if moments.exact is not None:
        warn_of_coarse_grid(
            moments.exact.grid, first_numbers(source, roles), moments.feature_names
        )
    n_rows = int(moments.counts.sum())
    require_rows(n_rows, source.label)
    if source.roles is None:
        require_classes(moments.classes, n_rows, roles, source.label)
    return replace(moments, notations=notations_of(source, roles))


def _refuse_inexact_places(compute: Compute) -> None:
    """Raise if exact sums cannot be computed on this cluster or device."""
    if compute.device is not None:
        raise InvalidParameterError(
            "exact sums are computed on the processor: leave out the device"
        )


def _grid(
    source: Source, roles: Roles, exact: RoundingGrid | str | None
) -> RoundingGrid | None:
    """Return the grid of exact sums; "auto" makes one from the first rows."""
    if exact is None or isinstance(exact, RoundingGrid):
        return exact
    require_word(exact, ("auto",), "exact")
    return RoundingGrid.around(first_numbers(source, roles), headroom=_HEADROOM)


def first_numbers(source: Source, roles: Roles) -> Floats:
    """Return the numbers of the first rows of a source that have no missing number."""
    numbers = source.sample.select([exactly(name) for name in roles.numbers])
    return numbers.cast(pl.Float64).drop_nulls().drop_nans().to_numpy()


def _total(
    source: Source,
    roles: Roles,
    settings: SumSettings,
    progress: Progress | None,
    checkpoint: Checkpoint | None,
    client: object,
) -> Summed:
    report = source.report_to(progress)
    if client is not None or checkpoint is not None:
        # The first rows decide the roles here: partial sums cannot change when later rows
        # contradict them. A warning says so.
        roles = replace(roles, guessed_ids=(), free_texts=(), rereads=False)
    if source.summed is not None:
        return source.summed(roles, settings, report)
    if client is not None:
        if not source.files:
            raise InvalidParameterError(
                f"a cluster sums files or its own collections, but {source.label} is neither: "
                "leave out the cluster"
            )
        return sums_of_files(source, client, roles, settings, report, checkpoint)
    if checkpoint is not None:
        return sums_with_checkpoint(source, roles, settings, report, checkpoint)
    frames = frames_of(source, roles)
    return sums_of_frames(frames, roles, settings, source.label, report=report)
