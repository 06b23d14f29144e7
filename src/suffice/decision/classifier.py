"""The fitted classifier, free of scikit-learn: labels, a model, and what its errors cost."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias

from suffice.decision.costs import parse_costs
from suffice.errors import InvalidParameterError
from suffice.model.averaged import AveragedModel
from suffice.model.linear import LinearModel

if TYPE_CHECKING:
    import numpy as np

    from suffice.decision.costs import Decision
    from suffice.model.class_model import ClassModel
    from suffice.typing import Codes, Floats, Labels

    FittedModel: TypeAlias = ClassModel | LinearModel | AveragedModel


@dataclass(frozen=True, slots=True, eq=False)
class Classifier:
    """Rows of numbers to labels, posteriors, densities and samples.

    ``model`` is a Gaussian or Student t per class, linear scores, or an average of models; every
    fitted estimator has its classifier as ``classifier_``. Rows are arrays (n, d), in the order
    of ``feature_names`` where these are known.

    Examples
    --------
    >>> import suffice as sf
    >>> fitted = sf.LDA().fit([[0.0], [1.0], [5.0], [6.0]], ["a", "a", "b", "b"]).classifier_
    >>> fitted.predict([[2.0], [4.0]]).tolist(), fitted.posterior([[3.0]]).round(3).tolist()
    (['a', 'b'], [[0.5, 0.5]])
    """

    classes: Labels  # (K,)
    feature_names: tuple[str, ...] | None
    model: FittedModel
    decision: Decision

    @classmethod
    def of(
        cls,
        classes: Labels,
        feature_names: Any,
        model: FittedModel,
        *,
        costs: Any = None,
        reject_cost: Any = None,
        reject_label: Any = None,
    ) -> Classifier:
        """Return the classifier that decides by these costs."""
        names = None if feature_names is None else tuple(map(str, feature_names))
        return cls(classes, names, model, parse_costs(costs, classes, reject_cost, reject_label))

    @property
    def n_features(self) -> int:
        """Number of features d."""
        return self.model.n_features

    @property
    def temperature(self) -> float:
        """T of the posterior, softmax(a / T)."""
        return self.model.temperature

    @property
    def has_posterior(self) -> bool:
        """Whether scores are log odds, so that their softmax is a probability."""
        return not isinstance(self.model, LinearModel) or self.model.has_posterior

    @property
    def has_density(self) -> bool:
        """Whether rows have a density, and can be drawn."""
        return not isinstance(self.model, LinearModel) and self.model.has_density

    def predict(self, x: Any) -> Labels:
        """Return the action of least expected cost for each row: by default the MAP class."""
        return self.decision.decode(self.decide(x))

    def decide(self, x: Any) -> Codes:
        """Return the code of the action for each row; K is to reject."""
        if self.decision.is_map:
            return self.model.most_probable(x)
        return self.decision.decide(self.posterior(x))

    def posterior(self, x: Any) -> Floats:
        """Return p(class | x), shape (n, K)."""
        return self._probabilistic().posterior(x)

    def log_posterior(self, x: Any) -> Floats:
        """Return log p(class | x), shape (n, K), exact far from the data."""
        return self._probabilistic().log_posterior(x)

    def scores(self, x: Any) -> Floats:
        """Return the score of each class, shape (n, K), up to a term common to all."""
        return self.model.scores(x)

    def class_log_density(self, x: Any) -> Floats:
        """Return log p(x | class), shape (n, K)."""
        return self._densities().class_log_density(x)

    def log_density(self, x: Any) -> Floats:
        """Return log p(x), shape (n,): low values are outliers."""
        return self._densities().log_density(x)

    def sample(self, n: int, rng: np.random.Generator) -> tuple[Floats, Labels]:
        """Draw n rows and labels."""
        x, codes = self._densities().sample(n, rng)
        return x, self.classes[codes]

    def with_priors(self, priors: Floats) -> Classifier:
        """Return the same densities under other priors (K,)."""
        if isinstance(self.model, (LinearModel, AveragedModel)):
            msg = "only a model of one density per class can take other priors"
            raise InvalidParameterError(msg)
        return replace(self, model=self.model.with_priors(priors))

    def with_costs(
        self, costs: Any = None, *, reject_cost: Any = None, reject_label: Any = None
    ) -> Classifier:
        """Return the same posteriors, decided by other costs."""
        decision = parse_costs(costs, self.classes, reject_cost, reject_label)
        return replace(self, decision=decision)

    def _probabilistic(self) -> FittedModel:
        if not self.has_posterior:
            raise InvalidParameterError(_ONLY_SCORES.format("posteriors"))
        return self.model

    def _densities(self) -> ClassModel | AveragedModel:
        if isinstance(self.model, LinearModel):
            raise InvalidParameterError(_ONLY_SCORES.format("densities"))
        return self.model


_ONLY_SCORES = "this model has linear scores and no {}: fit one that has, such as LDA"


def classifier_of(fitted: Any) -> Classifier:
    """Return the classifier of a fitted estimator of ours, or of itself."""
    if isinstance(fitted, Classifier):
        return fitted
    if not hasattr(type(fitted), "classifier_"):
        msg = (
            f"{type(fitted).__name__} is none of suffice's classifiers: only models of one density "
            "per class, linear ones, and averages of them can be used here"
        )
        raise InvalidParameterError(msg)
    found: Classifier = fitted.classifier_
    return found


def softmax_temperature(temperature: Any, base: Any = None) -> float:
    """Return T of softmax(a / T), given as such or by the base of the powers: T = 1 / ln b.

    Examples
    --------
    >>> softmax_temperature(1.0, base=10.0)  # 10 ** a instead of exp(a)
    0.43429448190325176
    """
    if base is None:
        if isinstance(temperature, str) or not 0 < temperature < math.inf:
            msg = f"temperature must be a positive number or 'auto' with rows, got {temperature!r}"
            raise InvalidParameterError(msg)
        return float(temperature)
    if temperature != 1.0:
        msg = f"base={base!r} and temperature={temperature!r} say the same thing: give one of them"
        raise InvalidParameterError(msg)
    if isinstance(base, str) or not 1 < base < math.inf:
        msg = f"base must be a number above 1, got {base!r}"
        raise InvalidParameterError(msg)
    # bᵃ = exp(a ln b)
    return 1 / math.log(base)
