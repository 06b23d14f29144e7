"""Who is compared: names, a mapping, or estimators, as named members."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from sklearn.base import is_classifier
from sklearn.pipeline import Pipeline

from suffice.errors import InvalidParameterError
from suffice.evaluation.compare.catalogue import KINDS, kind_named

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


def parse_line_up(line_up: Any, seed: int) -> tuple[Member, ...]:
    """Return the members that users name; None is the default line-up."""
    if line_up is None:
        return tuple(Member(kind.name, kind.make(seed)) for kind in KINDS)
    if isinstance(line_up, str) or hasattr(line_up, "fit"):
        line_up = [line_up]
    if isinstance(line_up, Mapping):
        line_up = list(line_up.items())
    if not isinstance(line_up, Iterable):
        msg = f"line_up must be names, estimators or a mapping of both, got {line_up!r}"
        raise InvalidParameterError(msg)
    members = _told_apart([_member(entry, seed) for entry in line_up])
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
    where = f"line_up[{name!r}]" if name else "a member of line_up"
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
        msg = "line_up is empty: name at least one classifier, or leave it out"
        raise InvalidParameterError(msg)
    twice = [name for name, times in Counter(names).items() if times > 1]
    if twice:
        msg = f"line_up has {twice[0]!r} twice: give each its own name in a mapping"
        raise InvalidParameterError(msg)
