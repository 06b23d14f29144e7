"""Make the images of pages of the documentation by running the code above each of them.

``python examples/figures.py`` makes those of the gallery and of the course, ``python
examples/figures.py docs/course/04-one-feature.md`` those of one page.
"""

from __future__ import annotations

import doctest
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
PAGES = [ROOT / "docs" / "figures.md", *sorted((ROOT / "docs" / "course").glob("[0-9]*.md"))]
# a block of code, and the image below it, or the one at the top of the page that it draws
PIECE = re.compile(
    r"```py\w*\n(?P<code>.*?)```|!\[[^\]]*\]\((?P<below>[^)]+)\)|<!-- draws (?P<above>\S+) -->",
    re.DOTALL,
)
MADE_ELSEWHERE = {"images/partially_tied.png"}


def source_of(code: str) -> str:
    """Return the lines of a block of Python or of a session ``>>>``."""
    if not code.lstrip().startswith(">>>"):
        return code
    return "".join(each.source for each in doctest.DocTestParser().get_examples(code))


def gallery(text: str) -> Iterator[tuple[str, Any]]:
    """Yield the name of each image of a page and the figure that the code before it makes."""
    names: dict[str, Any] = {}
    for piece in PIECE.finditer(text):
        if piece["code"]:
            exec(source_of(piece["code"]), names)
        elif plt.get_fignums():
            yield piece["below"] or piece["above"], plt.gcf()
            plt.close("all")


def save(figure: Any, path: Path, **settings: Any) -> None:
    """Save a figure as a PNG file of at most 256 colours."""
    buffer = io.BytesIO()
    figure.savefig(buffer, dpi=100, **settings)
    Image.open(buffer).convert("RGB").quantize(256).save(path, optimize=True)


def main(pages: list[Path]) -> None:
    """Save every image of some pages beside them."""
    for page in pages:
        for name, figure in gallery(page.read_text()):
            if name not in MADE_ELSEWHERE:
                ground = "auto" if figure.get_facecolor()[3] > 0 else "white"
                save(figure, page.parent / name, facecolor=ground)


if __name__ == "__main__":
    mpl.use("Agg")
    sys.path.insert(0, str(ROOT))
    main([Path(name).resolve() for name in sys.argv[1:]] or PAGES)
