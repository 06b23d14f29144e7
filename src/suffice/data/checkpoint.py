"""Files summed one after another, with a checkpoint."""

import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import polars as pl

from suffice.core.moments import Moments
from suffice.core.table.schema import Schema
from suffice.core.threads import in_order
from suffice.data.chunks import RowsRead
from suffice.data.columns import Roles
from suffice.data.file_bytes import is_url, stamp_of
from suffice.data.row_files import File
from suffice.data.source import Source, Telling, frames_of_scan, read_ahead
from suffice.data.summed import Summed, running_sums
from suffice.errors import CheckpointError, InvalidParameterError, SufficeError
from suffice.persistence import archive
from suffice.persistence.moments_file import KIND, arrays_of, header_of

SECONDS = 10.0  # between two savings: what a crash may cost
_REQUESTS = 16  # at a time, for the stamps of files
_FIELD = "checkpoint"


@dataclass(frozen=True, slots=True)
class Counted:
    """How much of one file is in the sums, and how to tell that it is still the same file."""

    size: int
    changed: int | str  # nanoseconds, or the tag of an object in a store
    rows: int
    done: bool


class Checkpoint:
    """The sums so far of a scan over files, and the file on disk that remembers them."""

    def __init__(self, path: str | Path, source: Source, roles: Roles, **options: Any) -> None:
        self.path, self._files = Path(path), _by_path(source)
        stamps = in_order(stamp_of, list(self._files), _REQUESTS)  # before anything is read
        self._stamps = dict(zip(self._files, stamps, strict=True))
        self._question = {
            **source.files[0].reading.said,
            "features": list(roles.features),
            "target": roles.target,
            "labels": str(roles.columns(source.sample)[roles.target or ""]),
            "weight": roles.weight,
            "storage": options.get("storage", "auto"),
            "fourth": bool(options.get("fourth")),
            "categorical": _categories(roles.schema),
        }
        self.summed, self.counted = Summed(), dict[str, Counted]()
        self._rows, self._finished = (
            dict[str, int](),
            set[str](),
        )  # rows of files, and those read
        self._n_done, self._begun = (
            0,
            dict[str, int](),
        )  # before: rows of whole files, of others
        self._saved, self._saved_at = self.counted.copy(), time.monotonic()
        if self.path.exists():
            self._resume()

    def remaining(self) -> list[tuple[str, File, int]]:
        """Return the files still to be read, each with the rows to skip; the one begun first."""
        rows = {
            path: counted.rows for path, counted in self.counted.items() if not counted.done
        }
        rest = {*self._files} - {*self.counted}
        left = [
            (p, f, rows.get(p, 0)) for p, f in self._files.items() if p in rest or p in rows
        ]
        return sorted(left, key=lambda each: each[0] in rest)

    def frames(self, columns: Mapping[str, Any]) -> Iterator[pl.DataFrame]:
        for path, file, skip in self.remaining():
            self._rows[path] = skip
            for frame in frames_of_scan(file.scan(columns), skip):
                self._rows[path] += frame.height
                yield frame
            self._finished.add(path)

    def _rows_in(self, summed: Summed) -> dict[str, tuple[int, bool]]:
        """Return rows and doneness of each file read, as far as its rows are in the sums."""
        # another thread reads on: what is finished first, so that its rows are all there
        done, read = self._finished.copy(), self._rows.copy()
        before = (rows for path, rows in self._begun.items() if path not in read)
        counted, left = {}, summed.n_rows - self._n_done - sum(before)
        for path, n_rows in read.items():
            rows = min(n_rows, left)
            left -= rows
            if rows or path in done:
                counted[path] = rows, path in done and rows == n_rows
        return counted

    def note(self, summed: Summed, rows: Mapping[str, tuple[int, bool]] | None = None) -> None:
        """Take note of the sums so far; ``rows`` are those of files, if others read them."""
        self.summed = summed
        for path, (count, done) in (rows or self._rows_in(summed)).items():
            self.counted[_real(path)] = Counted(*self._stamps[_real(path)], count, done)

    def save(self, after: float = 0.0) -> None:
        """Replace the file by the sums so far, if there are any new ones, after some seconds."""
        moments, due = self.summed.moments, time.monotonic() - self._saved_at >= after
        if not due or self.counted == self._saved or not moments.n_features:
            return
        left_out = asdict(self.summed.left_out)
        entries = {path: asdict(counted) for path, counted in self.counted.items()}
        told = {"question": self._question, "left_out": left_out, "files": entries}
        try:
            archive.write(
                self.path, KIND, header_of(moments) | {_FIELD: told}, arrays_of(moments)
            )
        except OSError as error:
            cure = "make room or name another place; the one of before is whole, and can be resumed"
            msg = f"the checkpoint {self.path} cannot be written ({error.strerror}): {cure}"
            raise CheckpointError(msg) from error
        self._saved, self._saved_at = self.counted.copy(), time.monotonic()

    def _resume(self) -> None:
        try:
            header, arrays = archive.read(self.path)
            told, moments = header[_FIELD], Moments.of_archive(header, arrays)
        except (SufficeError, KeyError, OSError) as error:
            msg = f"{self.path} is not a checkpoint ({error}): name another path, or remove it"
            raise CheckpointError(msg) from error
        asked = {**told["question"], "categorical": _categories(moments.schema)}
        for name in {**self._question, **asked}:
            before, now = asked.get(name), self._question.get(name)
            if before != now:
                found = f"{self.path} was made with {name} {before!r}, now it is {now!r}"
                msg = f"the checkpoint {found}: ask the same, or remove it to start again"
                raise CheckpointError(msg)
        self.counted = {_real(path): Counted(**entry) for path, entry in told["files"].items()}
        cure = f"remove {self.path} to start again"
        for path, counted in self.counted.items():
            if path not in self._files:
                msg = (
                    f"the checkpoint counts {path}, which is not among the files given: {cure}"
                )
                raise CheckpointError(msg)
            if self._stamps[path] != (counted.size, counted.changed):
                raise CheckpointError(
                    f"{path} has changed since the checkpoint counted it: {cure}"
                )
        self.summed = Summed(moments, RowsRead(**told["left_out"]))
        self._saved = self.counted.copy()
        # a cluster does not learn how many rows a whole file has: what others leave is of those
        self._begun = {path: c.rows for path, c in self.counted.items() if not c.done}
        self._n_done = self.summed.n_rows - sum(self._begun.values())


