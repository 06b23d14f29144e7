"""A comparison in words and as a table: plain text, rich for terminals, HTML for notebooks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from suffice.text.lists import listed
from suffice.text.numbers import NOTHING, cell, p_statement, p_value, percent
from suffice.text.tables import Row, html_table, rich_table, text_lines

if TYPE_CHECKING:
    from suffice.comparison.comparison import Comparison

WORTH_SAYING = 5e-4  # difference of two errors
FEW = 5  # names that are listed in full


def in_words(comparison: Comparison) -> str:
    """Return which model is recommended, its price, and who is significantly different."""
    own, constant = comparison[comparison.reference], comparison.baseline
    low, high = own.interval
    p_values = {d.model: d for d in comparison.differences()}
    beside = p_values.pop(constant.name)
    against = p_statement(beside.p_value)
    groups: dict[str, dict[str, float]] = {"alike": {}, "worse": {}, "better": {}}
    for name, d in p_values.items():
        groups[d.verdict][name] = d.p_value
    failed = [failure.name for failure in comparison.failures]
    parts = [
        *([_alike(groups["alike"], len(p_values))] if groups["alike"] else []),
        *(_different(groups[how], how) for how in ("worse", "better") if groups[how]),
        *([f"{listed(failed, FEW)} failed"] if failed else []),
    ]
    price = price_of(comparison)
    rest = f" Against {own.name}: {'; '.join(parts)}." if parts else ""
    log_losses = {d.model: d for d in comparison.differences("log_loss")}
    useful = "worse" in (beside.verdict, log_losses[constant.name].verdict)
    none = "None is significantly better than the constant classifier; the closest"
    told = "Recommended" if useful else none
    return (
        f"{told}: {own.name}, {percent(own.error)} misclassified (95 % interval "
        f"{percent(low)} to {percent(high)}){f', {price}' if price else ''}; the constant "
        f"classifier misclassifies {percent(constant.error)} ({against}).{rest}"
    )


def price_of(comparison: Comparison) -> str:
    """Return how many more errors the reference makes than the model of fewest, if any."""
    own = comparison[comparison.reference]
    best = next((o for o in comparison.outcomes if o is not comparison.baseline), own)
    if own.error - best.error < WORTH_SAYING:
        return ""
    (test,) = (d for d in comparison.differences() if d.model == best.name)
    different = "significant" if test.verdict == "better" else "not significant"
    return (
        f"{-100 * test.mean:.1f} points more errors than {best.name} "
        f"({percent(best.error)}; {different}, {p_statement(test.p_value)})"
    )


def _alike(alike: Mapping[str, float], n_others: int) -> str:
    least = min(alike.values())
    said = p_statement(least, "=" if len(alike) == 1 or least == 1 else "≥")
    if len(alike) == n_others > FEW - 1:
        return f"none of the {n_others} others is significantly different ({said})"
    are = "is" if len(alike) == 1 else "are"
    return f"{listed(list(alike), FEW)} {are} not significantly different ({said})"


def _different(found: Mapping[str, float], how: str) -> str:
    """Return who is worse or better: each with its p-value, or many with the greatest."""
    are = "is" if len(found) == 1 else "are"
    if len(found) > FEW:
        most = p_statement(max(found.values()), "≤")
        return f"{listed(list(found), FEW)} {are} significantly {how} ({most})"
    named = listed([f"{name} ({p_statement(p)})" for name, p in found.items()])
    return f"{named} {are} significantly {how}"


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
    """The columns that a terminal has room for, and the verdict below; the reference in bold."""

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
    for heading in _DROPPED:
        if sum(wide[j] + _GAP for j in shown) < width:
            break
        shown.remove(_HEADINGS.index(heading))
    return shown


def _heading(comparison: Comparison) -> str:
    return f"{comparison.n_rows:,} rows of {len(comparison.classes)} classes; {comparison.protocol}"


def _below(comparison: Comparison) -> list[str]:
    left_out = (f"left out for time: {name}" for name in comparison.left_out)
    return [comparison.verdict, *comparison.notes, *left_out]


def _cells(comparison: Comparison) -> list[list[str]]:
    return [[write(row) for _, write in COLUMNS] for row in comparison.rows()]


def _style(row: Row) -> str:
    if row["failure"]:
        return "red"
    return "bold" if np.isnan(row["p_adjusted"]) else ""


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
    ("approach", lambda row: NOTHING if row["failure"] else str(row["approach"])),
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
# in a narrow terminal these go, the least needed first
_DROPPED = ("approach", "calib.", "predict", "Brier", "params", "AUC", "fit", "95 %", "log-loss")
_GAP = 2  # letters between columns
