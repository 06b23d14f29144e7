"""The fitted classifier, free of scikit-learn: labels, a model, and what its errors cost."""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any, TypeAlias

import numpy as np

from suffice.core.decision.costs import Decision, parse_costs
from suffice.core.model.averaged import AveragedModel
from suffice.core.model.class_model import ClassModel
from suffice.core.model.gaussian import GaussianModel
from suffice.core.model.linear import LinearModel
from suffice.core.model.mixture import MixtureModel
from suffice.core.table.foreign import is_foreign, is_on_device, like, to_numpy
from suffice.core.table.mixed import read
from suffice.core.table.schema import Encoding
from suffice.errors import InvalidInputError, InvalidParameterError
from suffice.typing import Codes, Floats, Labels

_COLDEST = 1e-300  # a temperature whose reciprocal is a number
_ONLY_SCORES = "this model has linear scores and no {}: fit one that has, such as LDA"
FittedModel: TypeAlias = ClassModel | LinearModel | AveragedModel


@dataclass(frozen=True, slots=True, eq=False)
class Classifier:
    """Rows to labels, posteriors, densities and samples.

    ``model`` is a Gaussian or Student t per class, linear scores, or an average of models; every
    fitted estimator has its classifier as ``classifier_``. Rows are arrays (n, d), in the order
    of ``feature_names`` where these are known; with an ``encoding``, frames with the columns of
    its schema.

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
    encoding: Encoding | None = None  # from the columns of a mixed table to rows of the model
    allow_missing: bool = False  # whether NaN means "not observed", to be integrated out

    @classmethod
    def of(
        cls,
        classes: Labels,
        names: Any,
        model: FittedModel,
        *,
        encoding: Any = None,
        **costs: Any,
    ) -> Classifier:
        """Return the classifier that decides by these costs, those of ``with_costs``."""
        called = None if names is None else tuple(map(str, names))
        decision = parse_costs(costs.pop("costs", None), classes, **costs)
        return cls(classes, called, model, decision, encoding)

    @property
    def n_features(self) -> int:
        """Number of columns of the rows."""
        return len(self.columns) if self.encoding else self.model.n_features

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns that rows must have; none where rows are arrays without names."""
        if self.encoding is None:
            return self.feature_names or ()
        return tuple(c.name for c in self.encoding.schema.columns if c.kind != "left out")

    def answer(self, verb: Callable[[Classifier, Any], Any], x: Any) -> Any:
        """Return what ``verb`` says of rows, for arrays of another library in kind."""
        if not is_foreign(x):
            return verb(self, x)
        scored = isinstance(self.model, (GaussianModel, LinearModel, MixtureModel))
        if is_on_device(x) and scored and self.decision.is_map and self.encoding is None:
            # of NaN and infinity the host says in which row, or integrates it out
            with np.errstate(invalid="ignore", over="ignore"), suppress(InvalidInputError):
                return verb(replace(self, allow_missing=False), x)
        return like(verb(self, to_numpy(x)), x)

    def rows(self, X: Any) -> Any:
        """Return rows as the model reads them: numbers, and indicators of levels."""
        if self.encoding is None:
            return X
        _, x, indicators = read(X, self.encoding.schema)
        return self.encoding.rows(x, indicators)

    @property
    def temperature(self) -> float:
        """T of the posterior, softmax(a / T)."""
        return self.model.temperature

    @property
    def has_posterior(self) -> bool:
        """Whether scores are log odds."""
        return self.model.has_posterior

    @property
    def has_density(self) -> bool:
        """Whether rows have a density, and can be drawn."""
        return self.model.has_density

    def predict(self, x: Any) -> Labels:
        """Return the action of least expected cost for each row: by default the MAP class."""
        codes = self.decide(x)
        return like(self.decision.decode(to_numpy(codes)), codes)  # type: ignore[no-any-return]

    def decide(self, x: Any) -> Codes:
        """Return the code of the action for each row; K is to reject."""
        if self.decision.is_map:
            return self._reader.most_probable(self.rows(x))
        return self.decision.decide(self.posterior(x))

    def posterior(self, x: Any) -> Floats:
        """Return p(class | x), shape (n, K)."""
        return self._probabilistic().posterior(self.rows(x))

    def log_posterior(self, x: Any) -> Floats:
        """Return log p(class | x), shape (n, K), exact far from the data."""
        return self._probabilistic().log_posterior(self.rows(x))

    def scores(self, x: Any) -> Floats:
        """Return the score of each class, shape (n, K), up to a term common to all."""
        return self._reader.scores(self.rows(x))

    def class_log_density(self, x: Any) -> Floats:
        """Return log p(x | class), shape (n, K)."""
        return self._densities().class_log_density(self.rows(x))

    def log_density(self, x: Any) -> Floats:
        """Return log p(x), shape (n,): low values are outliers."""
        return self._densities().log_density(self.rows(x))

    def sample(self, n: int, rng: np.random.Generator) -> tuple[Any, Labels]:
        """Draw n rows and labels; of a mixed table, a mapping from column to values."""
        x, codes = self._densities().sample(n, rng)
        return (self.encoding.columns(x) if self.encoding else x), self.classes[codes]

    def impute(self, x: Any) -> Any:
        """Return the rows, NaN replaced by its conditional mean; of a mixed table, by column."""
        return self._filled(x, self._densities().impute)

    def sample_missing(self, x: Any, rng: np.random.Generator) -> Any:
        """Return the rows, NaN replaced by a draw given what was observed; as ``impute`` does."""
        return self._filled(x, lambda rows: self._densities().sample_missing(rows, rng))

    def _filled(self, x: Any, fill: Callable[[Any], Floats]) -> Any:
        rows = fill(self.rows(x))
        if self.encoding is None:
            return rows
        names = (number.name for number in self.encoding.schema.numbers)
        return dict(zip(names, rows.T, strict=False))

    def allowing_missing(self) -> Classifier:
        """Return the classifier of rows in which NaN means "not observed"."""
        return replace(self, allow_missing=True)

    def with_priors(self, priors: Floats) -> Classifier:
        """Return the same densities under other priors (K,)."""
        if isinstance(self.model, (LinearModel, AveragedModel)):
            raise InvalidParameterError(
                "only a model of one density a class can take other priors"
            )
        return replace(self, model=self.model.with_priors(priors))

    def with_costs(
        self,
        costs: Any = None,
        *,
        reject_cost: Any = None,
        reject_label: Any = None,
    ) -> Classifier:
        """Return the same posteriors, decided by other costs."""
        return replace(
            self, decision=parse_costs(costs, self.classes, reject_cost, reject_label)
        )

    def _probabilistic(self) -> FittedModel:
        if not self.has_posterior:
            raise InvalidParameterError(_ONLY_SCORES.format("posteriors"))
        return self._reader

    def _densities(self) -> ClassModel | AveragedModel:
        reader = self._reader
        if isinstance(reader, LinearModel):
            raise InvalidParameterError(_ONLY_SCORES.format("densities"))
        return reader

    @property
    def _reader(self) -> FittedModel:
        return self.model.allowing_missing() if self.allow_missing else self.model


