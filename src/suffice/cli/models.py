"""Models from the command line: ``--model``, its options, and ``--set NAME=VALUE``."""

from __future__ import annotations

import difflib
import functools
import inspect
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

import suffice
from suffice.cli.options import (
    MODEL,
    Function,
    choice,
    combined,
    flag,
    option,
    several,
)
from suffice.errors import InvalidParameterError

if TYPE_CHECKING:
    from suffice.estimators.predictor import PredictorMixin
    from suffice.typing import Labels

# The values are functions, so that a class is imported only if it is needed.
MODELS: Mapping[str, Callable[[], type[PredictorMixin]]] = {
    "lda": lambda: suffice.LDA,
    "qda": lambda: suffice.QDA,
    "nb": lambda: suffice.GaussianNB,
    "rda": lambda: suffice.RDA,
    "counts": lambda: suffice.CountNB,
    "mixed-nb": lambda: suffice.MixedNB,
    "gaussian": lambda: suffice.GaussianClassifier,
    "mixture": lambda: suffice.MixtureClassifier,
    "auto": lambda: suffice.AutoClassifier,
    "least-squares": lambda: suffice.LeastSquaresClassifier,
    "logistic": lambda: suffice.LogisticRegression,
    "perceptron": lambda: suffice.Perceptron,
}


def estimator_from_words(model: str, settings: Mapping[str, object]) -> Any:
    """Return the unfitted estimator with the name of a model, with the given parameters."""
    cls = MODELS[model]()
    parameters = list(inspect.signature(cls).parameters)
    for name in settings:
        if name not in parameters:
            similar = difflib.get_close_matches(name, parameters, 1)
            if similar:
                raise InvalidParameterError(
                    f"{cls.__name__} has no setting {name!r}: did you mean {similar[0]!r}?"
                )
            raise InvalidParameterError(
                f"{cls.__name__} has no setting {name!r}: it has {', '.join(parameters)}"
            )
    values = {name: value_of_setting(name, value) for name, value in settings.items()}
    return cls(**values)


def value_of_setting(name: str, value: object) -> object:
    """Return the setting that a JSON object describes, such as ``{"reject": 0.1}`` for costs."""
    if not isinstance(value, dict):
        return value
    if name == "costs" and value.keys() <= {"matrix", "reject", "reject_label"}:
        return suffice.Costs(**value)
    if name == "shrinkage" and value.keys() <= {"intensity", "target"}:
        return suffice.Shrinkage(**value)
    if name == "priors" and value.keys() == {"alpha"}:
        return suffice.Dirichlet(**value)
    if name == "categorical" and value.keys() <= {"columns", "smoothing"}:
        return suffice.Categorical(**value)
    return value


@dataclass(frozen=True, slots=True)
class ModelOptions:
    """The options of a model on the command line."""

    model: str
    covariance: str | None
    tied: bool | None
    divisor: str | None
    pooling: str | None
    shrinkage: str | None
    priors: tuple[str, ...]
    temperature: str | None
    reject: float | None
    assignments: tuple[str, ...]  # values of --set, in the form NAME=VALUE

    def estimator(self) -> Any:
        """Return the unfitted estimator, without priors: the labels are not known yet."""
        named: dict[str, object] = {
            "covariance": self.covariance,
            "tied": self.tied,
            "divisor": self.divisor,
            "pooling": number_or_word(self.pooling),
            "shrinkage": number_or_word(self.shrinkage),
            "temperature": number_or_word(self.temperature),
            "costs": None if self.reject is None else {"reject": self.reject},
        }
        settings = {name: value for name, value in named.items() if value is not None}
        assigned = parse_settings(self.assignments)
        for name in assigned:
            if name in settings or (name == "priors" and self.priors):
                raise InvalidParameterError(f"{name} is set twice: set it once")
        estimator = estimator_from_words(self.model, {**settings, **assigned})
        if self.priors and "priors" not in inspect.signature(type(estimator)).parameters:
            raise InvalidParameterError(
                f"{type(estimator).__name__} has no setting 'priors': leave out --priors"
            )
        return estimator


def number_or_word(text: str | None) -> float | str | None:
    """Return a number, or the text itself if it is not a number."""
    if text is None:
        return None
    try:
        return float(text)
    except ValueError:
        return text


