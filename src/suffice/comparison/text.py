"""A comparison as a table: plain text, rich for terminals, HTML for notebooks."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from suffice.validation.significance import LEVEL, p_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from suffice.comparison.comparison import Comparison

FEW = 5  # names that are listed in full


def verdict_of(
    best: str, error: float, p_values: Mapping[str, float], failed: Sequence[str]
) -> str:
    """Return who is best, who cannot be told apart from it, who is worse, and who failed.

    ``p_values`` are those of all others against the best; NaN where there was no test.

    Examples
    --------
    >>> verdict_of("LDA", 0.02, {"logistic regression": 0.6, "QDA": 0.004}, [])
    'Least error: LDA, 2.0 %. LDA and logistic regression cannot be told apart (p = 0.6); QDA is
    worse (p = 0.004).'
    """
    alike = {name: p for name, p in p_values.items() if p > LEVEL}
    worse = {name: p for name, p in p_values.items() if p <= LEVEL}
    untold = [name for name in p_values if name not in alike and name not in worse]
    parts = [
        *([_alike(best, alike, len(p_values))] if alike else []),
        *([_worse(worse)] if worse else []),
        *([f"One fold cannot tell {listed([best, *untold])} apart"] if untold else []),
        *([f"{listed(failed)} failed"] if failed else []),
    ]
    return " ".join([f"Least error: {best}, {100 * error:.1f} %.", *_sentence(parts)])


def _sentence(parts: Sequence[str]) -> list[str]:
    return [f"{'; '.join(parts)}."] if parts else []


def listed(names: Sequence[str]) -> str:
    """Return names as people list them, the first few of many."""
    if len(names) > FEW:
        return f"{', '.join(names[: FEW - 1])} and {len(names) - FEW + 1} others"
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _alike(best: str, alike: Mapping[str, float], n_others: int) -> str:
    least = min(alike.values())
    said = p_text(least) if len(alike) == 1 or least == 1 else p_text(least).replace("=", "≥")
    if len(alike) == n_others > FEW - 1:
        return f"None of the {n_others} others can be told apart from it ({said})"
    return f"{listed([best, *alike])} cannot be told apart ({said})"


def _worse(worse: Mapping[str, float]) -> str:
    """Return who is worse: each with its p-value, or many with the greatest."""
    if len(worse) == 1:
        return "".join(f"{name} is worse ({p_text(p)})" for name, p in worse.items())
    if len(worse) > FEW:
        most = p_text(max(worse.values())).replace("=", "≤")
        return f"{listed(list(worse))} are worse ({most})"
    return f"{listed([f'{name} ({p_text(p)})' for name, p in worse.items()])} are worse"


Row = dict[str, Any]
NOTHING = "–"


def plain_table(comparison: Comparison) -> str:
    """Return the table as lines of text."""
    rows = [[heading for heading, _ in COLUMNS], *_cells(comparison)]
    wide = [max(len(row[j]) for row in rows) for j in range(len(COLUMNS))]
    lines = [
        "  ".join(
            cell.ljust(w) if j == 0 else cell.rjust(w)
            for j, (cell, w) in enumerate(zip(row, wide, strict=True))
        ).rstrip()
        for row in rows
    ]
    return "\n".join([_heading(comparison), "", *lines, "", *_below(comparison)])


def rich_table(comparison: Comparison) -> Any:
    """Return the table for a terminal; members not told apart from the best are in bold."""
    return _RichTable(comparison)


def html_table(comparison: Comparison) -> str:
    """Return the table as HTML."""
    head = "".join(f"<th>{escape(heading)}</th>" for heading, _ in COLUMNS)
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in cells) + "</tr>"
        for cells in _cells(comparison)
    )
    below = "".join(f"<p>{escape(line)}</p>" for line in _below(comparison))
    return (
        f"<table><caption>{escape(_heading(comparison))}</caption>"
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{below}"
    )


@dataclass(frozen=True, slots=True)
class _RichTable:
    """The columns that a terminal has room for, and the verdict below them."""

    comparison: Comparison

    def __rich_console__(self, console: Any, options: Any) -> Iterator[Any]:
        from rich.box import SIMPLE_HEAD
        from rich.table import Table
        from rich.text import Text

        cells = _cells(self.comparison)
        shown = _fitting(cells, options.max_width)
        title = Text(_heading(self.comparison), style="italic")
        table = Table(box=SIMPLE_HEAD, pad_edge=False, padding=(0, _GAP - 1, 0, 0))
        for j in shown:
            justify: Any = "left" if j == 0 else "right"
            table.add_column(COLUMNS[j][0], justify=justify, no_wrap=True)
        for row, line in zip(self.comparison.rows(), cells, strict=True):
            table.add_row(*(Text(line[j]) for j in shown), style=_style(row))
        verdict, *notes = _below(self.comparison)
        yield from (title, table, Text(verdict), *(Text(note, style="dim") for note in notes))


def _fitting(cells: list[list[str]], width: int) -> list[int]:
    """Return the columns that fit into a width; the least needed are left out first."""
    wide = [max(len(text) for text in column) for column in zip(_HEADINGS, *cells, strict=True)]
    shown = list(range(len(COLUMNS)))
    for heading in _LEFT_OUT_FIRST:
        if sum(wide[j] + _GAP for j in shown) < width:
            break
        shown.remove(_HEADINGS.index(heading))
    return shown


def _heading(comparison: Comparison) -> str:
    return f"{comparison.n_rows:,} rows of {len(comparison.classes)} classes; {comparison.protocol}"


def _below(comparison: Comparison) -> list[str]:
    return [comparison.verdict, *comparison.notes]


def _cells(comparison: Comparison) -> list[list[str]]:
    return [[write(row) for _, write in COLUMNS] for row in comparison.rows()]


def _style(row: Row) -> str:
    if row["failure"]:
        return "red"
    return "" if row["p_adjusted"] <= LEVEL else "bold"


def _number(name: str, pattern: str) -> Callable[[Row], str]:
    return lambda row: NOTHING if np.isnan(row[name]) else pattern.format(row[name])


def _error(row: Row) -> str:
    return "failed" if row["failure"] else f"{100 * row['error']:.1f} %"


def _interval(row: Row) -> str:
    if row["failure"]:
        return NOTHING
    return f"{100 * row['error_low']:.1f} – {100 * row['error_high']:.1f}"


def _seconds(name: str) -> Callable[[Row], str]:
    return lambda row: NOTHING if np.isnan(row[name]) else duration(row[name])


def _p_value(row: Row) -> str:
    if row["failure"]:
        return NOTHING
    if np.isnan(row["p_adjusted"]):
        return ""
    return "< 0.0001" if row["p_adjusted"] < 1e-4 else f"{row['p_adjusted']:.2g}"


def duration(seconds: float) -> str:
    """Return a time in a few letters."""
    if seconds < 1e-3:
        return f"{1e6 * seconds:.0f} µs"
    return f"{1e3 * seconds:.3g} ms" if seconds < 0.9995 else f"{seconds:.3g} s"


# heading → how its cell is written from a row
COLUMNS: tuple[tuple[str, Callable[[Row], str]], ...] = (
    ("model", lambda row: str(row["model"])),
    ("error", _error),
    ("95 %", _interval),
    ("log-loss", _number("log_loss", "{:.3f}")),
    ("Brier", _number("brier", "{:.3f}")),
    ("calib.", _number("calibration_error", "{:.3f}")),
    ("AUC", _number("auc", "{:.3f}")),
    ("params", _number("n_parameters", "{:,.0f}")),
    ("fit", _seconds("fit_seconds")),
    ("predict", _seconds("predict_seconds")),
    ("p", _p_value),
)
_HEADINGS = tuple(heading for heading, _ in COLUMNS)
_LEFT_OUT_FIRST = ("calib.", "predict", "Brier", "params", "AUC", "fit", "95 %", "log-loss")
_GAP = 2  # letters between columns
