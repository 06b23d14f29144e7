"""Blocks of a report, from which every output format is written."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Literal, TypeAlias

import numpy as np

from suffice.core.text.dates import date_ticks
from suffice.core.text.numbers import number
from suffice.typing import Floats

Tone: TypeAlias = Literal["plain", "lead", "note", "good", "caution", "yes", "with care", "no"]
Cell: TypeAlias = float | str | None  # a raw value; None is shown as a dash
Values: TypeAlias = Floats | tuple[float, ...]
CALIBRATION = "the probabilities match the observed frequencies"


@dataclass(frozen=True, slots=True)
class Paragraph:
    """A paragraph."""

    kind: ClassVar[str] = "text"
    text: str
    tone: Tone = "plain"
    figures: Mapping[str, float] = field(
        default_factory=dict
    )  # numbers of the text for JSON, unless another block has them


@dataclass(frozen=True, slots=True)
class Fact:
    """A number with its name and a note on its meaning."""

    name: str
    value: float | str
    remark: str = ""
    style: str = "text"


@dataclass(frozen=True, slots=True)
class Facts:
    """A row of numbers that a reader looks for first."""

    kind: ClassVar[str] = "facts"
    items: tuple[Fact, ...]


@dataclass(frozen=True, slots=True)
class DataTable:
    """A table with named columns; each column has a style that formats its raw values."""

    kind: ClassVar[str] = "table"
    caption: str
    columns: tuple[str, ...]
    styles: tuple[str, ...]  # style of each column, a key of ``text.numbers.STYLES``
    rows: tuple[tuple[Cell, ...], ...]
    note: str = ""
    marked: tuple[int, ...] = ()  # positions of rows to highlight
    # whether the first cell of a row is an id by which plots show the same row
    linked: bool = False


@dataclass(frozen=True, slots=True)
class Matrix:
    """A matrix with a number for each pair of classes: a count of rows, or a distance."""

    kind: ClassVar[str] = "matrix"
    caption: str
    classes: tuple[str, ...]
    counts: tuple[tuple[float, ...], ...]  # [truth][prediction]
    note: str = ""
    distances: bool = (
        False  # whether the numbers are distances, of which small ones matter most
    )

    def share(self, row: int, column: int) -> float:
        """Return the share of a row's total in a cell; for distances, a nearness from 0 to 1."""
        count = self.counts[row][column]
        if self.distances:
            farthest = max(map(max, self.counts)) or 1.0
            return 1 - count / farthest
        total = sum(self.counts[row])
        return count / total if total else 0.0


@dataclass(frozen=True, slots=True)
class Interval:
    """A line of ``Intervals``: a bar from zero, or a dot with an interval."""

    name: str
    value: float
    remark: str = ""
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True)
class Intervals:
    """A table of named numbers, each drawn as a bar or as a dot with an interval."""

    kind: ClassVar[str] = "intervals"
    caption: str
    axis: str
    style: str
    items: tuple[Interval, ...]
    note: str = ""

    def place(self, value: float) -> float:
        """Return the position of a value along the axis, in percent of the width."""
        shown = [0.0]
        for item in self.items:
            shown.append(item.value)
            if item.low is not None:
                shown.append(item.low)
            if item.high is not None:
                shown.append(item.high)
        low = min(shown)
        high = 1.0 if self.style == "percent" else max(shown)
        return 100 * (value - low) / (high - low or 1.0)


@dataclass(frozen=True, slots=True)
class Equation:
    """Lines of mathematics as plain text."""

    kind: ClassVar[str] = "equation"
    caption: str
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Axis:
    """The name and range of an axis of a plot."""

    name: str
    low: float
    high: float
    log: bool = False
    percent: bool = False  # whether values are shares, which are shown in percent
    dates: bool = False  # whether values are days since 1970, which are shown as dates

    def place(self, value: float) -> float:
        """Return the position of a value, from 0 to 1."""
        low = self._scaled(self.low)
        span = self._scaled(self.high) - low
        return (self._scaled(value) - low) / (span or 1.0)

    def _scaled(self, value: float) -> float:
        return float(np.log(value)) if self.log else float(value)

    @property
    def ticks(self) -> tuple[tuple[float, str], ...]:
        """Positions and labels of the ticks."""
        if self.dates:
            return tuple((self.place(v), text) for v, text in date_ticks(self.low, self.high))
        candidates = self._log_candidates() if self.log else self._linear_candidates()
        margin = 1e-9 * (self.high - self.low or 1.0)
        inside = [v for v in candidates if self.low - margin <= v <= self.high + margin]
        step = max(1, int(np.ceil(len(inside) / 7)))
        values = inside[::step]
        labels = [100 * v if self.percent else v for v in values]
        digits = self._digits(labels)
        return tuple(
            (self.place(v), number(label, digits))
            for v, label in zip(values, labels, strict=True)
        )

    def _log_candidates(self) -> list[float]:
        """Return 1, 2 and 5 times the powers of ten that may be ticks of a logarithmic axis."""
        powers = 10.0 ** np.arange(-12, 13)
        return [float(v) for v in np.outer(powers, (1, 2, 5)).ravel()]

    def _linear_candidates(self) -> list[float]:
        step = self._step()
        multiples = np.arange(np.ceil(self.low / step), self.high / step + 1)
        return [float(v) for v in step * multiples]

    def _step(self) -> float:
        """Return the smallest step, 1, 2, 5 or 10 times a power of ten, for at most 6 steps."""
        span = self.high - self.low or 1.0
        power = float(10.0 ** np.floor(np.log10(span / 6)))
        return next(m * power for m in (1, 2, 5, 10) if span / (m * power) <= 6)

    def _digits(self, labels: list[float]) -> int:
        """Return the number of digits with which adjacent labels differ."""
        are_whole = all(label.is_integer() and abs(label) < 1e9 for label in labels)
        if self.log or are_whole:
            return 4  # enough, because integers are written without decimals
        step = self._step()
        largest = max(-self.low, self.high, step)
        return max(4, 2 + int(np.log10(largest / step)))


