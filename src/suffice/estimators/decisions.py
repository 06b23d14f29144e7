"""What a fitted Gaussian classifier says of rows: classes, posteriors, densities, samples."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from suffice.decision.costs import parse_costs
from suffice.estimation.priors import parse_priors
from suffice.estimators.validation import checked_rows

if TYPE_CHECKING:
    from suffice.decision.costs import CostMatrix
    from suffice.model import ClassModel
    from suffice.moments import Moments
    from suffice.typing import Floats, Labels


class GaussianDecisions:
    """Answers of ``model_``, in scikit-learn's words."""

    moments_: Moments
    classes_: Labels
    priors: Any
    dirichlet: Any
    costs: Any
    reject_cost: Any
    reject_label: Any
    _model: ClassModel

    @property
    def model_(self) -> ClassModel:
        """Densities, posterior and samples."""
        raise NotImplementedError

    def predict(self, X: Any) -> Labels:
        """Return the action of least expected cost for each row: by default the MAP class."""
        x = checked_rows(self, X)
        decision = None if self.costs is None and self.reject_cost is None else self._decision()
        if decision is None or decision.is_map:
            labels: Labels = self.classes_[self.model_.most_probable(x)]
            return labels
        return decision.decode(decision.decide(self.model_.posterior(x)))

    def predict_proba(self, X: Any) -> Floats:
        """Return p(class | x), shape (n, K)."""
        x = checked_rows(self, X)
        return self.model_.posterior(x)

    def predict_log_proba(self, X: Any) -> Floats:
        """Return log p(class | x), shape (n, K), exact far from the data."""
        x = checked_rows(self, X)
        return self.model_.log_posterior(x)

    def decision_function(self, X: Any) -> Floats:
        """Return the log odds of the second class (n,), or the score of each class (n, K)."""
        x = checked_rows(self, X)
        scores = self.model_.scores(x)
        return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores

    def class_log_density(self, X: Any) -> Floats:
        """Return log p(x | class), shape (n, K)."""
        x = checked_rows(self, X)
        return self.model_.class_log_density(x)

    def log_density(self, X: Any) -> Floats:
        """Return log p(x), shape (n,): low values are outliers."""
        x = checked_rows(self, X)
        return self.model_.log_density(x)

    def sample(self, n: int = 1, random_state: Any = None) -> tuple[Floats, Labels]:
        """Draw rows and labels from the fitted model: ``X, y``."""
        check_is_fitted(self)
        x, codes = self.model_.sample(n, _generator(random_state))
        return x, self.classes_[codes]

    def with_priors(self, priors: Any) -> Self:
        """Return a copy under other priors; nothing is fitted again."""
        check_is_fitted(self)
        changed = copy.copy(self)
        changed.priors, changed.dirichlet = priors, None
        known = parse_priors(priors, self.classes_, self.moments_.weights)
        changed._model = self.model_.with_priors(known)
        return changed

    def with_costs(
        self, costs: Any = None, *, reject_cost: Any = None, reject_label: Any = None
    ) -> Self:
        """Return a copy that decides by other costs; nothing is fitted again."""
        check_is_fitted(self)
        changed = copy.copy(self)
        changed.costs, changed.reject_cost = costs, reject_cost
        changed.reject_label = reject_label
        changed._decision()
        return changed

    def _decision(self) -> CostMatrix:
        return parse_costs(self.costs, self.classes_, self.reject_cost, self.reject_label)


def _generator(random_state: Any) -> np.random.Generator:
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(2**31 - 1))
    return np.random.default_rng(random_state)
