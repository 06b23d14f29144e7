"""The manifest of a store, which lists its entries and logs all changes."""

from __future__ import annotations

import io
import json
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import lru_cache
from hashlib import file_digest, sha256
from pathlib import Path
from typing import Any, NamedTuple, TypedDict

from suffice.core.moments import Moments
from suffice.core.text.lists import counted
from suffice.core.threads import in_order
from suffice.data.files.addresses import is_url, stamp_of
from suffice.data.store.partitions import NamesOfFiles, files_of
from suffice.data.store.place import Place
from suffice.errors import FileFormatError, InvalidInputError, warn
from suffice.persistence import archive
from suffice.persistence.receipt import Receipt

_NAME = "manifest"
_FORMAT = 1
_DIGEST = re.compile("[0-9a-f]{64}")
_REQUESTS = 16  # simultaneous requests for the stamps of files


class FileStamp(NamedTuple):
    """Size, time and content of a file whose rows were added, to recognise the file later."""

    address: str
    size: int
    changed: int | str  # time of change in nanoseconds, or the tag of a remote object
    content: str = ""  # SHA-256 of the content, or the tag of a remote object

    @classmethod
    def of(cls, path: str) -> FileStamp:
        """Return the current stamp of a file, without reading its content."""
        if not is_url(path) and not Path(path).is_file():
            raise InvalidInputError(f"there is no file {path!r}: check the path")
        address = path if is_url(path) else str(Path(path).resolve())
        size, changed = stamp_of(address)
        return cls(address, size, changed)

    @classmethod
    def from_json(cls, fields: Sequence[Any]) -> FileStamp:
        """Return a stamp from the JSON of a manifest; raise TypeError or ValueError if invalid."""
        address, size, changed, content = fields
        types = (isinstance(address, str), isinstance(size, int), isinstance(content, str))
        if not all(types) or not isinstance(changed, (int, str)):
            raise ValueError("the size or time of a file has the wrong type")
        return cls(address, size, changed, content)

    def is_same(self, other: FileStamp) -> bool:
        """Return whether two stamps say that the file is unchanged."""
        return self[:3] == other[:3]

    def with_content(self) -> FileStamp:
        return self._replace(content=_content(self.address, self.size, self.changed))


@lru_cache(1 << 16)
def _content(address: str, size: int, changed: int | str) -> str:
    if is_url(address):
        return f"{size} {changed}"
    with open(address, "rb") as file:
        return file_digest(file, "sha256").hexdigest()


@dataclass(frozen=True)
class Entry:
    """The sums of one file of a partition, or of all rows that were added at once."""

    partition: str
    digest: str  # SHA-256 of the object with the sums
    rows: int
    target: str | None = None
    weight: str | None = None
    file: FileStamp | None = None

    @property
    def key(self) -> str:
        """Sort key of entries, independent of file names. No key is a prefix of another key."""
        return f"{self.partition}\0{self.digest}{self.file.content if self.file else '':64}"

    @property
    def object_name(self) -> str:
        """Name of the object with the sums."""
        return f"objects/{self.digest}.moments"

    def load(self, place: Place) -> Moments:
        label = f"{self.object_name} of the store {place.label}"
        content = place.get(self.object_name)
        if content is None or sha256(content).hexdigest() != self.digest:
            raise FileFormatError(
                f"{label} is missing or damaged: restore it from a backup, or replace the "
                f"partition {self.partition!r}"
            )
        header, arrays = archive.read_from(io.BytesIO(content), label)
        moments = Moments.of_archive(header, arrays)
        n_rows = int(moments.counts.sum())
        if n_rows != self.rows:
            raise FileFormatError(
                f"{label} holds {counted(n_rows, 'row')}, but the manifest says "
                f"{counted(self.rows, 'row')}: restore the store from a backup, or replace the "
                f"partition {self.partition!r}"
            )
        return moments

    @classmethod
    def from_json(cls, fields: Mapping[str, Any]) -> Entry:
        """Return an entry of a manifest; raise TypeError or ValueError if a field is invalid."""
        texts = [fields["partition"], fields["digest"], fields["target"] or ""]
        texts.append(fields["weight"] or "")
        rows = fields["rows"]
        if not isinstance(rows, int) or not all(isinstance(text, str) for text in texts):
            raise TypeError("a field of an entry has the wrong type")
        if rows < 0 or not _DIGEST.fullmatch(fields["digest"]):
            raise ValueError("an entry has no digest or a negative number of rows")
        file = fields["file"]
        return cls(
            partition=fields["partition"],
            digest=fields["digest"],
            rows=rows,
            target=fields["target"],
            weight=fields["weight"],
            file=None if file is None else FileStamp.from_json(file),
        )


