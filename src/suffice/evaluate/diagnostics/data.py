"""Checks of the data: copies, columns that reveal the class, impossible values."""

import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import permutations
from typing import NamedTuple

import numpy as np
from scipy.special import bdtrc, gammaln

from suffice.core.table.sampling import stratified_sample
from suffice.core.table.table import Table
from suffice.core.text.lists import counted
from suffice.core.text.numbers import number, percent
from suffice.selection.validation.copies import row_hashes
from suffice.typing import Array, Codes, Floats, LabelsLike, RowsLike

FEWEST_ROWS = 20  # with fewer rows, no column is called suspicious
ENOUGH_ROWS = 5_000  # most rows used to test single columns
MOST_COLUMNS = 200
# A column is suspicious if it predicts the class on its own with at most this error. The error must
# also be at most this share of that of always predicting the largest class.
TOO_GOOD_ERROR = 0.03
TOO_GOOD_SHARE = 0.1
# A column is not suspicious if a random column would predict as well with at least this
# probability. Trees of several sizes are tried, which together raise a false alarm in at most about
# 5 % of random columns.
CHANCE = 0.01
# number of rows whose near copies are counted, and number of rows that are compared with these
COPIED_ROWS = 300
COMPARED_ROWS = 3_000
# least number of compared columns, and of distinct values in each of these columns
COPIED_COLUMNS = 4
COPIED_VALUES = 10
# numbers that often mean "unknown": 0, −1, and ±9, ±99 … ±999999
PLACEHOLDERS = {sign * float("9" * n) for n in range(1, 7) for sign in (1, -1)} | {0.0, -1.0}
UNKNOWN_COLUMN = "COLUMN"  # placeholder in advice if no column can be named


@dataclass(frozen=True, slots=True)
class Suspect:
    """A suspicious column, and the reason for suspicion."""

    column: str
    why: str
    predicts_alone: bool = False
    figures: Mapping[str, float] = field(default_factory=dict)  # the numbers in ``why``

    @property
    def sentence(self) -> str:
        """A sentence with the reason and what to do."""
        return (
            f"Column {self.column!r} {self.why}: make sure that the column is known before the "
            "class is, or leave it out."
        )


@dataclass(frozen=True, slots=True)
class DataChecks:
    """Findings about rows that affect every model of these rows."""

    n_rows: int
    n_duplicates: int  # number of rows with the same features as an earlier row
    n_conflicting: int  # number of rows with the same features as a row of another class
    # largest number of rows that a function of the features can classify correctly
    n_separable: int
    has_many_values: bool  # whether columns have so many values that equal rows must be copies
    # row numbers, identifiers, and columns that predict the class on their own
    suspects: tuple[Suspect, ...]
    impossible: tuple[Suspect, ...]  # columns with values that may mean "unknown"
    # sentence on evidence that groups of rows belong together; empty without any
    together: str = ""
    # the numbers in ``together``
    together_figures: Mapping[str, float] = field(default_factory=dict)
    has_dates: bool = False  # whether a date is the evidence

    @property
    def caveats(self) -> tuple[str, ...]:
        """Reasons to doubt errors estimated on these rows, worst first."""
        caveats = [suspect.sentence for suspect in self.suspects]
        if self.together:
            caveats.append(f"{self.together}.")
        return tuple(caveats)


def dates_in(X: object) -> list[str]:
    """Return the names of the columns of a frame that hold dates."""
    dtypes = zip(getattr(X, "columns", ()), getattr(X, "dtypes", ()), strict=False)
    return [str(name) for name, dtype in dtypes if "date" in str(dtype).lower()]


def data_checks(X: RowsLike | Table, y: LabelsLike, dates: Sequence[str] = ()) -> DataChecks:
    """Return the findings about rows: copies, suspicious columns and impossible values."""
    if isinstance(X, Table):
        table = X
    else:
        with warnings.catch_warnings():
            # the caller has already read the columns, with the same warnings
            warnings.simplefilter("ignore")
            table = Table.of(X, y)
    columns = dict(_columns(table))
    numbers = {name: values for name, values in columns.items() if values.dtype.kind == "f"}
    together = ""
    together_figures: Mapping[str, float] = {}
    suspects: list[Suspect] = []
    if table.n_rows >= FEWEST_ROWS:
        together = _time_order(numbers, dates)
        if not together:
            together, together_figures = _near_copies(columns, table.codes)
        suspects = _suspects(columns, table.codes, dates)
    impossible: list[Suspect] = []
    for name, values in numbers.items():
        impossible += _impossible(name, values)
    n_duplicates, n_conflicting, n_separable = _copies(table)
    return DataChecks(
        n_rows=table.n_rows,
        n_duplicates=n_duplicates,
        n_conflicting=n_conflicting,
        n_separable=n_separable,
        has_many_values=any(len(np.unique(v)) > table.n_rows / 4 for v in columns.values()),
        suspects=tuple(suspects),
        impossible=tuple(impossible),
        together=together,
        together_figures=together_figures,
        has_dates=bool(together and dates),
    )


