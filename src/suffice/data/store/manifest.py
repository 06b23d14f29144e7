"""What a store holds, its record of changes, which files are new, totals in an order names fix."""

import io
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache, reduce
from glob import has_magic
from hashlib import file_digest, sha256
from itertools import groupby
from operator import add
from pathlib import Path
from typing import Any, NamedTuple
from zipfile import ZIP_STORED

from suffice.core.moments import Moments
from suffice.core.threads import in_order
from suffice.data.file_bytes import PACKED, is_url, paths_of, stamp_of
from suffice.data.formats import FORMATS
from suffice.data.sql.database import is_database
from suffice.data.store.place import Place
from suffice.errors import FileFormatError, InvalidInputError, InvalidParameterError, warn
from suffice.persistence import archive
from suffice.persistence.moments_file import KIND, arrays_of, header_of

_NAME, _FORMAT = "manifest", 1
_MANY = 8  # entries of one beginning whose sum is worth keeping
_REQUESTS = 16  # at a time, for the stamps of files
_ENDINGS = {*FORMATS, *PACKED}


class FileStamp(NamedTuple):
    """A file that was counted, and how to know it again."""

    address: str
    size: int
    changed: int | str  # nanoseconds, or the tag of an object in a store
    content: str = ""  # SHA-256, or that tag

    @classmethod
    def of(cls, path: str) -> "FileStamp":
        """Return the stamp of a file as it is now, its content not read."""
        if not is_url(path) and not Path(path).is_file():
            raise InvalidInputError(f"there is no file {path!r}: check the path")
        address = path if is_url(path) else str(Path(path).resolve())
        return cls(address, *stamp_of(address))


@dataclass(frozen=True)
class Entry:
    """The sums of rows of a partition: of one file, or of all rows that were given at once."""

    partition: str
    digest: str  # SHA-256 of the object that holds them
    rows: int
    target: str | None = None
    weight: str | None = None
    file: FileStamp | None = None

    @property
    def key(self) -> str:
        """What sorts entries, whatever their files are called; no key begins another."""
        return f"{self.partition}\0{self.digest}{self.file.content if self.file else '':64}"

    @property
    def place(self) -> str:
        return f"objects/{self.digest}.moments"

    def load(self, place: Place) -> Moments:
        name, content = f"{self.place} of the store {place.label}", place.get(self.place)
        if content is None or sha256(content).hexdigest() != self.digest:
            cure = f"restore it from a backup, or replace the partition {self.partition!r}"
            raise FileFormatError(f"{name} is damaged or gone: {cure}")
        return Moments.of_archive(*archive.read_from(io.BytesIO(content), name))


class Changes(NamedTuple):
    """What some files of a partition hold."""

    new: list[FileStamp]  # those that are not counted
    now: dict[str, str]  # address of each → its content


@dataclass(frozen=True)
class Manifest:
    """The entries of a store, by their keys, and the record of every change, as JSON."""

    entries: tuple[Entry, ...] = ()
    records: tuple[bytes, ...] = ()

    @classmethod
    def read(cls, place: Place, *, begin: bool = False) -> "Manifest":
        """Return what a store holds, after checking that it is whole; or begin the store."""
        found = place.get(_NAME)
        if found is None and not place.names("objects"):
            if begin:
                cls()._write(place)  # before any object, so that it is never lost unseen
                return cls()
            raise InvalidInputError(
                f"there is no store of moments at {place.label}: begin by add"
            )
        digest, _, text = (found or b"").partition(b"\n")
        if digest != sha256(text).hexdigest().encode():
            cure = "restore it from a backup, or count the files into a new store"
            raise FileFormatError(f"the manifest of {place.label} is damaged or gone: {cure}")
        first, *records = text.split(b"\n")
        told = json.loads(first)
        if told["format"] != _FORMAT:
            raise FileFormatError(
                f"{place.label} is of format {told['format']}: upgrade suffice"
            )
        kept = [{**e, "file": e["file"] and FileStamp(*e["file"])} for e in told["entries"]]
        return cls(tuple(Entry(**entry) for entry in kept), tuple(records))

    def _write(self, place: Place) -> None:
        """Take the place of the manifest before: the moment when a change is made."""
        first = {"suffice": "store", "format": _FORMAT, "entries": self.entries}
        text = b"\n".join([json.dumps(first, default=vars).encode(), *self.records])
        place.put(_NAME, sha256(text).hexdigest().encode() + b"\n" + text)

    def of(self, partition: str) -> list[Entry]:
        return [entry for entry in self.entries if entry.partition == partition]

    @property
    def log(self) -> list[dict[str, Any]]:
        return [json.loads(record) for record in self.records]

    def change(
        self,
        place: Place,
        action: str,
        partition: str,
        why: str,
        new: Sequence[Entry],
    ) -> None:
        """Give a partition other entries, on record."""
        before, rest = (
            self.of(partition),
            [e for e in self.entries if e.partition != partition],
        )
        record = {
            "when": datetime.now(UTC).isoformat(timespec="seconds"),
            "who": f"{os.environ.get('LOGNAME', os.getuid())}@{os.uname().nodename}",
            "action": action,
            "partition": partition,
            "why": why,
            "before": [entry.digest for entry in before],
            "after": [entry.digest for entry in new],
            "rows": [sum(entry.rows for entry in entries) for entries in (before, new)],
            "withdrawn": [e.file.content for e in before if e.file and action != "add"],
        }
        entries = tuple(sorted([*rest, *new], key=lambda entry: entry.key))
        Manifest(entries, (*self.records, json.dumps(record).encode()))._write(place)
        # what is no part of any total goes: sums withdrawn, and what killed writers left
        sums = place.names("sums")
        needed = {*(entry.place for entry in entries), *(_names(entries) if sums else ())}
        for name in {*place.names("objects"), *sums} - needed:
            place.drop(name)

    def changes(self, groups: Mapping[str, Any], *, tell: bool = False) -> dict[str, Changes]:
        """Return what is new in files, or raise; with ``tell``, say which were withdrawn."""
        files = [(entry.file, entry.partition) for entry in self.entries if entry.file]
        by_address = {file.address: (file, where) for file, where in files}
        by_content = {file.content: where for file, where in files}
        withdrawn = {content for record in self.log for content in record["withdrawn"]}
        found = {name: Changes([], {}) for name in groups}
        paths = [(name, path) for name in groups for path in _paths(groups[name])]
        stamps = list(in_order(FileStamp.of, [path for _, path in paths], _REQUESTS))
        for (partition, path), now in zip(paths, stamps, strict=True):
            before, where = by_address.get(now.address, (now, None))
            same = where is not None and before[:3] == now[:3]
            stamp = before if same else now._replace(content=_content(*now[:3]))
            holder = by_content.get(stamp.content)
            for other in {where, holder} - {None, partition}:
                raise InvalidInputError(
                    f"{path} is counted in {other!r}: name that, or remove it"
                )
            by_content[stamp.content] = partition
            found[partition].now[now.address] = stamp.content
            if holder is None and stamp.content not in withdrawn:
                found[partition].new.append(stamp)
            elif holder is None and tell:
                warn(f"{path} was withdrawn, and is not counted: replace {partition!r} by it")
        return found

    def outdated(self, partition: str, changes: Changes) -> list[Entry]:
        """Return entries whose rows are gone: their file holds others, and no other holds them."""
        counted = [(entry, entry.file) for entry in self.of(partition) if entry.file]
        changed = [(entry, file) for entry, file in counted if file.address in changes.now]
        return [entry for entry, file in changed if file.content not in changes.now.values()]


