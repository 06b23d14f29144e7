"""What a report is made of: frozen blocks that every renderer knows how to write."""

from dataclasses import dataclass
from typing import Any, ClassVar, Literal, TypeAlias

Tone: TypeAlias = Literal["plain", "lead", "note", "good", "caution"]
CellStyle: TypeAlias = Literal[
    "text", "count", "number", "short", "loss", "percent", "p", "seconds"
]


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
    value: str
    remark: str = ""


@dataclass(frozen=True, slots=True)
class Notes:
    """Remarks that few readers need: folded away where that is possible."""

    kind: ClassVar[str] = "notes"
    title: str
    items: tuple[str, ...]


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
    styles: tuple[CellStyle, ...]
    rows: tuple[tuple[Any, ...], ...]
    note: str = ""
    marked: tuple[int, ...] = ()  # rows to be seen first


@dataclass(frozen=True, slots=True)
class Matrix:
    """How often each true class was taken for each class."""

    kind: ClassVar[str] = "matrix"
    caption: str
    classes: tuple[str, ...]
    counts: tuple[tuple[float, ...], ...]  # [truth][prediction]

    def share(self, row: int, column: int) -> float:
        """Return the share of a true class in a cell."""
        total = sum(self.counts[row])
        return self.counts[row][column] / total if total else 0.0


@dataclass(frozen=True, slots=True)
class Equation:
    """Lines of mathematics in plain letters."""

    kind: ClassVar[str] = "equation"
    caption: str
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Figure:
    """A drawing, and the same in words for those who cannot see it."""

    kind: ClassVar[str] = "figure"
    key: str
    caption: str
    alt: str
    svg: str
    wide: bool = False


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
    Paragraph | Notes | Facts | DataTable | Matrix | Equation | Figure | Code | Checks
)


@dataclass(frozen=True, slots=True)
class Section:
    """Blocks under one heading."""

    key: str
    title: str
    blocks: tuple[Block, ...]
