"""Matplotlib's axes as one drawing that takes its inks from the page it stands on."""

from __future__ import annotations

import io
import re
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

MANY_POINTS = 400  # beyond which markers become pixels
DPI = 110
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_METADATA = re.compile(r"<metadata>.*?</metadata>", re.DOTALL)
_HEAD = re.compile(r"^.*?(?=<svg )", re.DOTALL)
_PLACES = re.compile(r' (?:d|x|y)="[^"]*"')  # hundredths of a point are enough there
_DIGITS = re.compile(r"(\d+\.\d\d)\d+")


def drawn(draw: Callable[[], Any], key: str) -> str:
    """Return what ``draw`` puts on its axes as SVG, and close the figure."""
    import matplotlib as mpl
    from matplotlib import pyplot

    salt: Any = {"svg.hashsalt": key, "svg.fonttype": "path"}
    with warnings.catch_warnings(), mpl.rc_context(salt):
        warnings.simplefilter("ignore")  # letters that the font lacks
        figure: Any = np.ravel(draw())[0].figure.figure
        try:
            _rasterise(figure)
            file = io.StringIO()
            nothing: Any = dict.fromkeys(("Date", "Creator", "Format", "Type"))
            figure.savefig(file, format="svg", transparent=True, dpi=DPI, metadata=nothing)
        finally:
            pyplot.close(figure)
    return themed(file.getvalue(), key)


def themed(text: str, key: str) -> str:
    """Return bare SVG whose inks follow the page, and whose names no other drawing has."""
    from suffice.plots.style import LIGHT

    bare = _HEAD.sub("", _METADATA.sub("", _COMMENT.sub("", text)))
    for name in ("ink", "soft", "grid", "ground", "accent"):
        colour = re.compile(getattr(LIGHT, name), re.IGNORECASE)
        bare = colour.sub(f"var(--figure-{name})", bare)
    bare = re.sub(r'\bid="', f'id="{key}-', bare)
    bare = re.sub(r'href="#', f'href="#{key}-', bare)
    bare = bare.replace("url(#", f"url(#{key}-")
    return _fitted(bare)


def _fitted(svg: str) -> str:
    """Return a drawing that is as wide as it was made, or as its page allows."""
    width, height = (float(v) for v in re.findall(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', svg)[0])
    spaces = 'xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink"'
    box = f'viewBox="0 0 {width:g} {height:g}" style="width:{width * 4 / 3:.0f}px"'
    sized = re.sub(r"<svg [^>]*>", f'<svg {spaces} {box} aria-hidden="true">', svg, count=1)
    short = _PLACES.sub(lambda match: _DIGITS.sub(r"\1", match[0]), sized)
    return re.sub(r"\s*\n\s*", "\n", short).strip()


def _rasterise(figure: Any) -> None:
    """Turn large clouds of points into pixels; lines and letters stay sharp."""
    for axes in figure.axes:
        marked = [line for line in axes.lines if line.get_marker() not in ("None", "", None)]
        clouds = [(line, len(line.get_xdata())) for line in marked]
        clouds += [(cloud, len(cloud.get_offsets())) for cloud in axes.collections]
        if sum(size for _, size in clouds) > MANY_POINTS:
            for cloud, size in clouds:
                cloud.set_rasterized(size > 1)
