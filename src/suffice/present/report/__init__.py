"""Make reports on labelled tables, and write them as HTML, Markdown or JSON.

``build`` makes a report. ``findings`` compares the models. Each section has a module that writes
``blocks``: ``answer``, ``how_sure``, ``misclassified``, ``explanation``, ``new_rows``, ``usage``,
``models_compared`` and ``data_summary``. ``render`` turns the blocks into a page with the files of
``templates``. The package may import every package except ``suffice.cli`` and the lab.
"""

from suffice.present.report.build import Report, report

__all__ = ["Report", "report"]