def parse_settings(texts: tuple[str, ...]) -> dict[str, object]:
    """Return settings given as NAME=VALUE; a value that is not JSON is text."""
    settings: dict[str, object] = {}
    for text in texts:
        name, mark, value = text.partition("=")
        name = name.strip()
        if not mark:
            raise InvalidParameterError(f"a setting has the form NAME=VALUE, got {text!r}")
        if name in settings:
            raise InvalidParameterError(f"{name} is set twice: set it once")
        try:
            settings[name] = json.loads(value)
        except ValueError:
            settings[name] = value
    return settings


def parse_priors(texts: tuple[str, ...], classes: Labels) -> str | dict[object, float]:
    """Return priors given as one word such as uniform, or as LABEL=P for every class."""
    from suffice.core.table.labels import label_written

    if len(texts) == 1 and "=" not in texts[0]:
        return texts[0]
    priors: dict[object, float] = {}
    for text in texts:
        name, _, value = text.rpartition("=")
        label = label_written(name, classes)
        if label in priors:
            msg = f"the prior of {name!r} is given twice: give it once"
            raise InvalidParameterError(msg)
        try:
            priors[label] = float(value)
        except ValueError as error:
            msg = f"a prior has the form LABEL=PROBABILITY, got {text!r}"
            raise InvalidParameterError(msg) from error
    return priors


_model_options = combined(
    choice(
        "-m",
        "--model",
        section=MODEL,
        metavar="NAME",
        of=MODELS,
        default="lda",
        help=f"Which model to fit: {', '.join(MODELS)}.",
    ),
    option(
        "--covariance",
        section=MODEL,
        metavar="WORD",
        help="Shape of the covariances: full, diagonal, spherical or an EDDA code such as VVE.",
    ),
    flag(
        "--tied/--untied",
        section=MODEL,
        default=None,
        help="Whether all classes share one covariance.",
    ),
    choice(
        "--divisor",
        section=MODEL,
        metavar="WORD",
        of=["mle", "unbiased", "averaged"],
        help="Divisor of the scatter: mle (n), unbiased (n − K) or averaged (the mean of the "
        "unbiased class covariances, weighted by rows).",
    ),
    option(
        "--pooling",
        section=MODEL,
        metavar="SHARE",
        help="Weight of the pooled covariance in the estimate of each class, from 0 to 1, or auto.",
    ),
    option(
        "--shrinkage",
        section=MODEL,
        metavar="SHARE",
        help="Shrinkage of the covariances, from 0 to 1, or oas, ledoit-wolf or auto.",
    ),
    several(
        "--priors",
        section=MODEL,
        metavar="LABEL=P",
        help="Class priors: uniform, or LABEL=P once per class. By default, the class "
        "frequencies.",
    ),
    option(
        "--temperature",
        section=MODEL,
        metavar="NUMBER",
        help="Temperature for calibrating the posteriors: a number (1 changes nothing), or auto.",
    ),
    option(
        "--reject",
        section=MODEL,
        metavar="COST",
        type=click.FLOAT,
        help="Cost of rejecting a row; an error costs 1.",
    ),
    several(
        "--set",
        "assignments",
        section=MODEL,
        metavar="NAME=VALUE",
        help="Set any parameter of the Python class; VALUE is JSON or a word. Repeat for more.",
    ),
)


def model_options(function: Function) -> Function:
    """Declare the options of a model; the command gets them as ``options``, a ``ModelOptions``."""

    @functools.wraps(function)
    def with_options(
        *args: object,
        model: str,
        covariance: str | None,
        tied: bool | None,
        divisor: str | None,
        pooling: str | None,
        shrinkage: str | None,
        priors: tuple[str, ...],
        temperature: str | None,
        reject: float | None,
        assignments: tuple[str, ...],
        **other_options: object,
    ) -> None:
        options = ModelOptions(
            model=model,
            covariance=covariance,
            tied=tied,
            divisor=divisor,
            pooling=pooling,
            shrinkage=shrinkage,
            priors=priors,
            temperature=temperature,
            reject=reject,
            assignments=assignments,
        )
        function(*args, options=options, **other_options)

    return _model_options(with_options)
