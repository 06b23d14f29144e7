"""Blocks of a report: frozen values that every renderer can write."""

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
    )  # the numbers in the text that no other field has


@dataclass(frozen=True, slots=True)
class Fact:
    """One number with its name and what it means."""

    name: str
    value: float | str
    remark: str = ""
    style: str = "text"


@dataclass(frozen=True, slots=True)
class Facts:
    """The numbers that a reader looks for first."""

    kind: ClassVar[str] = "facts"
    items: tuple[Fact, ...]


@dataclass(frozen=True, slots=True)
class DataTable:
    """A table with named columns; cells are raw values, formatted by the style of their column."""

    kind: ClassVar[str] = "table"
    caption: str
    columns: tuple[str, ...]
    styles: tuple[str, ...]  # keys of text.numbers.STYLES
    rows: tuple[tuple[Cell, ...], ...]
    note: str = ""
    marked: tuple[int, ...] = ()  # rows to highlight
    linked: bool = False  # whether the first cell identifies a row that plots show, too


@dataclass(frozen=True, slots=True)
class Matrix:
    """A number for each pair of classes: a count of confusions, or a distance."""

    kind: ClassVar[str] = "matrix"
    caption: str
    classes: tuple[str, ...]
    counts: tuple[tuple[float, ...], ...]  # [truth][prediction]
    note: str = ""
    distances: bool = False  # whether small numbers matter most

    def share(self, row: int, column: int) -> float:
        """Return the share of the true class in a cell; for distances, the nearness."""
        count = self.counts[row][column]
        if self.distances:
            farthest = max(map(max, self.counts)) or 1.0
            return 1 - count / farthest
        total = sum(self.counts[row])
        return count / total if total else 0.0


@dataclass(frozen=True, slots=True)
class Interval:
    """One line of ``Intervals``: a bar from zero, or a dot with its interval."""

    name: str
    value: float
    remark: str = ""
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True)
class Intervals:
    """A table of named numbers with a bar, or a dot and its interval, in each row."""

    kind: ClassVar[str] = "intervals"
    caption: str
    axis: str
    style: str
    items: tuple[Interval, ...]
    note: str = ""

    def place(self, value: float) -> float:
        """Return the position of a value, in percent of the width."""
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
    """An axis of a plot: its name and range."""

    name: str
    low: float
    high: float
    log: bool = False
    percent: bool = False  # whether values are shares, shown in percent
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
        """Return 1, 2 and 5 times the powers of ten."""
        powers = 10.0 ** np.arange(-12, 13)
        return [float(v) for v in np.outer(powers, (1, 2, 5)).ravel()]

    def _linear_candidates(self) -> list[float]:
        step = self._step()
        multiples = np.arange(np.ceil(self.low / step), self.high / step + 1)
        return [float(v) for v in step * multiples]

    def _step(self) -> float:
        """Return the smallest of 1, 2, 5 or 10 times a power of ten that gives at most 6 steps."""
        span = self.high - self.low or 1.0
        power = float(10.0 ** np.floor(np.log10(span / 6)))
        return next(m * power for m in (1, 2, 5, 10) if span / (m * power) <= 6)

    def _digits(self, labels: list[float]) -> int:
        """Return the number of digits that distinguish adjacent labels."""
        are_whole = all(label.is_integer() and abs(label) < 1e9 for label in labels)
        if self.log or are_whole:
            return 4  # integers are written without decimals
        step = self._step()
        largest = max(-self.low, self.high, step)
        return max(4, 2 + int(np.log10(largest / step)))


@dataclass(frozen=True, slots=True, eq=False)
class Series:
    """Points of a plot: joined by a line, filled as a band, or drawn as dots."""

    name: str
    shape: Literal["line", "band", "dots", "guide", "labels"]
    x: Values  # (n,)
    y: Values  # (n,)
    look: int = 0  # index of the colour and marker; −1 is the text colour
    tips: tuple[str, ...] = ()  # tooltip of each point
    rows: tuple[str, ...] = ()  # key of each point's row
    marked: tuple[int, ...] = ()  # points to highlight
    upper: Values = ()  # the other edge of a band


@dataclass(frozen=True, slots=True, eq=False)
class Plot:
    """A plot as numbers."""

    kind: ClassVar[str] = "plot"
    key: str
    caption: str
    x: Axis
    y: Axis
    series: tuple[Series, ...]

    def across(self, value: float) -> str:
        """Return the x position of a value in a drawing 440 wide."""
        return f"{54 + 374 * self.x.place(value):.1f}"

    def down(self, value: float) -> str:
        """Return the y position of a value in a drawing 300 high, from the top."""
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
    """Hits and false alarms, by the threshold on the posterior of the positive class."""

    kind: ClassVar[str] = "thresholds"
    positive: str
    n_positive: float
    n_negative: float
    auc: float
    thresholds: tuple[float, ...]  # ascending
    hits: tuple[float, ...]
    false_alarms: tuple[float, ...]
    start: int  # index of the threshold that is shown first
    counted: str = "rows"  # "rows", or the weight of rows

    @property
    def precision(self) -> Axis:
        """The axis of precision, up to the highest precision of any threshold."""
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
    """A question about the model, and the answer."""

    subject: str  # what is tested: a sentence without its full stop
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
    """A list of questions about the model."""

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
    """Blocks under a heading, and further blocks that a reader can unfold."""

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
