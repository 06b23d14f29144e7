"""The fitted classifier, which combines labels, a model and costs, without scikit-learn."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any, TypeAlias, TypeVar

import numpy as np

from suffice.core.decision.any_classifier import DecisionRule, RuleLike
from suffice.core.decision.bayes_decision import CostsLike, Decision, decision_by
from suffice.core.model.averaged import AveragedModel
from suffice.core.model.bayes_error import BayesError, ErrorRate, linear_error, rule_error
from suffice.core.model.class_model import ClassModel, row_count
from suffice.core.model.contributions import (
    RowExplanation,
    parts_of_log_odds,
    replacements,
)
from suffice.core.model.gaussian import GaussianModel
from suffice.core.model.information_criteria import aic, bic
from suffice.core.model.linear import LinearModel, discriminant
from suffice.core.model.mixture import MixtureModel
from suffice.core.model.predicted import FilledModel, PredictedModel
from suffice.core.moments import Moments
from suffice.core.moments.stated import is_stated
from suffice.core.table.count_rows import is_sparse
from suffice.core.table.foreign import is_foreign, is_on_device, like, to_numpy
from suffice.core.table.indicator_encoding import Encoding
from suffice.core.table.labels import as_labels, code_of, codes_of
from suffice.core.table.mixed import read
from suffice.core.table.notation import Notations
from suffice.core.table.schema import Schema
from suffice.core.table.table import require_as_many
from suffice.core.table.words import TextColumn
from suffice.core.text.lists import counted, python_scalar
from suffice.errors import FeatureMismatchError, InvalidInputError, InvalidParameterError
from suffice.typing import Array, Codes, Floats, Labels, LabelsLike, RowsLike

FittedModel: TypeAlias = (
    ClassModel | LinearModel | AveragedModel | PredictedModel | FilledModel
)
RandomState: TypeAlias = int | np.random.Generator | None
Answer = TypeVar("Answer")
# replaces smaller log posteriors, which may be log 0 in an averaged model
_LEAST_LOG_POSTERIOR = -700.0
_COLDEST = 1e-300  # the reciprocal of a smaller temperature may be infinite


@dataclass(frozen=True, slots=True, eq=False)
class Classifier:
    """A fitted classifier, which predicts labels and posteriors, and has densities to sample from.

    ``model`` is a Gaussian or Student t per class, linear scores, or an average of models. Every
    fitted estimator of suffice has its classifier as ``model_``. Rows are arrays (n, d), with the
    columns in the order of ``feature_names``. A classifier with an ``encoding`` reads frames that
    have the columns of its schema.

    Examples
    --------
    >>> import suffice as sf
    >>> fitted = sf.LDA().fit([[0.0], [1.0], [5.0], [6.0]], ["a", "a", "b", "b"]).model_
    >>> fitted.predict([[2.0], [4.0]]).tolist(), fitted.posterior([[3.0]]).round(3).tolist()
    (['a', 'b'], [[0.5, 0.5]])
    """

    classes: Labels  # (K,)
    feature_names: tuple[str, ...] | None
    model: FittedModel
    decision: Decision
    encoding: Encoding | None = None  # encodes the columns of a mixed table as features
    allow_missing: bool = False  # whether NaN means "not observed" and is integrated out
    # notations of numbers and dates in the text files of the fit
    notations: Notations | None = None
    text: TextColumn | None = None  # the column whose words the model counts

    @classmethod
    def of(
        cls,
        classes: Labels,
        feature_names: Iterable[object] | None,
        model: FittedModel,
        *,
        encoding: Encoding | None = None,
        costs: CostsLike = None,
    ) -> Classifier:
        """Return a classifier that minimises the expected costs."""
        names = None if feature_names is None else tuple(str(name) for name in feature_names)
        return cls(classes, names, model, decision_by(costs, classes), encoding)

    def __repr__(self) -> str:
        K = counted(len(self.classes), "class")
        d = counted(self.n_features, "feature")
        return f"Classifier({K} × {d}, {type(self.model).__name__})"

    # --- rows --------------------------------------------------------------------------------

    @property
    def n_features(self) -> int:
        """Number of columns of the rows."""
        is_table = self.encoding is not None or self.text is not None
        return len(self.columns) if is_table else self.model.n_features

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns that rows must have, empty if columns have no names."""
        if self.text is not None:
            return (self.text.name,)
        if self.encoding is None:
            return self.feature_names or ()
        return tuple(c.name for c in self.encoding.schema.columns if c.kind != "left out")

    @property
    def schema(self) -> Schema | None:
        """The columns that rows must have, or None if all of them are numeric."""
        if self.text is not None:
            return self.text.schema
        return None if self.encoding is None else self.encoding.schema

    def rows(self, X: RowsLike) -> Any:
        """Return rows as the model reads them, as numbers and indicators of levels.

        If the model counts words, texts become counts of words, and a sparse or dense matrix must
        hold counts of words.
        """
        is_counted = is_sparse(X) or (isinstance(X, np.ndarray) and X.ndim == 2)
        if self.text is not None and not is_counted:
            return self.text.rows(X).matrix()
        if self.encoding is not None:
            _, x, indicators = read(X, self.encoding.schema)
            return self.encoding.rows(x, indicators)
        if isinstance(X, np.ndarray) or is_foreign(X) or is_sparse(X):
            return X
        columns = getattr(X, "columns", None)
        if columns is None or self.feature_names is None:
            return np.asarray(X)
        return _by_name(X, columns, self.feature_names)

    def answer(self, verb: Callable[[Classifier, RowsLike], Answer], x: RowsLike) -> Answer:
        """Return ``verb(self, x)``, as an array of the library of ``x``."""
        if not is_foreign(x):
            return verb(self, x)
        has_device_scores = isinstance(self.model, (GaussianModel, LinearModel, MixtureModel))
        is_plain = self.decision.is_map and self.encoding is None
        if is_on_device(x) and has_device_scores and is_plain:
            # try the device; if rows hold NaN or infinity, the code below runs on the host, where
            # NaN is integrated out, or an error names the row
            with np.errstate(invalid="ignore", over="ignore"), suppress(InvalidInputError):
                return verb(replace(self, allow_missing=False), x)
        answer: Answer = like(verb(self, to_numpy(x)), x)
        return answer

    @property
    def _reader(self) -> FittedModel:
        return self.model.allowing_missing() if self.allow_missing else self.model

    # --- decisions and posteriors ------------------------------------------------------------

    @property
    def temperature(self) -> float:
        """T of the posterior, softmax(a / T)."""
        return self.model.temperature

    @property
    def has_posterior(self) -> bool:
        """Whether the scores are log odds, so that they give posteriors."""
        return self.model.has_posterior

    @property
    def has_density(self) -> bool:
        """Whether the model has a density of the rows, from which rows can be drawn."""
        return self.model.has_density

    def predict(self, x: RowsLike) -> Labels:
        """Return the action with the lowest expected cost, by default the MAP class."""
        codes = self.decide(x)
        labels: Labels = like(self.decision.decode(to_numpy(codes)), codes)
        return labels

    def decide(self, x: RowsLike) -> Codes:
        """Return the code of the action for each row, (n,); code K means to reject."""
        if self.decision.is_map:
            return self._reader.most_probable(self.rows(x))
        return self.decision.decide(self.posterior(x))

    def posterior(self, x: RowsLike) -> Floats:
        """Return p(class | x), shape (n, K)."""
        self._require_posterior()
        return self._reader.posterior(self.rows(x))

    def log_posterior(self, x: RowsLike) -> Floats:
        """Return log p(class | x), shape (n, K), without underflow far from the data."""
        self._require_posterior()
        return self._reader.log_posterior(self.rows(x))

    def scores(self, x: RowsLike) -> Floats:
        """Return the score of each class, shape (n, K), up to a term common to all classes."""
        return self._reader.scores(self.rows(x))

    def _require_posterior(self) -> None:
        if not self.has_posterior:
            raise InvalidParameterError(
                "this model has linear scores but no posteriors: fit a model with posteriors, such "
                "as LDA"
            )

    def explain_row(self, x: RowsLike, reference: RowsLike | None = None) -> RowExplanation:
        """Return the log odds of the two most probable classes as a sum with one part per column.

        The values of the reference row, by default the mean of all rows, are replaced with those of
        the row, column by column, and then put back in the same order. The parts, and the log odds
        of the reference row, add up to the log odds of the row exactly. For linear and Gaussian
        models, the parts are Shapley values.
        """
        row = self._one_row(x)
        start = self._mean_row() if reference is None else self._one_row(reference)
        groups = self._column_groups()
        replaced = replacements(groups, len(row))
        forwards = self._row_scores(np.where(replaced, row, start))
        backwards = self._row_scores(np.where(replaced, start, row))
        # the two classes with the highest scores
        first, second = np.argsort(-forwards[-1], kind="stable")[:2]
        parts = parts_of_log_odds(
            (forwards[:, first] - forwards[:, second])[None],
            (backwards[:, first] - backwards[:, second])[None],
        )[0]
        names = self.columns or tuple(f"x{j}" for j in range(len(groups)))
        return RowExplanation(
            predicted=python_scalar(self.classes[first]),
            against=python_scalar(self.classes[second]),
            reference=float(parts[0]),
            columns=names,
            parts=parts[1:],
        )

    def _one_row(self, x: RowsLike) -> Floats:
        """Return a single row as the model reads it, (D,)."""
        if self.text is not None:
            raise InvalidParameterError(
                "the log odds of a text cannot be divided among columns, because the text is a "
                "single column: read top_features of the estimator"
            )
        if np.ndim(x) == 1:
            x = np.asarray(x)[None]
        rows = np.asarray(self.rows(to_numpy(x)), np.float64)
        if len(rows) != 1:
            raise InvalidInputError(
                f"one row can be explained at a time, got {len(rows):,}: pass a single row"
            )
        return np.asarray(rows[0])

    def _row_scores(self, rows: Floats) -> Floats:
        """Return log p(k | x), or linear scores if the model has no posterior, (S, K)."""
        if not self.has_posterior:
            return self._reader.scores(rows)
        return np.maximum(self._reader.log_posterior(rows), _LEAST_LOG_POSTERIOR)

    def _mean_row(self) -> Floats:
        """Return the mean of all rows that the model holds, (D,)."""
        model = self.model
        if isinstance(model, AveragedModel):
            model = model.best
        if isinstance(model, FilledModel):
            model = model.inner
        if isinstance(model, LinearModel):
            return model.centre
        if isinstance(model, PredictedModel):
            raise InvalidParameterError(
                "a classifier of another library keeps no mean of its rows: give a reference row"
            )
        return np.asarray(model.priors @ model.means)

    def _column_groups(self) -> list[Codes]:
        """Return the positions of each column's features."""
        if self.encoding is None:
            return [np.array([j]) for j in range(self.n_features)]
        return self.encoding.column_groups

    # --- densities ---------------------------------------------------------------------------

    def class_log_density(self, x: RowsLike) -> Floats:
        """Return log p(x | class), shape (n, K)."""
        return self.answer(_class_log_density, x)

    def log_density(self, x: RowsLike) -> Floats:
        """Return log p(x), shape (n,), which is low for outliers."""
        return self.answer(_log_density, x)

    def sample(
        self, n: int, rng: np.random.Generator, label: Hashable | None = None
    ) -> tuple[Floats | dict[str, Array], Labels]:
        """Draw n rows and their labels; ``label`` restricts the draw to one class.

        For a mixed table, the rows are returned as a mapping from column name to values.
        """
        if label is None:
            x, codes = self._densities().sample(n, rng)
        else:
            codes = np.full(row_count(n), code_of(label, self.classes, where="label"))
            x = self._densities().sample_of(codes, rng)
        rows = self.encoding.columns(x) if self.encoding else x
        return rows, self.classes[codes]

    def impute(self, x: RowsLike) -> Any:
        """Return the rows with each missing number replaced with its conditional mean."""
        rows = to_numpy(x)
        return self._like(x, self._densities().impute(self.rows(rows)))

    def sample_missing(self, x: RowsLike, random_state: RandomState = None) -> Any:
        """Return the rows with each missing number drawn, given the observed numbers of the row."""
        rows = to_numpy(x)
        rng = np.random.default_rng(random_state)
        return self._like(x, self._densities().sample_missing(self.rows(rows), rng))

    def _like(self, x: Any, numbers: Floats) -> Any:
        """Return ``x`` with other numbers, as a frame or an array of the same library."""
        if self.encoding is None:
            return like(numbers, x)
        names = [number.name for number in self.encoding.schema.numbers]
        columns = dict(zip(names, numbers.T, strict=False))
        if hasattr(x, "assign"):
            return x.assign(**columns)
        import polars as pl

        return pl.DataFrame(x).with_columns(**{n: pl.Series(v) for n, v in columns.items()})

    def _densities(self) -> ClassModel | AveragedModel:
        reader = self._reader
        if isinstance(reader, LinearModel):
            raise InvalidParameterError(
                "this model has linear scores but no densities: fit a model with densities, such "
                "as LDA"
            )
        if isinstance(reader, (PredictedModel, FilledModel)):
            raise InvalidParameterError(
                "this model has posteriors but no densities: fit a model with densities, such as "
                "LDA"
            )
        return reader

    # --- parameters and criteria -------------------------------------------------------------

    @property
    def covariances(self) -> Floats:
        """Σ: (d, d) if all classes share it, else (K, d, d)."""
        return self.density.covariance_matrices

    def linear_scores(self) -> tuple[Floats, Floats]:
        """Return w_k (K, d) and w_k0 (K,) of the scores a_k(x) = w_kᵀx + w_k0.

        Gaussian classes that share one covariance have w_k = Σ⁻¹μ_k and
        w_k0 = −½ μ_kᵀΣ⁻¹μ_k + log π_k. Logistic regression of two classes gives the first class the
        score 0 and the second class the weights ``coef_``.
        """
        if isinstance(self.model, LinearModel):
            return self.model.all_weights()
        model = self.density
        if model.shared_covariance is None:
            raise InvalidParameterError(
                "linear scores exist only where all classes share one covariance (tied=True)"
            )
        gaussian = model.as_gaussian()
        return discriminant(gaussian.covariances[0], gaussian.means, gaussian.log_priors)

    @property
    def n_parameters(self) -> int:
        """Number of free parameters."""
        return self.density.n_parameters

    def log_likelihood(self, moments: Moments) -> float:
        """Return Σ log p(x, y) over the rows that were summed, computed from the sums."""
        if is_stated(moments):
            raise InvalidParameterError(
                "the model was made from known parameters, so it has no training rows whose "
                "likelihood could be computed: give rows X and labels y, or the moments of rows"
            )
        encoding = moments.encoding
        numbers = moments.select(encoding.kept) if encoding else moments
        return self.density._log_likelihood(numbers)

    def rows_log_likelihood(self, x: RowsLike, labels: LabelsLike) -> float:
        """Return Σ log p(x, y) over labelled rows."""
        codes = codes_of(as_labels(to_numpy(labels)), self.classes)
        densities = self.class_log_density(x)
        require_as_many(len(densities), len(codes))
        # Σ_n log p(x_n | y_n) + log π_{y_n}
        own = densities[np.arange(len(codes)), codes]
        return float((own + self.density.log_priors[codes]).sum())

    def aic(self, moments: Moments) -> float:
        """Return Akaike's criterion 2 p − 2 log L for p parameters; smaller is better."""
        return aic(self.log_likelihood(moments), self.n_parameters)

    def bic(self, moments: Moments) -> float:
        """Return Schwarz's criterion p log n − 2 log L for p parameters; smaller is better."""
        return bic(self.log_likelihood(moments), self.n_parameters, moments.total_weight)

    @property
    def density(self) -> ClassModel:
        """The model of each class's density. Raises an error if there is none."""
        if not isinstance(self.model, ClassModel):
            raise InvalidParameterError(
                "this model does not have one density for each class: fit a model that does, such "
                "as LDA"
            )
        return self.model

    # --- error if the model were true --------------------------------------------------------

    def bayes_error(self, n_samples: int = 100_000, random_state: int = 0) -> BayesError:
        """Return the error of the best possible rule if the model were true."""
        return self.density.bayes_error(n_samples, np.random.default_rng(random_state))

    def true_error(
        self,
        rule: RuleLike,
        n_samples: int = 100_000,
        random_state: int = 0,
    ) -> ErrorRate:
        """Return the error of a given rule if this model were true.

        The rule is a fitted classifier, a boundary, or a function from rows (n, d) to n labels. The
        error is exact for a linear rule between two Gaussian classes. Otherwise, it is the mean of
        1 − p(predicted class | x) over rows drawn from the model, with a standard error. The rows
        are those that ``bayes_error`` draws. Rows that the rule rejects do not count.
        """
        model = self.density
        x = self._drawn_rows(n_samples, random_state)
        names = self.columns if self.encoding else self.feature_names
        asked = DecisionRule.of(rule, self.classes, names)
        if isinstance(model, GaussianModel):
            plane = asked.hyperplane(x)
            if plane is not None:
                weights, intercept = plane
                return linear_error(model.as_gaussian(), weights, intercept)
        posteriors = model.with_temperature(1.0).posterior(self.rows(x))
        return rule_error(posteriors, asked.decide(x))

    def _drawn_rows(self, n_samples: int, random_state: int) -> RowsLike:
        x, _ = self.sample(n_samples, np.random.default_rng(random_state))
        if not isinstance(x, dict):
            return x
        import pandas as pd

        frame: RowsLike = pd.DataFrame(x)
        return frame

    # --- changed copies ----------------------------------------------------------------------

    def allowing_missing(self) -> Classifier:
        """Return a copy of the classifier that reads NaN as "not observed"."""
        return replace(self, allow_missing=True)

    def with_priors(self, priors: Floats) -> Classifier:
        """Return a classifier with the same densities and other priors (K,)."""
        return replace(self, model=self.density.with_priors(priors))

    def with_costs(self, costs: CostsLike = None) -> Classifier:
        """Return a classifier with the same posteriors and other costs."""
        return replace(self, decision=decision_by(costs, self.classes))