def _columns(table: Table) -> Iterator[tuple[str, Array]]:
    """Yield each column with its name: values of numbers, or codes of categories."""
    schema = table.schema
    x = np.asarray(table.x, np.float64)
    names = table.names if schema is None else [column.name for column in schema.numbers]
    if not names:
        names = [f"x{j + 1}" for j in range(x.shape[1])]
    for j, name in enumerate(names):
        yield str(name), x[:, j]
    if schema is not None and table.indicators is not None:
        levels = table.indicators.T[len(schema.filled) :]
        for category, codes in zip(schema.categories, levels, strict=True):
            yield category.name, codes


def _suspects(
    columns: Mapping[str, Array], codes: Codes, dates: Sequence[str]
) -> list[Suspect]:
    sample = stratified_sample(codes, ENOUGH_ROWS, 0)
    suspects = []
    tested = list(columns.items())[:MOST_COLUMNS]
    for name, values in tested:
        why = "" if name in dates else _numbering(values)
        if why:
            suspects.append(Suspect(name, why))
            continue
        share = _share_predicted_alone(values[sample], codes[sample], len(tested))
        if share is not None:
            why = f"predicts {percent(share)} of the labels on its own"
            suspects.append(
                Suspect(name, why, predicts_alone=True, figures={"predicted": share})
            )
    return suspects


def _copies(table: Table) -> tuple[int, int, int]:
    """Return the numbers of repeated rows, of conflicting rows, and of separable rows.

    Repeated rows equal an earlier row. Conflicting rows equal a row of another class. Separable
    rows have the most frequent class of their set of equal rows: no function of the features can
    classify more rows correctly.
    """
    hashes = row_hashes(table)
    order = np.lexsort((table.codes, hashes))
    hashes = hashes[order]
    codes = table.codes[order]
    # rows are sorted, so a set of equal rows starts where the hash changes
    starts = np.flatnonzero(np.append(True, hashes[1:] != hashes[:-1]))
    sizes = np.diff(np.append(starts, len(hashes)))
    mixed = np.minimum.reduceat(codes, starts) < np.maximum.reduceat(codes, starts)
    # within a set, the rows of a class are adjacent
    starts_class = np.append(True, (hashes[1:] != hashes[:-1]) | (codes[1:] != codes[:-1]))
    sizes_of_classes = np.diff(np.append(np.flatnonzero(starts_class), len(hashes)))
    first_class = np.searchsorted(np.flatnonzero(starts_class), starts)
    most_frequent = np.maximum.reduceat(sizes_of_classes, first_class)
    return len(hashes) - len(starts), int(sizes[mixed].sum()), int(most_frequent.sum())


def _time_order(numbers: Mapping[str, Floats], dates: Sequence[str]) -> str:
    """Return a sentence on a date column, or on one that repeats another's previous value."""
    heads = {name: values[:COMPARED_ROWS] for name, values in numbers.items()}
    many_valued = [name for name, v in heads.items() if 4 * len(np.unique(v)) > len(v)][:30]
    if dates:
        reason = f"{dates[0]!r} is a date"
    else:
        lagged = _lagged_pair({name: heads[name] for name in many_valued})
        if lagged is None:
            return ""
        reason = f"{lagged[0]!r} repeats the previous value of {lagged[1]!r}"
    # a non-decreasing column with few values, such as the year, defines the periods
    period = UNKNOWN_COLUMN
    for name, values in heads.items():
        steps = np.diff(values)
        if name not in many_valued and (steps >= 0).all() and steps.any():
            period = name
            break
    return (
        f"Column {reason}: later rows may be misclassified more often. To hold out whole periods, "
        f"use --groups {period}"
    )


