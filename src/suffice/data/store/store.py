"""The store of moments, whose partitions are added, replaced and withdrawn."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from fnmatch import fnmatchcase
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from suffice import errors
from suffice.core.moments import Moments
from suffice.core.text.lists import quoted
from suffice.data.options import Columns, TextFormat
from suffice.data.store.manifest import Entry, FileStamp, Manifest, Record
from suffice.data.store.partitions import are_files, by_partition
from suffice.data.store.place import place_of
from suffice.data.store.receipts import StoredReceipt, checked_receipts, receipt_of
from suffice.data.store.totals import bytes_of, drop_unused, kept_bytes, total_of
from suffice.data.summarize import summarize

if TYPE_CHECKING:
    from suffice.core.moments.rounding_grid import RoundingGrid
    from suffice.core.table.schema import Schema
    from suffice.data.source import Progress

# A function that returns the new entries of a partition, or None if another writer was faster.
_Decision: TypeAlias = Callable[[Manifest], Sequence[Entry] | None]


class _Part(NamedTuple):
    """Sums that are about to be stored."""

    entry: Entry
    moments: Moments
    content: bytes


class _Total(NamedTuple):
    """The sum of some partitions."""

    moments: Moments
    made: dict[str, Moments]  # new sums of groups that are worth storing
    manifest: Manifest


@dataclass(frozen=True, slots=True)
class _Question:
    """Arguments of ``summarize``; None means the value of the existing partitions."""

    target: str | None
    columns: Columns
    weight: str | None
    text: TextFormat | None
    table: str | None
    storage: str | None
    fourth: bool | None
    progress: Progress | None
    n_jobs: int | None
    exact: RoundingGrid | None = None

    def like(self, entry: Entry, sums: Moments) -> _Question:
        """Return the arguments with each None replaced by the value of an entry."""
        columns = self.columns
        if columns.features is None:
            columns = replace(columns, features=sums.schema or sums.feature_names)
        if not columns.categorical and sums.schema is not None:
            names = tuple(column.name for column in sums.schema.categories)
            columns = replace(columns, categorical=names)
        return replace(
            self,
            target=entry.target if self.target is None else self.target,
            columns=columns,
            weight=entry.weight if self.weight is None else self.weight,
            text=self._text_like(sums),
            storage=sums.storage if self.storage is None else self.storage,
            fourth=sums.fourth is not None if self.fourth is None else self.fourth,
            exact=None if sums.exact is None else sums.exact.grid,
        )

    def _text_like(self, sums: Moments) -> TextFormat | None:
        """Return the text format with the notation of the files that were summed."""
        if sums.notations is None:
            return self.text
        text = self.text or TextFormat()
        return replace(text, columns={**sums.notations.common(), **text.columns})

    def summed(self, data: object) -> Moments:
        return summarize(
            data,
            self.target,
            columns=self.columns,
            weight=self.weight,
            text=self.text,
            table=self.table,
            storage=self.storage or "auto",
            fourth=bool(self.fourth),
            exact=self.exact,
            progress=self.progress,
            n_jobs=self.n_jobs,
        )


class MomentStore:
    """Moments stored by partition (day, site, tenant), and totals of any partitions.

    Every change is one atomic commit with a log record, even if other processes write.

    Parameters
    ----------
    place : path or str
        A folder, created by the first change, or a table of a database: ``"sqlite:FILE#TABLE"``,
        ``"postgresql://…/DATABASE#TABLE"``. The default table is ``suffice_moments``.

    Examples
    --------
    >>> import tempfile, suffice as sf
    >>> store = sf.MomentStore(tempfile.mkdtemp())
    >>> for site, sums in sf.summarize("penguins", "species", groups="island").items():
    ...     _ = store.add(sums, site)
    >>> store.partitions
    ('Biscoe', 'Dream', 'Torgersen')
    >>> lda = sf.LDA().fit_moments(store.total(except_=["Torgersen"]))
    """

    def __init__(self, place: str | Path) -> None:
        self._place = place_of(place)

    def __repr__(self) -> str:
        return f"MomentStore({self._place.label!r})"

    @property
    def entries(self) -> tuple[Entry, ...]:
        """Entries of the store, with their partition, digest, rows, and file."""
        with self._place.reading() as place:
            return Manifest.read(place).entries

    @property
    def partitions(self) -> tuple[str, ...]:
        """Names of the partitions, sorted."""
        return tuple(dict.fromkeys(entry.partition for entry in self.entries))

    @property
    def log(self) -> list[Record]:
        """All changes: who made each, when, why, and the digests and rows before and after."""
        with self._place.reading() as place:
            return Manifest.read(place).log

    @property
    def receipts(self) -> list[StoredReceipt]:
        """Receipts for rows withdrawn from exact sums, oldest first; raises if one does not hold.

        A receipt is checked if the store still has all sums that remained after the withdrawal;
        ``is_checked`` says so. ``suffice verify`` checks any receipt against rows.
        """
        with self._place.reading() as place:
            return checked_receipts(place, Manifest.read(place))

    def add(
        self,
        data: object,
        partition: str | None = None,
        *,
        why: str = "",
        target: str | None = None,
        columns: Columns | Sequence[str] | Schema | None = None,
        weight: str | None = None,
        text: TextFormat | None = None,
        table: str | None = None,
        storage: str | None = None,
        fourth: bool | None = None,
        progress: Progress | None = None,
        n_jobs: int | None = None,
    ) -> dict[str, int]:
        """Add new or changed data; return the number of rows added, by partition.

        Parameters
        ----------
        data : Moments, or any source that ``summarize`` accepts
            Sums or rows of a new partition, or files. Files that were added before are skipped.
        partition : str, optional
            The name of the partition. By default, it is taken from each file: its hive folders, or
            its name without the extension.
        why : str
            The reason, for the log.
        target, columns, weight, text, table, storage, fourth, progress, n_jobs
            As in ``summarize``, for rows. By default, the target, features, categories, weight,
            storage and fourth moments are those of the existing partitions. Text files must write
            numbers and dates in the notation of the first partition; another notation raises an
            error.
        """
        question = _Question(
            target=target,
            columns=Columns.of(columns),
            weight=weight,
            text=text,
            table=table,
            storage=storage,
            fourth=fourth,
            progress=progress,
            n_jobs=n_jobs,
        )
        groups = by_partition(data, partition)
        counted = dict.fromkeys(groups, 0)
        has_files = are_files(data)
        if has_files:
            with self._place.writing() as place:
                manifest = Manifest.read(place, begin=True)
            changes = manifest.changes(groups, warns=True)
            groups = {
                name: groups[name]
                for name, change in changes.items()
                if change.new or manifest.outdated(name, change)
            }
        refused = []
        for name, given in groups.items():
            try:
                counted[name] = self._added(name, given, why, question)
            except (errors.InvalidInputError, errors.FeatureMismatchError) as error:
                # raised later, because the other partitions can still be added
                refused.append(error)
        if has_files and any(counted.values()):
            self.consolidate()
        if refused:
            raise refused[0]
        return counted

    def _added(self, name: str, data: object, why: str, question: _Question) -> int:
        """Add a partition and return its rows; retry if another writer was faster."""
        while True:
            parts = self._parts(name, data, question, only_new=True)

            def decide(manifest: Manifest) -> Sequence[Entry] | None:
                return _joined(name, data, parts, manifest)  # noqa: B023

            if self._change("add", name, why, parts, decide):
                return sum(part.entry.rows for part in parts)

    def replace(
        self,
        partition: str,
        data: object,
        *,
        why: str = "",
        target: str | None = None,
        columns: Columns | Sequence[str] | Schema | None = None,
        weight: str | None = None,
        text: TextFormat | None = None,
        table: str | None = None,
        storage: str | None = None,
        fourth: bool | None = None,
        progress: Progress | None = None,
        n_jobs: int | None = None,
    ) -> None:
        """Replace the sums of a partition, for example after a person's rows were deleted.

        The parameters are those of ``add``. If the sums are exact and the partition had all new
        rows before, ``receipts`` gets a receipt for the removed rows.
        """
        question = _Question(
            target=target,
            columns=Columns.of(columns),
            weight=weight,
            text=text,
            table=table,
            storage=storage,
            fourth=fourth,
            progress=progress,
            n_jobs=n_jobs,
        )
        parts = self._parts(partition, data, question, only_new=False)

        def decide(manifest: Manifest) -> Sequence[Entry]:
            _require_partition(partition, {record["partition"] for record in manifest.log})
            return [part.entry for part in parts]

        self._change("replace", partition, why, parts, decide)

    def remove(self, partition: str, *, why: str = "") -> None:
        """Withdraw a partition, so that totals no longer include its rows.

        If the sums are exact, ``receipts`` gets a receipt for the removed rows.
        """

        def decide(manifest: Manifest) -> Sequence[Entry]:
            _require_partition(partition, {entry.partition for entry in manifest.entries})
            return []

        self._change("remove", partition, why, (), decide)

    def total(
        self,
        partitions: Sequence[str] | None = None,
        except_: Sequence[str] = (),
    ) -> Moments:
        """Return the total of some partitions. Its bits do not depend on the order of ``add``.

        Parameters
        ----------
        partitions : list of str, optional
            Names, or patterns such as ``"2026-11-*"``; by default all partitions.
        except_ : list of str
            Names or patterns of partitions to leave out.
        """
        return self._total(partitions, except_).moments

    def consolidate(self) -> None:
        """Store sums of groups of partitions, which makes totals faster."""
        total = self._total(None, ())
        with self._place.writing() as place:
            if Manifest.read(place) == total.manifest:
                for name, moments in total.made.items():
                    place.put(name, kept_bytes(name, moments))

    def _total(self, partitions: Sequence[str] | None, except_: Sequence[str]) -> _Total:
        with self._place.reading() as place:
            while True:
                manifest = Manifest.read(place)
                made: dict[str, Moments] = {}
                entries = _chosen(manifest, partitions, except_)
                try:
                    moments = total_of(place, entries, set(place.names("sums")), made)
                except errors.FileFormatError:
                    # true unless another writer has changed the store meanwhile
                    if Manifest.read(place) == manifest:
                        raise
                else:
                    return _Total(moments, made, manifest)

    def _parts(
        self,
        name: str,
        data: object,
        question: _Question,
        *,
        only_new: bool,
    ) -> list[_Part]:
        """Return the sums of a partition: of all or only new files, or one sum for rows."""
        with self._place.writing() as place:
            manifest = Manifest.read(place, begin=True)
            others = manifest.without(name)
            if not isinstance(data, Moments):
                for entry in [*others, *manifest.entries][:1]:
                    question = question.like(entry, entry.load(place))
        if isinstance(data, Moments):
            part = _part_of(Entry(name, "", 0, question.target, question.weight), data)
            return _without_known([part], manifest.of(name)) if only_new else [part]
        if question.target is None:
            raise errors.InvalidParameterError(
                f"{self} does not know the target column yet: give target"
            )
        entry = Entry(name, "", 0, question.target, question.weight)
        if are_files(data):
            counted = manifest if only_new else Manifest(tuple(others))
            files = counted.changes({name: data})[name].new
            return [_counted_file(entry, file, question) for file in files]
        part = _part_of(entry, question.summed(data))
        return _without_known([part], manifest.of(name)) if only_new else [part]

    def _change(
        self,
        action: str,
        partition: str,
        why: str,
        parts: Sequence[_Part],
        decide: _Decision,
    ) -> bool:
        """Replace the entries of a partition with those that ``decide`` returns, in one commit.

        Return False if ``decide`` finds that another writer was faster.
        """
        with self._place.writing() as place:
            manifest = Manifest.read(place, begin=True)
            entries = decide(manifest)
            if entries is None:
                return False
            if not parts and entries == manifest.of(partition):
                return True
            others = manifest.without(partition)
            new = [part.entry for part in parts]
            kept = [entry for entry in (*others, *entries) if entry not in new]
            if parts:
                first = kept[0] if kept else parts[0].entry
                first_sums = kept[0].load(place) if kept else parts[0].moments
                for part in parts:
                    _refuse_unlike(part, first, first_sums)
                    _warn_of_twin(part, others)
            for part in parts:
                place.put(part.entry.object_name, part.content)
            receipt = receipt_of(place, manifest, partition, entries)
            changed = manifest.change(place, action, partition, why, entries, receipt)
            drop_unused(place, changed.entries)
        return True


def _part_of(entry: Entry, moments: Moments) -> _Part:
    content = bytes_of(moments)
    digest = sha256(content).hexdigest()
    rows = int(moments.counts.sum())
    return _Part(replace(entry, digest=digest, rows=rows), moments, content)


def _without_known(parts: list[_Part], entries: Sequence[Entry]) -> list[_Part]:
    digests = [entry.digest for entry in entries]
    return [part for part in parts if part.entry.digest not in digests]


def _counted_file(entry: Entry, file: FileStamp, question: _Question) -> _Part:
    part = _part_of(replace(entry, file=file), question.summed(file.address))
    if not FileStamp.of(file.address).is_same(file):
        raise errors.InvalidInputError(
            f"{file.address} changed while it was counted: try again"
        )
    return part


def _joined(
    name: str,
    data: object,
    parts: Sequence[_Part],
    manifest: Manifest,
) -> Sequence[Entry] | None:
    """Return a partition's entries with the new ones; None if another writer was faster."""
    entries = manifest.of(name)
    new = [part.entry for part in parts]
    if are_files(data):
        changes = manifest.changes({name: data})[name]
        if changes.new != [entry.file for entry in new]:
            return None
        outdated = manifest.outdated(name, changes)
        return [entry for entry in entries if entry not in outdated] + new
    if entries and new:
        if new[0].digest not in [entry.digest for entry in entries]:
            raise errors.InvalidInputError(
                f"{name!r} already exists with other sums: use replace"
            )
        return None
    return entries + new


