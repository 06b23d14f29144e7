"""Load usable rows of a source as labelled tables, in blocks or all at once."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, cycle

import numpy as np
import polars as pl

from suffice.core.table import Table
from suffice.core.table.foreign import copied_quickly
from suffice.core.table.labels import encode
from suffice.core.table.notation import Notations
from suffice.core.text.lists import noun_for, quoted
from suffice.data.columns.distinct import checked_frames
from suffice.data.columns.guessing import check_classes
from suffice.data.columns.kinds import as_numbers, encoded_levels
from suffice.data.columns.roles import Roles
from suffice.data.options import Device
from suffice.data.rows.left_out import (
    RowsRead,
    all_finite,
    gaps_in,
    refuse_infinite_cells,
    refuse_infinite_numbers,
    require_rows,
)
from suffice.data.scanning import frames_of_scan, read_ahead
from suffice.data.source import Progress, Source, values_of
from suffice.errors import InvalidInputError, UnusedDataWarning, warn
from suffice.typing import Codes, Flags, Floats, Labels

_NUMBERS = 1 << 20  # numbers in one block: 8 MB
_FEW_LABELS = 8


@dataclass(frozen=True, slots=True, eq=False)
class Chunk:
    """Usable rows as a labelled table, with their ids."""

    table: Table  # the numbers of each column are contiguous in memory
    kept: pl.DataFrame  # ids and groups
    notations: Notations | None = None  # how numbers and dates are written in the text files

    @property
    def frame(self) -> pl.DataFrame:
        """The features as a frame; categories have their levels as text."""
        table = self.table
        if table.schema is None or table.indicators is None:
            return pl.DataFrame(table.x, schema=list(table.names or ()))
        columns: dict[str, Floats | pl.Series] = {}
        for number, values in zip(table.schema.numbers, table.x.T, strict=True):
            columns[number.name] = values
        for category, codes in zip(table.schema.categories, table.indicators.T, strict=True):
            levels = pl.Series([*category.values, None], dtype=pl.String)
            # code −1, a missing level, selects the last entry, which is null
            columns[category.name] = levels.gather(codes)
        return pl.DataFrame({name: columns[name] for name in table.schema.names})


def encoded(labels: pl.Series) -> tuple[Labels, Codes]:
    """Return the sorted distinct labels (K,), and each row's code (n,)."""
    if labels.dtype != pl.String:
        return encode(labels.to_numpy())
    distinct = _distinct(labels)
    codes = labels.cast(pl.Enum(distinct))
    return _as_labels(distinct), _as_codes(codes)


def _distinct(labels: pl.Series) -> pl.Series:
    """Return the sorted distinct labels (K,); raise if NumPy has no type for them."""
    distinct = labels.unique().sort()
    for label in distinct.filter(distinct.str.ends_with("\0")).head(1):
        raise InvalidInputError(
            f"label {label!r} ends in a null character, which NumPy would drop: remove it"
        )
    return distinct


def _as_labels(distinct: pl.Series) -> Labels:
    return np.array(distinct.to_list(), dtype=np.str_)


def _as_codes(labels: pl.Series) -> Codes:
    return labels.to_physical().to_numpy().astype(np.intp)


def _codes_among(labels: pl.Series, distinct: pl.Series) -> Codes | None:
    """Return the code of each label (n,); None unless the labels are exactly ``distinct``."""
    if len(distinct) > _FEW_LABELS:
        known = labels.cast(pl.Enum(distinct), strict=False)
        if known.null_count():
            return None
        codes = _as_codes(known)
        occurs = np.bincount(codes, minlength=len(distinct)) > 0
        return codes if occurs.all() else None
    # comparing all labels with each of a few classes is quicker than a search for each label
    numbers = np.zeros(len(labels), np.uint8)  # code + 1, or 0 for any other label
    for number, label in enumerate(distinct, start=1):
        is_label = (labels == label).to_numpy()
        if not is_label.any():
            return None
        numbers += np.uint8(number) * is_label
    return numbers.astype(np.intp) - 1 if numbers.all() else None


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """Consecutive frames of a source, and the memory that their numbers are copied to."""

    pieces: Sequence[pl.DataFrame]
    block: Floats  # (features, rows or more)
    first_row: int  # number of the first row in messages


