"""``sf.report``: from labelled rows to a report, a value that any renderer can write."""

import warnings
from dataclasses import dataclass
from html import escape
from importlib.metadata import version
from pathlib import Path
from typing import Any

from suffice.archive import replacing
from suffice.comparison import Comparison
from suffice.errors import InvalidParameterError
from suffice.moments import Moments
from suffice.reporting.blocks import Section
from suffice.reporting.choosing import ReportSettings, judge
from suffice.reporting.chosen import chosen
from suffice.reporting.compared import models_compared
from suffice.reporting.documented import DocumentedTable
from suffice.reporting.figures import Drawings
from suffice.reporting.glance import glance, summary
from suffice.reporting.misclassified import Outliers, misclassified
from suffice.reporting.render import RENDERERS
from suffice.reporting.trust import trust
from suffice.reporting.usage import Provenance, usage

FORMATS = {".html": "html", ".htm": "html", ".md": "md", ".markdown": "md", ".json": "json"}
SAMPLE_ROWS = 10_000  # of more rows, a sample is judged and drawn


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
        if format not in RENDERERS:
            msg = f"format={format!r}: expected 'html', 'md' or 'json'"
            raise InvalidParameterError(msg)
        return RENDERERS[format](self)

    def save(self, path: str | Path, format: str | None = None) -> None:
        """Write the report, atomically, in the format of the extension or in the one given."""
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
        said = f"<h3>{escape(self.title)}</h3><p>{escape(self.verdict)}</p>"
        return said + self.comparison._repr_html_()


def report(
    X: Any,
    y: Any,
    path: str | Path | None = None,
    *,
    estimator: Any = None,
    models: Any = None,
    cv: Any = None,
    sample_weight: Any = None,
    ids: Any = None,
    name: str = "data",
    target: str | None = None,
    random_state: int = 0,
    progress: Any = None,
) -> Report:
    """Return a report of labelled rows, and write it to ``path`` if one is given.

    It says what the data is, which classifier to trust and why, what that model is, where it
    errs and whether it can be trusted. All errors are of rows held out from the model that
    judged them.

    Parameters
    ----------
    X, y : array or frame (n, d), labels (n,)
        Text is read as categories, and rows with empty cells stay; ids and free text are left out.
    path : str or Path, optional
        Where to write: ``.html`` (one file, no request to anywhere), ``.md`` or ``.json``.
    estimator : classifier, optional
        The one to report about. By default the Gaussian classifier of fewest parameters whose
        held-out log-loss is within one standard error of the smallest among them.
    models, cv, random_state, progress
        As in ``sf.compare``; by default ten folds, five from 2,000 rows on.
    sample_weight : array (n,), optional
        Weights of the rows.
    ids : array (n,), optional
        What a person finds each row by; by default the index of a pandas frame, or the place.
    name, target : str, optional
        What data and labels are called.

    Returns
    -------
    Report
        ``.estimator`` is the chosen classifier, fitted on all rows.

    Notes
    -----
    Of more than 10,000 rows a stratified sample is judged and drawn, and the page says so; the
    chosen classifier is fitted to all rows.

    Examples
    --------
    >>> import suffice as sf
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> page = sf.report(X, y, models=["LDA", "QDA", "tree"], cv=5, name="iris")
    >>> page.estimator
    LDA()
    >>> page.save("iris.html")  # doctest: +SKIP
    """
    named = {"ids": ids, "name": name, "target": target}
    data = DocumentedTable.of(X, y, sample_weight=sample_weight, **named)
    made = report_of(data, ReportSettings(estimator, models, cv, random_state, progress))
    if path is not None:
        made.save(path)
    return made


def report_of(
    data: DocumentedTable, settings: ReportSettings, made: Provenance | None = None
) -> Report:
    """Return the report of a table."""
    sample = data.sampled(SAMPLE_ROWS, settings.seed)
    judgement = judge(data, sample, settings)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        moments = Moments.of_table(sample.table)
        model = judgement.explained
        outliers = None if model is None else Outliers.of(model, data)
        figures = Drawings(sample, moments, judgement)
        sections = (
            glance(data, moments, outliers, figures.glance()),
            models_compared(data, sample, judgement, figures.models()),
            chosen(data, judgement, figures.chosen()),
            misclassified(data, sample, judgement, outliers, figures.errors()),
            trust(sample, moments, judgement, figures.trust()),
            usage(data, judgement, made or Provenance()),
        )
    return Report(
        data.name,
        summary(data),
        judgement.verdict.headline,
        sections,
        judgement.estimator,
        judgement.comparison,
        version("suffice"),
    )
