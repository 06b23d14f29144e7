"""Is the data what it seems? Copies, columns that give the class away, impossible values."""

import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import Any

import numpy as np
from scipy.special import bdtrc

from suffice.core.table.sampling import stratified_sample
from suffice.core.table.table import Table
from suffice.core.text.lists import counted
from suffice.core.text.numbers import number, percent
from suffice.typing import Codes, Floats

FEWEST = 20  # rows from which a column can be suspicious
ENOUGH = 5_000  # rows that columns are looked at one by one
MOST_COLUMNS = 200
# error of a column alone that is too good: absolutely, and by the error of the largest class
TOO_GOOD, TOO_GOOD_SHARE = 0.03, 0.1
# rows whose copies are looked for, those that they are looked for among, columns and values of each
COPIED, AMONG, FEWEST_COLUMNS, FEWEST_VALUES = 300, 3_000, 4, 10
CODES = {sign * float("9" * n) for n in range(1, 7) for sign in (1, -1)} | {0.0, -1.0}


@dataclass(frozen=True, slots=True)
class Suspect:
    """A column, and why it deserves a second look."""

    column: str
    why: str


@dataclass(frozen=True, slots=True)
class DataChecks:
    """What a reader should know of the rows before believing any model of them."""

    n_rows: int
    n_duplicates: int  # rows whose features equal those of an earlier row
    n_conflicting: int  # rows whose features another class has as well
    has_many_values: bool  # whether rows would differ, were they not copied
    suspects: tuple[
        Suspect, ...
    ]  # row numbers, identifiers, dates, columns that predict alone
    impossible: tuple[Suspect, ...]  # values that may stand for something else
    together: str = ""  # what hints at rows that belong together, if anything

    @property
    def caveats(self) -> tuple[str, ...]:
        """What casts doubt on an error counted on such rows, worst first."""
        cure = "make sure that it is known before the class is, or leave it out"
        said = [f"Column {s.column!r} {s.why}: {cure}" for s in self.suspects]
        if self.has_many_values and self.n_duplicates > 0.05 * self.n_rows:
            copies = f"{counted(self.n_duplicates, 'row')} of {self.n_rows:,} repeat others"
            said.append(f"{copies}, so that some held-out rows were seen in training")
        said += [self.together] if self.together else []
        return tuple(f"{each}." for each in said)


def dates_in(X: Any) -> list[str]:
    """Return the columns of a frame that hold dates."""
    dtypes = zip(getattr(X, "columns", ()), getattr(X, "dtypes", ()), strict=False)
    return [str(name) for name, dtype in dtypes if "date" in str(dtype).lower()]


