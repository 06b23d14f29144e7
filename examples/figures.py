"""Make the images of docs/figures.md by running the code above each of them."""

from __future__ import annotations

import io
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
import matplotlib.pyplot as plt
from PIL import Image

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[1]
GALLERY = ROOT / "docs" / "figures.md"
PIECE = re.compile(r"```python\n(?P<code>.*?)```|!\[[^\]]*\]\((?P<image>[^)]+)\)", re.DOTALL)
MADE_ELSEWHERE = {"images/partially_tied.png"}


def gallery(text: str) -> Iterator[tuple[str, Any]]:
    """Yield the name of each image and the figure that the code before it makes."""
    names: dict[str, Any] = {}
    for piece in PIECE.finditer(text):
        if piece["code"]:
            exec(piece["code"], names)
        else:
            yield piece["image"], plt.gcf()
            plt.close("all")


def save(figure: Any, path: Path, **settings: Any) -> None:
    """Save a figure as a PNG file of at most 256 colours."""
    buffer = io.BytesIO()
    figure.savefig(buffer, dpi=100, **settings)
    Image.open(buffer).convert("RGB").quantize(256).save(path, optimize=True)


def main() -> None:
    """Save every image beside the page."""
    for name, figure in gallery(GALLERY.read_text()):
        if name not in MADE_ELSEWHERE:
            opaque = figure.get_facecolor()[3] > 0
            ground = "auto" if opaque else "white"
            save(figure, GALLERY.parent / name, facecolor=ground)


if __name__ == "__main__":
    mpl.use("Agg")
    sys.path.insert(0, str(ROOT))
    main()
