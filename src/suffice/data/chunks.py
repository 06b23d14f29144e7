"""Usable rows of a source: in bounded blocks, or all at once; and what was left out of them."""

# rows that lack label or weight, or hold an infinite number, are left out, and a warning says so

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import accumulate, cycle
from typing import Any, Self

import numpy as np
import polars as pl

from suffice.core.table import Table
from suffice.core.table.foreign import copied_quickly
from suffice.core.table.labels import encode
from suffice.core.text.lists import counted, noun_for, quoted
from suffice.data.columns import Roles, as_numbers, encoded_levels
from suffice.data.source import (
    Progress,
    Source,
    exactly,
    frames_of_scan,
    read_ahead,
    values_of,
)
from suffice.errors import InvalidInputError, UnusedDataWarning, warn
from suffice.typing import Codes, Floats, Labels

_NUMBERS = 1 << 20  # in one block: 8 MB
_MOST_NAMED = 5


@dataclass(frozen=True, slots=True)
class RowsRead:
    """How many rows were read, and how many of them could not be used, by column."""

    rows: int = 0
    unusable: int = 0
    by_column: Mapping[str, int] = field(default_factory=dict)
    new_levels: Mapping[str, int] = field(default_factory=dict)  # rows, by category

    def __add__(self, other: Self) -> Self:
        rows, unusable = self.rows + other.rows, self.unusable + other.unusable
        lacking = dict(Counter(self.by_column) + Counter(other.by_column))
        levels = dict(Counter(self.new_levels) + Counter(other.new_levels))
        return type(self)(rows, unusable, lacking, levels)

    def say(self, outcome: str = "left out") -> None:
        rows = counted(self.rows, "row")
        if self.unusable:
            places = f"no usable value in {_counted(self.by_column)}"
            why = places if self.by_column else "too far from all classes"
            text = f"{self.unusable:,} of {rows} {outcome}: {why}"
            warn(UnusedDataWarning(text, rows=self.unusable))
        if self.new_levels:
            where = f"{_counted(self.new_levels)} of {rows}"
            warn(f"levels that the model has never seen count as empty cells: {where}")


def _counted(columns: Mapping[str, int]) -> str:
    worst = sorted(columns.items(), key=lambda item: -item[1])[:_MOST_NAMED]
    more = ", …" if len(columns) > _MOST_NAMED else ""
    return ", ".join(f"{name!r} ({count:,})" for name, count in worst) + more


@dataclass(frozen=True, slots=True, eq=False)
class Chunk:
    """Some usable rows as a labelled table, and the columns kept beside them."""

    table: Table  # columns contiguous
    kept: pl.DataFrame  # ids

    @property
    def frame(self) -> pl.DataFrame:
        table = self.table
        if table.schema is None or table.indicators is None:
            return pl.DataFrame(table.x, schema=list(table.names or ()))
        columns = dict(zip((c.name for c in table.schema.numbers), table.x.T, strict=True))
        for category, codes in zip(table.schema.categories, table.indicators.T, strict=True):
            values = pl.Series([*category.values, None], dtype=pl.String)
            columns[category.name] = values.gather(codes)  # −1 is the last
        return pl.DataFrame({name: columns[name] for name in table.schema.names})


def encoded(labels: pl.Series) -> tuple[Labels, Codes]:
    """Return the sorted distinct labels (K,) and each row's code into them (n,)."""
    if labels.dtype != pl.String:
        return encode(labels.to_numpy())
    known = labels.unique().sort()
    for label in known.filter(known.str.ends_with("\0")).head(1):
        raise InvalidInputError(
            f"label {label!r} ends in a character that none may end in: cut it"
        )
    codes = labels.cast(pl.Enum(known)).to_physical().to_numpy().astype(np.intp)
    return np.array(known.to_list(), dtype=np.str_), codes


class Loader:
    """Frames to chunks through a few blocks of memory, which later chunks overwrite in turn."""

    def __init__(
        self,
        roles: Roles,
        n_rows: int,
        n_blocks: int = 1,
        device: Any = None,
    ) -> None:
        self.roles, self._numbers = roles, frozenset(roles.numbers)
        empty = np.empty if device is None else partial(copied_quickly, device=device)
        self._blocks = cycle([empty((len(roles.numbers), n_rows)) for _ in range(n_blocks)])
        self._schema = roles.schema  # with the levels met so far

    def load(self, pieces: Sequence[pl.DataFrame]) -> tuple[Chunk, RowsRead]:
        """Return the usable rows of consecutive frames, and what is left out."""
        roles, x = self.roles, self._filled(pieces)
        others = [name for name in pieces[0].columns if name not in self._numbers]
        frame = pl.concat([piece.select(map(exactly, others)) for piece in pieces])
        usable = usable_rows(x, holes=roles.holes)
        needed = [frame.get_column(n) for n in (roles.target, roles.weight) if n is not None]
        known = {
            c.name: c.is_finite() if c.dtype.is_float() else c.is_not_null() for c in needed
        }
        masked = {name: mask.fill_null(value=False).to_numpy() for name, mask in known.items()}
        gappy = {name: mask for name, mask in masked.items() if not mask.all()}
        masks = [*gappy.values(), *([] if usable is None else [usable])]
        if not masks:
            return self._chunk(frame, x), RowsRead(len(x))
        rows = np.logical_and.reduce(masks)
        gaps = gaps_in(x, roles.numbers, holes=roles.holes)
        gaps |= {name: int((~mask).sum()) for name, mask in gappy.items()}
        left_out = RowsRead(len(x), int((~rows).sum()), gaps)
        return self._chunk(frame.filter(pl.Series(rows)), x[rows]), left_out

    def _filled(self, pieces: Sequence[pl.DataFrame]) -> Floats:
        edges = list(accumulate((piece.height for piece in pieces), initial=0))
        block = next(self._blocks)[:, : edges[-1]]
        for name, column in zip(self.roles.numbers, block, strict=True):
            for piece, start in zip(pieces, edges, strict=False):
                column[start : start + piece.height] = as_numbers(piece.get_column(name))
        return block.T

    def _chunk(self, frame: pl.DataFrame, x: Floats) -> Chunk:
        roles = self.roles
        classes, codes = encoded(values_of(frame, roles.target or ""))
        weight = None if roles.weight is None else frame.get_column(roles.weight).to_numpy()
        kept = frame.select(map(exactly, roles.kept))
        if self._schema is None:
            return Chunk(Table(x, classes, codes, weight, roles.features), kept)
        self._schema, levels = encoded_levels(self._schema, frame)
        names = self._schema.feature_names
        return Chunk(Table(x, classes, codes, weight, names, levels, self._schema), kept)


