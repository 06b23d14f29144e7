"""Reports: a frozen value first, then HTML, Markdown or JSON of it.

``build`` makes a report: ``findings`` compares the models, one module writes each section
(``answer``, ``how_sure``, ``misclassified``, ``explanation``, ``new_rows``, ``usage``,
``models_compared``, ``data_summary``) as ``blocks``, and ``render`` writes them with the files
of ``templates``. This package may import every package but ``suffice.cli`` and the lab.
"""

from suffice.present.report.build import Report, report

__all__ = ["Report", "report"]
