"""Reports: a frozen value first, then HTML, Markdown or JSON of it.

``build`` makes a report: ``findings`` compares the models, one module writes each section
(``answer``, ``data_summary``, ``misclassified``, ``explanation``, ``assumptions``, ``new_rows``,
``usage``) as ``blocks``, and ``render`` writes the blocks with the files of ``templates``. This
package may import every package but ``suffice.cli`` and the lab.
"""

from suffice.present.report.build import Report, report

__all__ = ["Report", "report"]
