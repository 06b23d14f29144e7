"""``sf.predict_stream``: rows of any number, from anywhere, to answers in a file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from suffice.decision import classifier_of
from suffice.sources.answers import OUTLIER_RATE, predict_source
from suffice.sources.frames import opened_for_scoring
from suffice.sources.opening import open_source
from suffice.sources.source import Reading

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    import polars as pl

    from suffice.sources.answers import Predicted
    from suffice.sources.source import Progress


def predict_stream(
    estimator: Any,
    source: Any,
    sink: str | Path | Callable[[pl.LazyFrame], object],
    *,
    keep: Sequence[str] | None = None,
    ignore: Sequence[str] = (),
    prefix: str = "",
    outlier_rate: float = OUTLIER_RATE,
    delimiter: str | None = None,
    missing: Sequence[str] = (),
    progress: Progress | None = None,
    **text: Any,
) -> Predicted:
    """Return how many rows were scored to a file, one answer for every row, in their order.

    The columns written are those kept, ``label``, ``p_<class>`` for every class and, where the
    model has a density, ``log_density`` and ``outlier``.

    Parameters
    ----------
    estimator : fitted estimator of this library, or Classifier
        A model without a density gives labels and posteriors only.
    source : path, glob, "-", data set name, list of paths, frame, stream, iterable or array
        As in ``summarize``. Columns are matched by name; those of arrays by position.
    sink : path, or callable
        A ``.csv``, ``.tsv``, ``.parquet``, ``.feather`` or ``.jsonl`` file, which is replaced
        only when the new one is whole; or a function that consumes a polars ``LazyFrame``.
    keep : list of str, optional
        Columns to copy beside the answers; by default those that look like ids.
    ignore : list of str
        Columns that are not ids, though they look like it.
    prefix : str
        Put before the name of every answer.
    outlier_rate : float
        A row is an outlier if its log density is below that quantile of the log densities of
        50,000 rows drawn from the model itself.
    delimiter, missing, decimal, thousands, header, skip_rows, comment, encoding, progress
        As in ``summarize``.

    Notes
    -----
    A row that lacks a number gets empty answers and is counted in one warning.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import suffice as sf
        >>> out = pathlib.Path(tempfile.mkdtemp()) / "out.csv"
    >>> sf.predict_stream(sf.LDA().fit_moments(sf.summarize("iris")), "iris", out)
    Predicted(rows=150, unanswered=0, outliers=0)
    """
    classifier = classifier_of(estimator)
    coded = classifier.encoding
    names = classifier.feature_names if coded is None else coded.schema.names
    reading = Reading(delimiter, tuple(missing), **text)
    opened = opened_for_scoring(source, names) or open_source(source, reading)
    return predict_source(classifier, opened, sink, keep, ignore, prefix, outlier_rate, progress)
