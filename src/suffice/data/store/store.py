"""The store: partitions added, replaced and withdrawn, each change whole and on record."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from fnmatch import fnmatchcase
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from suffice import errors
from suffice.core.moments import Moments
from suffice.core.text.lists import quoted
from suffice.data.store.manifest import (
    Entry,
    Manifest,
    are_files,
    by_partition,
    bytes_of,
    total_of,
)
from suffice.data.store.place import place_of
from suffice.data.summarize import summarize

_Decision: TypeAlias = Callable[[Manifest], Sequence[Entry] | None]


class _Part(NamedTuple):
    """Sums on their way into a store."""

    entry: Entry
    moments: Moments
    content: bytes


class MomentStore:
    """Sums of partitions (days, sites, tenants), kept apart: the total of any set of them.

    Every change is one commit, whole or not at all, whoever else writes, and is on record.

    Parameters
    ----------
    place : path or str
        A folder, made by the first change, or a table of a database: ``"sqlite:FILE#TABLE"``,
        ``"postgresql://…/DATABASE#TABLE"``; the table is by default ``suffice_moments``.

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
        """What is in the store: partition, digest, rows, and the file that was counted."""
        with self._place.reading() as place:
            return Manifest.read(place).entries

    @property
    def partitions(self) -> tuple[str, ...]:
        """Names of the partitions, sorted."""
        return tuple(dict.fromkeys(entry.partition for entry in self.entries))

    @property
    def log(self) -> list[dict[str, Any]]:
        """Every change: who, when, what, why, and the digests and rows before and after."""
        with self._place.reading() as place:
            return Manifest.read(place).log

    def add(
        self,
        data: Any,
        partition: str | None = None,
        *,
        why: str = "",
        **options: Any,
    ) -> dict[str, int]:
        """Count what is new or has changed; return the rows that were counted, by partition.

        Parameters
        ----------
        data : Moments, or whatever ``summarize`` takes
            Sums or rows of a new partition; or files, of which those counted are not read again.
        partition : str, optional
            Its name; by default, for each file, its hive folders, or its name without its ending.
        why : str
            The reason, for the record.
        **options
            Of ``summarize``, for rows; by default those of the partitions that are there.
        """
        groups = by_partition(data, partition)
        counted, files = dict.fromkeys(groups, 0), are_files(data)
        if files:
            with self._place.writing() as place:
                known = Manifest.read(place, begin=True)
            found = known.changes(groups, tell=True)
            groups = {n: groups[n] for n, c in found.items() if c.new or known.outdated(n, c)}
        refused = []
        for name, given in groups.items():
            try:
                counted[name] = self._added(name, given, why, options)
            except (errors.InvalidInputError, errors.FeatureMismatchError) as error:
                refused.append(error)  # the other partitions can be counted nevertheless
        if files and any(counted.values()):
            self.consolidate()
        if refused:
            raise refused[0]
        return counted

    def _added(self, name: str, data: Any, why: str, options: Mapping[str, Any]) -> int:
        while True:
            parts = self._parts(name, data, options, new=True)
            if self._change("add", name, why, parts, partial(_joined, name, data, parts)):
                return sum(part.entry.rows for part in parts)

    def replace(self, partition: str, data: Any, *, why: str = "", **options: Any) -> None:
        """Put other sums in the place of a partition's, as after a person's rows were deleted."""
        parts = self._parts(partition, data, options, new=False)

        def replaced(now: Manifest) -> Sequence[Entry]:
            _require(partition, {record["partition"] for record in now.log})
            return [part.entry for part in parts]

        self._change("replace", partition, why, parts, replaced)

    def remove(self, partition: str, *, why: str = "") -> None:
        """Withdraw a partition: totals are as if it had never been added."""

        def removed(now: Manifest) -> Sequence[Entry]:
            _require(partition, {entry.partition for entry in now.entries})
            return []

        self._change("remove", partition, why, (), removed)

    def total(
        self,
        partitions: Sequence[str] | None = None,
        except_: Sequence[str] = (),
    ) -> Moments:
        """Return the sums of all rows of some partitions, the same to the bit in any order.

        Parameters
        ----------
        partitions : list of str, optional
            Their names, or patterns such as ``"2026-11-*"``; by default all.
        except_ : list of str
            Names or patterns of those to leave out.
        """
        return self._summed(partitions, except_)[0]

    def consolidate(self) -> None:
        """Keep the sums of many partitions whose names begin alike, for quicker totals."""
        _, made, manifest = self._summed(None, ())
        with self._place.writing() as place:
            if Manifest.read(place) == manifest:
                for name, moments in made.items():
                    place.put(name, bytes_of(moments))

    def _summed(
        self,
        partitions: Sequence[str] | None,
        except_: Sequence[str],
    ) -> tuple[Moments, dict[str, Moments], Manifest]:
        with self._place.reading() as place:
            while True:
                manifest, made = Manifest.read(place), dict[str, Moments]()
                entries = _chosen(manifest, partitions, except_)
                try:
                    return (
                        total_of(place, entries, set(place.names("sums")), made),
                        made,
                        manifest,
                    )
                except errors.FileFormatError:
                    if Manifest.read(place) == manifest:  # no writer came between
                        raise

    def _parts(
        self,
        name: str,
        data: Any,
        options: Mapping[str, Any],
        *,
        new: bool,
    ) -> list[_Part]:
        """Return the sums of a partition, one for each file; of ``new`` ones only, or of all."""
        with self._place.writing() as place:
            known = Manifest.read(place, begin=True)
            others = tuple(entry for entry in known.entries if entry.partition != name)
            for like in () if isinstance(data, Moments) else (others or known.entries)[:1]:
                options = {**_options(like, like.load(place)), **options}
        known = known if new else Manifest(others)
        blank = Entry(name, "", 0, options.get("target"), options.get("weight"))
        if not isinstance(data, Moments) and blank.target is None:
            raise errors.InvalidParameterError(f"{self} does not know the target yet: name it")
        if are_files(data):
            files = known.changes({name: data})[name].new
            return [_counted(replace(blank, file=file), options) for file in files]
        part = _part(blank, data if isinstance(data, Moments) else summarize(data, **options))
        return (
            [] if part.entry.digest in [entry.digest for entry in known.of(name)] else [part]
        )

    def _change(
        self,
        action: str,
        partition: str,
        why: str,
        parts: Sequence[_Part],
        decide: _Decision,
    ) -> bool:
        """Give a partition the entries that are decided on, in one commit; None: they are not."""
        with self._place.writing() as place:
            now = Manifest.read(place, begin=True)
            if (entries := decide(now)) is None:
                return False
            if not parts and entries == now.of(partition):
                return True
            new = [part.entry for part in parts]
            rest = [entry for entry in now.entries if entry.partition != partition]
            kept = [entry for entry in (*rest, *entries) if entry not in new][:1]
            like = [(entry, entry.load(place)) for entry in kept] or [
                part[:2] for part in parts
            ]
            for part in parts:
                _refuse_unlike(part, *like[0])
                for twin in [e.partition for e in rest if e.digest == part.entry.digest][:1]:
                    errors.warn(
                        f"{partition!r} has the sums of {twin!r}: its rows count twice"
                    )
            for part in parts:
                place.put(part.entry.place, part.content)
            now.change(place, action, partition, why, entries)
        return True


