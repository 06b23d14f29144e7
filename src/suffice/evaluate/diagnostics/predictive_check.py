"""Test by simulation of whether rows drawn from a model look like the real rows."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import numpy as np
from scipy.special import gammainc, gammaincc, log_ndtr

from suffice.core.decision.error_intervals import LEVEL, holm
from suffice.core.model import GaussianModel
from suffice.core.moments import Moments
from suffice.core.table.matrix import as_matrix
from suffice.core.table.table import Table
from suffice.core.text.lists import counted, noun_for, python_scalar, quoted
from suffice.core.text.numbers import p_statement
from suffice.core.text.tables import Row
from suffice.errors import (
    DegenerateDataWarning,
    FeatureMismatchError,
    InvalidInputError,
    InvalidParameterError,
    UnknownLabelError,
)
from suffice.evaluate.diagnostics.diagnostic import (
    Diagnostic,
    column_remarks,
    finite_table,
    is_weighted,
    names_of,
    sample_remarks,
    sampled,
    simulated_p_values,
    varying_columns,
)
from suffice.typing import Codes, Floats, Labels, LabelsLike, RowsLike

if TYPE_CHECKING:
    from suffice.estimators.gaussian_estimator import GaussianEstimator

Model = TypeVar("Model", bound="GaussianEstimator")

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# probabilities for which quantiles of distances are compared
LEVELS = np.arange(1, 100) / 100
_TINY = np.finfo(float).tiny


class Discrepancy(NamedTuple):
    """How far the rows of each class are from the Gaussian of the class in the model."""

    values: Floats  # A² of the squared distances, followed by that of each feature (K, 1 + d)
    quantiles: Floats  # quantiles of the squared distances at LEVELS  (K, 99)


def discrepancy(model: GaussianModel, x: Floats, codes: Codes, classes: Codes) -> Discrepancy:
    """Return the Anderson–Darling distances A² and the quantiles of the rows of each class."""
    values = []
    quantiles = []
    for k in classes:
        squares, z = _standardised(model, x[codes == k], int(k))
        # D² ~ χ²_d has the distribution function P(d/2, D²/2)
        below = np.maximum(gammainc(model.n_features / 2, squares / 2), _TINY)
        above = np.maximum(gammaincc(model.n_features / 2, squares / 2), _TINY)
        distances = anderson_darling(np.log(below)[:, None], np.log(above)[:, None])
        features = anderson_darling(log_ndtr(z), log_ndtr(-z))
        values.append(np.concatenate([distances, features]))
        quantiles.append(np.quantile(squares, LEVELS))
    return Discrepancy(np.array(values), np.array(quantiles))


def _standardised(model: GaussianModel, x: Floats, k: int) -> tuple[Floats, Floats]:
    """Return sorted squared distances (n,), and sorted standardised features (n, d)."""
    sigma = model.covariance_of(k)
    offsets = (x - model.centre) - model.offsets[k]
    # D² = (x − μ)ᵀ Σ⁻¹ (x − μ)
    squares = np.square(sigma.whiten(offsets)).sum(1)
    # (x_j − μ_j) / √Σ_jj ~ N(0, 1)
    z = offsets / np.sqrt(np.diagonal(sigma.dense()))
    return np.sort(squares), np.sort(z, axis=0)


def anderson_darling(log_below: Floats, log_above: Floats) -> Floats:
    """Return A² of sorted columns (Anderson & Darling 1954), from log F and log (1 − F)."""
    n = len(log_below)
    # A² = −n − Σᵢ (2i − 1)/n · (log F(x_(i)) + log(1 − F(x_(n+1−i))))
    weights = (2 * np.arange(1, n + 1) - 1) / n
    return -n - weights @ (log_below + log_above[::-1])


def _refitted(estimator: Model, x: Floats, codes: Codes) -> Model:
    """Return a copy of the estimator that is fitted to other rows of the same classes."""
    moments = estimator.moments_
    new_moments = Moments.of(
        x,
        moments.classes[codes],
        classes=moments.classes,
        storage=moments.storage,
        fourth=moments.fourth is not None,
    )
    return _fitted_to(estimator, new_moments)


def _fitted_to(estimator: Model, moments: Moments) -> Model:
    from sklearn.base import clone

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DegenerateDataWarning)
        fitted: Model = clone(estimator).fit_moments(moments)
        return fitted


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class PredictiveCheck(Diagnostic):
    """The comparison of real and simulated rows, as ``predictive_check`` describes it."""

    classes: Labels  # (K,)
    feature_names: tuple[str, ...]
    n_used: Codes  # rows of each class used in the check  (K,)
    n_rows: Codes  # rows of each class given  (K,)
    # A² of the real rows, followed by those of B simulated datasets (1 + B, K, 1 + d)
    values: Floats
    # quantiles of squared distances at LEVELS, in the order of ``values`` (1 + B, K, 99)
    quantiles: Floats
    # columns that are constant within classes, or combinations of other columns
    left_out: tuple[str, ...]

    @property
    def p_values(self) -> tuple[float, float]:
        """P-values of squared distances and of single features, for all classes together."""
        distances = self.values[:, :, 0].sum(1)
        marginals = self.values[:, :, 1:].sum((1, 2))
        distances_p = simulated_p_values(distances[0], distances[1:])
        marginals_p = simulated_p_values(marginals[0], marginals[1:])
        return float(distances_p), float(marginals_p)

    @property
    def p_value(self) -> float:
        """The smaller of the two ``p_values``, adjusted for two tests."""
        return float(holm(np.array(self.p_values)).min())

    @property
    def envelope(self) -> Floats:
        """2.5 % and 97.5 % quantiles of the simulated quantiles, (2, K, 99)."""
        # If the model is right, the B replicates and the real rows are exchangeable, so P(below the
        # k-th smallest replicate) = k/(B + 1).
        return np.quantile(self.quantiles[1:], [0.025, 0.975], axis=0, method="weibull")

    def rows(self) -> list[Row]:
        """Return a row for the distances of each class, and a row for each feature of a class."""
        observed = self.values[0]
        simulated = self.values[1:]
        expected = simulated.mean(0)
        p_values = simulated_p_values(observed, simulated)
        return [
            {
                "class": python_scalar(label),
                "what": what,
                "statistic": float(observed[k, j]),
                "expected": float(expected[k, j]),
                "p_value": float(p_values[k, j]),
            }
            for k, label in enumerate(self.classes)
            for j, what in enumerate(("distance", *self.feature_names))
        ]

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw on ``ax``, or on new axes, and return the axes."""
        from suffice.present.plots.results import predictive_check_figure

        return predictive_check_figure(self, ax)

    def __repr__(self) -> str:
        remarks = sample_remarks(self.n_used, self.n_rows) + column_remarks(self.left_out)
        return "; ".join([self._verdict(), *remarks])

    def _verdict(self) -> str:
        """Return sentences on the result of both tests, with their p-values."""
        simulations = len(self.values) - 1
        # a p-value as small as this number of simulations allows is only an upper bound
        least = 1 / (simulations + 1)
        distances_p, columns_p = (
            p_statement(p, "≤" if p <= least else "=") for p in self.p_values
        )
        distances_differ, columns_differ = holm(np.array(self.p_values)) <= LEVEL
        if not distances_differ and not columns_differ:
            return (
                "Data drawn from the model look like the real data (distances from the class "
                f"means: {distances_p}; values of the columns: {columns_p}; {simulations} "
                "simulations)"
            )
        ratios = self.values[0] / self.values[1:].mean(0)
        far_class = python_scalar(self.classes[int(np.argmax(ratios[:, 0]))])
        of_class, of_feature = np.unravel_index(np.argmax(ratios[:, 1:]), ratios[:, 1:].shape)
        feature = self.feature_names[of_feature]
        feature_class = python_scalar(self.classes[of_class])
        if distances_differ and columns_differ:
            return (
                "Data drawn from the model do not look like the real data. They differ most in two "
                f"respects: the distances of the rows of class {far_class!r} from the class mean "
                f"({distances_p}), and the values of {feature!r} in class {feature_class!r} "
                f"({columns_p}; {simulations} simulations)"
            )
        if distances_differ:
            return (
                "Data drawn from the model do not look like the real data. They differ most in the "
                f"distances of the rows of class {far_class!r} from the class mean "
                f"({distances_p}). The values of the columns do not differ significantly "
                f"({columns_p}; {simulations} simulations)"
            )
        return (
            "Data drawn from the model do not look like the real data. They differ most in the "
            f"values of {feature!r} in class {feature_class!r} ({columns_p}). The distances of the "
            f"rows from the class means do not differ significantly ({distances_p}; {simulations} "
            "simulations)"
        )