def _categories(schema: Schema | None) -> list[str]:
    return [column.name for column in schema.categories] if schema else []


def _by_path(source: Source) -> dict[str, File]:
    if not source.files:
        msg = f"checkpoint needs a source of files, and {source.label} is none: leave it out"
        raise InvalidParameterError(msg)
    files: dict[str, File] = {}
    for file in source.files:
        path = _real(file.address)
        if path in files:
            also = f"as {file.path} and as {files[path].path}"
            msg = f"{path} is named twice, {also}: a checkpoint counts every file once"
            raise InvalidParameterError(msg)
        files[path] = file
    return files


def _real(address: str) -> str:
    """Return the one spelling of an address: links followed, no step back."""
    return address if is_url(address) else str(Path(address).resolve())


def summed_with_checkpoint(
    source: Source,
    roles: Roles,
    told: Telling,
    checkpoint: Checkpoint,
    **options: Any,
) -> Summed:
    """Return the sums of files, those that the checkpoint already counts not read again."""
    frames = read_ahead(checkpoint.frames(roles.columns(source.sample)))
    try:
        for total in running_sums(frames, roles, checkpoint.summed, **options):
            checkpoint.note(total)
            checkpoint.save(after=SECONDS)
            told(total.n_rows)
        checkpoint.note(checkpoint.summed)
    finally:
        checkpoint.save()
    return checkpoint.summed
