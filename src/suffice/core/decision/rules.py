"""Any fitted classifier, ours or scikit-learn's, as a rule that is asked about rows of a model."""

from __future__ import annotations

import warnings
from typing import NamedTuple, Protocol

import numpy as np

from suffice.core.decision.costs import Costs
from suffice.core.table.labels import as_labels, codes_of, has_label
from suffice.errors import FeatureMismatchError
from suffice.typing import Codes, Floats, Labels, LabelsLike, RowsLike

_NAMELESS = "X does not have valid feature names"  # scikit-learn's warning
_NEAR = 1e-6  # of the way from a row to a hyperplane
_PROBES = 1000


class Predictor(Protocol):
    """A fitted classifier of any library."""

    def predict(self, X: RowsLike, /) -> LabelsLike: ...


class DecisionRule(NamedTuple):
    """A fitted classifier, and how the model's rows reach it."""

    classifier: Predictor
    classes: Labels  # of the model  (K,)
    columns: list[int] | slice  # of the model's rows, in the order that the rule reads them

    @classmethod
    def of(
        cls,
        classifier: Predictor,
        classes: Labels,
        names: tuple[str, ...] | None,
    ) -> DecisionRule:
        """Return the rule; where both have feature names, they must be the same ones."""
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
        """Return the code of the class that each row is given, (n,); −1 where it is refused."""
        rows = x[:, self.columns] if isinstance(x, np.ndarray) else x
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message=_NAMELESS, category=UserWarning)
            predicted = np.asarray(self.classifier.predict(rows))
        answered = has_label(predicted)
        costs = getattr(self.classifier, "costs", None)
        if isinstance(costs, Costs) and costs.reject_label is not None:
            answered &= predicted != costs.reject_label
        codes = np.full(len(predicted), -1)
        codes[answered] = codes_of(as_labels(predicted[answered]), self.classes)
        return codes

    def hyperplane(self, x: RowsLike) -> tuple[Floats, float] | None:
        """Return (w, w_0) if the second of two classes is where wᵀx + w_0 > 0, else None."""
        coef = np.asarray(getattr(self.classifier, "coef_", ()))
        intercept = np.asarray(getattr(self.classifier, "intercept_", ()))
        if not isinstance(x, np.ndarray) or len(self.classes) != 2:
            return None
        if coef.shape != (1, x.shape[1]) or intercept.shape != (1,) or not coef.any():
            return None
        w = np.empty(x.shape[1])
        w[self.columns] = coef[0]
        w_0 = float(intercept[0])
        # believed if answers change there and only there: at rows, and beside their projections
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
