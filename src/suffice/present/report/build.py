"""``sf.report``: from labelled rows to a report, a value that any renderer can write."""

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from html import escape
from importlib.metadata import version
from pathlib import Path
from typing import Any

from suffice.core.progress import Progress
from suffice.errors import InvalidParameterError
from suffice.evaluate.comparison import Comparison
from suffice.persistence.archive import replacing
from suffice.present.report.answer import answer, models_compared, more_data
from suffice.present.report.blocks import Plot, Section
from suffice.present.report.choosing import Findings, ReportSettings, judge
from suffice.present.report.documented import DocumentedTable
from suffice.present.report.glance import glance, summary
from suffice.present.report.misclassified import Outliers, misclassified
from suffice.present.report.render import RENDERERS, as_figure
from suffice.present.report.trust import NewRows, compared_with, trust
from suffice.present.report.usage import Provenance, usage
from suffice.present.report.why import why

FORMATS = {".html": "html", ".htm": "html", ".md": "md", ".markdown": "md", ".json": "json"}
SAMPLE_ROWS = 10_000  # of more rows, a sample is judged and drawn


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Report:
    """What the data is, which classifier to use and why, where it errs, how sure it is.

    ``write(format)`` gives the page as text, ``save(path)`` writes it by the extension.

    Examples
    --------
    >>> import suffice as sf
    >>> X, y = sf.datasets.load("exam").arrays()
    >>> page = sf.report(X, y, models=["LDA"], cv=5, fast=True, name="exam")
    >>> page.write("md").splitlines()[0]
    '# exam'
    """

    title: str
    subtitle: str
    verdict: str
    sections: tuple[Section, ...]
    estimator: Any  # the chosen classifier, fitted on all rows
    comparison: Comparison
    version: str
    judgement: Findings  # the numbers of the page: verdict, checks, importance, learning curve
    saved: list[Path] = field(default_factory=list)  # where it was written

    def write(self, format: str = "html") -> str:
        """Return the report as text: "html", "md" or "json"."""
        if format not in RENDERERS:
            raise InvalidParameterError(f"format={format!r}: expected 'html', 'md' or 'json'")
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
        self.saved.append(Path(path).resolve())

    def __repr__(self) -> str:
        return f"Report({self.title}: {self.verdict})"

    def _repr_html_(self) -> str:
        plot = next((b for s in self.sections for b in s.blocks if isinstance(b, Plot)), None)
        drawn = "" if plot is None else as_figure(plot)
        links = [f'<a href="{escape(p.as_uri())}">{escape(p.name)}</a>' for p in self.saved]
        where = f"<p>The page: {', '.join(links)}</p>" if links else ""
        said = f"<h3>{escape(self.title)}</h3><p>{escape(self.verdict)}</p>{where}"
        return said + self.comparison._repr_html_() + drawn


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
    groups: Any = None,
    against: Any = None,
    fast: bool = False,
    random_state: int = 0,
    progress: Any = None,
) -> Report:
    """Return a report of labelled rows, and write it to ``path`` if one is given.

    It says what the data is, which classifier to use and why, what that model is, where it
    errs and whether it can be trusted. All errors are of rows held out from the model that
    judged them.

    Parameters
    ----------
    X, y : array or frame (n, d), labels (n,)
        Text is read as categories, and rows with empty cells stay; ids and free text are left out.
    path : str or Path, optional
        Where to write: ``.html`` (one file, no request to anywhere), ``.md`` or ``.json``.
    estimator : classifier, optional
        The one to report about; by default the simplest that is about as good as the best.
    models, cv, random_state, progress
        As in ``sf.compare``; by default ten folds, five from 2,000 rows on. Folds hold out every
        row once.
    sample_weight : array (n,), optional
        Weights of the rows; rows of weight zero are left out.
    ids : array (n,), optional
        What a person finds each row by; by default the index of a pandas frame, or the place.
    name, target : str, optional
        What data and labels are called.
    groups : array (n,), optional
        Which rows belong together (of one person, batch or year): folds hold out whole groups.
    against : rows, or a pair of rows and labels, optional
        New rows: which columns have moved, and how often the chosen model is wrong about them.
    fast : bool, default=False
        A first look: few models, three folds, no figure that takes long.

    Returns
    -------
    Report
        ``.estimator`` is the chosen classifier, fitted on all rows.

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
    named = {"ids": ids, "name": name, "target": target, "groups": groups}
    data = DocumentedTable.of(X, y, sample_weight=sample_weight, **named)
    settings = ReportSettings(estimator, models, cv, random_state, progress, fast)
    pair = against if isinstance(against, tuple) else (against,)
    made = report_of(data, settings, new=None if against is None else NewRows(*pair))
    if path is not None:
        made.save(path)
    return made


def report_of(
    data: DocumentedTable,
    settings: ReportSettings,
    made: Provenance | None = None,
    new: NewRows | None = None,
) -> Report:
    """Return the report of a table."""
    sample, others = data.sampled(SAMPLE_ROWS, settings.seed)
    f = judge(data, sample, settings, others)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        outliers = Outliers.of(f)
        stages: Mapping[str, Callable[[Findings], Section | None]] = {
            "answer": answer,
            "data": partial(glance, outliers=outliers),
            "models": models_compared,
            "errors": partial(misclassified, outliers=outliers),
            "explanation": why,
            "learning curve": more_data,
            "assumptions": trust,
            "new rows": partial(compared_with, new=new),
            "use": partial(usage, made=made or Provenance(seed=settings.seed)),
        }
        sections: list[Section] = []
        with Progress(settings.progress, len(stages), "report") as steps:
            for name, stage in stages.items():
                steps.begin(name)
                sections += [section] if (section := stage(f)) is not None else []
                steps.step()
    told = (data.name, summary(data), f.verdict.headline, tuple(sections))
    kept = replace(f, data=sample, learnt=())  # a page does not hold a million rows
    return Report(*told, f.estimator, f.comparison, version("suffice"), kept)