class Loader:
    """Converts frames to chunks in a few blocks of memory, which later chunks overwrite.

    Threads may load parts at the same time, unless the chunks add levels to the schema.
    """

    def __init__(
        self,
        roles: Roles,
        n_rows: int,
        label: str,
        *,
        n_blocks: int = 1,
        device: Device | None = None,
        first_row: int = 0,
    ) -> None:
        self.roles = roles
        self._numbers = frozenset(roles.numbers)
        self._blocks = cycle([self._empty_block(n_rows, device) for _ in range(n_blocks)])
        self._schema = roles.schema  # includes the levels seen so far
        self._label = label
        self._next_row = first_row
        # The distinct labels of the last chunk, which the next chunk usually has, too.
        self._distinct: pl.Series | None = None

    def _empty_block(self, n_rows: int, device: Device | None) -> Floats:
        shape = (len(self.roles.numbers), n_rows)
        return np.empty(shape) if device is None else copied_quickly(shape, device)

    def part(self, pieces: Sequence[pl.DataFrame]) -> Part:
        """Return the next frames and a block of memory for them; called in the order of rows."""
        part = Part(pieces, next(self._blocks), self._next_row)
        self._next_row += sum(piece.height for piece in pieces)
        return part

    def load(self, part: Part) -> tuple[Chunk, RowsRead]:
        """Return the usable rows of consecutive frames, and the numbers of rows left out."""
        pieces = part.pieces
        first_row = part.first_row
        x = self._filled(part)
        names = [name for name in pieces[0].columns if name not in self._numbers]
        others = pl.concat([_columns_of(piece, names) for piece in pieces])
        others = self._with_merged_labels(others)
        gaps: dict[str, int] = {}
        usable: Flags = np.ones(len(x), bool)
        for name in (self.roles.target, self.roles.weight):
            if name is None:
                continue
            column = values_of(others, name)
            refuse_infinite_cells(column, name, self._label, first_row)
            has_value = _has_value(column)
            if not has_value.all():
                usable &= has_value
                gaps[name] = int((~has_value).sum())
        if not all_finite(x):
            is_infinite = np.isinf(x)
            if is_infinite.any():
                used = usable & self._has_weight(others)
                refuse_infinite_numbers(
                    is_infinite & used[:, None], self.roles.numbers, self._label, first_row
                )
                usable &= ~is_infinite.any(axis=1)
            if not self.roles.allow_missing:
                usable &= ~np.isnan(x).any(axis=1)
        if usable.all():
            return self._chunk(others, x), RowsRead(len(x))
        allow_missing = self.roles.allow_missing
        lacking = {**gaps_in(x, self.roles.numbers, allow_missing=allow_missing), **gaps}
        left_out = RowsRead(len(x), int((~usable).sum()), lacking)
        return self._chunk(others.filter(pl.Series(usable)), x[usable]), left_out

    def _with_merged_labels(self, others: pl.DataFrame) -> pl.DataFrame:
        """Return the columns with merged labels, if the user asks for merging."""
        if self.roles.merge is None or self.roles.target is None:
            return others
        return others.with_columns(
            self.roles.merge.applied(others.get_column(self.roles.target))
        )

    def _filled(self, part: Part) -> Floats:
        edges = list(accumulate((piece.height for piece in part.pieces), initial=0))
        block = part.block[:, : edges[-1]]
        for name, column in zip(self.roles.numbers, block, strict=True):
            for piece, start in zip(part.pieces, edges, strict=False):
                column[start : start + piece.height] = as_numbers(values_of(piece, name))
        return block.T

    def _encoded(self, labels: pl.Series) -> tuple[Labels, Codes]:
        """Return the same as ``encoded``, but faster if the last chunk had the same labels."""
        distinct = self._distinct
        if labels.dtype != pl.String or distinct is None:
            return self._encoded_anew(labels)
        codes = _codes_among(labels, distinct)
        if codes is None:
            return self._encoded_anew(labels)
        return _as_labels(distinct), codes

    def _encoded_anew(self, labels: pl.Series) -> tuple[Labels, Codes]:
        classes, codes = encoded(labels)
        self._distinct = pl.Series(classes) if labels.dtype == pl.String else None
        return classes, codes

    def _has_weight(self, others: pl.DataFrame) -> Flags:
        """Return which rows have a weight other than zero; all other rows are ignored."""
        if self.roles.weight is None:
            return np.ones(others.height, bool)
        weights = values_of(others, self.roles.weight)
        return (weights != 0).fill_null(value=True).to_numpy()

    def _chunk(self, frame: pl.DataFrame, x: Floats) -> Chunk:
        roles = self.roles
        classes, codes = self._encoded(values_of(frame, roles.target or ""))
        weight = None if roles.weight is None else frame.get_column(roles.weight).to_numpy()
        kept = _columns_of(frame, roles.kept)
        if self._schema is None:
            return Chunk(Table(x, classes, codes, weight, roles.features), kept)
        self._schema, levels = encoded_levels(
            self._schema, frame, self._label, rereads=roles.rereads
        )
        table = Table(
            x=x,
            classes=classes,
            codes=codes,
            weight=weight,
            names=self._schema.feature_names,
            indicators=levels,
            schema=self._schema,
        )
        return Chunk(table, kept)


def _columns_of(frame: pl.DataFrame, names: Sequence[str]) -> pl.DataFrame:
    """Return some columns of a frame; ``frame.select`` would spend 0.3 ms on a query plan."""
    return pl.DataFrame({name: frame.get_column(name) for name in names})


