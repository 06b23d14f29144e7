"""Axes in a style: made where none are given, dressed when the drawing is done."""

import inspect
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import wraps
from typing import Any, Literal, TypeAlias

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.transforms import ScaledTranslation, blended_transform_factory

from suffice.core.text.lists import shortened
from suffice.errors import InvalidParameterError
from suffice.present.plots.style import Look, Style, Theme, looks_of, style_of

SIZE = (5.6, 3.9)  # inches, legend included
SOLID: Any = {"size": (6.0, 4.4), "projection": "3d"}
MOST_ENTRIES = 12  # of a legend
WIDEST_NAME = 52  # letters beside an axis
GAP = 0.1  # inches under a strip
NOTHING = Line2D([], [], linestyle="none")  # the handle of what is not drawn
Entry: TypeAlias = tuple[Any, str]
Entries: TypeAlias = Sequence[tuple[Any, str]]  # of a legend: handles and names


@dataclass(frozen=True, slots=True, eq=False)
class Canvas:
    """Axes, the style they are drawn in, and what the caller asked for beside."""

    ax: Any  # Axes, 3-D or not: matplotlib's stubs know less than it does
    style: Style
    is_new: bool = False
    has_legend: bool = True
    looks: tuple[Look, ...] = ()  # of the classes, by their place

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
        look = self.looks[k]
        dashes = look.line if len(self.looks) > 2 else "-"
        drawn = {"color": look.colour, "linestyle": dashes, "linewidth": 1.8} | options
        return self.ax.plot(x, y, label=f"_{what} {look.label}", **drawn)[0]

    def dot(self, x: Any, y: Any, colour: str, size: float = 6, **options: Any) -> Any:
        """Draw one or several dots, edged in the colour of the page; return their handle."""
        drawn = {"linestyle": "none", "marker": "o", "zorder": 3} | options
        edge: Any = {"markeredgecolor": self.style.ground, "markersize": size, "color": colour}
        return self.ax.plot(x, y, **(edge | drawn))[0]

    def strip_above(self, height: float, title: str) -> Any:
        """Return small axes above these, ``height`` inches high, that share their x axis."""
        inches = self.ax.figure.dpi_scale_trans + ScaledTranslation(0, 1, self.ax.transAxes)
        place = blended_transform_factory(self.ax.transAxes, inches)
        strip = self.ax.inset_axes((0, GAP, 1, height), transform=place, sharex=self.ax)
        strip.set_title(title, loc="left", fontsize=9, color=self.style.ink)
        self.style.dress(strip)
        strip.tick_params(axis="x", labelbottom=False, length=0)
        return strip

    def legend(self, entries: Entries, title: str | None = None) -> None:
        """Write a legend, if asked for, beside the axes, or inside where there is no room."""
        if not self.has_legend:
            return
        place: Any = {"loc": "best", "frameon": True, "framealpha": 0.8, "edgecolor": "none"}
        if self.ax.figure.get_layout_engine() is not None:
            place = {"loc": "upper left", "bbox_to_anchor": (1.01, 1.0), "borderaxespad": 0.0}
        place |= {"facecolor": self.style.ground, "title": title, "alignment": "left"}
        write_legend(self.ax, entries, self.style, **place)

    def entries(self, *, lines: bool = False) -> list[tuple[Any, str]]:
        """Return handles and names of the classes for a legend, the first few of many."""
        edge = {"markeredgecolor": self.style.ground, "markeredgewidth": 0.5, "markersize": 6}
        shown = self.looks[: None if len(self.looks) <= MOST_ENTRIES else MOST_ENTRIES - 1]
        found: list[tuple[Any, str]] = []
        for look in shown:
            dot = {"linestyle": "none", "marker": look.marker, **edge}
            how: Any = {"linestyle": look.line} if lines else dot
            found.append((Line2D([], [], color=look.colour, **how), look.name))
        if len(shown) < len(self.looks):
            found.append((NOTHING, f"… and {len(self.looks) - len(shown)} more"))
        return found


def write_legend(where: Any, entries: Entries, style: Style, **options: Any) -> None:
    """Write a legend on axes or a figure, names as they are: underscores, dollar signs and all."""
    # a name that starts with an underscore would be left out: a thin space stands before it
    names = [f"\u2009{name}" if name.startswith("_") else name for _, name in entries]
    look = {
        "handlelength": 1.8,
        "labelcolor": style.ink,
        "loc": "outside right upper",
    } | options
    for text in where.legend([handle for handle, _ in entries], names, **look).get_texts():
        text.set_parse_math(False)


@contextmanager
def canvas_grid(
    theme: Theme,
    size: tuple[float, float],
    shape: tuple[int, int],
    classes: Any = (),
    **how: Any,
) -> Iterator[Any]:
    """Yield an array of canvases in a new figure."""
    style, looks = style_of(theme), looks_of(classes)
    with style.context():
        axes = plt.figure(figsize=size, layout="constrained").subplots(
            *shape, squeeze=False, **how
        )
        for ax in axes.flat:
            style.dress(ax)
        yield np.array([[Canvas(ax, style, looks=looks) for ax in line] for line in axes])