def bytes_of(moments: Moments) -> bytes:
    """Return sums as the bytes of a file, the same for the same sums."""
    file = io.BytesIO()
    # not deflated: numbers hardly shrink, and totals read many
    archive.write_into(file, KIND, header_of(moments), arrays_of(moments), ZIP_STORED)
    return file.getvalue()


def total_of(
    place: Place,
    entries: Sequence[Entry],
    kept: set[str],
    made: dict[str, Moments],
) -> Moments:
    """Return the sum of entries sorted by key; of groups, sums kept before, or else made now."""
    # added up by the letters that names begin with: the same bits whatever came first
    if len(entries) == 1:
        return entries[0].load(place)
    name = _name_of(entries)
    if name in kept and (content := place.get(name)):
        return Moments.of_archive(*archive.read_from(io.BytesIO(content), name))
    total = reduce(add, (total_of(place, group, kept, made) for group in _groups(entries)))
    if len(entries) >= _MANY:
        made[name] = total
    return total


def _groups(entries: Sequence[Entry]) -> list[Sequence[Entry]]:
    """Return entries by the first letter in which their keys differ."""
    ends = zip(entries[0].key, entries[-1].key, strict=False)
    at = next(at for at, (first, last) in enumerate(ends) if first != last)
    return [tuple(group) for _, group in groupby(entries, lambda entry: entry.key[at])]


def _name_of(entries: Sequence[Entry]) -> str:
    return f"sums/{sha256(repr([entry.key for entry in entries]).encode()).hexdigest()}"


def _names(entries: Sequence[Entry]) -> list[str]:
    if len(entries) < _MANY:
        return []
    return [_name_of(entries), *(name for group in _groups(entries) for name in _names(group))]


def are_files(data: Any) -> bool:
    """Return whether these are paths, globs or URLs of files, rather than rows or sums."""
    names = _named(data)
    there = (is_url(name) or has_magic(str(name)) or Path(name).exists() for name in names)
    return bool(names) and not any(map(is_database, names)) and all(there)


def _named(data: Any) -> Sequence[str | Path]:
    """Return the names that data are given by; none where these are rows or sums."""
    names = [data] if isinstance(data, (str, Path)) else data
    known = isinstance(names, (list, tuple)) and all(isinstance(n, (str, Path)) for n in names)
    return names if known else ()


def by_partition(data: Any, partition: str | None) -> Mapping[str, Any]:
    """Return the rows of each partition: of the one that is named, or files by their places."""
    if partition == "" or (partition is None and not are_files(data)):
        for name in _named(data):
            if Path(name).suffix and not are_files(name) and not is_database(name):
                raise InvalidInputError(f"there is no file {str(name)!r}: check the path")
        raise InvalidParameterError("the rows come without a name: name their partition")
    if partition is not None:
        return {partition: data}
    found: dict[str, list[str]] = {}
    for path in _paths(data):
        found.setdefault(partition_of(path), []).append(path)
    return found


def partition_of(path: str) -> str:
    """Return the hive folders of a file, or else its name without its ending."""
    place = Path(path)
    hive = [folder for folder in place.parts[:-1] if "=" in folder]
    while place.suffix.lower() in _ENDINGS:
        place = place.with_suffix("")
    return "/".join(hive) or place.name


def _paths(data: Any) -> list[str]:
    return sorted({str(path) for name in _named(data) for path in paths_of(str(name))})


@lru_cache(1 << 16)
def _content(address: str, size: int, changed: int | str) -> str:
    if is_url(address):
        return f"{size} {changed}"
    with open(address, "rb") as file:
        return file_digest(file, "sha256").hexdigest()