def predictive_check(
    estimator: GaussianEstimator,
    X: RowsLike,
    y: LabelsLike,
    *,
    simulations: int = 199,
    max_rows: int = 1000,
    random_state: int | np.random.Generator = 0,
) -> PredictiveCheck:
    """Return a comparison of rows drawn from a fitted Gaussian classifier with the real rows.

    In each class, the Anderson–Darling distance A² compares the squared Mahalanobis distances of
    the rows with χ². Another A² compares each feature with its normal distribution. A p-value is
    the share of simulated datasets with at least the observed A² (Stute, González Manteiga &
    Presedo Quindimil 1993, *Metrika* 40, 243–256).

    Parameters
    ----------
    estimator : fitted Gaussian classifier
        The model to check.
    X, y : array or frame (n, d), labels (n,)
        The unweighted rows of the fit, or a random part of these rows. The estimator is fitted
        again to these rows and to each simulated dataset. Columns that are constant within all
        classes, or combinations of other columns, are left out, and the result names them.
    simulations : int, default=199
        Number of simulated datasets; p-values are multiples of 1/(simulations + 1).
    max_rows : int, default=1000
        A class with more rows is represented by a random sample.
    random_state : int or Generator, default=0
        Seed of the sample and of the simulations.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from suffice import QDA
    >>> X, y = load_iris(return_X_y=True)
    >>> check = predictive_check(QDA().fit(X, y), X, y, simulations=99)
    >>> check.p_values  # of distances, and of marginals: widths were rounded to a millimetre
    (0.51, 0.01)
    """
    if simulations < 39:
        raise InvalidParameterError(
            f"simulations must be at least 39 for two tests at the 5 % level, got {simulations}"
        )
    estimator, X = _without_power(estimator, X)
    _gaussian_model(estimator)
    if is_weighted(estimator.moments_):
        raise InvalidParameterError(
            "the estimator was fitted with weights, which cannot be simulated: fit it without "
            "weights"
        )
    table = _with_known_classes(estimator, X, y)
    estimator, x, left_out = _with_varying_columns(estimator, table.x)
    feature_names = names_of(estimator.moments_)
    rng = np.random.default_rng(random_state)
    sample = sampled(table.with_rows(x), max_rows, rng)
    rows = np.asarray(sample.x, np.float64)
    if len(rows) != estimator.moments_.counts.sum():
        estimator = _refitted(estimator, rows, sample.codes)
    n_rows = np.bincount(table.codes, minlength=table.n_classes)
    n_used = np.bincount(sample.codes, minlength=table.n_classes)
    present = np.flatnonzero(n_rows)
    if len(rows) <= len(present):
        raise InvalidInputError(
            f"not enough rows to test: {counted(len(rows), 'row')} of "
            f"{counted(len(present), 'class')} leave nothing to compare with the model. Give more "
            "rows than classes"
        )
    model = _gaussian_model(estimator)
    discrepancies = [discrepancy(model, rows, sample.codes, present)]
    for _ in range(simulations):
        drawn = model.sample_of(sample.codes, rng)
        refitted = _gaussian_model(_refitted(estimator, drawn, sample.codes))
        discrepancies.append(discrepancy(refitted, drawn, sample.codes, present))
    return PredictiveCheck(
        classes=table.classes[present],
        feature_names=feature_names,
        n_used=n_used[present],
        n_rows=n_rows[present],
        values=np.stack([each.values for each in discrepancies]),
        quantiles=np.stack([each.quantiles for each in discrepancies]),
        left_out=left_out,
    )


