"""Fit copies of a scikit-learn estimator, with weights if it accepts weights."""

from dataclasses import dataclass
from typing import Any, Protocol, Self, TypeGuard, TypeVar

from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import has_fit_parameter

from suffice.core.decision.bayes_decision import CostsLike
from suffice.core.estimation.priors import Priors
from suffice.core.estimation.settings import CategoricalLike, PowerLike, Settings
from suffice.core.moments import Moments
from suffice.typing import Codes, Flags, Floats, Labels, RowsLike, SklearnClassifier

Estimator = TypeVar("Estimator")


class GaussianFamily(SklearnClassifier, Protocol):
    """A Gaussian classifier, whose model depends only on moments."""

    power: PowerLike
    costs: CostsLike
    categorical: CategoricalLike

    def settings(self) -> Settings:
        """Return all settings as one value."""

    def _resolved_settings(self) -> Settings:
        """Return the settings, with the values that ``fit`` chose for "auto"."""

    def fit_moments(self, moments: Moments) -> Self:
        """Fit the model to moments that were collected before."""

    def with_priors(self, priors: Priors) -> Self:
        """Return a copy with other priors."""


def is_gaussian(estimator: object) -> TypeGuard[GaussianFamily]:
    """Return whether an estimator is a Gaussian classifier whose model is computed from moments."""
    return hasattr(estimator, "_resolved_settings")


@dataclass(frozen=True, slots=True, eq=False)
class Belonging:
    """The group of each row, or the time of each row."""

    groups: Codes | None = None  # group of each row  (n,)
    time: Codes | None = None  # time of each row  (n,)

    def take(self, rows: Codes | Flags) -> Self:
        """Return the groups or times of some rows."""
        return type(self)(
            groups=None if self.groups is None else self.groups[rows],
            time=None if self.time is None else self.time[rows],
        )

    def options(self, estimator: object) -> dict[str, Codes]:
        """Return the groups or times as keyword arguments, if ``estimator.fit`` accepts them."""
        options = {}
        if self.groups is not None and has_fit_parameter(estimator, "groups"):
            options["groups"] = self.groups
        if self.time is not None and has_fit_parameter(estimator, "time"):
            options["time"] = self.time
        return options


def fitted(
    estimator: Estimator,
    X: RowsLike,
    labels: Labels,
    weight: Floats | None,
    belonging: Belonging | None = None,
) -> Estimator:
    """Return a fitted copy of an estimator; weights are dropped if it accepts none."""
    copy: Any = clone(estimator)
    options: dict[str, Any] = {}
    if belonging is not None:
        options = dict(belonging.options(estimator))
    name = None if weight is None else weight_name(estimator)
    if name is not None:
        options[name] = weight
    copy.fit(X, labels, **options)
    fitted_copy: Estimator = copy
    return fitted_copy


def weight_name(estimator: object) -> str | None:
    """Return the name of the parameter of ``fit`` for weights; None if there is none."""
    if isinstance(estimator, Pipeline):
        step_name, last_step = estimator.steps[-1]
        if has_fit_parameter(last_step, "sample_weight"):
            return f"{step_name}__sample_weight"
        return None
    return "sample_weight" if has_fit_parameter(estimator, "sample_weight") else None