def _chosen(
    manifest: Manifest,
    partitions: Sequence[str] | None,
    except_: Sequence[str],
) -> Sequence[Entry]:
    """Return the entries of the partitions with the given names or patterns."""
    names = {entry.partition for entry in manifest.entries}
    chosen = names if partitions is None else _matching(names, partitions)
    chosen = chosen - _matching(names, except_)
    if not chosen:
        raise errors.InvalidInputError("no partition is selected: add one, or select more")
    return [entry for entry in manifest.entries if entry.partition in chosen]


def _matching(names: set[str], patterns: Sequence[str]) -> set[str]:
    matching: set[str] = set()
    for pattern in [patterns] if isinstance(patterns, str) else patterns:
        if pattern in names:
            matching.add(pattern)
            continue
        matched = {name for name in names if fnmatchcase(name, pattern)}
        if not matched:
            _require_partition(pattern, names)
        matching |= matched
    return matching


def _require_partition(name: str, names: set[str]) -> None:
    if name not in names:
        near = get_close_matches(name, names, 1)
        hint = f"did you mean {near[0]!r}?" if near else f"there are {quoted(sorted(names))}"
        raise errors.InvalidInputError(f"there is no partition {name!r}: {hint}")


def _warn_of_twin(part: _Part, others: Sequence[Entry]) -> None:
    for entry in others:
        if entry.digest == part.entry.digest:
            errors.warn(
                f"{part.entry.partition!r} has the sums of {entry.partition!r}: its rows count "
                "twice"
            )
            return


def _refuse_unlike(part: _Part, first: Entry, first_sums: Moments) -> None:
    """Raise unless sums can be added to those of another entry without loss."""
    sums = part.moments
    pairs: list[tuple[str, object, object]] = [
        ("storage", first_sums.storage, sums.storage),
        ("fourth", first_sums.fourth is not None, sums.fourth is not None),
    ]
    if part.entry.target and first.target:
        pairs.append(("target", first.target, part.entry.target))
        pairs.append(("weight", first.weight, part.entry.weight))
    names = f"{part.entry.partition!r} does not fit {first.partition!r}"
    for word, before, now in pairs:
        if before != now:
            raise errors.FeatureMismatchError(
                f"{names}: {word} is {before!r} in the store, but {now!r} in the new sums"
            )
    if (first_sums.feature_names is None) != (sums.feature_names is None):
        raise errors.FeatureMismatchError(
            f"{names}: the columns have names on one side only: give names on both sides"
        )
    if part.entry == first:
        return
    try:
        _ = first_sums + sums
    except errors.SufficeError as error:
        raise errors.FeatureMismatchError(f"{names}: {error}") from error
