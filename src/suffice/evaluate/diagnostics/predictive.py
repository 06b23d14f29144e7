"""Does data drawn from the model look like the real data? A check by simulation."""

import warnings
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from scipy.special import gammainc, gammaincc, log_ndtr

from suffice import errors
from suffice.core.decision.predictions import LEVEL, holm
from suffice.core.model import GaussianModel
from suffice.core.moments import Moments
from suffice.core.table.matrix import as_matrix
from suffice.core.table.table import Table
from suffice.core.text.lists import python_scalar, quoted
from suffice.core.text.numbers import p_statement
from suffice.core.text.tables import Row
from suffice.evaluate.diagnostics import diagnostic
from suffice.typing import Codes, Floats, Labels

LEVELS = np.arange(1, 100) / 100  # at which quantiles of distances are compared
_TINY = np.finfo(float).tiny


def discrepancy(
    model: GaussianModel,
    x: Floats,
    codes: Codes,
    classes: Codes,
) -> tuple[Floats, Floats]:
    """Return A² (K, 1 + d) of squared distances and of each feature, and quantiles (K, 99)."""
    parts = [_of_class(model, x[codes == k], int(k)) for k in classes]
    values, quantiles = map(np.array, zip(*parts, strict=True))
    return values, quantiles


def _of_class(model: GaussianModel, x: Floats, k: int) -> tuple[Floats, Floats]:
    sigma, d = model.covariance_of(k), model.n_features
    u = (x - model.centre) - model.offsets[k]
    # D² = (x − μ)ᵀ Σ⁻¹ (x − μ) ~ χ²_d
    squares = np.sort(np.square(sigma.whiten(u)).sum(1))[:, None]
    tails = (np.maximum(share(d / 2, squares / 2), _TINY) for share in (gammainc, gammaincc))
    # (x_j − μ_j) / √Σ_jj ~ N(0, 1)
    z = np.sort(u / np.sqrt(np.diagonal(sigma.dense())), axis=0)
    found = [
        anderson_darling(*map(np.log, tails)),
        anderson_darling(log_ndtr(z), log_ndtr(-z)),
    ]
    return np.concatenate(found), np.quantile(squares, LEVELS)


def anderson_darling(log_below: Floats, log_above: Floats) -> Floats:
    """Return A² of columns (Anderson & Darling 1954) from log F, log (1 − F) of sorted values."""
    n = len(log_below)
    # A² = −n − Σᵢ (2i − 1)/n · (log F(x_(i)) + log(1 − F(x_(n+1−i))))
    weights = (2 * np.arange(1, n + 1) - 1) / n
    return -n - weights @ (log_below + log_above[::-1])


def refitted(estimator: Any, x: Floats, codes: Codes) -> Any:
    """Return the estimator fitted to other rows, without a word about their gaps."""
    seen = estimator.moments_
    kept = {
        "storage": seen.storage,
        "fourth": seen.fourth is not None,
        "classes": seen.classes,
    }
    return _read(estimator, Moments.of(x, seen.classes[codes], **kept))


