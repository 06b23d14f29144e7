"""Which files are new to a store, or have changed since they were counted."""

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from glob import has_magic
from hashlib import file_digest
from pathlib import Path
from typing import Any

from suffice.errors import InvalidInputError, InvalidParameterError, warn
from suffice.sources import blocks
from suffice.sources.blocks import PACKED, is_url, paths_of
from suffice.sources.formats import FORMATS
from suffice.sources.sql.database import is_database
from suffice.store.manifest import FileStamp, Manifest

_REQUESTS = 16  # at a time, for the stamps of files
_ENDINGS = {*FORMATS, *PACKED}


def are_files(data: Any) -> bool:
    """Return whether these are paths, globs or URLs of files, rather than rows or sums."""
    names = [data] if isinstance(data, (str, Path)) else data
    return isinstance(names, (list, tuple)) and all(
        isinstance(name, (str, Path))
        and not is_database(name)
        and (is_url(name) or has_magic(str(name)) or Path(name).exists())
        for name in names
    )


def by_partition(data: Any, partition: str | None) -> Mapping[str, Any]:
    """Return the rows of each partition: of the one that is named, or files by their places."""
    if partition == "" or (partition is None and not are_files(data)):
        raise InvalidParameterError("the rows come without a name: name their partition")
    if partition is not None:
        return {partition: data}
    found: dict[str, list[str]] = {}
    for path in _paths(data):
        found.setdefault(partition_of(path), []).append(path)
    return found


def partition_of(path: str) -> str:
    """Return the hive folders of a file, or else its name without its ending.

    Examples
    --------
    >>> partition_of("in/day=2026-11-01/part-0.parquet"), partition_of("in/2026-11-01.csv.gz")
    ('day=2026-11-01', '2026-11-01')
    """
    place = Path(path)
    hive = [folder for folder in place.parts[:-1] if "=" in folder]
    while place.suffix.lower() in _ENDINGS:
        place = place.with_suffix("")
    return "/".join(hive) or place.name


def new_files(
    groups: Mapping[str, Any], known: Manifest, *, tell: bool = False
) -> dict[str, list[FileStamp]]:
    """Return the files of partitions whose content a store lacks; raise if another one has it.

    With ``tell``, say which are left out because they were withdrawn.
    """
    files = [(entry.file, entry.partition) for entry in known.entries if entry.file]
    by_address = {file.address: (file, where) for file, where in files}
    by_content = {file.content: where for file, where in files}
    found, withdrawn = {name: list[FileStamp]() for name in groups}, known.withdrawn
    paths = [(name, path) for name in groups for path in _paths(groups[name])]
    with ThreadPoolExecutor(_REQUESTS) as pool:
        asked = pool.map if len(paths) > 1 else map
        stamps = list(asked(stamp_of, (path for _, path in paths)))
    for (partition, path), now in zip(paths, stamps, strict=True):
        before, where = by_address.get(now.address, (now, None))
        same = where is not None and before[:3] == now[:3]
        stamp = before if same else now._replace(content=_content(*now[:3]))
        holder = by_content.get(stamp.content)
        for other in {where, holder} - {None, partition}:
            raise InvalidInputError(f"{path} is counted in {other!r}: name that, or remove it")
        by_content[stamp.content] = partition
        if holder is None and stamp.content not in withdrawn:
            found[partition].append(stamp)
        elif holder is None and tell:
            warn(f"{path} was withdrawn, and is not counted: replace {partition!r} by it")
    return found


def _paths(data: Any) -> list[str]:
    names = [data] if isinstance(data, (str, Path)) else data
    return sorted({str(path) for name in names for path in paths_of(str(name))})


def stamp_of(path: str) -> FileStamp:
    """Return the stamp of a file as it is now, its content not read."""
    if not is_url(path) and not Path(path).is_file():
        raise InvalidInputError(f"there is no file {path!r}: check the path")
    address = path if is_url(path) else str(Path(path).resolve())
    return FileStamp(address, *blocks.stamp_of(address))


@lru_cache(1 << 16)
def _content(address: str, size: int, changed: int | str) -> str:
    """Return what identifies the content of a file of this stamp."""
    if is_url(address):
        return f"{size} {changed}"
    with open(address, "rb") as file:
        return file_digest(file, "sha256").hexdigest()