def _class_log_density(classifier: Classifier, x: RowsLike) -> Floats:
    return classifier._densities().class_log_density(classifier.rows(x))


def _log_density(classifier: Classifier, x: RowsLike) -> Floats:
    return classifier._densities().log_density(classifier.rows(x))


def _by_name(frame: Any, columns: Iterable[object], feature_names: tuple[str, ...]) -> Floats:
    """Return the columns of a frame as an array, in the order of the features."""
    position = {str(name): name for name in columns}
    absent = [name for name in feature_names if name not in position]
    if absent:
        raise FeatureMismatchError(
            f"the frame has no column {absent[0]!r}, which the model reads: its columns are "
            f"{list(position)}"
        )
    ordered = frame[[position[name] for name in feature_names]]
    return np.asarray(ordered, np.float64)


def classifier_of(fitted: Any) -> Classifier:
    """Return the classifier of a fitted estimator of suffice; return a classifier unchanged."""
    if isinstance(fitted, Classifier):
        return fitted
    classifier = fitted.model_ if hasattr(type(fitted), "model_") else None
    if not isinstance(classifier, Classifier):
        raise InvalidParameterError(
            f"{type(fitted).__name__} is not a classifier of suffice: give a model with one "
            "density for each class, a linear model, or an average of such models"
        )
    if classifier.notations is None:
        return replace(classifier, notations=fitted._notations)
    return classifier


def check_temperature(temperature: object) -> float:
    """Return T of softmax(a / T), or raise unless it is a positive number."""
    if not isinstance(temperature, Real) or not _COLDEST < float(temperature) < math.inf:
        raise InvalidParameterError(
            f"temperature must be a positive number, or 'auto' with rows; got {temperature!r}"
        )
    return float(temperature)