def _read(estimator: Any, moments: Moments, **settings: Any) -> Any:
    from sklearn.base import clone

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", errors.DegenerateDataWarning)
        return clone(estimator).set_params(**settings).fit_moments(moments)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class PredictiveCheck(diagnostic.Diagnostic):
    """Real rows beside rows drawn from the model; see ``predictive_check``."""

    figure: ClassVar[str] = "predictive check"
    classes: Labels  # (K,)
    feature_names: tuple[str, ...]
    n_used: Codes  # rows of each class looked at  (K,)
    n_rows: Codes  # rows of each class given  (K,)
    values: Floats  # A² of the real rows, then of each data set drawn  (1 + B, K, 1 + d)
    quantiles: Floats  # of squared distances at LEVELS, likewise  (1 + B, K, 99)
    left_out: tuple[str, ...]  # columns without variance of their own within classes

    @property
    def p_values(self) -> tuple[float, float]:
        """Of all classes together: p-values of distances, and of marginals."""
        parts = self.values[..., 0].sum(1), self.values[..., 1:].sum((1, 2))
        distances, marginals = (
            float(diagnostic.simulated_p(each[0], each[1:])) for each in parts
        )
        return distances, marginals

    @property
    def p_value(self) -> float:
        """Return the smaller of ``p_values``, adjusted for there being two."""
        return float(holm(np.array(self.p_values)).min())

    @property
    def envelope(self) -> Floats:
        """2.5 % and 97.5 % of the replicates' quantiles, (2, K, 99)."""
        return np.quantile(self.quantiles[1:], [0.025, 0.975], axis=0)

    def rows(self) -> list[Row]:
        """Return a row for the distances of each class, and one for each of its features."""
        real, drawn = self.values[0], self.values[1:]
        found = {"statistic": real, "expected": drawn.mean(0)}
        found["p_value"] = diagnostic.simulated_p(real, drawn)
        return [
            {
                "class": python_scalar(label),
                "what": what,
                **{n: float(v[k, j]) for n, v in found.items()},
            }
            for k, label in enumerate(self.classes)
            for j, what in enumerate(("distance", *self.feature_names))
        ]

    def __repr__(self) -> str:
        simulations = len(self.values) - 1
        least = 1 / (simulations + 1)  # that so many draws can show: a bound
        said = [p_statement(p, "≤" if p <= least else "=") for p in self.p_values]
        account = f"distances {said[0]}, marginals {said[1]}, {simulations} simulations"
        sampled = bool(np.any(self.n_used < self.n_rows))
        remark = f"; a sample of {self.n_used.max()} rows of larger classes" if sampled else ""
        remark += diagnostic.columns_remark(self.left_out)
        if self.p_value > LEVEL:
            return f"Data drawn from the model look like the real data ({account}){remark}"
        found = f"do not look like the real data: {'; '.join(self._found())}"
        return f"Data drawn from the model {found} ({account}){remark}"

    def _found(self) -> list[str]:
        adjusted = holm(np.array(self.p_values))
        ratios, found = self.values[0] / self.values[1:].mean(0), []
        if adjusted[0] <= LEVEL:
            k = int(np.argmax(ratios[:, 0]))
            found.append(f"distances of class {python_scalar(self.classes[k])!r}")
        if adjusted[1] <= LEVEL:
            at, j = np.unravel_index(np.argmax(ratios[:, 1:]), ratios[:, 1:].shape)
            found.append(
                f"{self.feature_names[j]!r} in class {python_scalar(self.classes[at])!r}"
            )
        return found