# what is asked of the looks of a figure
LEAST = {"most": 1, "resolution": 2}  # what figures take
LOOKS: dict[str, Any] = {"legend": True, "theme": "light", "ax": None}
# parameters of many figures: their documentation is written once, and added to that of each
MEANINGS = {
    "estimator": ("fitted classifier", "Ours, or any of scikit-learn."),
    "source": (
        "fitted classifier or Predictions",
        "What is judged; best on rows not learnt from.",
    ),
    "X": ("array or frame (n, d)", "Rows, of the kind the classifier was fitted on."),
    "label": (
        "object, optional",
        "The class; by default the second of two, or each of several.",
    ),
    "feature": (
        "name or index, optional",
        "By default the only one, or the first discriminant.",
    ),
    "y": ("array (n,)", "Their labels."),
    "sample_weight": ("array (n,), optional", "Weights of the rows, with a classifier."),
    "features": (
        "two names or indices",
        "The features to draw over; others are integrated out.",
    ),
    "at": ("array (d,), optional", "Where other features are held; by default at their mean."),
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
    """Turn a function that draws on a canvas into one that makes the canvas and returns axes."""
    # to its parameters are added ``theme``, ``ax`` and those of ``LOOKS`` that are named, and to
    # its documentation whatever ``MEANINGS`` says of parameters it does not explain itself. ``of``
    # reads its own parameters, the first ones of the figure, as what is drawn, with classes.
    asked_for = (*looks, "theme", "ax")
    read = list(inspect.signature(of).parameters.values()) if of else []

    def turned(draw: Callable[..., None]) -> Callable[..., Axes]:
        own = list(inspect.signature(draw).parameters.values())[2 if of else 1 :]
        kind = inspect.Parameter.KEYWORD_ONLY
        added = [inspect.Parameter(name, kind, default=LOOKS[name]) for name in asked_for]
        signature = inspect.Signature(sorted([*read, *own, *added], key=lambda p: p.kind))

        @wraps(draw)
        def drawn(*args: Any, **options: Any) -> Any:
            try:
                given = signature.bind(*args, **options).arguments
            except TypeError as error:
                raise TypeError(f"{draw.__name__}() {error}") from None
            for name in {*LEAST} & {*given}:
                if not (
                    isinstance(given[name], (int, np.integer)) and given[name] >= LEAST[name]
                ):
                    said = f"expected a whole number of at least {LEAST[name]}"
                    raise InvalidParameterError(f"{name}={given[name]!r}: {said}")
            asked = {name: given.pop(name, LOOKS[name]) for name in asked_for}
            with _drawing(size=size, projection=projection, **asked) as canvas:
                if of is None:
                    draw(canvas, **given)
                else:
                    subject = of(
                        **{p.name: given.pop(p.name) for p in read if p.name in given}
                    )
                    draw(replace(canvas, looks=looks_of(subject.classes)), subject, **given)
            return canvas.ax

        drawn.__signature__ = signature  # type: ignore[attr-defined]
        return documented(drawn)

    return turned


@contextmanager
def _drawing(
    ax: Any,
    theme: Theme,
    size: Any,
    projection: Any,
    *,
    legend: bool = True,
) -> Iterator[Canvas]:
    """Draw on ``ax``, or on new axes, leaving matplotlib's settings alone."""
    style, made = style_of(theme), None
    with style.context():
        if ax is None:
            made = plt.figure(figsize=size, layout="constrained")
            ax = made.add_subplot(projection=projection)
        if projection and not hasattr(ax, "zaxis"):
            msg = "this figure is 3-D: make the axes with projection='3d', or pass ax=None"
            raise InvalidParameterError(msg)
        try:
            yield Canvas(ax, style, made is not None, legend)
        except Exception:
            if made is not None:
                plt.close(made)
            raise
        style.dress(ax)


def documented(draw: Callable[..., Any]) -> Callable[..., Any]:
    """Add to the documentation of a figure what it leaves out: parameters, rows of its example."""
    names = list(inspect.signature(draw).parameters)
    text, _, example = inspect.cleandoc(draw.__doc__ or "").partition("Examples\n--------\n")
    head, _, said = text.partition("Parameters\n----------\n")
    own = re.findall(r"^\w.*\n(?: .*\n)*", said, flags=re.M)
    told = re.findall(r"\w+", " ".join(entry.partition(" : ")[0] for entry in own))
    shared = ["{} : {}\n    {}\n".format(n, *MEANINGS[n]) for n in names if n not in told]
    entries = sorted([*own, *shared], key=lambda entry: names.index(re.split(r"\W", entry)[0]))
    draw.__doc__ = f"{head}Parameters\n----------\n{''.join(entries)}\n{EXAMPLE}{example}"
    return draw
