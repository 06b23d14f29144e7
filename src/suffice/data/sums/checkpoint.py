"""Sum files one after another, with a checkpoint on disk from which a scan resumes."""

import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from suffice.core.moments import Moments
from suffice.core.table.schema import Schema
from suffice.core.threads import in_order
from suffice.data.columns.roles import Roles
from suffice.data.files.addresses import is_url, stamp_of
from suffice.data.formats.file_source import File
from suffice.data.options import SumSettings, TextFormat
from suffice.data.rows.left_out import RowsRead
from suffice.data.scanning import frames_of_scan, read_ahead
from suffice.data.source import ColumnTypes, RowsDone, Source
from suffice.data.sums.running import Summed, running_sums
from suffice.errors import CheckpointError, InvalidParameterError, SufficeError
from suffice.persistence import archive
from suffice.persistence.moments_file import KIND, arrays_of, header_of

SECONDS = 10.0  # seconds between two saves, the most work that a crash can lose
_REQUESTS = 16  # simultaneous requests for the stamps of files
_FIELD = "checkpoint"


@dataclass(frozen=True, slots=True)
class Counted:
    """The number of rows of a file in the sums, and a stamp that shows changes of the file."""

    size: int
    changed: int | str  # time of change in nanoseconds, or the tag of a remote object
    rows: int
    done: bool


class Remaining(NamedTuple):
    """A file that is not yet read completely."""

    path: str
    file: File
    skip: int  # number of rows that are already in the sums


class FileRows(NamedTuple):
    """How many rows of a file are in the sums."""

    rows: int
    done: bool  # whether these are all rows of the file


class Checkpoint:
    """The partial sums of a scan over files, stored in a file on disk."""

    def __init__(
        self,
        path: str | Path,
        source: Source,
        roles: Roles,
        settings: SumSettings,
    ) -> None:
        self.path = Path(path)
        self.summed = Summed()
        self.counted: dict[str, Counted] = {}
        self._files = _by_path(source)
        # The stamps are taken before any row is read, so that changes during the scan are noticed.
        stamps = in_order(stamp_of, list(self._files), _REQUESTS)
        self._stamps = dict(zip(self._files, stamps, strict=True))
        self._question = _question(source, roles, settings)
        # number of rows read of each file, by this scan and earlier ones
        self._rows_read: dict[str, int] = {}
        self._finished: set[str] = set()  # files that this scan has read completely
        # Numbers of rows counted by earlier scans: the total of complete files, and by file for
        # partial ones.
        self._n_done_before = 0
        self._begun_before: dict[str, int] = {}
        self._saved: dict[str, Counted] = {}
        self._saved_at = time.monotonic()
        if self.path.exists():
            self._resume()

    def remaining(self) -> list[Remaining]:
        """Return the files still to be read; a partially read file comes first."""
        begun = []
        untouched = []
        for path, file in self._files.items():
            counted = self.counted.get(path)
            if counted is None:
                untouched.append(Remaining(path, file, skip=0))
            elif not counted.done:
                begun.append(Remaining(path, file, skip=counted.rows))
        return begun + untouched

    def frames(self, columns: ColumnTypes) -> Iterator[pl.DataFrame]:
        """Yield the rows of the remaining files, in order."""
        for path, file, skip in self.remaining():
            self._rows_read[path] = skip
            for frame in frames_of_scan(file.scan(columns), skip):
                self._rows_read[path] += frame.height
                yield frame
            self._finished.add(path)

    def _rows_in(self, summed: Summed) -> dict[str, FileRows]:
        """Return how many rows of each file read by this scan are in the sums."""
        # Another thread is reading meanwhile. The finished files are copied first, so that the copy
        # of the row numbers includes all of their rows.
        finished = self._finished.copy()
        rows_read = self._rows_read.copy()
        begun = self._begun_before.items()
        n_untouched = sum(n_rows for path, n_rows in begun if path not in rows_read)
        n_left = summed.n_rows - self._n_done_before - n_untouched
        counted: dict[str, FileRows] = {}
        for path, n_read in rows_read.items():
            n_summed = min(n_read, n_left)
            n_left -= n_summed
            if n_summed or path in finished:
                done = path in finished and n_summed == n_read
                counted[path] = FileRows(n_summed, done)
        return counted

    def note(self, summed: Summed, rows: Mapping[str, FileRows] | None = None) -> None:
        """Record the current sums; ``rows`` has the numbers of rows that a cluster reads."""
        self.summed = summed
        if rows is None:
            rows = self._rows_in(summed)
        for address, file_rows in rows.items():
            path = _resolved(address)
            size, changed = self._stamps[path]
            self.counted[path] = Counted(size, changed, file_rows.rows, file_rows.done)

    def save(self, after: float = 0.0) -> None:
        """Save the current sums if they are new and ``after`` seconds have passed."""
        moments = self.summed.moments
        is_due = time.monotonic() - self._saved_at >= after
        if not is_due or self.counted == self._saved or not moments.n_features:
            return
        header = header_of(moments)
        header[_FIELD] = {
            "question": self._question,
            "left_out": asdict(self.summed.left_out),
            "files": {path: asdict(counted) for path, counted in self.counted.items()},
        }
        try:
            archive.write(self.path, KIND, header, arrays_of(moments))
        except OSError as error:
            raise CheckpointError(
                f"the checkpoint {self.path} cannot be written ({error.strerror}): free some "
                "space or name another place; the previous checkpoint is complete and can be "
                "resumed"
            ) from error
        self._saved = self.counted.copy()
        self._saved_at = time.monotonic()

    def _resume(self) -> None:
        """Load the sums from disk; raise if they were collected with other settings."""
        try:
            header, arrays = archive.read(self.path)
            saved = header[_FIELD]
            question = dict(saved["question"])
            files = {name: _counted_from(entry) for name, entry in saved["files"].items()}
            rows_read = _rows_read_from(saved["left_out"])
            moments = Moments.of_archive(header, arrays)
        except (
            SufficeError,
            LookupError,
            TypeError,
            ValueError,
            AttributeError,
            OSError,
        ) as error:
            msg = f"{self.path} is not a checkpoint ({error}): name another path, or remove it"
            raise CheckpointError(msg) from error
        self._refuse_other_question(question)
        self.counted = {_resolved(address): entry for address, entry in files.items()}
        self._refuse_changed_files()
        self.summed = Summed(moments, rows_read)
        self._saved = self.counted.copy()
        # A cluster does not report the number of rows of a complete file. It follows from the
        # total.
        for path, counted in self.counted.items():
            if not counted.done:
                self._begun_before[path] = counted.rows
        self._n_done_before = self.summed.n_rows - sum(self._begun_before.values())

    def _refuse_other_question(self, saved: Mapping[str, object]) -> None:
        for name in {**self._question, **saved}:
            before = saved.get(name)
            now = self._question.get(name)
            if before != now:
                raise CheckpointError(
                    f"the checkpoint {self.path} was made with {name} {before!r}, but this call "
                    f"has {now!r}: use the same value, or remove the checkpoint to start again"
                )

    def _refuse_changed_files(self) -> None:
        for path, counted in self.counted.items():
            if path not in self._files:
                raise CheckpointError(
                    f"the checkpoint counts {path}, which is not among the files given: remove "
                    f"{self.path} to start again"
                )
            if self._stamps[path] != (counted.size, counted.changed):
                raise CheckpointError(
                    f"{path} has changed since the checkpoint counted it: remove {self.path} to "
                    "start again"
                )