def _gaussian_model(estimator: GaussianEstimator) -> GaussianModel:
    """Return the fitted Gaussians of an estimator; raise if there are none."""
    classifier = getattr(estimator, "model_", None)
    model = getattr(classifier, "model", None)
    if not isinstance(model, GaussianModel):
        raise InvalidParameterError(
            f"predictive_check needs a fitted Gaussian classifier, got {estimator!r}"
        )
    return model


def _without_power(estimator: Model, X: RowsLike) -> tuple[Model, RowsLike]:
    """Return the estimator and rows of the transformed features, which have Gaussian densities."""
    from sklearn.base import clone

    moments = getattr(estimator, "moments_", None)
    if moments is None or moments.power is None:
        return estimator, X
    x = moments.power.apply(np.asarray(as_matrix(X)[0], np.float64))
    untransformed = clone(estimator).set_params(power=None)
    return _fitted_to(untransformed, replace(moments, power=None, log_slopes=None)), x


def _with_varying_columns(
    estimator: Model, x: Floats
) -> tuple[Model, Floats, tuple[str, ...]]:
    """Return estimator and rows without constant or dependent columns, and the columns' names."""
    moments = estimator.moments_
    kept = varying_columns(moments)
    if len(kept) == moments.n_features:
        return estimator, x, ()
    names = names_of(moments)
    if len(kept) == 0:
        raise InvalidInputError(
            f"none of the columns {quoted(names)} varies within classes, so there is nothing to "
            "compare with the model"
        )
    left_out = tuple(name for j, name in enumerate(names) if j not in kept)
    fewer = replace(moments, feature_names=names).select(kept)
    return _fitted_to(estimator, fewer), x[:, kept], left_out


def _with_known_classes(estimator: GaussianEstimator, X: RowsLike, y: LabelsLike) -> Table:
    """Return the rows as a table whose codes are those of the estimator's classes."""
    table = finite_table(X, y)
    unknown = table.classes[~np.isin(table.classes, estimator.classes_)]
    if len(unknown):
        raise UnknownLabelError(
            f"the model was fitted without rows of {noun_for(len(unknown), 'class')} "
            f"{quoted(unknown)}: drop such rows"
        )
    if table.n_features != estimator.model_.n_features:
        raise FeatureMismatchError(
            f"X has {counted(table.n_features, 'feature')}, but the model was fitted to "
            f"{estimator.model_.n_features:,}: pass the features of the fit, in the same order"
        )
    codes = np.searchsorted(estimator.classes_, table.classes)
    return replace(table, classes=estimator.classes_, codes=codes[table.codes])