def _lagged_pair(columns: Mapping[str, Floats]) -> tuple[str, str] | None:
    """Return two columns of which the first repeats the previous value of the second, if any."""
    for name, other in permutations(columns, 2):
        if np.mean(columns[name][1:] == columns[other][:-1]) > 0.9:
            return name, other
    return None


def _near_copies(
    columns: Mapping[str, Array], codes: Codes
) -> tuple[str, Mapping[str, float]]:
    """Return a sentence and its numbers if most rows share half of their numbers with another."""
    compared = stratified_sample(codes, COMPARED_ROWS, 0)
    chosen = np.random.default_rng(0).permutation(len(compared))[:COPIED_ROWS]
    numbers = [v[compared] for v in columns.values() if v.dtype.kind == "f"][:MOST_COLUMNS]
    numbers = [v for v in numbers if len(np.unique(v)) >= COPIED_VALUES]
    d = len(numbers)
    # number of columns in which two rows are equal
    n_equal = np.zeros((len(chosen), len(compared)))
    for values in numbers:
        n_equal += values[chosen, None] == values
    n_equal[np.arange(len(chosen)), chosen] = np.nan  # a row is not compared with itself
    share = float(np.mean(np.nanmax(n_equal, 1) >= d / 2))
    # expected number of rows that share half of their numbers if columns are independent
    by_chance = len(compared) * bdtrc((d - 1) // 2, d, np.nanmean(n_equal) / max(d, 1))
    if d < COPIED_COLUMNS or share < 0.5 or by_chance > 0.05:
        return "", {}
    figures: Mapping[str, float] = {"equal_rows": share, "n_columns": d}
    nearest = np.nanargmax(n_equal, 1)
    levels = {name: v[compared] for name, v in columns.items() if v.dtype.kind != "f"}
    shared = [name for name, v in levels.items() if np.mean(v[chosen] == v[nearest]) > 0.8]
    if not shared:
        hint = (
            f"{percent(share)} of rows share at least half of their {d} numeric values with "
            "another row. Rows unlike these may be misclassified more often. To hold out whole "
            f"groups, give --groups {UNKNOWN_COLUMN}"
        )
        return hint, figures
    # the category with the most levels
    name = max(shared, key=lambda each: levels[each].max())
    hint = (
        f"{percent(share)} of rows share at least half of their {d} numeric values with another "
        f"row, mostly of the same {name}. Rows unlike these may be misclassified more often. To "
        f"hold out whole groups, give --groups {name}"
    )
    return hint, figures


def _numbering(values: Array) -> str:
    """Return why a column looks like a row number or an identifier; empty if it does not."""
    if values.dtype.kind != "f" or not np.all(values == np.rint(values)):
        return ""
    mean_step = abs(values[-1] - values[0]) / (len(values) - 1)
    if mean_step == 1 and abs(np.diff(values)).max() == 1:
        return "numbers the rows"
    if len(values) >= 50 and len(np.unique(values)) == len(values):
        return "has a different number in every row, like an identifier"
    return ""


def _share_predicted_alone(values: Array, codes: Codes, n_columns: int) -> float | None:
    """Return the share of rows whose class a column predicts on its own.

    The result is None unless the column predicts nearly all rows, and a random column would hardly
    do so.
    """
    is_number = values.dtype.kind == "f"
    rule = _tree_rule(values, codes) if is_number else _level_rule(values, codes)
    n = len(codes)
    error = rule.n_wrong / n
    error_of_largest_class = 1 - np.bincount(codes).max() / n
    if error > min(TOO_GOOD_ERROR, TOO_GOOD_SHARE * error_of_largest_class):
        return None
    if np.log(n_columns) + rule.log_chance(codes) > np.log(CHANCE):
        return None
    return 1 - error


class _Rule(NamedTuple):
    """A rule that predicts the class from one column, by dividing the rows into pieces."""

    n_pieces: Codes  # number of pieces that predict each class  (K,)
    n_predicted: Codes  # number of rows in these pieces (K,)
    n_wrong: int
    is_ordered: bool  # whether pieces are runs of rows in the order of the column

    def log_chance(self, codes: Codes) -> float:
        """Return a bound on log P(labels in random order fit such a rule as well).

        There are n!/Π n_k! orders of n labels. The rule has p pieces, p_k of them for class k,
        which can be ordered in p!/Π p_k! ways. Runs that cover m_k rows of class k can have C(m_k −
        1, p_k − 1) sizes. The e wrong rows and their labels can be chosen in C(n, e) (K − 1)^e
        ways.
        """
        n_rows = np.bincount(codes)
        p = self.n_pieces
        log_ways = gammaln(p.sum() + 1) - gammaln(p + 1).sum()
        if self.is_ordered:
            m = self.n_predicted[p > 0]
            log_ways += (gammaln(m) - gammaln(p[p > 0]) - gammaln(m - p[p > 0] + 1)).sum()
        n = n_rows.sum()
        e = self.n_wrong
        log_ways += gammaln(n + 1) - gammaln(e + 1) - gammaln(n - e + 1)
        log_ways += e * np.log(max(len(n_rows) - 1, 1))
        return float(log_ways - gammaln(n + 1) + gammaln(n_rows + 1).sum())


def _tree_rule(values: Floats, codes: Codes) -> _Rule:
    """Return the rule of a small tree on one number, which may be missing."""
    from sklearn.tree import DecisionTreeClassifier

    n_classes = int(codes.max()) + 1
    tree = DecisionTreeClassifier(max_leaf_nodes=2 * n_classes, random_state=0)
    tree.fit(values[:, None], codes)
    predicted = tree.predict(values[:, None])
    _, first = np.unique(tree.apply(values[:, None]), return_index=True)
    return _Rule(
        n_pieces=np.bincount(predicted[first], minlength=n_classes),
        n_predicted=np.bincount(predicted, minlength=n_classes),
        n_wrong=int((predicted != codes).sum()),
        is_ordered=True,
    )


def _level_rule(levels: Codes, codes: Codes) -> _Rule:
    """Return the rule that predicts the most frequent class of each level.

    The only row of a level counts as wrong.
    """
    n_classes = int(codes.max()) + 1
    counts = np.zeros((int(levels.max()) + 2, n_classes), np.intp)
    np.add.at(counts, (levels + 1, codes), 1)  # code −1 means a missing level
    counts = counts[counts.sum(1) > 1]
    most_frequent = counts.argmax(1)
    return _Rule(
        n_pieces=np.bincount(most_frequent, minlength=n_classes),
        n_predicted=np.bincount(most_frequent, counts.sum(1), n_classes).astype(np.intp),
        n_wrong=len(codes) - int(counts.max(1).sum()),
        is_ordered=False,
    )


def _impossible(column: str, values: Floats) -> list[Suspect]:
    """Return a finding if values such as 0, −1 or 999 are far from all other values."""
    observed = values[np.isfinite(values)]
    if len(observed) == 0:
        return []
    if observed.min() > 0 and float(observed.max()) not in PLACEHOLDERS:
        return []
    distinct, counts = np.unique(observed, return_counts=True)
    if len(distinct) < 10:
        return []
    reasons = []
    for end, neighbour in ((0, 1), (-1, -2)):
        value = float(distinct[end])
        n = int(counts[end])
        gap = abs(distinct[end] - distinct[neighbour])
        low, high = np.quantile(observed[observed != value], [0.25, 0.75])
        if value in PLACEHOLDERS and 1 < n < len(observed) / 2 and gap > high - low:
            why = (
                f"is {number(value)} in {counted(n, 'row')}, far from all other values: check "
                "whether it stands for a missing value"
            )
            figures = {"value": value, "n_rows": n}
            reasons.append(Suspect(column, why, figures=figures))
    return reasons or _rare_nonpositive(column, observed, distinct)


def _rare_nonpositive(column: str, observed: Floats, distinct: Floats) -> list[Suspect]:
    """Return a finding if a few values are at most zero, and all others far above zero."""
    nonpositive = observed[observed <= 0]
    positive = distinct[distinct > 0]
    are_few = 0 < len(nonpositive) <= max(1, 0.02 * len(observed))
    if not are_few or len(positive) < 10:
        return []
    # "far" means that the gap to zero is more than 6 times the gap between the other values
    if positive[0] <= 6 * np.diff(positive[:10]).mean():
        return []
    rows = counted(len(nonpositive), "row")
    those = "this row" if len(nonpositive) == 1 else "these rows"
    largest = number(nonpositive.max())
    if nonpositive.min() < nonpositive.max():
        largest = f"{largest} or less"
    least = float(positive[0])
    why = f"is {largest} in {rows}, but {number(least)} or more in all others: check {those}"
    figures = {
        "value": float(nonpositive.max()),
        "n_rows": len(nonpositive),
        "least_of_others": least,
    }
    return [Suspect(column, why, figures=figures)]
