"""Totals of entries. The order of additions depends only on keys, so bits are reproducible."""

import io
from collections.abc import Sequence
from functools import reduce
from hashlib import sha256
from itertools import groupby
from operator import add
from zipfile import ZIP_STORED

from suffice.core.moments import Moments
from suffice.core.text.lists import counted
from suffice.data.store.manifest import Entry
from suffice.data.store.place import Place
from suffice.errors import FileFormatError
from suffice.persistence import archive
from suffice.persistence.moments_file import KIND, checked_state

_MANY = 8  # least number of entries in a group whose sum is worth storing
_DIGEST_LENGTH = 65  # number of characters of a SHA-256 digest and a line end


def bytes_of(moments: Moments) -> bytes:
    """Return sums as the bytes of a file; equal sums give equal bytes."""
    file = io.BytesIO()
    # Sums are not compressed: numbers hardly shrink, and a total reads many files.
    header, arrays = checked_state(moments)
    archive.write_into(file, KIND, header, arrays, ZIP_STORED)
    return file.getvalue()


def total_of(
    place: Place,
    entries: Sequence[Entry],
    kept: set[str],
    made: dict[str, Moments],
) -> Moments:
    """Return the sum of entries sorted by key.

    ``kept`` names the group sums that the store already has. The sums of other large groups are
    added to ``made``.
    """
    # Groups of keys with the same prefix are added up first.
    if len(entries) == 1:
        return entries[0].load(place)
    name = _name_of(entries)
    content = place.get(name) if name in kept else None
    if content:
        return _kept_sum(place, name, content, entries)
    total = reduce(add, (total_of(place, group, kept, made) for group in _groups(entries)))
    if len(entries) >= _MANY:
        made[name] = total
    return total


def kept_bytes(name: str, moments: Moments) -> bytes:
    """Return the stored form of a group's sum: a digest that covers its name, then the sum."""
    content = bytes_of(moments)
    return _digest(name, content) + content


def _digest(name: str, content: bytes) -> bytes:
    """Return the SHA-256 digest of a group's name, which identifies its entries, and its sum."""
    return sha256(name.encode() + b"\n" + content).hexdigest().encode() + b"\n"


def _kept_sum(place: Place, name: str, content: bytes, entries: Sequence[Entry]) -> Moments:
    """Return a stored group sum; raise unless its digest and number of rows match the entries."""
    sums = content[_DIGEST_LENGTH:]
    n_rows = sum(entry.rows for entry in entries)
    if content[:_DIGEST_LENGTH] == _digest(name, sums):
        header, arrays = archive.read_from(io.BytesIO(sums), name)
        moments = Moments.of_archive(header, arrays)
        if int(moments.counts.sum()) == n_rows:
            return moments
    raise FileFormatError(
        f"{name} of the store {place.label} does not hold the sums of its partitions, which "
        f"have {counted(n_rows, 'row')}: delete it; it is then computed again from the "
        "objects"
    )


def drop_unused(place: Place, entries: Sequence[Entry]) -> None:
    """Delete objects that no total needs: withdrawn sums, and objects of killed writers."""
    sums = place.names("sums")
    needed = {entry.object_name for entry in entries}
    if sums:
        needed.update(_names_of_groups(entries))
    for name in {*place.names("objects"), *sums} - needed:
        place.drop(name)


def _groups(entries: Sequence[Entry]) -> list[Sequence[Entry]]:
    """Return the entries grouped by the first character in which their keys differ."""
    letters = zip(entries[0].key, entries[-1].key, strict=False)
    at = next(at for at, (first, last) in enumerate(letters) if first != last)
    return [tuple(group) for _, group in groupby(entries, lambda entry: entry.key[at])]


def _name_of(entries: Sequence[Entry]) -> str:
    keys = repr([entry.key for entry in entries])
    return f"sums/{sha256(keys.encode()).hexdigest()}"


def _names_of_groups(entries: Sequence[Entry]) -> list[str]:
    """Return the names of the group sums that are worth keeping."""
    if len(entries) < _MANY:
        return []
    names = [_name_of(entries)]
    for group in _groups(entries):
        names += _names_of_groups(group)
    return names
