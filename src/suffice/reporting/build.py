"""``sf.report``: from labelled rows to a frozen report."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from suffice.moments import Moments
from suffice.reporting.chosen import chosen
from suffice.reporting.errors import errors
from suffice.reporting.figures import Drawings
from suffice.reporting.glance import glance, summary
from suffice.reporting.judging import Settings, judge
from suffice.reporting.models import headline, models_section
from suffice.reporting.outliers import Outliers
from suffice.reporting.report import Report
from suffice.reporting.rows import Rows
from suffice.reporting.trust import trust
from suffice.reporting.usage import Place, usage

if TYPE_CHECKING:
    from pathlib import Path

SAMPLE_ROWS = 10_000  # of more rows, a sample is judged and drawn


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
        Columns of a frame that hold no numbers and rows with gaps are left out, and named.
    path : str or Path, optional
        Where to write: ``.html`` (one file, no request to anywhere), ``.md`` or ``.json``.
    estimator : classifier, optional
        The one to report about. By default the Gaussian classifier of fewest parameters whose
        held-out log-loss is within one standard error of the least among them.
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
    rows = Rows.of(X, y, sample_weight=sample_weight, ids=ids, name=name, target=target)
    settings = Settings(estimator, models, cv, random_state, progress)
    made = report_of(rows, settings)
    if path is not None:
        made.save(path)
    return made


def report_of(rows: Rows, settings: Settings, place: Place | None = None) -> Report:
    """Return the report of rows."""
    from suffice import __version__

    sample = rows.sampled(SAMPLE_ROWS, settings.seed)
    judgement = judge(rows, sample, settings)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        sums = Moments.of(sample.x, sample.labels, sample.weight)
        sums = replace(sums, feature_names=sample.names)
        model = judgement.explained
        outliers = None if model is None else Outliers.of(model, rows)
        figures = Drawings(sample, sums, judgement)
        sections = (
            glance(rows, sums, outliers, figures.glance()),
            models_section(rows, sample, judgement, figures.models()),
            chosen(rows, judgement, figures.chosen()),
            errors(rows, sample, judgement, outliers, figures.errors()),
            trust(sample, sums, judgement, figures.trust()),
            usage(rows, judgement, place or Place()),
        )
    verdict = headline(judgement)
    return Report(
        rows.name,
        summary(rows),
        verdict,
        sections,
        judgement.estimator,
        judgement.comparison,
        __version__,
    )
