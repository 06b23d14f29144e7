"""Objects of sums, and their totals in an order that names alone fix.

Entries are added up group by group: days of a month, months of a year, by the letters that their
names begin with. So the total of a set is the same to the last bit whatever came first, and the
sums of groups, which can be kept, serve any set that holds the group.
"""

import io
from collections.abc import Sequence
from functools import reduce
from hashlib import sha256
from itertools import groupby
from operator import add
from zipfile import ZIP_STORED

from suffice import archive
from suffice.errors import FileFormatError
from suffice.moments import Moments
from suffice.moments.file import KIND, arrays_of, header_of
from suffice.store.manifest import Entry
from suffice.store.place import Place

_MANY = 8  # entries of one beginning whose sum is worth keeping


def packed(moments: Moments) -> bytes:
    """Return sums as the bytes of a file, the same for the same sums."""
    file = io.BytesIO()
    # not deflated: numbers hardly shrink, and totals read many
    archive.write_into(file, KIND, header_of(moments), arrays_of(moments), ZIP_STORED)
    return file.getvalue()


def object_name(entry: Entry) -> str:
    """Return where the sums of an entry are."""
    return f"objects/{entry.digest}.moments"


def load(place: Place, entry: Entry) -> Moments:
    """Return the sums of an entry, if they are those that were put there."""
    name = f"{object_name(entry)} of the store {place.label}"
    content = place.get(object_name(entry))
    if content is None or sha256(content).hexdigest() != entry.digest:
        cure = f"restore it from a backup, or replace the partition {entry.partition!r}"
        raise FileFormatError(f"{name} is damaged or gone: {cure}")
    return Moments.of_archive(*archive.read_from(io.BytesIO(content), name))


def total_of(
    place: Place, entries: Sequence[Entry], kept: set[str], made: dict[str, Moments]
) -> Moments:
    """Return the sum of entries sorted by key; of groups, sums kept before, or else made now."""
    if len(entries) == 1:
        return load(place, entries[0])
    name = _name(entries)
    if name in kept and (content := place.get(name)):
        return Moments.of_archive(*archive.read_from(io.BytesIO(content), name))
    total = reduce(add, (total_of(place, group, kept, made) for group in _groups(entries)))
    if len(entries) >= _MANY:
        made[name] = total
    return total


def sweep(place: Place, entries: Sequence[Entry]) -> None:
    """Remove what is no part of any total: sums withdrawn, and what killed writers left."""
    sums = place.names("sums")
    needed = {*map(object_name, entries), *(_names(entries) if sums else ())}
    for name in {*place.names("objects"), *sums} - needed:
        place.drop(name)


def _groups(entries: Sequence[Entry]) -> list[Sequence[Entry]]:
    """Return entries by the first letter in which their keys differ."""
    ends = zip(entries[0].key, entries[-1].key, strict=False)
    at = next(at for at, (first, last) in enumerate(ends) if first != last)
    return [tuple(group) for _, group in groupby(entries, lambda entry: entry.key[at])]


def _name(entries: Sequence[Entry]) -> str:
    return f"sums/{sha256(repr([entry.key for entry in entries]).encode()).hexdigest()}"


def _names(entries: Sequence[Entry]) -> list[str]:
    """Return the names of the sums of all groups that are worth keeping."""
    if len(entries) < _MANY:
        return []
    return [_name(entries), *(name for group in _groups(entries) for name in _names(group))]
