"""A report as a value: sections computed once, written by any renderer."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from suffice.errors import InvalidParameterError

if TYPE_CHECKING:
    from suffice.comparison import Comparison
    from suffice.reporting.blocks import Section

FORMATS = {".html": "html", ".htm": "html", ".md": "md", ".markdown": "md", ".json": "json"}


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Report:
    """What the data is, which classifier to trust and why, where it errs, how sure it is.

    ``write(format)`` gives the page as text, ``save(path)`` writes it by the extension.
    """

    title: str
    subtitle: str
    verdict: str
    sections: tuple[Section, ...]
    estimator: Any  # the chosen classifier, fitted on all rows
    comparison: Comparison
    version: str

    def write(self, format: str = "html") -> str:
        """Return the report as text: "html", "md" or "json"."""
        if format == "html":
            from suffice.reporting.render import page

            return page(self)
        if format == "md":
            from suffice.reporting.render import document

            return document(self)
        if format == "json":
            from suffice.reporting.render import text

            return text(self)
        msg = f"format={format!r}: expected 'html', 'md' or 'json'"
        raise InvalidParameterError(msg)

    def save(self, path: str | Path, format: str | None = None) -> None:
        """Write the report, atomically, in the format of the extension or in the one given."""
        from suffice.archive import replacing

        suffix = Path(path).suffix.lower()
        if format is None and suffix not in FORMATS:
            msg = f"{path}: the extension must be one of {', '.join(FORMATS)}, or give format="
            raise InvalidParameterError(msg)
        data = self.write(format or FORMATS[suffix]).encode()
        with replacing(path) as file:
            file.write(data)

    def __repr__(self) -> str:
        return f"Report({self.title}: {self.verdict})"

    def _repr_html_(self) -> str:
        from html import escape

        said = f"<h3>{escape(self.title)}</h3><p>{escape(self.verdict)}</p>"
        return said + self.comparison._repr_html_()
