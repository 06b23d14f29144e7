"""Files summed one after another, with a checkpoint."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from suffice.errors import CheckpointError
from suffice.sources.interrupts import fetched_ahead
from suffice.sources.reading import expected_rows, frames_of_scan
from suffice.sources.summed import Summed, running_sums

if TYPE_CHECKING:
    from collections.abc import Iterator

    import polars as pl

    from suffice.sources.checkpoint import Checkpoint
    from suffice.sources.roles import Roles
    from suffice.sources.source import Progress, Source


def summed_with_checkpoint(
    source: Source,
    roles: Roles,
    progress: Progress | None,
    checkpoint: Checkpoint,
    **options: Any,
) -> Summed:
    """Return the sums of files, those that the checkpoint already counts not read again."""
    n_rows = expected_rows(source) if progress else None
    reader = _Reader(source, roles, checkpoint)
    totals = running_sums(fetched_ahead(reader.frames()), roles, checkpoint.summed, **options)
    try:
        for total in totals:
            checkpoint.note(total, reader.counted(total.n_rows))
            checkpoint.save_if_due()
            if progress:
                progress(total.n_rows, n_rows)
        checkpoint.note(checkpoint.summed, reader.counted(checkpoint.summed.n_rows))
    except CheckpointError:
        raise
    except BaseException:
        checkpoint.save()
        raise
    checkpoint.save()
    return checkpoint.summed


class _Reader:
    """The frames of files that remain; it knows of which file each row read was."""

    def __init__(self, source: Source, roles: Roles, checkpoint: Checkpoint) -> None:
        self._remaining = checkpoint.remaining()
        self._columns = roles.columns(source.sample)
        self._before = checkpoint.summed.n_rows - sum(skip for _, _, skip in self._remaining)
        self._read: dict[str, int] = {}  # rows, those skipped among them
        self._finished: set[str] = set()

    def frames(self) -> Iterator[pl.DataFrame]:
        """Yield the rows of every file that remains, without those counted before."""
        for path, file, skip in self._remaining:
            scan = file.table.scan(file.path, self._columns)
            self._read[path] = skip
            for frame in frames_of_scan(scan, skip):
                self._read[path] += frame.height
                yield frame
            self._finished.add(path)

    def counted(self, n_rows: int) -> dict[str, tuple[int, bool]]:
        """Return rows and doneness of each file, once so many rows in all are in the sums."""
        counted, left = {}, n_rows - self._before
        for path, read in list(self._read.items()):
            rows = min(read, left)
            left -= rows
            if rows or path in self._finished:
                counted[path] = rows, path in self._finished and rows == read
        return counted
