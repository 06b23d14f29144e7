"""Models by the names they have on the command line."""

import difflib
import inspect
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import suffice
from suffice.errors import InvalidInputError, InvalidParameterError


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of model: the class that fits it, and what scatter suffices for it."""

    estimator: str
    storage: str = "auto"

    def build(self, settings: Mapping[str, Any]) -> Any:
        """Return the estimator with these settings, or say which setting it lacks."""
        cls = getattr(suffice, self.estimator)
        known = list(inspect.signature(cls).parameters)
        for name in settings:
            if name not in known:
                near = difflib.get_close_matches(name, known, 1)
                hint = f"did you mean {near[0]!r}?" if near else f"it has {', '.join(known)}"
                msg = f"{self.estimator} has no setting {name!r}: {hint}"
                raise InvalidParameterError(msg)
        return cls(**settings)


KINDS: Mapping[str, Kind] = {
    "lda": Kind("LDA"),
    "qda": Kind("QDA"),
    "nb": Kind("GaussianNB", "diagonal"),
    "rda": Kind("RDA"),
    "gaussian": Kind("GaussianClassifier"),
    "auto": Kind("AutoGaussian"),
    "least-squares": Kind("LeastSquaresClassifier"),
    "logistic": Kind("LogisticRegression"),
    "perceptron": Kind("Perceptron"),
}


def needs_rows(estimator: Any) -> bool:
    """Return whether rows are needed to fit: to learn at all, or to choose what is left open."""
    return not hasattr(estimator, "fit_moments") or bool(_left_open(estimator))


def refuse_without_rows(estimator: Any, name: str) -> None:
    """Raise if a model cannot be fitted from the sums that a file holds."""
    from suffice.estimation.settings import is_open

    if not hasattr(estimator, "fit_moments"):
        msg = f"{name} holds sums, and {type(estimator).__name__} learns from rows: give the data"
        raise InvalidInputError(msg)
    settings = estimator.get_params()
    for word in _left_open(estimator):
        if is_open(settings[word]):
            msg = f"{name} holds sums, and {word} = 'auto' needs rows: give the data, or a value"
            raise InvalidInputError(msg)


def _left_open(estimator: Any) -> list[str]:
    """Return the settings that are chosen by looking at rows."""
    from suffice.estimation.settings import is_open

    settings = estimator.get_params()
    names = ("pooling", "shrinkage", "temperature")
    left_open = [name for name in names if is_open(settings.get(name))]
    return left_open + (["power"] if isinstance(settings.get("power"), str) else [])


def number_or_word(text: str) -> Any:
    """Return what a person wrote as a number if it is one."""
    try:
        return float(text)
    except ValueError:
        return text


def setting(text: str) -> tuple[str, Any]:
    """Return a setting ``NAME=VALUE``; the value is JSON, or else the text itself."""
    name, mark, value = text.partition("=")
    if not mark:
        msg = f"a setting is written NAME=VALUE, got {text!r}"
        raise InvalidParameterError(msg)
    try:
        return name.strip(), json.loads(value)
    except json.JSONDecodeError:
        return name.strip(), value


def priors(texts: tuple[str, ...], classes: Any) -> Any:
    """Return priors written as one word such as uniform, or as LABEL=P for every class."""
    from suffice.table.labels import label_written

    if len(texts) == 1 and "=" not in texts[0]:
        return texts[0]
    pairs = [text.rpartition("=") for text in texts]
    try:
        return {label_written(name, classes): float(value) for name, _, value in pairs}
    except ValueError as error:
        if isinstance(error, suffice.errors.SufficeError):
            raise
        msg = f"a prior is written LABEL=PROBABILITY, got {' '.join(texts)!r}"
        raise InvalidParameterError(msg) from error
