"""``suffice fit``: rows or sums to a saved model, by the name it has on the command line."""

import difflib
import inspect
import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import click

import suffice
from suffice.cli.command import choice, given, learning_data, output, several, subcommand
from suffice.cli.data import Data
from suffice.cli.terminal import Terminal
from suffice.errors import InvalidInputError, InvalidParameterError, MissingStatisticsError

_CHOSEN = ("pooling", "shrinkage", "temperature")  # by cross-validation, where left open
MODELS: Mapping[str, str] = {
    "lda": "LDA",
    "qda": "QDA",
    "nb": "GaussianNB",
    "rda": "RDA",
    "gaussian": "GaussianClassifier",
    "mixture": "MixtureClassifier",
    "auto": "AutoClassifier",
    "least-squares": "LeastSquaresClassifier",
    "logistic": "LogisticRegression",
    "perceptron": "Perceptron",
}


def estimator_of(name: str, settings: Mapping[str, Any]) -> Any:
    """Return the estimator with these settings, or say which setting it lacks."""
    cls = getattr(suffice, name)
    known = list(inspect.signature(cls).parameters)
    for word in settings:
        if word not in known:
            near = difflib.get_close_matches(word, known, 1)
            hint = f"did you mean {near[0]!r}?" if near else f"it has {', '.join(known)}"
            raise InvalidParameterError(f"{name} has no setting {word!r}: {hint}")
    return cls(**settings)


def _read(text: str, kind: Callable[[str], Any]) -> Any:
    """Return what a person wrote as a value of a kind, or as a word if it is none."""
    with suppress(ValueError):
        return kind(text)
    return text


def setting(text: str) -> tuple[str, Any]:
    """Return a setting ``NAME=VALUE``; the value is JSON, or else the text itself."""
    name, mark, value = text.partition("=")
    if not mark:
        raise InvalidParameterError(f"a setting is written NAME=VALUE, got {text!r}")
    return name.strip(), _read(value, json.loads)


def _once(names: Sequence[str], told: str) -> None:
    """Raise the error that tells the first name that is there twice."""
    for at, name in enumerate(names):
        if name in names[:at]:
            raise InvalidParameterError(told.format(name))


def _priors(texts: tuple[str, ...], classes: Any) -> Any:
    """Return priors written as one word such as uniform, or as LABEL=P for every class."""
    from suffice.core.table.labels import label_written

    if len(texts) == 1 and "=" not in texts[0]:
        return texts[0]
    pairs = [text.rpartition("=")[::2] for text in texts]
    _once([name for name, _ in pairs], "the prior of {!r} is given twice: give it once")
    try:
        return {label_written(name, classes): float(value) for name, value in pairs}
    except ValueError as error:
        if isinstance(error, suffice.errors.SufficeError):
            raise
        msg = f"a prior is written LABEL=PROBABILITY, got {' '.join(texts)!r}"
        raise InvalidParameterError(msg) from error


model_options = given(
    output("The model file to write.", required=True),
    choice("-m", "--model", of=MODELS, text="Which model.", default="lda"),
    click.option(
        "--covariance", metavar="WORD", help="full, diagonal, spherical or an EDDA code."
    ),
    click.option("--tied/--untied", default=None, help="One covariance, or one a class."),
    choice(
        "--divisor", of=["mle", "unbiased", "averaged"], text="Of scatter: n, n − K, by class."
    ),
    click.option("--pooling", metavar="SHARE", help="A number in [0, 1], or auto."),
    click.option("--shrinkage", metavar="SHARE", help="In [0, 1], or oas, ledoit-wolf, auto."),
    several("--prior", of="LABEL=P", text="uniform, or one for every class."),
    click.option(
        "--temperature", metavar="NUMBER", help="Of the posteriors: 1 is Bayes; or auto."
    ),
    click.option("--reject-cost", type=float, help="Cost of giving no label."),
    several("--set", "settings", of="NAME=VALUE", text="Any setting, as JSON."),
)


