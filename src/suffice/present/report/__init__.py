"""Reports: a frozen result first, then HTML, Markdown or JSON of it."""

from suffice.present.report.build import Report, report

__all__ = ["Report", "report"]
