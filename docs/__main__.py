"""Build the site, or build and serve it: ``python -m docs build``, ``python -m docs serve``.

Pages are staged in ``build/docs``: those of this folder, the README as the first page, the
changelog, the API reference written from docstrings, and the lab. Nothing is fetched from anywhere.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pandas as pd

import suffice as sf
from docs import reference
from docs.formulas import with_formulas
from suffice.present import lab

ROOT = Path(__file__).parents[1]
STAGED = ROOT / "build" / "docs"
# fenced blocks, headings, spans of code, targets of links and tags stay as they are
CODE = re.compile(
    r"(^ *```.*?^ *```|^#.*?$|<math.*?</math>|`[^`\n]+`|\]\([^)]*\)|<[^>\n]+>)",
    re.MULTILINE | re.DOTALL,
)
# in the repository a link to a scene of the lab leads to the page that tells how to open it
LAB_SCENE = re.compile(r"lab\.md\?scene=")
# the steps of a lesson through the lab: "1. [One neighbour](../lab.md?scene=problem). It makes"
WALK = re.compile(
    r"^## In the lab\n\n"
    r"(?P<steps>1\. \[[^]]*\]\([./]*lab\.md\?scene=(?P<scene>\w+).*\n(?:\d\. .*\n)*)",
    re.MULTILINE,
)
SUBSCRIPT = re.compile(
    r"(?<![A-Za-z0-9_.])([A-Za-zα-ωΑ-Ω]²?|max|min|argmax)_"
    r"(?:\{([^}_]+|[a-z]_[a-z])\}|([a-z0-9⊥]+))(?![A-Za-z0-9_])"
)


# the picture of a report in the README, which the site replaces by the report
REPORT = re.compile(r"!\[[^]]*\]\(images/report\.png\)")


def stage(folder: Path = STAGED, report: str | None = None) -> Path:
    """Write every page of the site, and what they show, to a folder; return it.

    With the page of a report, the first page shows it in place of its picture.
    """
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(
        ROOT / "docs", folder, ignore=shutil.ignore_patterns("*.py", "__pycache__")
    )
    readme = (ROOT / "README.md").read_text()
    (folder / "index.md").write_text(readme.replace("](docs/", "]("))
    changes = (ROOT / "CHANGELOG.md").read_text()
    (folder / "changelog.md").write_text(changes.replace("](docs/", "]("))
    shutil.copy(ROOT / "SECURITY.md", folder / "security.md")
    reference.write(folder / "api")
    for page in folder.rglob("*.md"):
        text = with_scenes(page.read_text(), len(page.relative_to(folder).parts))
        text = LAB_SCENE.sub("lab.html#scene=", text)
        page.write_text(with_subscripts(with_formulas(text)))
    (folder / "lab.html").write_text(lab.page())
    if report is not None:
        (folder / "report.html").write_text(report)
        first = folder / "index.md"
        frame = '<iframe class="report" title="A report" src="report.html"></iframe>'
        first.write_text(REPORT.sub(frame, first.read_text()))
    return folder


def with_scenes(text: str, depth: int) -> str:
    """Return Markdown with the lab live beside the steps that lead through it.

    A page of depth 1 lies in the top folder. ``site.js`` shows in the frame what the step in view
    links to.
    """
    up = "../" * (depth - 1)

    def beside(walk: re.Match[str]) -> str:
        frame = _frame(f"{up}lab.html", walk["scene"])
        steps = f'<div class="steps" markdown="1">\n\n{walk["steps"]}\n</div>'
        return (
            "## In the lab\n\n"
            "Scroll, or click a step: the lab shows it. You can move everything in it.\n\n"
            f'<div class="walk" markdown="1">\n{steps}\n{frame}\n</div>\n'
        )

    text = WALK.sub(beside, text)
    return text.replace("<!-- a live scene of the lab -->", _frame("lab.html", "lda"))


def _frame(lab_page: str, scene: str) -> str:
    source = f"{lab_page}#scene={scene}"
    return f'<iframe class="lab" loading="lazy" title="The lab" src="{source}"></iframe>'


def with_subscripts(text: str) -> str:
    """Return Markdown in which symbols such as w_0 and max_k, outside code, have subscripts."""
    return "".join(
        part if i % 2 else SUBSCRIPT.sub(r"\1<sub>\2\3</sub>", part)
        for i, part in enumerate(CODE.split(text))
    )


def report_of_iris() -> str:
    """Return the page that ``suffice report iris`` writes."""
    X, y = sf.datasets.load("iris").arrays()
    with tempfile.TemporaryDirectory() as name:
        page = Path(name) / "iris.html"
        sf.report(X, pd.Series(y, name="species"), name="iris").save(page)
        return page.read_text()


def zensical(*words: str) -> int:
    """Run the site generator on the staged pages; return its exit code."""
    return subprocess.run([sys.executable, "-m", "zensical", *words], cwd=ROOT).returncode


def main(words: list[str]) -> int:
    """Build or serve the site."""
    if words not in ([], ["build"], ["serve"]):
        print("usage: python -m docs [build | serve]")
        return 2
    stage(report=report_of_iris())
    if words == ["build"]:
        return zensical("build", "--strict", "--clean")
    return zensical("serve")


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