class _Change(TypedDict):
    """The fields that every record of the log has."""

    when: str
    who: str
    action: str
    partition: str
    why: str
    before: list[str]  # digests of the partition's entries before the change
    after: list[str]
    rows: list[int]  # number of rows before and after the change
    withdrawn: list[str]  # content digests of the files that the change withdrew


class Record(_Change, total=False):
    """One change of a store: who made it, when, why, and the entries before and after."""

    receipt: dict[str, Any]  # present if rows were removed from exact sums


def _entries_from(header: Mapping[str, Any]) -> tuple[Entry, ...]:
    """Return the entries of a manifest sorted by key, as totals require."""
    entries = tuple(Entry.from_json(fields) for fields in header["entries"])
    keys = [entry.key for entry in entries]
    if keys != sorted(set(keys)):
        raise ValueError("the entries are not sorted, or one occurs twice")
    return entries


def _record_from(text: bytes) -> Record:
    try:
        record: Record = json.loads(text)
        names = set(record)
    except (TypeError, ValueError, RecursionError) as error:
        raise FileFormatError(
            f"a record of the manifest cannot be read ({error}): restore it from a backup"
        ) from error
    if not names >= set(_Change.__annotations__):
        raise FileFormatError(
            "a record of the manifest lacks fields: restore it from a backup, or upgrade suffice"
        )
    return record


