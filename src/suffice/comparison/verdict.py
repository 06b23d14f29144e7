"""A comparison as a table: plain text, rich for terminals, HTML for notebooks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from suffice.text.lists import listed
from suffice.text.numbers import NOTHING, cell, p_statement, p_value
from suffice.text.tables import Row, html_table, rich_table, text_lines
from suffice.validation.significance import LEVEL

if TYPE_CHECKING:
    from suffice.comparison.comparison import Comparison

FEW = 5  # names that are listed in full


def verdict_of(
    best: str, error: float, p_values: Mapping[str, float], failed: Sequence[str]
) -> str:
    """Return the outcome in words; p-values of all others against the best, NaN without a test."""
    alike = {name: p for name, p in p_values.items() if p > LEVEL}
    worse = {name: p for name, p in p_values.items() if p <= LEVEL}
    untold = [name for name in p_values if name not in alike and name not in worse]
    parts = [
        *([_alike(best, alike, len(p_values))] if alike else []),
        *([_worse(worse)] if worse else []),
        *([f"one fold is no test of {listed([best, *untold], FEW)}"] if untold else []),
        *([f"{listed(failed, FEW)} failed"] if failed else []),
    ]
    said = "; ".join(parts)
    if said.startswith(("no significant", "one fold")):  # else a name, which stays as it is
        said = said[0].upper() + said[1:]
    return f"Lowest error: {best}, {100 * error:.1f} %.{f' {said}.' if said else ''}"


def _alike(best: str, alike: Mapping[str, float], n_others: int) -> str:
    least = min(alike.values())
    said = p_statement(least, "=" if len(alike) == 1 or least == 1 else "≥")
    if len(alike) == n_others > FEW - 1:
        return f"no significant difference to any of the {n_others} others ({said})"
    return f"{listed([best, *alike], FEW)}: no significant difference ({said})"


def _worse(worse: Mapping[str, float]) -> str:
    """Return who is worse: each with its p-value, or many with the greatest."""
    if len(worse) > FEW:
        most = p_statement(max(worse.values()), "≤")
        return f"{listed(list(worse), FEW)} are worse ({most})"
    if len(worse) == 1:
        return "".join(f"{name} is worse ({p_statement(p)})" for name, p in worse.items())
    return f"{listed([f'{name} ({p_statement(p)})' for name, p in worse.items()])} are worse"


def as_text(comparison: Comparison) -> str:
    """Return the table as lines of text."""
    lines = text_lines(_HEADINGS, _cells(comparison))
    return "\n".join([_heading(comparison), "", *lines, "", *_below(comparison)])


def as_html(comparison: Comparison) -> str:
    """Return the table as HTML."""
    below = "".join(f"<p>{escape(line)}</p>" for line in _below(comparison))
    return html_table(_HEADINGS, _cells(comparison), _heading(comparison)) + below


@dataclass(frozen=True, slots=True)
class InTerminal:
    """The columns that a terminal has room for, and the verdict below; good ones in bold."""

    comparison: Comparison

    def __rich_console__(self, console: Any, options: Any) -> Iterator[Any]:
        from rich.text import Text

        cells = _cells(self.comparison)
        shown = _fitting(cells, options.max_width)
        title = Text(_heading(self.comparison), style="italic")
        table = rich_table(
            [_HEADINGS[j] for j in shown],
            [[line[j] for j in shown] for line in cells],
            right=range(1, len(shown)),
            styles=[_style(row) for row in self.comparison.rows()],
        )
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


def _styled(name: str, style: str) -> Callable[[Row], str]:
    return lambda row: cell(row[name], style)


def _error(row: Row) -> str:
    return "failed" if row["failure"] else f"{100 * row['error']:.1f} %"


def _interval(row: Row) -> str:
    if row["failure"]:
        return NOTHING
    return f"{100 * row['error_low']:.1f} – {100 * row['error_high']:.1f}"


def _p_value(row: Row) -> str:
    if row["failure"]:
        return NOTHING
    return "" if np.isnan(row["p_adjusted"]) else p_value(row["p_adjusted"])


# heading → how its cell is written from a row
COLUMNS: tuple[tuple[str, Callable[[Row], str]], ...] = (
    ("model", lambda row: str(row["model"])),
    ("error", _error),
    ("95 %", _interval),
    ("log-loss", _styled("log_loss", "loss")),
    ("Brier", _styled("brier", "loss")),
    ("calib.", _styled("calibration_error", "loss")),
    ("AUC", _styled("auc", "loss")),
    ("params", _styled("n_parameters", "count")),
    ("fit", _styled("fit_seconds", "seconds")),
    ("predict", _styled("predict_seconds", "seconds")),
    ("p", _p_value),
)
_HEADINGS = tuple(heading for heading, _ in COLUMNS)
_LEFT_OUT_FIRST = ("calib.", "predict", "Brier", "params", "AUC", "fit", "95 %", "log-loss")
_GAP = 2  # letters between columns
