"""The picture of a report in the docs: ``python -m docs.pictures`` takes it with Chromium.

Beside the picture lies a digest of what the page looked like: its templates, sections and first
sentences without their numbers. A test compares it with the page of today, so that the picture
cannot grow old unnoticed.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
import tempfile
from pathlib import Path

import pandas as pd

import suffice as sf
from suffice.present.report import Report, build

IMAGES = Path(__file__).parent / "images"
PICTURE = IMAGES / "report.png"
DIGEST = IMAGES / "report.json"
TEMPLATES = Path(build.__file__).parent / "templates"
WIDTH = 1280  # pixels
HEIGHT = 900


def small_report() -> Report:
    """Return a quick report, whose first screen has the shape of the one in the picture."""
    X, y = sf.datasets.load("iris").arrays()
    species = pd.Series(y, name="species")
    return sf.report(X, species, models=["LDA"], cv=3, fast=True, name="iris")


def digest_of_page(report: Report) -> str:
    """Return the digest of templates, sections, and the first sentences without numbers."""
    parts = []
    for file in sorted(TEMPLATES.iterdir()):
        parts.append(file.name)
        parts.append(file.read_text(encoding="utf-8"))
    parts.extend(f"{section.key}: {section.title}" for section in report.sections)
    for block in report.sections[0].blocks:
        parts.append(block.kind)
        parts.append(re.sub(r"[\d.,]+", "#", getattr(block, "text", "")))
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def take() -> None:
    """Take the picture of the first screen of ``suffice report iris``."""
    from tests.browser import started

    X, y = sf.datasets.load("iris").arrays()
    report = sf.report(X, pd.Series(y, name="species"), name="iris")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        report.save(folder / "page.html")
        with started(folder) as browser:
            page = browser.page()
            page.size(WIDTH, HEIGHT)
            page.open((folder / "page.html").as_uri())
            screen = {"x": 0, "y": 0, "width": WIDTH, "height": HEIGHT, "scale": 1}
            shot = page.front().call("Page.captureScreenshot", clip=screen)
    PICTURE.write_bytes(base64.b64decode(shot["data"]))
    DIGEST.write_text(json.dumps({"page": digest_of_page(small_report())}) + "\n")


if __name__ == "__main__":
    take()
