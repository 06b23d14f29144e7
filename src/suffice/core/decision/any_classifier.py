"""Decision rules, which are classifiers, boundaries or functions of rows."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, Protocol, TypeAlias

import numpy as np

from suffice.core.decision.bayes_decision import Costs
from suffice.core.model.geometry.boundary import Boundary
from suffice.core.model.geometry.hyperplane import Hyperplane
from suffice.core.model.geometry.surface import Surface
from suffice.core.table.labels import as_labels, codes_of, has_label
from suffice.errors import FeatureMismatchError, InvalidParameterError
from suffice.typing import Codes, Floats, Labels, LabelsLike, RowsLike

_NAMELESS = "X does not have valid feature names"  # the beginning of scikit-learn's warning
_NEAR = 1e-6  # a probe is this share of its row's distance away from the hyperplane
_PROBES = 1000


class Predictor(Protocol):
    """A fitted classifier of any library."""

    def predict(self, X: RowsLike, /) -> LabelsLike: ...


# a fitted classifier, a boundary with the labels of its sides, or a function of rows (n, d)
RuleLike: TypeAlias = Predictor | Boundary | Callable[[Floats], LabelsLike]


@dataclass(frozen=True, slots=True, eq=False)
class FunctionRule:
    """A classifier made from a function that returns the labels of rows."""

    function: Callable[[Floats], LabelsLike]

    def predict(self, X: RowsLike, /) -> LabelsLike:
        return self.function(np.asarray(X))


@dataclass(frozen=True, slots=True, eq=False)
class BoundaryRule:
    """A classifier that predicts the class on whose side of a boundary a row lies."""

    boundary: Boundary

    def predict(self, X: RowsLike, /) -> LabelsLike:
        return self.boundary.side(np.asarray(X))

    @property
    def feature_names_in_(self) -> tuple[str, ...] | None:
        return self.boundary.feature_names

    @property
    def coef_(self) -> Floats:
        """Coefficients w of a hyperplane (1, d), empty for other boundaries."""
        return self.boundary.w[None] if isinstance(self.boundary, Hyperplane) else np.empty(0)

    @property
    def intercept_(self) -> Floats:
        """Intercept w_0 of a hyperplane (1,), empty for other boundaries."""
        if isinstance(self.boundary, Hyperplane):
            return np.array([self.boundary.w_0])
        return np.empty(0)


def as_predictor(rule: RuleLike) -> Predictor:
    """Return a classifier that applies the rule, or raise if ``rule`` is not a decision rule."""
    if isinstance(rule, Surface):
        return BoundaryRule(rule)
    if isinstance(rule, type):
        raise InvalidParameterError(
            f"the rule is the class {rule.__name__}, which cannot predict: pass a fitted "
            "instance"
        )
    if hasattr(rule, "predict"):
        return rule
    if callable(rule):
        return FunctionRule(rule)
    raise InvalidParameterError(
        f"the rule is {rule!r}, which does not assign classes to rows: pass a fitted classifier, "
        "a boundary, or a function that takes rows (n, d) and returns n labels"
    )


class DecisionRule(NamedTuple):
    """A fitted classifier, and the columns of the model's rows that it reads."""

    classifier: Predictor
    classes: Labels  # classes of the model  (K,)
    columns: list[int] | slice  # columns of the model's rows, in the order of the rule

    @classmethod
    def of(
        cls,
        rule: RuleLike,
        classes: Labels,
        names: tuple[str, ...] | None,
    ) -> DecisionRule:
        """Return the rule; if rule and model name their features, both must name the same ones."""
        classifier = as_predictor(rule)
        rule_names = getattr(classifier, "feature_names_in_", None)
        if names is None or rule_names is None:
            return cls(classifier, classes, slice(None))
        if set(rule_names) != set(names):
            raise FeatureMismatchError(
                f"the rule reads the features {list(rule_names)}, but the model has {list(names)}: "
                "fit the rule on the model's features"
            )
        return cls(classifier, classes, [names.index(name) for name in rule_names])

    def decide(self, x: RowsLike) -> Codes:
        """Return the code of the predicted class of each row, (n,), or −1 if it is rejected."""
        rows = x[:, self.columns] if isinstance(x, np.ndarray) else x
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message=_NAMELESS, category=UserWarning)
            predicted = np.asarray(self.classifier.predict(rows))
        n_rows = np.shape(rows)[0]
        if predicted.shape != (n_rows,):
            raise InvalidParameterError(
                f"the rule returned shape {predicted.shape} for {n_rows} rows: it must return one "
                "label for each row"
            )
        answered = has_label(predicted)
        costs = getattr(self.classifier, "costs", None)
        if isinstance(costs, Costs) and costs.reject_label is not None:
            answered &= predicted != costs.reject_label
        codes = np.full(len(predicted), -1)
        codes[answered] = codes_of(as_labels(predicted[answered]), self.classes)
        return codes

    def hyperplane(self, x: RowsLike) -> tuple[Floats, float] | None:
        """Return (w, w_0) if the rule predicts the second of two classes where wᵀx + w_0 > 0.

        Return None for other rules.
        """
        coef = np.asarray(getattr(self.classifier, "coef_", ()))
        intercept = np.asarray(getattr(self.classifier, "intercept_", ()))
        if not isinstance(x, np.ndarray) or len(self.classes) != 2:
            return None
        if coef.shape != (1, x.shape[1]) or intercept.shape != (1,) or not coef.any():
            return None
        w = np.empty(x.shape[1])
        w[self.columns] = coef[0]
        w_0 = float(intercept[0])
        # test whether the predictions change at the hyperplane and nowhere else, with the rows and
        # with probes: points on both sides of the hyperplane, close to the projection of a row
        rows = x[:_PROBES]
        y = rows @ w + w_0
        # x − (1 ∓ ε) y(x) w / ‖w‖²
        step = y[:, None] * (w / (w @ w))
        probes = np.concatenate([rows, rows - (1 - _NEAR) * step, rows - (1 + _NEAR) * step])
        is_second = np.concatenate([y, y, -y]) > 0
        decided = self.decide(probes)
        if np.array_equal(decided, is_second):
            return w, w_0
        if np.array_equal(decided, ~is_second):
            return -w, -w_0
        return None