def predictive_check(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    simulations: int = 199,
    max_rows: int = 1000,
    random_state: Any = 0,
) -> PredictiveCheck:
    """Return how rows drawn from a fitted Gaussian classifier compare with the real ones.

    Each class is compared by the Anderson–Darling distance A² of its squared Mahalanobis distances
    from χ² and of each feature from its normal marginal. The p-values are shares of data sets
    drawn from the model whose distance is at least as large (Stute, González Manteiga & Presedo
    Quindimil 1993, *Metrika* 40, 243–256).

    Parameters
    ----------
    estimator : fitted ``GaussianClassifier`` or preset
        The model that is asked about.
    X, y : array or frame (n, d), labels (n,)
        The rows it was fitted to, without weights, or some of them at random. The estimator is
        fitted again to them and to each drawn data set. Columns that are constant within all
        classes, or combinations of others, are left out and named.
    simulations : int, default=199
        Data sets drawn; p-values are multiples of 1/(simulations + 1).
    max_rows : int, default=1000
        Rows of each class looked at; a larger class is represented by a random sample.
    random_state : int or Generator, default=0
        Seed of sample and simulations.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from suffice import QDA
    >>> X, y = load_iris(return_X_y=True)
    >>> check = predictive_check(QDA().fit(X, y), X, y, simulations=99)
    >>> check.p_values  # of distances, and of marginals: widths were rounded to a millimetre
    (0.51, 0.01)
    """
    estimator, X = _as_transformed(estimator, X)
    table, present = _matched(estimator, X, y, simulations)
    estimator, x, left_out = _where_it_varies(estimator, table.x)
    names, rng = diagnostic.names_of(estimator.moments_), np.random.default_rng(random_state)
    seen = diagnostic.sampled(table.with_rows(x), max_rows, rng)
    rows = np.asarray(seen.x, np.float64)
    if len(rows) != estimator.moments_.counts.sum():
        estimator = refitted(estimator, rows, seen.codes)
    found = [discrepancy(estimator.model_, rows, seen.codes, present)]
    for _ in range(simulations):
        z = estimator.model_.sample_of(seen.codes, rng)
        found.append(
            discrepancy(refitted(estimator, z, seen.codes).model_, z, seen.codes, present)
        )
    classes, k = table.classes[present], table.n_classes
    n_used, n_rows = (np.bincount(each.codes, minlength=k)[present] for each in (seen, table))
    values, quantiles = map(np.stack, zip(*found, strict=True))
    return PredictiveCheck(classes, names, n_used, n_rows, values, quantiles, left_out)


def _as_transformed(estimator: Any, X: Any) -> tuple[Any, Any]:
    """Return estimator and rows in the features that the Gaussians see."""
    power = getattr(getattr(estimator, "moments_", None), "power", None)
    if power is None:
        return estimator, X
    sums = replace(estimator.moments_, power=None, log_slopes=None)
    return _read(estimator, sums, power=None), power.apply(
        np.asarray(as_matrix(X)[0], np.float64)
    )


def _where_it_varies(estimator: Any, x: Any) -> tuple[Any, Any, tuple[str, ...]]:
    """Return estimator and rows without the columns that have no variance of their own."""
    moments, names = estimator.moments_, diagnostic.names_of(estimator.moments_)
    kept = diagnostic.varying_columns(moments)
    if len(kept) == moments.n_features:
        return estimator, x, ()
    if not len(kept):
        msg = f"none of the columns {quoted(names)} varies within classes: nothing to compare"
        raise errors.InvalidInputError(msg)
    left_out = tuple(name for j, name in enumerate(names) if j not in kept)
    fewer = replace(moments, feature_names=names).select(kept)
    return _read(estimator, fewer), x[:, kept], left_out


def _matched(estimator: Any, X: Any, y: Any, simulations: int) -> tuple[Table, Codes]:
    """Return rows with their codes in the estimator's classes, and the classes that have rows."""
    if not hasattr(getattr(estimator, "model_", None), "covariance_of"):
        msg = f"predictive_check needs a fitted Gaussian classifier, got {estimator!r}"
        raise errors.InvalidParameterError(msg)
    if diagnostic.is_weighted(estimator.moments_):
        msg = "the estimator was fitted with weights, which cannot be simulated: fit without them"
        raise errors.InvalidParameterError(msg)
    if simulations < 39:
        msg = f"simulations must be at least 39 for two tests at the 5 % level, got {simulations}"
        raise errors.InvalidParameterError(msg)
    table = diagnostic.finite_table(X, y)
    unknown = table.classes[~np.isin(table.classes, estimator.classes_)]
    if len(unknown):
        msg = f"labels {quoted(unknown)} are not among those of the fit: drop their rows"
        raise errors.UnknownLabelError(msg)
    if table.n_features != estimator.model_.n_features:
        msg = f"X has {table.n_features} features, the fit had {estimator.model_.n_features}"
        raise errors.FeatureMismatchError(msg)
    present = np.searchsorted(estimator.classes_, table.classes)
    return replace(table, classes=estimator.classes_, codes=present[table.codes]), present