def frames_of(source: Source, roles: Roles) -> Iterator[pl.DataFrame]:
    """Yield the rows of a source in the reader's own batches, in order; of files, read ahead."""
    scans = source.scans(roles.columns(source.sample))
    frames = (frame for scan in scans for frame in frames_of_scan(scan))
    return read_ahead(frames) if source.files else frames


def blocks_of(frames: Iterable[pl.DataFrame], n_rows: int) -> Iterator[list[pl.DataFrame]]:
    """Yield the same rows in lists of frames that hold ``n_rows`` together, the last fewer."""
    # so that the sums do not depend on how the reader cuts its batches
    pieces, room = list[pl.DataFrame](), n_rows
    for rest in frames:
        while rest.height >= room:
            yield [*pieces, rest[:room]]
            rest, pieces, room = rest[room:], [], n_rows
        if rest.height:
            pieces.append(rest)
            room -= rest.height
    if pieces:
        yield pieces


def rows_per_block(n_features: int) -> int:
    """Return how many rows to read at a time: enough to be quick, few enough to be small."""
    return int(np.clip(_NUMBERS // max(n_features, 1), 4096, 1 << 18))


def chunks_of(
    source: Source,
    roles: Roles,
    progress: Progress | None = None,
    *,
    tell: bool,
) -> Iterator[Chunk]:
    """Yield usable rows in blocks, each overwritten by the next; ``tell`` what was left out."""
    n_rows, total = rows_per_block(len(roles.features)), RowsRead()
    loader, told = Loader(roles, n_rows), source.telling(progress)
    for pieces in blocks_of(frames_of(source, roles), n_rows):
        chunk, lacking = loader.load(pieces)
        total = total + lacking
        if chunk.table.n_rows:
            yield chunk
        told(total.rows)
    if tell:
        total.say()


def load_rows(
    source: Source,
    roles: Roles,
    numbered: str = "",
    groups: str | None = None,
) -> Chunk:
    """Return numbers, labels, weights, ids and groups of every usable row, in their order."""
    # where rows have no id, ``numbered`` names the column of their numbers, counted from one
    ids, also = roles.kept, () if groups is None else (groups,)
    roles = replace(roles, kept=tuple(dict.fromkeys((*ids, *also))))
    frames = list(frames_of(source, roles))
    if numbered and not ids:
        frames = [pl.concat(frames).with_row_index(numbered, 1)]
        roles = replace(roles, kept=(numbered, *also))
    chunk, left_out = Loader(roles, sum(frame.height for frame in frames)).load(frames)
    left_out.say()
    require_rows(chunk.table.n_rows, source.label)
    if left_out.unusable:
        labels = pl.concat([values_of(frame, roles.target or "") for frame in frames])
        lost = sorted(
            set(labels.drop_nulls().unique()).difference(chunk.table.classes.tolist())
        )
        if lost:
            classes = f"{noun_for(len(lost), 'class')} {quoted(lost, 5)}"
            warn(UnusedDataWarning(f"no usable row is left of the {classes}"))
    return chunk


def require_rows(n_rows: int, label: str) -> None:
    """Raise unless a source has rows that can be used."""
    if not n_rows:
        msg = (
            f"{label} has no row that can be used: each lacks its label, a number or a weight"
        )
        raise InvalidInputError(msg)


def usable_rows(x: Floats, *, holes: bool = False) -> Any:
    """Return which rows of ``x`` are finite, or with ``holes`` not infinite; None if all are."""
    with np.errstate(invalid="ignore", over="ignore"):
        if np.isfinite(x.sum()):  # then so is every number
            return None
    whole = ~np.isinf(x).any(1) if holes else np.isfinite(x).all(1)
    return None if whole.all() else whole


def gaps_in(x: Floats, names: Sequence[str], *, holes: bool) -> dict[str, int]:
    """Return how many numbers of each column cannot be used, where there are any."""
    counts = zip(
        names, (np.isinf(x) if holes else ~np.isfinite(x)).sum(0).tolist(), strict=True
    )
    return {name: count for name, count in counts if count}