@dataclass(frozen=True, slots=True, eq=False)
class Series:
    """Points of a plot, drawn as dots, joined by a line, or filled as a band."""

    name: str
    shape: Literal["line", "band", "dots", "guide", "labels"]
    x: Values  # (n,)
    y: Values  # (n,)
    look: int = 0  # number of the colour and marker; −1 is the colour of text
    tips: tuple[str, ...] = ()  # tooltip of each point
    rows: tuple[str, ...] = ()  # id of the row of each point
    marked: tuple[int, ...] = ()  # positions of points to highlight
    upper: Values = ()  # y of the upper edge, for a band


@dataclass(frozen=True, slots=True, eq=False)
class Plot:
    """A plot, described by numbers."""

    kind: ClassVar[str] = "plot"
    key: str
    caption: str
    x: Axis
    y: Axis
    series: tuple[Series, ...]

    def across(self, value: float) -> str:
        """Return the horizontal position of a value in a drawing 440 units wide."""
        return f"{54 + 374 * self.x.place(value):.1f}"

    def down(self, value: float) -> str:
        """Return the vertical position of a value, from the top of a drawing 300 units high."""
        return f"{256 - 248 * self.y.place(value):.1f}"

    def path(self, series: Series) -> str:
        """Return a line, or the outline of a band, as an SVG path."""
        points = list(zip(series.x, series.y, strict=True))
        if len(series.upper):
            points.extend(zip(series.x[::-1], series.upper[::-1], strict=True))
        return "M" + "L".join(f"{self.across(x)} {self.down(y)}" for x, y in points)


@dataclass(frozen=True, slots=True, eq=False)
class Multiples:
    """Small plots next to each other, one for each class."""

    kind: ClassVar[str] = "multiples"
    caption: str
    plots: tuple[Plot, ...]


@dataclass(frozen=True, slots=True)
class Thresholds:
    """Hits and false alarms for each threshold on the posterior of the positive class."""

    kind: ClassVar[str] = "thresholds"
    positive: str
    n_positive: float
    n_negative: float
    auc: float
    thresholds: tuple[float, ...]  # ascending
    hits: tuple[float, ...]
    false_alarms: tuple[float, ...]
    start: int  # index of the threshold that is shown first
    counted: str = "rows"  # unit of hits and false alarms: "rows", or the weight of rows

    @property
    def precision(self) -> Axis:
        """The axis of precision, which ends at the highest precision of any threshold."""
        highest = 0.0
        for hits, false_alarms in zip(self.hits, self.false_alarms, strict=True):
            if hits:
                highest = max(highest, hits / (hits + false_alarms))
        return Axis("precision, %", 0.0, min(1.0, 1.1 * (highest or 1.0)), percent=True)


@dataclass(frozen=True, slots=True)
class Download:
    """A file embedded in the page."""

    kind: ClassVar[str] = "download"
    name: str
    what: str
    base64: str


@dataclass(frozen=True, slots=True)
class Code:
    """Code or a command to copy."""

    kind: ClassVar[str] = "code"
    caption: str
    language: str
    text: str


@dataclass(frozen=True, slots=True)
class Check:
    """A tested statement about the model, and the result of the test."""

    subject: str  # the tested statement: a sentence without its full stop
    question: str
    verdict: str
    answer: str
    tone: Tone

    @property
    def concerns_answer(self) -> bool:
        """Whether the error or the posteriors depend on this assumption."""
        return self.subject == CALIBRATION


@dataclass(frozen=True, slots=True)
class Checks:
    """A list of tested statements about the model."""

    kind: ClassVar[str] = "checks"
    items: tuple[Check, ...]


Block: TypeAlias = (
    Paragraph
    | Facts
    | DataTable
    | Matrix
    | Intervals
    | Equation
    | Plot
    | Multiples
    | Thresholds
    | Code
    | Download
    | Checks
)


@dataclass(frozen=True, slots=True)
class Section:
    """A section of the page: blocks under a heading, and folded blocks that can be opened."""

    key: str
    title: str
    blocks: tuple[Block, ...]
    details: tuple[Block, ...] = ()
    more: str = "More"  # label of the folded blocks
    is_folded: bool = False  # whether the whole section is folded

    @property
    def all_blocks(self) -> tuple[Block, ...]:
        """Open and folded blocks, in order."""
        return (*self.blocks, *self.details)
