"""``suffice fit``: from rows or sums to a saved model."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from suffice.cli.command import subcommand
from suffice.cli.data import Data
from suffice.cli.models import ModelOptions, model_options, parse_priors
from suffice.cli.options import COLUMNS, is_given, learning_data, option, output
from suffice.cli.terminal import Terminal
from suffice.core.text.lists import counted
from suffice.errors import InvalidInputError, InvalidParameterError, MissingStatisticsError

if TYPE_CHECKING:
    from suffice.core.moments import Moments
    from suffice.core.moments.count_sums import CountSums
    from suffice.estimators.predictor import PredictorMixin


@subcommand(
    "suffice fit iris -o iris.suffice",
    "suffice fit iris --model qda --shrinkage 0.1 --priors uniform -o iris.suffice",
    "suffice fit all.moments --model nb -o nb.suffice",
    "suffice fit penguins --model auto -o penguins.suffice",
    "suffice fit wine -m gaussian --shrinkage 0.2 --set tied=true -o wine.suffice",
    "suffice fit reviews.csv --text review --target label -o reviews.suffice",
    may_overwrite=("model",),
    reports_unused=True,
)
@learning_data
@option(
    "--text",
    section=COLUMNS,
    metavar="COLUMN",
    help="Text column whose words are counted; implies --model counts.",
)
@model_options
@output("The model file to write.", required=True)
def fit(
    terminal: Terminal,
    /,
    data: Data,
    options: ModelOptions,
    text: str | None,
    output: Path,
) -> None:
    """Fit a classifier and save it.

    DATA may also be a moments file; then no rows are read. Options set to "auto" are chosen by
    cross-validation, which reads all rows into memory.
    """
    if text is None:
        fit_and_save(terminal, data, options, output)
        return
    if options.model != "counts" and is_given(click.get_current_context(), "model"):
        raise InvalidParameterError(
            f"--text counts words, but the model {options.model} cannot be fitted to word counts: "
            "leave out --model, or use --model counts"
        )
    setting = f"text={json.dumps(text)}"
    counting = replace(options, model="counts", assignments=(*options.assignments, setting))
    fitted = _fit_texts(counting.estimator(), terminal, data, options.priors, text)
    fitted.save(output)
    _report_fit(fitted, output, terminal)


def fit_and_save(terminal: Terminal, data: Data, options: ModelOptions, output: Path) -> None:
    """Fit the model to rows, or to sums if these suffice, and save it."""
    estimator = options.estimator()
    to_collect = estimator._sums_to_collect()
    if data.holds_sums:
        _require_fit_moments(estimator, data)
        sums = data.sums_in_file()
        fitted = _fit_sums(estimator, terminal, sums, options.priors)
    elif to_collect is not None:
        storage, fourth = to_collect
        moments = data.sums(terminal, storage=storage, fourth=fourth, for_fitting=True)
        fitted = _fit_sums(estimator, terminal, moments, options.priors)
    else:
        fitted = _fit_rows(estimator, terminal, data, options.priors)
    fitted.save(output)
    _report_fit(fitted, output, terminal)


def _open_settings(estimator: PredictorMixin) -> list[str]:
    """Return the names of the settings that cross-validation has to choose."""
    return list(estimator.settings().open_settings) if hasattr(estimator, "settings") else []


def _require_fit_moments(estimator: PredictorMixin, data: Data) -> None:
    """Raise unless the estimator can be fitted to the sums in a file."""
    name = type(estimator).__name__
    if not hasattr(estimator, "fit_moments"):
        raise InvalidInputError(
            f"{data.name} is a moments file, but {name} must be fitted to rows: pass the data "
            "instead"
        )
    open_settings = _open_settings(estimator)
    if open_settings:
        raise InvalidInputError(
            f"{data.name} is a moments file, but {open_settings[0]} = 'auto' needs rows: pass the "
            "data instead, or give a value"
        )


def _fit_sums(
    estimator: Any, terminal: Terminal, sums: Moments | CountSums, priors: tuple[str, ...]
) -> PredictorMixin:
    if priors:
        estimator.set_params(priors=parse_priors(priors, sums.classes))
    with terminal.working(f"fitting {type(estimator).__name__}"):
        fitted: PredictorMixin = estimator.fit_moments(sums)
    return fitted


def _fit_rows(
    estimator: Any, terminal: Terminal, data: Data, priors: tuple[str, ...]
) -> PredictorMixin:
    from sklearn.utils import get_tags

    tags = get_tags(estimator).input_tags
    rows = data.rows(
        categories=tags.categorical or tags.string,
        allow_missing=tags.allow_nan,
        for_fitting=True,
    )
    table = rows.table
    if priors:
        estimator.set_params(priors=parse_priors(priors, table.classes))
    with terminal.working(f"fitting {type(estimator).__name__}"):
        if table.weight is None:
            fitted: PredictorMixin = estimator.fit(rows.frame, table.labels)
        else:
            fitted = estimator.fit(rows.frame, table.labels, sample_weight=table.weight)
    fitted._notations = rows.notations
    return fitted


def _fit_texts(
    estimator: Any, terminal: Terminal, data: Data, priors: tuple[str, ...], text: str
) -> PredictorMixin:
    rows = data.texts(text)
    table = rows.table
    if priors:
        estimator.set_params(priors=parse_priors(priors, table.classes))
    with terminal.working(f"fitting {type(estimator).__name__}"):
        fitted: PredictorMixin = estimator.fit(rows.kept, table.labels, table.weight)
    return fitted


def _report_fit(fitted: PredictorMixin, output: Path, terminal: Terminal) -> None:
    n_classes = len(fitted.classes_)
    n_features = int(fitted.n_features_in_)
    facts = {
        "model": type(fitted).__name__,
        "classes": fitted.classes_,
        "n_features": n_features,
    }
    classes = counted(n_classes, "class")
    features = counted(n_features, "feature")
    message = f"{fitted} fitted, {classes}, {features}"
    if hasattr(fitted, "moments_"):
        n_rows = int(fitted.moments_.counts.sum())
        facts["rows"] = n_rows
        message = f"{fitted} fitted to {counted(n_rows, 'row')}, {classes}, {features}"
    if hasattr(fitted, "log_likelihood") and hasattr(fitted, "fit_moments"):
        # Some models have no likelihood that sums determine; complement naive Bayes has none at
        # all.
        with suppress(MissingStatisticsError, InvalidParameterError):
            facts["log_likelihood"] = fitted.log_likelihood()
    terminal.written(output, message, **facts)