def _counted_from(fields: Mapping[str, Any]) -> Counted:
    """Return how many rows of a file are counted; raise if a field has another type."""
    numbers = [fields["size"], fields["rows"]]
    are_counts = all(type(number) is int and number >= 0 for number in numbers)
    if not are_counts or type(fields["done"]) is not bool:
        raise TypeError("the rows of a file are not counted")
    return Counted(**fields)


def _rows_read_from(fields: Mapping[str, Any]) -> RowsRead:
    """Return the number of rows read; raise if a field has another type."""
    rows_read = RowsRead(**fields)
    numbers: list[Any] = [rows_read.rows, rows_read.unusable]
    numbers += [*rows_read.by_column.values(), *rows_read.new_levels.values()]
    if not all(type(number) is int and number >= 0 for number in numbers):
        raise TypeError("the rows read are not counted")
    return rows_read


def _question(source: Source, roles: Roles, settings: SumSettings) -> dict[str, object]:
    """Return the settings as JSON; partial sums can be added only if their settings agree."""
    labels = roles.columns(source.sample)[roles.target or ""]
    question: dict[str, object] = {
        "features": list(roles.features),
        "target": roles.target,
        "labels": str(labels),
        "weight": roles.weight,
        "storage": settings.storage,
        "fourth": bool(settings.fourth),
        "categorical": _category_names(roles.schema),
    }
    text = asdict(source.files[0].text)
    usual = asdict(TextFormat())
    for name, value in text.items():
        if value != usual[name]:
            question[name] = list(value) if isinstance(value, tuple) else value
    return question


def _category_names(schema: Schema | None) -> list[str]:
    return [column.name for column in schema.categories] if schema else []


def _by_path(source: Source) -> dict[str, File]:
    if not source.files:
        msg = (
            f"a checkpoint needs a source of files, but {source.label} is not one: leave "
            "checkpoint out"
        )
        raise InvalidParameterError(msg)
    files: dict[str, File] = {}
    for file in source.files:
        path = _resolved(file.address)
        if path in files:
            raise InvalidParameterError(
                f"{path} is named twice, as {file.path} and as {files[path].path}: a checkpoint "
                "counts every file once"
            )
        files[path] = file
    return files


def _resolved(address: str) -> str:
    """Return the canonical form of an address, without symbolic links and ".."."""
    return address if is_url(address) else str(Path(address).resolve())


def sums_with_checkpoint(
    source: Source,
    roles: Roles,
    settings: SumSettings,
    report: RowsDone,
    checkpoint: Checkpoint,
) -> Summed:
    """Return the sums of files; files in the checkpoint are not read again."""
    before = checkpoint.summed
    frames = read_ahead(checkpoint.frames(roles.columns(source.sample)))
    try:
        for total in running_sums(
            frames, roles, settings, source.label, total=before, first_row=before.n_rows
        ):
            checkpoint.note(total)
            checkpoint.save(after=SECONDS)
            report(total.n_rows)
        checkpoint.note(checkpoint.summed)
    finally:
        checkpoint.save()
    return checkpoint.summed
