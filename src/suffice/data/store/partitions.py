"""Partition names, and the files of each partition."""

from collections.abc import Mapping, Sequence
from glob import has_magic
from pathlib import Path
from typing import Any, TypeAlias, TypeGuard

from suffice.data.files.addresses import is_url, paths_of
from suffice.data.files.contents import PACKED
from suffice.data.formats.kinds import ENDINGS
from suffice.data.sql.addresses import is_database
from suffice.errors import InvalidInputError, InvalidParameterError

NamesOfFiles: TypeAlias = str | Path | Sequence[str | Path]  # paths, globs, folders or URLs


def are_files(data: object) -> TypeGuard[NamesOfFiles]:
    """Return whether the data are names of files (paths, globs, URLs), not rows or sums."""
    names = _names(data)
    return bool(names) and all(_is_file(name) for name in names)


def _is_file(name: str | Path) -> bool:
    if is_database(name):
        return False
    return is_url(name) or has_magic(str(name)) or Path(name).exists()


def _names(data: object) -> Sequence[str | Path]:
    """Return the names of the files; empty if the data are rows or sums."""
    if isinstance(data, (str, Path)):
        return [data]
    if not isinstance(data, (list, tuple)):
        return ()
    are_names = all(isinstance(name, (str, Path)) for name in data)
    return data if are_names else ()


def by_partition(data: object, partition: str | None) -> Mapping[str, Any]:
    """Return the data of each partition: the named one, or files grouped by hive folders."""
    if partition:
        return {partition: data}
    if partition == "" or not are_files(data):
        for name in _names(data):
            if Path(name).suffix and not _is_file(name) and not is_database(name):
                raise InvalidInputError(f"there is no file {str(name)!r}: check the path")
        raise InvalidParameterError("the rows have no name: give the name of their partition")
    groups: dict[str, list[str]] = {}
    for path in files_of(data):
        groups.setdefault(partition_of(path), []).append(path)
    return groups


def partition_of(path: str) -> str:
    """Return the partition of a file: its hive folders, or else its name without extension."""
    place = Path(path)
    hive_folders = [folder for folder in place.parts[:-1] if "=" in folder]
    if hive_folders:
        return "/".join(hive_folders)
    while place.suffix and place.suffix.lower() in (*ENDINGS, *PACKED):
        place = place.with_suffix("")
    return place.name


def files_of(data: NamesOfFiles) -> list[str]:
    """Return the paths and URLs of all files, sorted, without duplicates."""
    paths = {str(path) for name in _names(data) for path in paths_of(str(name))}
    return sorted(paths)
