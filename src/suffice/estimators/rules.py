"""Any classifier as a rule that gives rows a class, and its hyperplane if it has one."""

import warnings
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from suffice.errors import FeatureMismatchError
from suffice.table.labels import as_labels, codes_of, has_label
from suffice.typing import Codes, Floats, Labels

_NAMELESS = "X does not have valid feature names"  # scikit-learn's words
_NEAR = 1e-6  # of the way from a row to a hyperplane
_PROBES = 1000


@dataclass(frozen=True, slots=True, eq=False)
class DecisionRule:
    """A fitted classifier, ours or scikit-learn's, asked about rows of a model."""

    classifier: Any
    classes: Labels  # of the model  (K,)
    columns: list[int] | slice  # of the model's rows, in the order that the rule reads them

    @classmethod
    def of(cls, classifier: Any, classes: Labels, names: tuple[str, ...] | None) -> Self:
        """Return the rule; where both have names of features, they must be the same ones."""
        known = getattr(classifier, "feature_names_in_", None)
        if names is None or known is None:
            return cls(classifier, classes, slice(None))
        if set(known) != set(names):
            msg = f"the rule reads the features {list(known)}, and the model has {list(names)}"
            raise FeatureMismatchError(msg)
        return cls(classifier, classes, [names.index(name) for name in known])

    def decide(self, x: Any) -> Codes:
        """Return the code of the class that each row is given, (n,); −1 where it is refused."""
        rows = x[:, self.columns] if isinstance(x, np.ndarray) else x
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message=_NAMELESS, category=UserWarning)
            predicted = np.asarray(self.classifier.predict(rows))
        reject = getattr(self.classifier, "reject_label", None)
        here = has_label(predicted) & (True if reject is None else predicted != reject)
        codes = np.full(len(predicted), -1)
        codes[here] = codes_of(as_labels(predicted[here]), self.classes)
        return codes

    def hyperplane(self, x: Any) -> tuple[Floats, float] | None:
        """Return (w, w_0) if the second of two classes is where wᵀx + w_0 > 0, else None.

        The coefficients are believed if the answers change there and only there: at rows, and
        at points on either side of their projections.
        """
        found = (getattr(self.classifier, name, ()) for name in ("coef_", "intercept_"))
        coef, intercept = (np.asarray(values) for values in found)
        plain = isinstance(x, np.ndarray) and len(self.classes) == 2
        if not plain or coef.shape != (1, x.shape[1]) or intercept.shape != (1,) or not coef.any():
            return None
        w, w_0 = np.empty(x.shape[1]), float(intercept[0])
        w[self.columns] = coef[0]
        rows = x[:_PROBES]
        y = rows @ w + w_0
        # x − (1 ∓ ε) y(x) w / ‖w‖²
        step = y[:, None] * (w / (w @ w))
        probes = np.concatenate([rows, rows - (1 - _NEAR) * step, rows - (1 + _NEAR) * step])
        sides, decided = np.concatenate([y, y, -y]) > 0, self.decide(probes)
        if np.array_equal(decided, sides):
            return w, w_0
        return (-w, -w_0) if np.array_equal(decided, ~sides) else None