def _options(entry: Entry, sums: Moments) -> dict[str, Any]:
    schema = sums.schema
    return {
        "target": entry.target,
        "weight": entry.weight,
        "features": schema or sums.feature_names,
        "categorical": [column.name for column in schema.categories] if schema else [],
        "storage": sums.storage,
        "fourth": sums.fourth is not None,
    }


def _part(entry: Entry, moments: Moments) -> _Part:
    content, rows = bytes_of(moments), int(moments.counts.sum())
    return _Part(
        replace(entry, digest=sha256(content).hexdigest(), rows=rows), moments, content
    )


def _counted(entry: Entry, options: Mapping[str, Any]) -> _Part:
    address = entry.file.address if entry.file else ""
    part = _part(entry, summarize(address, **options))
    if entry.file and type(entry.file).of(address)[:3] != entry.file[:3]:
        raise errors.InvalidInputError(f"{address} changed while it was counted: try again")
    return part


def _joined(
    name: str,
    data: Any,
    parts: Sequence[_Part],
    now: Manifest,
) -> Sequence[Entry] | None:
    """Return the entries of a partition and new ones, None if another writer was quicker."""
    there, new = now.of(name), [part.entry for part in parts]
    if not are_files(data):
        if there and new and new[0].digest not in [entry.digest for entry in there]:
            raise errors.InvalidInputError(f"{name!r} is there, with other sums: replace it")
        return None if there and new else there + new
    changes = now.changes({name: data})[name]
    outdated = now.outdated(name, changes)
    if changes.new != [entry.file for entry in new]:
        return None
    return [entry for entry in there if entry not in outdated] + new


def _chosen(
    manifest: Manifest,
    partitions: Sequence[str] | None,
    except_: Sequence[str] = (),
) -> Sequence[Entry]:
    names = {entry.partition for entry in manifest.entries}
    kept = names if partitions is None else _matching(names, partitions)
    if not (kept := kept - _matching(names, except_)):
        raise errors.InvalidInputError("no partition is left to sum: add one, or choose more")
    return [entry for entry in manifest.entries if entry.partition in kept]


def _matching(names: set[str], patterns: Sequence[str]) -> set[str]:
    found: set[str] = set()
    for pattern in [patterns] if isinstance(patterns, str) else patterns:
        matched = {pattern} & names or {name for name in names if fnmatchcase(name, pattern)}
        found |= matched or _require(pattern, names)
    return found


def _require(name: str, names: set[str]) -> set[str]:
    if name not in names:
        near = get_close_matches(name, names, 1)
        hint = f"did you mean {near[0]!r}?" if near else f"there are {quoted(sorted(names))}"
        raise errors.InvalidInputError(f"there is no partition {name!r}: {hint}")
    return {name}


def _refuse_unlike(part: _Part, other: Entry, theirs: Moments) -> None:
    """Raise unless sums can be added to those of another entry, and nothing is lost."""
    there, here = _options(other, theirs), _options(part.entry, part.moments)
    named = ("target", "weight") if here["target"] and other.target else ()
    unlike = [word for word in ("storage", "fourth", *named) if there[word] != here[word]]
    found = [f"{word} is {there[word]!r} there, {here[word]!r} here" for word in unlike]
    if (there["features"] is None) != (here["features"] is None):
        found.append("the columns have names on one side only")
    try:
        _ = found or theirs + part.moments
    except errors.SufficeError as error:
        found = [str(error)]
    if found:
        what = f"{part.entry.partition!r} does not fit {other.partition!r}"
        raise errors.FeatureMismatchError(f"{what}: {found[0]}")
