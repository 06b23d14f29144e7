"""Files that every worker of a Dask cluster can read, summed there."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from suffice.sources.dask.cluster import (
    Watch,
    connected,
    failures_told,
    require_distributed,
    results,
)
from suffice.sources.reading import frames_of_scan
from suffice.sources.summed import Summed, sums_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import polars as pl

    from suffice.sources.checkpoint import Checkpoint
    from suffice.sources.columns import Roles
    from suffice.sources.files import File, FileSource
    from suffice.sources.formats import Table
    from suffice.sources.source import Progress

NUMBERS = 1 << 25  # in one task: 256 MB
GROUP = 32  # tasks between two savings of a checkpoint


@dataclass(frozen=True, slots=True, eq=False)
class Piece:
    """Some consecutive rows of one file: the work of one task."""

    path: str
    table: Table
    skip: int = 0
    n_rows: int | None = None  # None: to the end
    last: bool = True  # whether the file ends with it

    def summed(self, roles: Roles, columns: Mapping[str, Any], options: dict[str, Any]) -> Summed:
        """Return the sums of these rows."""
        scan = self.table.scan(self.path, columns)
        frames = frames_of_scan(scan, self.skip, self.n_rows)
        return sums_of(frames, roles, **{**options, "n_jobs": 1})


@dataclass(frozen=True, slots=True, eq=False)
class ClusterFiles:
    """The rows of files, summed by the workers of a cluster."""

    files: FileSource
    client: Any  # a client, or the address of a scheduler

    @property
    def label(self) -> str:
        """What messages call it."""
        return self.files.label

    @property
    def target(self) -> str | None:
        """The label column, where the source itself knows."""
        return self.files.target

    @property
    def sample(self) -> pl.DataFrame:
        """The first rows."""
        return self.files.sample

    def summed(
        self,
        roles: Roles,
        progress: Progress | None,
        checkpoint: Checkpoint | None = None,
        **options: Any,
    ) -> Summed:
        """Return the sums of every usable row; those that a checkpoint counts are not read."""
        rest = [(file.address, file, 0) for file in self.files.files]
        if checkpoint is not None:
            rest = checkpoint.remaining()
        pieces = [piece for path, file, skip in rest for piece in _pieces(path, file, skip, roles)]
        total = Summed() if checkpoint is None else checkpoint.summed
        size = len(pieces) if checkpoint is None else GROUP
        groups = [pieces[lo : lo + size] for lo in range(0, len(pieces), size)]
        n_rows = self.files.expected_rows if progress else None
        question = roles, roles.columns(self.sample), options
        with connected(self.client) as client, failures_told(require_distributed()):
            watch = Watch(client, progress, n_rows, total.n_rows)
            futures = watch.over(_submitted(client, groups, question))
            for group, part in zip(groups, results(client, futures, watch.tell), strict=True):
                total += part
                if checkpoint is not None:
                    _remember(checkpoint, total, group)
        return total


def _submitted(
    client: Any, groups: Sequence[Sequence[Piece]], question: tuple[Any, ...]
) -> Iterator[list[Any]]:
    """Yield the futures of each group of pieces."""
    for group in groups:
        yield [client.submit(piece.summed, *question, pure=False) for piece in group]


def _pieces(path: str, file: File, skip: int, roles: Roles) -> Iterator[Piece]:
    """Yield the tasks of one file: some rows each where the file can be cut, else all."""
    table: Any = file.table
    light = replace(table, sample=table.sample.clear())  # types travel, rows need not
    n_rows, size = file.format.n_rows(file.path), max(NUMBERS // len(roles.features), 1)
    if n_rows is None:
        yield Piece(path, light, skip)
        return
    for lo in range(skip, max(n_rows, skip + 1), size):
        yield Piece(path, light, lo, size, last=lo + size >= n_rows)


def _remember(checkpoint: Checkpoint, total: Summed, group: Sequence[Piece]) -> None:
    """Save which files, or parts of files, are in the sums by now."""
    counted = {piece.path: (piece.skip + (piece.n_rows or 0), piece.last) for piece in group}
    checkpoint.note(total, counted)
    checkpoint.save()
