"""How many numbers a fitted classifier goes by."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.pipeline import Pipeline

from suffice.errors import InvalidParameterError

if TYPE_CHECKING:
    from collections.abc import Callable

_PRESETS, _OURS = "suffice.estimators.gaussian", "suffice.estimators"


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


SLOW = {
    "DecisionTreeClassifier",
    "ExtraTreesClassifier",
    "GaussianProcessClassifier",
    "GradientBoostingClassifier",
    "KNeighborsClassifier",
    "MLPClassifier",
    "NuSVC",
    "Perceptron",
    "RadiusNeighborsClassifier",
    "RandomForestClassifier",
    "SVC",
}


@dataclass(frozen=True, slots=True, eq=False)
class Member:
    """A classifier under the name it is reported by."""

    name: str
    estimator: Any  # never fitted: clones of it are

    @property
    def is_slow(self) -> bool:
        """Whether fitting or predicting very many rows would take minutes or more."""
        return type(core(self.estimator)).__name__ in SLOW


def core(estimator: Any) -> Any:
    """Return the classifier at the end of a pipeline."""
    return estimator[-1] if isinstance(estimator, Pipeline) else estimator


def parse_models(models: Any, seed: int) -> tuple[Member, ...]:
    """Return the members that users name; None is the default line-up."""
    if models is None:
        return tuple(Member(kind.name, kind.make(seed)) for kind in KINDS)
    if isinstance(models, str) or hasattr(models, "fit"):
        models = [models]
    if isinstance(models, Mapping):
        models = list(models.items())
    if not isinstance(models, Iterable):
        msg = f"models must be names, estimators or a mapping of both, got {models!r}"
        raise InvalidParameterError(msg)
    members = _told_apart([_member(entry, seed) for entry in models])
    _check_names([member.name for member in members])
    return members


def _member(entry: Any, seed: int) -> Member:
    if isinstance(entry, str):
        kind = kind_named(entry)
        return Member(kind.name, kind.make(seed))
    name, estimator = entry if isinstance(entry, tuple) and len(entry) == 2 else ("", entry)
    if isinstance(estimator, str):
        estimator = kind_named(estimator).make(seed)
    _check_estimator(name, estimator)
    return Member(str(name), estimator)


def _told_apart(members: list[Member]) -> tuple[Member, ...]:
    """Return the members, those without a name called by their class, or by their settings."""
    short = [m.name or type(core(m.estimator)).__name__ for m in members]
    times = Counter(short)
    return tuple(
        Member(m.name or (name if times[name] == 1 else _in_full(m.estimator)), m.estimator)
        for m, name in zip(members, short, strict=True)
    )


def _in_full(estimator: Any) -> str:
    return " ".join(repr(estimator).split())


def _check_estimator(name: Any, estimator: Any) -> None:
    where = f"models[{name!r}]" if name else "a member of models"
    if isinstance(estimator, type):
        msg = f"{where} is the class {estimator.__name__}: pass an instance, {estimator.__name__}()"
        raise InvalidParameterError(msg)
    if not (hasattr(estimator, "fit") and hasattr(estimator, "predict")):
        msg = f"{where} is {estimator!r}: expected a classifier, with fit and predict, or a name"
        raise InvalidParameterError(msg)
    if not is_classifier(estimator):
        msg = f"{where} is {_in_full(estimator)}, which is no classifier"
        raise InvalidParameterError(msg)


def _check_names(names: list[str]) -> None:
    if not names:
        msg = "models is empty: name at least one classifier, or leave it out"
        raise InvalidParameterError(msg)
    twice = [name for name, times in Counter(names).items() if times > 1]
    if twice:
        msg = f"models has {twice[0]!r} twice: give each its own name in a mapping"
        raise InvalidParameterError(msg)


def n_parameters(fitted: Any) -> float:
    """Return the number of free parameters, NaN where rows are kept instead or it is not known.

    Linear scores of K classes count for K − 1, since only their differences matter; a tree keeps
    a feature and a threshold at each split, and K − 1 probabilities at each leaf.
    """
    model = core(fitted)
    for attribute, count in _COUNTS.items():
        if hasattr(model, attribute):
            return float(count(model))
    return np.nan


def _of_model(model: Any) -> float:
    return float(getattr(model.model_, "n_parameters", np.nan))


def _of_average(model: Any) -> float:
    """Return those of every model averaged, and their shares."""
    sizes = [getattr(member.model, "n_parameters", np.nan) for member in model.members_]
    return float(np.sum(sizes)) + len(sizes) - 1


def _of_tree(model: Any) -> float:
    tree = model.tree_
    splits, leaves = int(tree.node_count - tree.n_leaves), int(tree.n_leaves)
    return float(2 * splits + leaves * (len(model.classes_) - 1))


def _of_ensemble(model: Any) -> float:
    return float(np.sum([n_parameters(tree) for tree in np.ravel(model.estimators_)]))


def _of_network(model: Any) -> float:
    return float(sum(np.size(layer) for layer in (*model.coefs_, *model.intercepts_)))


def _of_scores(model: Any) -> float:
    per_score = np.shape(model.coef_)[-1] + bool(np.any(getattr(model, "intercept_", 0)))
    return float((len(model.classes_) - 1) * per_score)


# fitted attribute → what it says of the number of parameters, the first that is there
_COUNTS = {
    "model_": _of_model,
    "members_": _of_average,
    "tree_": _of_tree,
    "coefs_": _of_network,
    "coef_": _of_scores,
    "estimators_": _of_ensemble,
}
