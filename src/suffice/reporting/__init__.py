"""Reports: a frozen result first, then HTML, Markdown or JSON of it."""

from suffice.reporting.build import report
from suffice.reporting.report import Report

__all__ = ["Report", "report"]
