"""Reports: a frozen result first, then HTML, Markdown or JSON of it."""

from suffice.reporting.build import Report, report

__all__ = ["Report", "report"]