def classifier_of(fitted: Any) -> Classifier:
    """Return the classifier of a fitted estimator of ours, or of itself."""
    if isinstance(fitted, Classifier):
        return fitted
    if not hasattr(type(fitted), "classifier_"):
        found = f"{type(fitted).__name__} is none of suffice's classifiers"
        usable = "models of one density per class, linear ones, and averages of them"
        raise InvalidParameterError(f"{found}: only {usable} can be used here")
    return fitted.classifier_  # type: ignore[no-any-return]


def softmax_temperature(temperature: Any, base: Any = None) -> float:
    """Return T of softmax(a / T), given as such or by the base of the powers: T = 1 / ln b."""
    if base is None:
        if not isinstance(temperature, Real) or not _COLDEST < float(temperature) < math.inf:
            msg = f"temperature must be a positive number or 'auto' with rows, got {temperature!r}"
            raise InvalidParameterError(msg)
        return float(temperature)
    if temperature != 1.0:
        msg = f"base={base!r} and temperature={temperature!r} say the same thing: give one of them"
        raise InvalidParameterError(msg)
    if not isinstance(base, Real) or not 1 < float(base) < math.inf:
        raise InvalidParameterError(f"base must be a number above 1, got {base!r}")
    # bᵃ = exp(a ln b)
    return 1 / math.log(base)