def _has_value(column: pl.Series) -> Flags:
    """Return which cells are neither empty nor NaN, (n,)."""
    if not column.null_count() and not column.dtype.is_float():
        return np.ones(len(column), bool)
    present = column.is_not_nan() if column.dtype.is_float() else column.is_not_null()
    return present.fill_null(value=False).to_numpy()


def frames_of(source: Source, roles: Roles) -> Iterator[pl.DataFrame]:
    """Yield the rows of a source in the reader's batches, in order; files are read ahead."""
    columns = roles.columns(source.sample)
    checked = (*roles.guessed_ids, *roles.free_texts)
    added = [name for name in checked if name not in columns]
    scans = source.scans({**columns, **dict.fromkeys(added, pl.String())})
    frames: Iterator[pl.DataFrame] = (f for scan in scans for f in frames_of_scan(scan))
    if checked:
        frames = checked_frames(frames, roles, source.label, added)
    return read_ahead(frames) if source.files else frames


def blocks_of(frames: Iterable[pl.DataFrame], n_rows: int) -> Iterator[list[pl.DataFrame]]:
    """Yield the rows as lists of frames with ``n_rows`` rows in total; the last has fewer."""
    # Blocks of equal size make the sums independent of the reader's batches.
    pieces: list[pl.DataFrame] = []
    n_wanted = n_rows
    for frame in frames:
        rest = frame
        while rest.height >= n_wanted:
            yield [*pieces, rest[:n_wanted]]
            rest = rest[n_wanted:]
            pieces = []
            n_wanted = n_rows
        if rest.height:
            pieces.append(rest)
            n_wanted -= rest.height
    if pieces:
        yield pieces


def rows_per_block(n_features: int) -> int:
    """Return the number of rows per block: a compromise between speed and memory."""
    return int(np.clip(_NUMBERS // max(n_features, 1), 4096, 1 << 18))


def chunks_of(
    source: Source,
    roles: Roles,
    progress: Progress | None = None,
    *,
    warns: bool,
) -> Iterator[Chunk]:
    """Yield usable rows in blocks; each block overwrites an earlier one.

    With ``warns``, a warning reports the number of rows left out.
    """
    n_rows = rows_per_block(len(roles.features))
    total = RowsRead()
    loader = Loader(roles, n_rows, source.label)
    report = source.report_to(progress)
    for pieces in blocks_of(frames_of(source, roles), n_rows):
        chunk, left_out = loader.load(loader.part(pieces))
        total += left_out
        if chunk.table.n_rows:
            yield chunk
        report(total.rows)
    if warns:
        total.warn()


def load_rows(
    source: Source,
    roles: Roles,
    numbered: str = "",
    groups: str | None = None,
    spelt: Sequence[str] = (),
) -> Chunk:
    """Return all usable rows of a source as one chunk, in order.

    If there are no ids, the column named ``numbered`` has row numbers, counted from 0. ``kept``
    also has the columns ``spelt``, in their original spelling.
    """
    ids = roles.kept
    also = (*(() if groups is None else (groups,)), *spelt)
    roles = replace(roles, kept=tuple(dict.fromkeys((*ids, *also))))
    frames = list(frames_of(source, roles))
    if numbered and not ids:
        frames = [pl.concat(frames).with_row_index(numbered)]
        roles = replace(roles, kept=(numbered, *also))
    n_rows = sum(frame.height for frame in frames)
    loader = Loader(roles, n_rows, source.label)
    chunk, left_out = loader.load(loader.part(frames))
    left_out.warn()
    require_rows(chunk.table.n_rows, source.label)
    require_classes(chunk.table.classes, chunk.table.n_rows, roles, source.label)
    if left_out.unusable:
        _warn_of_lost_classes(frames, roles.target or "", chunk.table.classes)
    return replace(chunk, notations=notations_of(source, roles))


def require_classes(classes: Labels, n_rows: int, roles: Roles, label: str) -> None:
    """Raise unless the labels (K,) of all rows are classes with clearly different names."""
    if roles.merge is not None:
        roles.merge.require_answers(classes, label)
        roles.merge.require_applied(classes, label)
    if not roles.named_classes and roles.target is not None:
        check_classes(classes, n_rows, roles.target, label)


def notations_of(source: Source, roles: Roles) -> Notations | None:
    """Return the notation of the feature columns in text files; None for other sources."""
    numbers = {
        name: source.notations[name] for name in roles.numbers if name in source.notations
    }
    return Notations.of(numbers) if numbers else None


def _warn_of_lost_classes(
    frames: Sequence[pl.DataFrame], target: str, classes: Labels
) -> None:
    labels = pl.concat([values_of(frame, target) for frame in frames])
    lost = sorted(set(labels.drop_nulls().unique()).difference(classes.tolist()))
    if lost:
        warn(
            UnusedDataWarning(
                f"no usable row is left of the {noun_for(len(lost), 'class')} {quoted(lost, 5)}"
            )
        )