@subcommand(
    "suffice fit iris -o iris.suffice",
    "suffice fit iris --model qda --shrinkage 0.1 --prior uniform -o iris.suffice",
    "suffice fit all.moments --model nb -o nb.suffice",
    "suffice fit penguins --model auto -o penguins.suffice",
    "suffice fit wine -m gaussian --shrinkage 0.2 --set target=sphere -o wine.suffice",
)
@learning_data
@model_options
def fit(terminal: Terminal, /, data: Data, **options: Any) -> None:
    """Fit a classifier and save it.

    DATA may also be a moments file: then no row is read. What is left to "auto" is chosen by
    cross-validation, which needs rows, in memory.
    """
    fit_and_save(terminal, data, **options)


def fit_and_save(
    terminal: Terminal,
    data: Data,
    output: Path,
    model: str,
    prior: Any,
    settings: Any,
    **said: Any,
) -> None:
    """Fit what the options of a command say, and save it."""
    told = {name: value for name, value in said.items() if value is not None}
    told |= {name: _read(told[name], float) for name in _CHOSEN if name in told}
    others = list(map(setting, settings))
    _once([*told, *(name for name, _ in others)], "{} is set twice: set it once")
    told |= dict(others)
    estimator = estimator_of(MODELS[model], told)
    classes, fit = _prepared(
        estimator, data, "diagonal" if model == "nb" else "auto", terminal
    )
    if prior:
        estimator.set_params(priors=_priors(prior, classes))
    with terminal.working(f"fitting {type(estimator).__name__}"):
        fitted = fit()
    fitted.save(output)
    _tell(fitted, output, terminal)


def _prepared(estimator: Any, data: Data, storage: str, terminal: Terminal) -> tuple[Any, Any]:
    """Return the classes and the way to fit: from sums where they suffice, else from rows."""
    from suffice.core.estimation.settings import is_open

    of_sums, settings = hasattr(estimator, "fit_moments"), estimator.get_params()
    left_open = [word for word in (*_CHOSEN, "power") if is_open(settings.get(word))]
    ours = f"{data.name} holds sums, and"
    if data.is_ours and not of_sums:
        who = type(estimator).__name__
        raise InvalidInputError(f"{ours} {who} learns from rows: give the data")
    for word in left_open if data.is_ours else ():
        raise InvalidInputError(
            f"{ours} {word} = 'auto' needs rows: give the data, or a value"
        )
    marked, fitted = (
        settings.get("missing") == "indicator",
        isinstance(settings.get("power"), str),
    )
    if data.is_ours or (of_sums and not (left_open or marked or fitted)):
        fourth = settings.get("shrinkage") == "ledoit-wolf"
        moments = data.sums(terminal, storage=storage, fourth=fourth)
        return moments.classes, partial(estimator.fit_moments, moments)
    from sklearn.utils import get_tags

    takes = get_tags(estimator).input_tags
    rows = data.rows(
        categories=takes.categorical or takes.string, allow_missing=takes.allow_nan
    )
    table = rows.table
    weights = {} if table.weight is None else {"sample_weight": table.weight}
    return table.classes, partial(estimator.fit, rows.frame, table.labels, **weights)


def _tell(fitted: Any, output: Path, terminal: Terminal) -> None:
    d, rows = int(fitted.n_features_in_), ""
    facts = {"model": type(fitted).__name__, "classes": fitted.classes_, "n_features": d}
    if hasattr(fitted, "moments_"):
        facts["rows"] = int(fitted.moments_.counts.sum())
        rows = f" to {facts['rows']:,} rows"
    if hasattr(fitted, "log_likelihood"):
        with suppress(MissingStatisticsError):  # moments alone do not tell every model's
            facts["log_likelihood"] = fitted.log_likelihood()
    text = f"{fitted} fitted{rows}, {len(fitted.classes_)} classes, {d} features"
    terminal.written(output, text, **facts)