def data_checks(X: Any, y: Any, dates: Sequence[str] = ()) -> DataChecks:
    """Return copies, suspicious columns and impossible values of rows as they came, or a table."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # how columns are read was said where they were read
        table = X if isinstance(X, Table) else Table.of(X, y)
    columns, together, suspects = dict(_columns(table)), "", []
    if table.n_rows >= FEWEST:
        together = _in_time(columns, dates) or _near_copies(columns, table.codes)
        at = stratified_sample(table.codes, ENOUGH, 0)
        for name, values in list(columns.items())[:MOST_COLUMNS]:
            why = "" if name in dates else _numbering(values)
            why = why or _alone(values[at], table.codes[at])
            suspects += [Suspect(name, why)] if why else []
    numbers = {name: values for name, values in columns.items() if values.dtype.kind == "f"}
    impossible = [
        Suspect(n, why) for n, values in numbers.items() for why in _impossible(values)
    ]
    many = any(len(np.unique(values)) > table.n_rows / 4 for values in columns.values())
    found: Any = (*_copies(table), many, tuple(suspects), tuple(impossible), together)
    return DataChecks(table.n_rows, *found)


def _columns(table: Table) -> Iterator[tuple[str, Any]]:
    """Yield each column: numbers as they are, categories as codes."""
    schema, x = table.schema, np.asarray(table.x, np.float64)
    names = table.names if schema is None else [column.name for column in schema.numbers]
    numbers = names or [f"x{j + 1}" for j in range(x.shape[1])]
    yield from ((str(name), x[:, j]) for j, name in enumerate(numbers))
    if schema is not None and table.indicators is not None:
        groups = table.indicators.T[len(schema.filled) :]
        yield from zip((c.name for c in schema.categories), groups, strict=True)


def _copies(table: Table) -> tuple[int, int]:
    """Return the rows that repeat an earlier one, and those that another class has as well."""
    columns = [*table.x.T, *(() if table.indicators is None else table.indicators.T)]
    odd = np.random.default_rng(0).integers(1, 2**63, len(columns), np.uint64) * 2 + 1
    # Σ_j a_j b_j mod 2⁶⁴ tells rows apart but for one pair in 10¹⁹
    told = np.zeros(table.n_rows, np.uint64)
    for factor, column in zip(odd, columns, strict=True):
        told += factor * (np.asarray(column, np.float64) + 0.0).view(np.uint64)  # −0 is 0
    order = np.argsort(told)
    told, codes = told[order], table.codes[order]
    first = np.flatnonzero(np.append(True, told[1:] != told[:-1]))  # of equal rows
    mixed = np.minimum.reduceat(codes, first) < np.maximum.reduceat(codes, first)
    return len(told) - len(first), int(np.diff(np.append(first, len(told)))[mixed].sum())


def _in_time(columns: Mapping[str, Any], dates: Sequence[str]) -> str:
    """Return what to say of a date, or of a column that repeats another of the row before."""
    numbers = {name: v[:AMONG] for name, v in columns.items() if v.dtype.kind == "f"}
    many = [name for name, v in numbers.items() if 4 * len(np.unique(v)) > len(v)][:30]
    what = [f"{name!r} is a date" for name in dates]
    for a, b in permutations(many, 2):
        if np.mean(numbers[a][1:] == numbers[b][:-1]) > 0.9:
            what.append(f"{a!r} repeats {b!r} of the row before")
    steps = ((n, np.diff(v)) for n, v in numbers.items() if n not in many)
    period = next((n for n, step in steps if (step >= 0).all() and step.any()), "COLUMN")
    cure = f"To hold out whole periods, give --groups {period}"
    return (
        f"Column {what[0]}: later rows may be misclassified more often. {cure}" if what else ""
    )


def _near_copies(columns: Mapping[str, Any], codes: Codes) -> str:
    """Return what to say of rows most of which share half of their numbers with another row."""
    at = stratified_sample(codes, AMONG, 0)
    rows, kept = np.random.default_rng(0).permutation(len(at))[:COPIED], columns.items()
    numbers = [v[at] for _, v in kept if v.dtype.kind == "f"][:MOST_COLUMNS]
    numbers = [v for v in numbers if len(np.unique(v)) >= FEWEST_VALUES]
    equal, d = np.zeros((len(rows), len(at))), len(numbers)
    for v in numbers:
        equal += v[rows, None] == v
    equal[np.arange(len(rows)), rows] = np.nan
    # how many other rows share as much by chance, were columns independent
    by_chance = len(at) * bdtrc((d - 1) // 2, d, np.nanmean(equal) / max(d, 1))
    share, who = float(np.mean(np.nanmax(equal, 1) >= d / 2)), np.nanargmax(equal, 1)
    if d < FEWEST_COLUMNS or share < 0.5 or by_chance > 0.05:
        return ""
    levels = {name: v[at] for name, v in kept if v.dtype.kind != "f"}
    same = [name for name, v in levels.items() if np.mean(v[rows] == v[who]) > 0.8]
    name = max(same, key=lambda each: levels[each].max(), default="COLUMN")
    like = f", mostly of the same {name}" if same else ""
    return (
        f"{percent(share)} of rows equal another{like}, in at least half of {d} columns of numbers:"
        " rows unlike these may be misclassified more often. To hold out whole groups, give "
        f"--groups {name}"
    )


def _numbering(values: Any) -> str:
    """Return what to say of numbers that count or identify the rows, else nothing."""
    if values.dtype.kind != "f" or not np.all(values == np.rint(values)):
        return ""
    if abs(np.diff(values)).max() == 1 == abs(values[-1] - values[0]) / (len(values) - 1):
        return "counts the rows"
    unique = len(values) >= 50 and len(np.unique(values)) == len(values)
    return "has another number in every row, as an identifier has" if unique else ""


def _alone(values: Any, codes: Codes) -> str:
    """Return what to say of a column that alone predicts nearly every class, else nothing."""
    base = 1 - np.bincount(codes).max() / len(codes)
    if values.dtype.kind == "f":  # a few intervals of a number, or its being empty
        from sklearn.tree import DecisionTreeClassifier

        tree = DecisionTreeClassifier(
            max_leaf_nodes=2 * (int(codes.max()) + 1), random_state=0
        )
        error = float(1 - tree.fit(values[:, None], codes).score(values[:, None], codes))
    else:  # the most frequent class of each level, where a row alone tells nothing
        counts = np.zeros((int(values.max()) + 2, int(codes.max()) + 1))
        np.add.at(counts, (values + 1, codes), 1)
        error = float(1 - np.where(counts.sum(1) > 1, counts.max(1), 0).sum() / len(codes))
    if error > min(TOO_GOOD, TOO_GOOD_SHARE * base):
        return ""
    return f"alone predicts {percent(1 - error)} of the classes"


def _impossible(values: Floats) -> list[str]:
    """Return what to say of codes such as 0, −1 or 999 that lie apart from all other values."""
    known = values[np.isfinite(values)]
    if not len(known) or (known.min() > 0 and float(known.max()) not in CODES):
        return []
    distinct, counts = np.unique(known, return_counts=True)
    if len(distinct) < 10:
        return []
    found = []
    for end, beside in ((0, 1), (-1, -2)):
        code, gap = float(distinct[end]), abs(distinct[end] - distinct[beside])
        low, high = np.quantile(known[known != code], [0.25, 0.75])
        if code in CODES and 1 < counts[end] < len(known) / 2 and gap > high - low:
            times = counted(int(counts[end]), "row")
            found.append(f"is {number(code)} in {times}, far from all others")
    low, rest = known[known <= 0], distinct[distinct > 0]
    # zero or less in a few rows, where the other values keep further from zero than from each other
    few = 0 < len(low) <= max(1, 0.02 * len(known)) and len(rest) >= 10
    if few and not found and rest[0] > 6 * np.diff(rest[:10]).mean():
        least = f"{number(low.max())}{' or less' * bool(low.min() < low.max())}"
        others = f"in all others {number(rest[0])} or more: check it"
        found.append(f"is {least} in {counted(len(low), 'row')}, {others}")
    return found
