"""Receipts for the rows that each withdrawal removed from a store, and their check."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add

from suffice.core.moments import Moments
from suffice.data.store.manifest import Entry, Manifest, Record
from suffice.data.store.place import Place
from suffice.data.store.totals import total_of
from suffice.errors import FileFormatError, ForgetError
from suffice.persistence.receipt import Receipt


@dataclass(frozen=True, slots=True)
class StoredReceipt:
    """A receipt that the store wrote when rows of a partition were withdrawn."""

    partition: str
    why: str
    receipt: Receipt
    # whether it was checked against all sums that remained, which the store must still have
    is_checked: bool


def receipt_of(
    place: Place,
    manifest: Manifest,
    partition: str,
    entries: Sequence[Entry],
) -> Receipt | None:
    """Return the receipt for replacing the entries of a partition.

    ``entries`` are the new entries, whose sums are already in the place. The result is None if
    nothing is withdrawn, if sums are not exact, or if some new rows of the partition were not among
    its old rows.
    """
    withdrawn = [entry for entry in manifest.of(partition) if entry not in entries]
    if not withdrawn:
        return None
    removed = _sum(place, withdrawn)
    if removed.exact is None:
        return None
    before = total_of(place, manifest.entries, set(place.names("sums")), {})
    added = [entry for entry in entries if entry not in manifest.of(partition)]
    if added:
        try:
            removed = removed - _sum(place, added)
        except ForgetError:
            return None
    return Receipt.of(before, removed, before - removed)


def checked_receipts(place: Place, manifest: Manifest) -> list[StoredReceipt]:
    """Return the receipts of a store, oldest first; raise if a receipt contradicts the sums."""
    by_digest = {entry.digest: entry for entry in manifest.entries}
    # digests of the entries of each partition, after the changes so far
    held: dict[str, list[str]] = {}
    receipts = []
    for record in manifest.log:
        held[record["partition"]] = record["after"]
        if "receipt" not in record:
            continue
        receipt = _receipt_from(record)
        digests = [digest for partition in held.values() for digest in partition]
        left = [by_digest[digest] for digest in digests if digest in by_digest]
        is_whole = len(left) == len(digests) and len(left) > 0
        if is_whole:
            receipt.verify(_sum(place, left))
        receipts.append(
            StoredReceipt(record["partition"], record["why"], receipt, is_checked=is_whole)
        )
    return receipts


def _sum(place: Place, entries: Sequence[Entry]) -> Moments:
    return reduce(add, (entry.load(place) for entry in entries))


def _receipt_from(record: Record) -> Receipt:
    try:
        return Receipt.from_json(record["receipt"])
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise FileFormatError(
            f"the receipt of {record['partition']!r} in the manifest cannot be read ({error}): "
            "restore the manifest from a backup"
        ) from error