@dataclass(slots=True)
class Changes:
    """New files of a partition, and the contents of all its files."""

    new: list[FileStamp] = field(
        default_factory=list
    )  # files that the store does not have yet
    # content digest of each file, by address
    contents: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Manifest:
    """The entries of a store sorted by key, and the log of all changes; stored as JSON."""

    entries: tuple[Entry, ...] = ()
    records: tuple[bytes, ...] = ()

    @classmethod
    def read(cls, place: Place, *, begin: bool = False) -> Manifest:
        """Return the checked manifest of a store; ``begin`` creates it if the store is new."""
        content = place.get(_NAME)
        if content is None and not place.names("objects"):
            if begin:
                manifest = cls()
                # the manifest is written before any object: objects without a manifest then mean a
                # loss
                manifest._write(place)
                return manifest
            raise InvalidInputError(
                f"there is no store of moments at {place.label}: create one with add"
            )
        digest, _, text = (content or b"").partition(b"\n")
        if digest != sha256(text).hexdigest().encode():
            raise FileFormatError(
                f"the manifest of {place.label} is missing or damaged: restore it from a backup, "
                "or count the files into a new store"
            )
        first, *records = text.split(b"\n")
        try:
            header = json.loads(first)
            version = header["format"]
            entries = _entries_from(header) if version == _FORMAT else ()
        except (KeyError, TypeError, ValueError, RecursionError) as error:
            raise FileFormatError(
                f"the manifest of {place.label} was not written by suffice ({error}): restore it "
                "from a backup, or count the files into a new store"
            ) from error
        if version != _FORMAT:
            raise FileFormatError(f"{place.label} is of format {version}: upgrade suffice")
        return cls(entries, tuple(records))

    def _write(self, place: Place) -> None:
        """Write the manifest to the store, which commits the change."""
        header = {
            "suffice": "store",
            "format": _FORMAT,
            "entries": [vars(entry) for entry in self.entries],
        }
        text = b"\n".join([json.dumps(header).encode(), *self.records])
        place.put(_NAME, sha256(text).hexdigest().encode() + b"\n" + text)

    def of(self, partition: str) -> list[Entry]:
        """Return the entries of a partition."""
        return [entry for entry in self.entries if entry.partition == partition]

    def without(self, partition: str) -> list[Entry]:
        """Return the entries of all other partitions."""
        return [entry for entry in self.entries if entry.partition != partition]

    @property
    def log(self) -> list[Record]:
        return [_record_from(record) for record in self.records]

    def change(
        self,
        place: Place,
        action: str,
        partition: str,
        why: str,
        new: Sequence[Entry],
        receipt: Receipt | None = None,
    ) -> Manifest:
        """Replace the entries of a partition and log the change; return the new manifest."""
        before = self.of(partition)
        withdrawn = [] if action == "add" else [e.file.content for e in before if e.file]
        record: Record = {
            "when": datetime.now(UTC).isoformat(timespec="seconds"),
            "who": f"{os.environ.get('LOGNAME', os.getuid())}@{os.uname().nodename}",
            "action": action,
            "partition": partition,
            "why": why,
            "before": [entry.digest for entry in before],
            "after": [entry.digest for entry in new],
            "rows": [sum(e.rows for e in before), sum(e.rows for e in new)],
            "withdrawn": withdrawn,
        }
        if receipt is not None:
            record["receipt"] = receipt.to_json()
        entries = sorted([*self.without(partition), *new], key=lambda entry: entry.key)
        records = (*self.records, json.dumps(record).encode())
        changed = Manifest(tuple(entries), records)
        changed._write(place)
        return changed

    def changes(
        self,
        groups: Mapping[str, NamesOfFiles],
        *,
        warns: bool = False,
    ) -> dict[str, Changes]:
        """Return the new files of each partition; raise if another partition has one of them.

        With ``warns``, a warning names files that were withdrawn earlier.
        """
        known: dict[str, tuple[FileStamp, str]] = {}  # file and partition by address
        partition_of: dict[str, str] = {}  # partition by file content
        for entry in self.entries:
            if entry.file is not None:
                known[entry.file.address] = (entry.file, entry.partition)
                partition_of[entry.file.content] = entry.partition
        withdrawn = {content for record in self.log for content in record["withdrawn"]}
        paths = [(name, path) for name in groups for path in files_of(groups[name])]
        stamps = in_order(FileStamp.of, [path for _, path in paths], _REQUESTS)
        changes = {name: Changes() for name in groups}
        for (partition, path), now in zip(paths, stamps, strict=True):
            before, by_address = known.get(now.address, (None, None))
            is_unchanged = before is not None and before.is_same(now)
            stamp = before if before is not None and is_unchanged else now.with_content()
            by_content = partition_of.get(stamp.content)
            for other in (by_address, by_content):
                if other not in (None, partition):
                    raise InvalidInputError(
                        f"{path} is already counted in the partition {other!r}: add the file to "
                        "that partition, or remove that partition first"
                    )
            partition_of[stamp.content] = partition
            changes[partition].contents[now.address] = stamp.content
            if by_content is None and stamp.content not in withdrawn:
                changes[partition].new.append(stamp)
            elif by_content is None and warns:
                warn(
                    f"{path} was withdrawn from the store, so it is not counted. To count it "
                    f"again, replace the partition {partition!r} with this file"
                )
        return changes

    def outdated(self, partition: str, changes: Changes) -> list[Entry]:
        """Return the entries whose file has changed and whose old content is in no other file."""
        outdated = []
        for entry in self.of(partition):
            file = entry.file
            if file is None or file.address not in changes.contents:
                continue
            if file.content not in changes.contents.values():
                outdated.append(entry)
        return outdated
