"""Axes in a style: made where none are given, dressed when the drawing is done."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import wraps
from typing import Any, Literal

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.transforms import ScaledTranslation, blended_transform_factory

from suffice.errors import InvalidParameterError
from suffice.plots.style import NO_LOOKS, Look, Palette, Style, Theme, style_of
from suffice.text.lists import shortened

SIZE = (5.6, 3.9)  # inches, legend included
SOLID: Any = {"size": (6.0, 4.4), "projection": "3d"}
MOST_ENTRIES = 12  # of a legend
WIDEST_NAME = 52  # letters beside an axis
GAP = 0.1  # inches under a strip


@dataclass(frozen=True, slots=True, eq=False)
class Canvas:
    """Axes, the style they are drawn in, and what the caller asked for beside."""

    ax: Any  # Axes, 3-D or not: matplotlib's stubs know less than it does
    style: Style
    is_new: bool = False
    has_legend: bool = True
    palette: Palette = NO_LOOKS  # of the classes

    def with_looks(self, classes: Any) -> Canvas:
        """Return the canvas with a look for each class, by its place."""
        return replace(self, palette=Palette.of(classes))

    def resize(self, width: float, height: float) -> None:
        """Give a new figure another size, in inches."""
        if self.is_new:
            self.ax.figure.set_size_inches(width, height)

    def name_axes(self, *names: str) -> None:
        """Write what each axis measures, dollar signs and all."""
        for axis, name in zip("xyz", names, strict=False):
            (short,) = shortened([name], WIDEST_NAME)
            getattr(self.ax, f"set_{axis}label")(short, parse_math=False)

    def curve(self, x: Any, y: Any, k: int, what: str, **options: Any) -> Any:
        """Draw a curve of class k in its colour and, of more than two, its dashes; return it."""
        look = self.palette.looks[k]
        dashes = look.line if len(self.palette) > 2 else "-"
        drawn = {"color": look.colour, "linestyle": dashes, "linewidth": 1.8} | options
        return self.ax.plot(x, y, label=f"_{what} {self.palette.labels[k]}", **drawn)[0]

    def dot(self, x: Any, y: Any, colour: str, size: float = 6, **options: Any) -> Any:
        """Draw one or several dots, edged in the colour of the page; return their handle."""
        drawn = {"linestyle": "none", "marker": "o", "zorder": 3} | options
        edge: Any = {"markeredgecolor": self.style.ground, "markersize": size, "color": colour}
        return self.ax.plot(x, y, **(edge | drawn))[0]

    def strip_above(self, height: float, title: str) -> Any:
        """Return small axes above these, ``height`` inches high, that share their x axis."""
        top = ScaledTranslation(0, 1, self.ax.transAxes)
        inches = self.ax.figure.dpi_scale_trans + top
        place = blended_transform_factory(self.ax.transAxes, inches)
        strip = self.ax.inset_axes((0, GAP, 1, height), transform=place, sharex=self.ax)
        strip.set_title(title, loc="left", fontsize=9, color=self.style.ink)
        self.style.dress(strip)
        strip.tick_params(axis="x", labelbottom=False, length=0)
        return strip

    def legend(self, entries: Sequence[tuple[Any, str]], title: str | None = None) -> None:
        """Write a legend, if asked for, beside the axes, or inside where there is no room."""
        if not self.has_legend:
            return
        beside = self.ax.figure.get_layout_engine() is not None
        place: dict[str, Any] = (
            {"loc": "upper left", "bbox_to_anchor": (1.01, 1.0), "borderaxespad": 0.0}
            if beside
            else {"loc": "best", "frameon": True, "framealpha": 0.8, "edgecolor": "none"}
        )
        inks = {"facecolor": self.style.ground, "labelcolor": self.style.ink}
        write_legend(self.ax, entries, title=title, alignment="left", **inks, **place)

    def legend_of_classes(
        self, *, extra: Sequence[tuple[Any, str]] = (), lines: bool = False
    ) -> None:
        """Write a legend of the classes, the first few of many, and of anything else drawn."""
        self.legend([*class_entries(self, lines=lines), *extra])


@contextmanager
def drawing(
    ax: Axes | None,
    theme: Theme,
    size: tuple[float, float] = SIZE,
    *,
    projection: Literal["3d"] | None = None,
    legend: bool = True,
) -> Iterator[Canvas]:
    """Draw on ``ax``, or on new axes, leaving matplotlib's settings alone."""
    style, is_new = style_of(theme), ax is None
    with style.context():
        if ax is None:
            figure = plt.figure(figsize=size, layout="constrained")
            ax = figure.add_subplot(projection=projection)
        if projection and not hasattr(ax, "zaxis"):
            msg = "this figure is 3-D: make the axes with projection='3d', or pass ax=None"
            raise InvalidParameterError(msg)
        try:
            yield Canvas(ax, style, is_new, legend)
        except Exception:
            if is_new:
                plt.close(figure)
            raise
        style.dress(ax)


