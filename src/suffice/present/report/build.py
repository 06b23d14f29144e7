"""``suffice.report``: make a report on labelled rows, and write it in several formats."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from html import escape
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from suffice.core.progress import Progress, Wish
from suffice.core.table.notation import Notations
from suffice.errors import InvalidParameterError
from suffice.estimators.saved import portable
from suffice.evaluate.comparison import Comparison
from suffice.evaluate.comparison.models import ModelsLike
from suffice.persistence.archive import replacing
from suffice.present.report.answer import Answer, answer_section
from suffice.present.report.blocks import Plot, Section
from suffice.present.report.data_summary import data_summary, summary
from suffice.present.report.documented_table import DocumentedTable
from suffice.present.report.explanation import explanation
from suffice.present.report.findings import Findings, ReportSettings, judge
from suffice.present.report.how_sure import how_sure
from suffice.present.report.misclassified import Outliers, misclassified
from suffice.present.report.models_compared import models_compared
from suffice.present.report.render import RENDERERS, as_figure
from suffice.present.report.usage import Provenance, usage
from suffice.selection.validation.fold_rows import FoldsLike
from suffice.typing import LabelsLike, RowsLike, SklearnClassifier, WeightsLike

if TYPE_CHECKING:
    from suffice.present.report.new_rows import NewRows

FORMATS = {".html": "html", ".htm": "html", ".md": "md", ".markdown": "md", ".json": "json"}
SAMPLE_ROWS = 10_000  # with more rows, a sample is evaluated and drawn


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Report:
    """A report on labelled data: which classifier to use, why, and how many errors it makes.

    ``write(format)`` returns the page as text. ``save(path)`` writes the page in the format that
    the extension gives.

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
    answer: Answer  # the verdict, its caveats and the next step
    sections: tuple[Section, ...]
    estimator: Any  # the chosen classifier, fitted on all rows
    comparison: Comparison
    version: str
    judgement: Findings  # everything on the page: verdict, checks, importance, learning curve
    notations: Notations | None = None  # notation of numbers and dates in the file of the rows
    saved: list[Path] = field(default_factory=list)  # files written so far

    @property
    def verdict(self) -> str:
        """The answer as text: whether to use the model, its error, what it misses, and caveats."""
        return self.answer.text

    def write(self, format: str = "html") -> str:
        """Return the report as text in the format "html", "md" or "json"."""
        if format not in RENDERERS:
            raise InvalidParameterError(f"format={format!r}: expected 'html', 'md' or 'json'")
        return RENDERERS[format](self)

    def save(self, path: str | Path, format: str | None = None) -> None:
        """Write the report in the given format; by default, the extension gives the format."""
        if format is None:
            format = FORMATS.get(Path(path).suffix.lower())
        if format is None:
            raise InvalidParameterError(
                f"{path}: the extension must be one of {', '.join(FORMATS)}, or give format="
            )
        data = self.write(format).encode()
        with replacing(path) as file:
            file.write(data)
        self.saved.append(Path(path).resolve())

    def save_model(self, path: str | Path) -> None:
        """Write the chosen classifier, fitted to all rows, to a ``.suffice`` file without pickle.

        ``sf.load`` and ``suffice predict`` read it. A file can hold models of suffice,
        scikit-learn, LightGBM, XGBoost and CatBoost that predict probabilities. Other models raise
        an error.
        """
        portable(self.estimator, self.notations).save(path)

    def __repr__(self) -> str:
        return f"Report({self.title}: {self.verdict})"

    def _repr_html_(self) -> str:
        parts = [f"<h3>{escape(self.title)}</h3>"]
        said = (self.answer.headline, *self.answer.caveats, self.answer.next_step)
        parts.extend(f"<p>{escape(sentence)}</p>" for sentence in said)
        if self.saved:
            links = [
                f'<a href="{escape(path.as_uri())}">{escape(path.name)}</a>'
                for path in self.saved
            ]
            parts.append(f"<p>The page: {', '.join(links)}</p>")
        parts.append(self.comparison._repr_html_())
        plot = self._first_plot()
        if plot is not None:
            parts.append(as_figure(plot))
        return "".join(parts)

    def _first_plot(self) -> Plot | None:
        for section in self.sections:
            for block in section.all_blocks:
                if isinstance(block, Plot):
                    return block
        return None


