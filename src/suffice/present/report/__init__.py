"""Reports: a frozen value, which can be written as HTML, Markdown or JSON.

``build`` makes a report. ``findings`` compares the models; one module per section
(``answer``, ``how_sure``, ``misclassified``, ``explanation``, ``new_rows``, ``usage``,
``models_compared``, ``data_summary``) writes ``blocks``; and ``render`` turns them into a page
with the files of ``templates``. This package may import every package except ``suffice.cli``
and the lab.
"""

from suffice.present.report.build import Report, report

__all__ = ["Report", "report"]
