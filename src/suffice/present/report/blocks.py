"""What a report is made of: frozen blocks that every renderer knows how to write."""

from dataclasses import dataclass
from typing import Any, ClassVar, Literal, TypeAlias

import numpy as np

from suffice.core.text.numbers import number

Tone: TypeAlias = Literal["plain", "lead", "note", "good", "caution", "yes", "with care", "no"]


@dataclass(frozen=True, slots=True)
class Paragraph:
    """A paragraph."""

    kind: ClassVar[str] = "text"
    text: str
    tone: Tone = "plain"


@dataclass(frozen=True, slots=True)
class Fact:
    """One number with its name and what it means."""

    name: str
    value: Any
    remark: str = ""
    style: str = "text"


@dataclass(frozen=True, slots=True)
class Facts:
    """The numbers a reader looks for first."""

    kind: ClassVar[str] = "facts"
    items: tuple[Fact, ...]


@dataclass(frozen=True, slots=True)
class DataTable:
    """Rows under named columns; cells are raw values, written in the style of their column."""

    kind: ClassVar[str] = "table"
    caption: str
    columns: tuple[str, ...]
    styles: tuple[str, ...]  # keys of text.numbers.STYLES
    rows: tuple[tuple[Any, ...], ...]
    note: str = ""
    marked: tuple[int, ...] = ()  # rows to be seen first
    linked: bool = False  # whether the first cell names a row that plots show too


@dataclass(frozen=True, slots=True)
class Matrix:
    """A number for each pair of classes: how often one is taken for the other, or how far off."""

    kind: ClassVar[str] = "matrix"
    caption: str
    classes: tuple[str, ...]
    counts: tuple[tuple[float, ...], ...]  # [truth][prediction]
    note: str = ""
    distances: bool = False  # whether small numbers are what matters

    def share(self, row: int, column: int) -> float:
        """Return the share of a true class in a cell; of distances, how near they are."""
        if self.distances:
            return 1 - self.counts[row][column] / (max(map(max, self.counts)) or 1.0)
        total = sum(self.counts[row])
        return self.counts[row][column] / total if total else 0.0


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
    """Numbers by name as a table that draws itself: bars, or dots with their intervals."""

    kind: ClassVar[str] = "intervals"
    caption: str
    axis: str
    style: str
    items: tuple[Interval, ...]
    note: str = ""

    def place(self, value: float) -> float:
        """Return where a value lies, in percent of the width."""
        known = [v for i in self.items for v in (i.value, i.low, i.high) if v is not None]
        low, high = min(0.0, *known), 1.0 if self.style == "percent" else max(0.0, *known)
        return 100 * (value - low) / (high - low or 1.0)


@dataclass(frozen=True, slots=True)
class Equation:
    """Lines of mathematics in plain letters."""

    kind: ClassVar[str] = "equation"
    caption: str
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Axis:
    """What one direction of a plot measures, from where to where."""

    name: str
    low: float
    high: float
    log: bool = False
    percent: bool = False  # whether numbers are shares, and read in percent

    def place(self, value: float) -> float:
        """Return where a value lies, from 0 to 1."""
        to = np.log if self.log else float
        return float((to(value) - to(self.low)) / ((to(self.high) - to(self.low)) or 1.0))

    @property
    def ticks(self) -> tuple[tuple[float, str], ...]:
        """Places and numbers, few enough to be read."""
        span, digits = self.high - self.low or 1.0, 4
        if self.log:
            at = np.outer(10.0 ** np.arange(-12, 13), (1, 2, 5)).ravel()
        else:
            power = 10.0 ** np.floor(np.log10(span / 6))
            step = next(m * power for m in (1, 2, 5, 10) if span / (m * power) <= 6)
            at = step * np.arange(np.ceil(self.low / step), self.high / step + 1)
            # so many digits tell neighbours apart
            digits = max(digits, 2 + int(np.log10(max(-self.low, self.high, step) / step)))
        inside = [v for v in at if self.low - 1e-9 * span <= v <= self.high + 1e-9 * span]
        few = [float(v) for v in inside[:: -(-len(inside) // 7) or 1]]
        told = [100 * v if self.percent else v for v in few]
        if all(v.is_integer() and abs(v) < 1e9 for v in told):
            digits = 4  # whole numbers are told whole
        return tuple(
            (self.place(v), number(t, digits)) for v, t in zip(few, told, strict=True)
        )


@dataclass(frozen=True, slots=True, eq=False)
class Series:
    """Points of a plot, joined by a line, filled as a band or drawn one by one."""

    name: str
    shape: Literal["line", "band", "dots", "guide", "labels"]
    x: Any  # (n,)
    y: Any  # (n,)
    look: int = 0  # place of its colour and marker; −1 is that of text
    tips: tuple[str, ...] = ()  # what each point says
    rows: tuple[str, ...] = ()  # what each point's row is found by
    marked: tuple[int, ...] = ()  # points to be seen first
    upper: Any = ()  # of a band: its other edge


@dataclass(frozen=True, slots=True, eq=False)
class Plot:
    """A drawing as numbers."""

    kind: ClassVar[str] = "plot"
    key: str
    caption: str
    x: Axis
    y: Axis
    series: tuple[Series, ...]

    def across(self, value: float) -> str:
        """Return where a value lies from the left of a drawing 440 wide."""
        return f"{54 + 374 * self.x.place(value):.1f}"

    def down(self, value: float) -> str:
        """Return where a value lies from the top of a drawing 300 high."""
        return f"{256 - 248 * self.y.place(value):.1f}"

    def path(self, s: Series) -> str:
        """Return a line, or the outline of a band, as SVG draws it."""
        edge = [*zip(s.x, s.y, strict=True), *zip(s.x[::-1], s.upper[::-1], strict=False)]
        return "M" + "L".join(f"{self.across(x)} {self.down(y)}" for x, y in edge)


@dataclass(frozen=True, slots=True)
class Thresholds:
    """What is found and what is a false alarm, by the posterior from which a class is called."""

    kind: ClassVar[str] = "thresholds"
    positive: str
    n_positive: float
    n_negative: float
    auc: float
    thresholds: tuple[float, ...]  # rising
    hits: tuple[float, ...]
    false_alarms: tuple[float, ...]
    start: int  # place of the threshold that is shown first
    counted: str = "rows"  # or the weight of rows

    @property
    def precision(self) -> Axis:
        """The axis of precision, as far as any threshold reaches."""
        rates = [h / (h + a) for h, a in zip(self.hits, self.false_alarms, strict=True) if h]
        return Axis("precision, %", 0.0, min(1.0, 1.1 * max(rates, default=1.0)), percent=True)


@dataclass(frozen=True, slots=True)
class Download:
    """A file that the page carries."""

    kind: ClassVar[str] = "download"
    name: str
    what: str
    base64: str


@dataclass(frozen=True, slots=True)
class Code:
    """Something to copy."""

    kind: ClassVar[str] = "code"
    caption: str
    language: str
    text: str


@dataclass(frozen=True, slots=True)
class Check:
    """A question about the model, and the answer."""

    question: str
    verdict: str
    answer: str
    tone: Tone


@dataclass(frozen=True, slots=True)
class Checks:
    """Questions about the model, one under the other."""

    kind: ClassVar[str] = "checks"
    items: tuple[Check, ...]


Block: TypeAlias = (
    Paragraph | Facts | DataTable | Matrix | Intervals | Equation | Plot | Thresholds
) | (Code | Download | Checks)


@dataclass(frozen=True, slots=True)
class Section:
    """Blocks under one heading."""

    key: str
    title: str
    blocks: tuple[Block, ...]