def report(
    X: RowsLike,
    y: LabelsLike,
    path: str | Path | None = None,
    *,
    estimator: SklearnClassifier | None = None,
    models: ModelsLike = None,
    cv: FoldsLike | None = None,
    sample_weight: WeightsLike = None,
    name: str = "data",
    groups: LabelsLike | None = None,
    against: RowsLike | tuple[RowsLike, LabelsLike] | None = None,
    fast: bool = False,
    random_state: int = 0,
    progress: Wish = None,
) -> Report:
    """Return a report of labelled rows, and write it to ``path`` if one is given.

    The report describes the data, which classifier to use and why, how the classifier decides, its
    errors, and whether it can be trusted. All errors are those on held-out rows.

    Parameters
    ----------
    X, y : array or frame (n, d), labels (n,)
        Text is read as categories, and rows with missing values are used. Ids and free text are
        left out. The index of a pandas frame identifies the rows, and the name of a pandas series
        is the name of the label column.
    path : str or Path, optional
        File to write: ``.html`` (a single file that loads nothing from elsewhere), ``.md`` or
        ``.json``.
    estimator : classifier, optional
        The classifier to report on. By default, it is the simplest of the models that are about as
        good as the best.
    models, cv, random_state, progress
        As in ``sf.compare``. By default, there are ten folds, or five with at least 2,000 rows.
        Folds must hold out every row once.
    sample_weight : array (n,), optional
        Weights of the rows; rows of weight zero are left out.
    name : str, optional
        Name of the data.
    groups : array (n,), optional
        Group of each row, such as a person, batch or year. Folds hold out whole groups.
    against : rows, or a pair of rows and labels, optional
        New rows. The report then shows which columns have changed and, with labels, the model's
        error on the new rows.
    fast : bool, default=False
        Whether to make a first look only, with few models, three folds, and no slow figures.

    Returns
    -------
    Report
        ``.estimator`` is the chosen classifier, fitted to all rows.

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
    data = DocumentedTable.of(
        X,
        y,
        sample_weight=sample_weight,
        name=name,
        groups=groups,
    )
    settings = ReportSettings(
        estimator=estimator,
        models=models,
        cv=cv,
        seed=random_state,
        progress=progress,
        fast=fast,
    )
    made = report_of(data, settings, new=_new_rows(against))
    if path is not None:
        made.save(path)
    return made


def _new_rows(
    against: RowsLike | tuple[RowsLike, LabelsLike] | None,
) -> "NewRows | None":
    if against is None:
        return None
    from suffice.present.report.new_rows import NewRows

    if not isinstance(against, tuple):
        return NewRows(against)
    if len(against) != 2:
        raise InvalidParameterError(
            f"against is a tuple of {len(against)}: give new rows, or a pair of rows and labels"
        )
    rows, labels = against
    return NewRows(rows, labels)


def report_of(
    data: DocumentedTable,
    settings: ReportSettings,
    provenance: Provenance | None = None,
    new: "NewRows | None" = None,
) -> Report:
    """Return the report of a table."""
    sample, others = data.sampled(SAMPLE_ROWS, settings.seed)
    findings = judge(data, sample, settings, others)
    answer = Answer.of(findings)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        sections = _sections(findings, answer, settings, provenance, new)
    return Report(
        title=data.name,
        subtitle=summary(data),
        answer=answer,
        sections=sections,
        estimator=findings.estimator,
        comparison=findings.comparison,
        version=version("suffice"),
        # The page shows rows of the sample only: a million rows would be too many.
        judgement=replace(findings, data=sample, fold_models=()),
        notations=None if provenance is None else provenance.notations,
    )


def _sections(
    findings: Findings,
    answer: Answer,
    settings: ReportSettings,
    provenance: Provenance | None,
    new: "NewRows | None",
) -> tuple[Section, ...]:
    outliers = Outliers.of(findings)
    if provenance is None:
        provenance = Provenance(seed=settings.seed)
    # label in the progress bar, and the function that makes the section
    stages: list[tuple[str, Callable[[], Section]]] = [
        ("answer", lambda: answer_section(findings, answer)),
        ("certainty", lambda: how_sure(findings, answer.measured, answer.reasons)),
        ("errors", lambda: misclassified(findings, outliers)),
        ("explanation", lambda: explanation(findings)),
        ("use", lambda: usage(findings, provenance)),
        ("models", lambda: models_compared(findings)),
        ("data", lambda: data_summary(findings, outliers)),
    ]
    if new is not None:
        from suffice.present.report.new_rows import new_rows

        stages.insert(4, ("new rows", lambda: new_rows(findings, new)))
    sections = []
    with Progress(settings.progress, len(stages), "report") as steps:
        for name, make_section in stages:
            steps.begin(name)
            sections.append(make_section())
            steps.step()
    return tuple(sections)