# what is asked of the looks of a figure
LOOKS: dict[str, Any] = {"legend": True, "theme": "light", "ax": None}
# parameters of many figures: their documentation is written once, and added to that of each
MEANINGS = {
    "estimator": ("fitted classifier", "Ours, or any of scikit-learn."),
    "source": (
        "fitted classifier or Predictions",
        "What is judged, best on rows that were not learnt from; a classifier is asked about X.",
    ),
    "X": ("array or frame (n, d)", "Rows, of the kind the classifier was fitted on."),
    "label": (
        "object, optional",
        "The class to be found; by default the second of two, or each of several.",
    ),
    "feature": (
        "name or index, optional",
        "The feature that varies; by default the only one, or the first discriminant coordinate.",
    ),
    "y": ("array (n,)", "Their labels."),
    "sample_weight": ("array (n,), optional", "Weights of the rows, with a classifier."),
    "features": ("two names or indices", "The features to draw over; others are integrated out."),
    "at": (
        "array (d,), optional",
        "Where features that are not drawn are held; by default at the mean of the rows.",
    ),
    "resolution": ("int", "Points along each side."),
    "legend": ("bool", "Whether to write what is drawn beside the axes."),
    "theme": ('{"light", "dark"}', "Colours of text and lines."),
    "ax": ("Axes, optional", "Where to draw; by default on a new figure."),
}
EXAMPLE = """Examples
--------
>>> import suffice as sf
>>> from sklearn.datasets import load_iris
>>> X, y = load_iris(return_X_y=True)
"""


def figure(
    *looks: str,
    of: Callable[..., Any] | None = None,
    size: tuple[float, float] = SIZE,
    projection: Literal["3d"] | None = None,
) -> Callable[[Callable[..., None]], Callable[..., Axes]]:
    """Turn a function that draws on a canvas into one that makes the canvas and returns axes.

    To its parameters are added ``theme``, ``ax`` and those of ``LOOKS`` that are named, and to its
    documentation whatever ``MEANINGS`` says of parameters it does not explain itself. ``of`` reads
    its own parameters, the first ones of the figure, as what is drawn, one value with classes.
    """
    asked_for = (*looks, "theme", "ax")
    read = list(inspect.signature(of).parameters.values()) if of else []

    def turned(draw: Callable[..., None]) -> Callable[..., Axes]:
        own = list(inspect.signature(draw).parameters.values())[2 if of else 1 :]
        kind = inspect.Parameter.KEYWORD_ONLY
        added = [inspect.Parameter(name, kind, default=LOOKS[name]) for name in asked_for]
        parameters = sorted([*read, *own, *added], key=lambda p: p.kind)
        signature = inspect.Signature(parameters)

        @wraps(draw)
        def drawn(*args: Any, **options: Any) -> Axes:
            try:
                given = signature.bind(*args, **options).arguments
            except TypeError as error:
                raise TypeError(f"{draw.__name__}() {error}") from None
            asked = {name: given.pop(name, LOOKS[name]) for name in asked_for}
            with drawing(size=size, projection=projection, **asked) as canvas:
                if of is None:
                    draw(canvas, **given)
                else:
                    subject = of(**{p.name: given.pop(p.name) for p in read if p.name in given})
                    draw(canvas.with_looks(subject.classes), subject, **given)
            axes: Axes = canvas.ax
            return axes

        drawn.__signature__ = signature  # type: ignore[attr-defined]
        drawn.__doc__ = _documented(draw.__doc__ or "", [p.name for p in parameters])
        return drawn

    return turned


