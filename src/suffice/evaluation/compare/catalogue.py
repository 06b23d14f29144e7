"""Classifiers known by name: the default line-up."""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches
from importlib import import_module
from typing import TYPE_CHECKING, Any

from suffice.errors import InvalidParameterError

if TYPE_CHECKING:
    from collections.abc import Callable

_PRESETS, _OURS = "suffice.estimators.presets", "suffice.estimators"


@dataclass(frozen=True, slots=True)
class Kind:
    """A classifier people ask for by name."""

    name: str
    make: Callable[[int], Any]  # seed → an estimator that is not fitted
    also: tuple[str, ...] = ()  # what else it is called


def _of(home: str, kind: str, *, seeded: bool = False, **settings: Any) -> Callable[[int], Any]:
    """Return what makes one; its module is imported only then."""

    def make(seed: int) -> Any:
        seeds = {"random_state": seed} if seeded else {}
        return getattr(import_module(home), kind)(**settings, **seeds)

    return make


def _neighbours(weights: str) -> Callable[[int], Any]:
    """Return what makes five nearest neighbours in standard units."""

    def make(seed: int) -> Any:  # noqa: ARG001  nothing is random here
        from sklearn.neighbors import KNeighborsClassifier
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import StandardScaler

        return make_pipeline(StandardScaler(), KNeighborsClassifier(weights=weights))

    return make


KINDS = (
    Kind("LDA", _of(_PRESETS, "LDA"), ("linear discriminant analysis",)),
    Kind("QDA", _of(_PRESETS, "QDA"), ("quadratic discriminant analysis",)),
    Kind("GaussianNB", _of(_PRESETS, "GaussianNB"), ("naive bayes", "nb")),
    Kind("RDA", _of(_PRESETS, "RDA"), ("regularised discriminant analysis",)),
    Kind("AutoGaussian", _of(f"{_OURS}.auto", "AutoGaussian"), ("auto",)),
    Kind(
        "logistic regression",
        _of(f"{_OURS}.logistic", "LogisticRegression", seeded=True),
        ("logistic", "softmax"),
    ),
    Kind("perceptron", _of(f"{_OURS}.perceptron", "Perceptron", seeded=True, variant="averaged")),
    Kind(
        "least squares",
        _of(f"{_OURS}.least_squares", "LeastSquaresClassifier"),
        ("least squares classifier",),
    ),
    Kind(
        "nearest neighbours",
        _neighbours("uniform"),
        ("neighbours", "neighbors", "nearest neighbors", "knn", "k neighbors classifier"),
    ),
    Kind(
        "nearest neighbours (distance)",
        _neighbours("distance"),
        ("neighbours (distance)", "neighbors (distance)", "knn (distance)"),
    ),
    Kind(
        "decision tree",
        _of("sklearn.tree", "DecisionTreeClassifier", seeded=True),
        ("tree", "decision tree classifier"),
    ),
    Kind(
        "random forest",
        _of("sklearn.ensemble", "RandomForestClassifier", seeded=True),
        ("forest", "random forest classifier"),
    ),
)


def kind_named(name: str) -> Kind:
    """Return the kind a person means, or say which there are."""
    known = {_bare(word): kind for kind in KINDS for word in (kind.name, *kind.also)}
    found = known.get(_bare(name))
    if found is None:
        near = get_close_matches(_bare(name), known, 1)
        hint = f"did you mean {known[near[0]].name!r}? " if near else ""
        names = ", ".join(repr(kind.name) for kind in KINDS)
        msg = (
            f"no classifier is called {name!r}: {hint}there are {names}; any other can be passed "
            "as an estimator"
        )
        raise InvalidParameterError(msg)
    return found


def _bare(name: str) -> str:
    """Return a name without case, spaces and marks."""
    return "".join(letter for letter in name.casefold() if letter.isalnum())