def documented(draw: Callable[..., Any]) -> Callable[..., Any]:
    """Add to the documentation of a figure whatever ``MEANINGS`` says of its parameters."""
    draw.__doc__ = _documented(draw.__doc__ or "", list(inspect.signature(draw).parameters))
    return draw


def _documented(doc: str, names: list[str]) -> str:
    """Return numpydoc text with the parameters that it leaves out, and the rows of its example."""
    text = inspect.cleandoc(doc).replace("Examples\n--------\n", EXAMPLE)
    head, after = re.split(r"^(?=References\n|Examples\n)", text, maxsplit=1, flags=re.M)
    head, _, said = head.partition("Parameters\n----------\n")
    own = re.findall(r"^\w.*\n(?: .*\n)*", said, flags=re.M)
    told = re.findall(r"\w+", " ".join(entry.partition(" : ")[0] for entry in own))
    shared = ["{} : {}\n    {}\n".format(n, *MEANINGS[n]) for n in names if n not in told]
    entries = sorted([*own, *shared], key=lambda entry: names.index(re.split(r"\W", entry)[0]))
    return f"{head}Parameters\n----------\n{''.join(entries)}\n{after}"


def new_axes(ax: Any) -> Any:
    """Return ``ax``, or new axes in matplotlib's own style."""
    return plt.subplots(layout="constrained")[1] if ax is None else ax


def class_entries(canvas: Canvas, *, lines: bool = False) -> list[tuple[Any, str]]:
    """Return handles and names of the classes, the first few of many."""
    make, palette = class_line if lines else class_marker, canvas.palette
    shown = len(palette) if len(palette) <= MOST_ENTRIES else MOST_ENTRIES - 1
    handles = [make(look, canvas.style) for look in palette.looks[:shown]]
    entries: list[tuple[Any, str]] = list(zip(handles, palette.names, strict=False))
    if shown < len(palette):
        entries.append((nothing(), f"… and {len(palette) - shown} more"))
    return entries


def class_marker(look: Look, style: Style) -> Line2D:
    """Return the handle of a class drawn as points."""
    edge: Any = {"markeredgecolor": style.ground, "markeredgewidth": 0.5, "markersize": 6}
    return Line2D([], [], linestyle="none", marker=look.marker, markerfacecolor=look.colour, **edge)


def class_line(look: Look, style: Style) -> Line2D:  # noqa: ARG001  one signature with class_marker
    """Return the handle of a class drawn as a curve."""
    return Line2D([], [], color=look.colour, linestyle=look.line)


def write_legend(where: Any, entries: Sequence[tuple[Any, str]], **options: Any) -> None:
    """Write a legend on axes or a figure, names as they are: underscores, dollar signs and all."""
    # a name that starts with an underscore would be left out: a thin space stands before it
    names = [f"\u2009{name}" if name.startswith("_") else name for _, name in entries]
    handles = [handle for handle, _ in entries]
    for text in where.legend(handles, names, **{"handlelength": 1.8} | options).get_texts():
        text.set_parse_math(False)


def nothing() -> Line2D:
    """Return the handle of what is not drawn."""
    return Line2D([], [], linestyle="none")
