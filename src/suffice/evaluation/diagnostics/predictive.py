"""Does data drawn from the model look like the real data? A check by simulation."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import chdtri

from suffice.errors import (
    FeatureMismatchError,
    InvalidInputError,
    InvalidParameterError,
    UnknownLabelError,
)
from suffice.evaluation.diagnostics.columns import columns_remark, varying_columns
from suffice.evaluation.diagnostics.discrepancy import LEVELS, Discrepancy
from suffice.evaluation.diagnostics.nulls import simulated_p
from suffice.evaluation.diagnostics.replicates import Replicates, refitted
from suffice.evaluation.diagnostics.sampled import labelled_rows, sample_of_class
from suffice.evaluation.diagnostics.words import (
    LEVEL,
    Row,
    as_frame,
    axes,
    holm,
    listed,
    p_text,
    plain,
)
from suffice.notebook import Tabled

if TYPE_CHECKING:
    from suffice.typing import Codes, Floats, Labels


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class PredictiveCheck(Tabled):
    """Real rows beside rows drawn from the model; see ``predictive_check``."""

    classes: Labels  # (K,)
    feature_names: tuple[str, ...]
    n_used: Codes  # rows of each class looked at  (K,)
    n_rows: Codes  # rows of each class given  (K,)
    observed: Discrepancy  # of the real rows
    expected: Discrepancy  # mean over the replicates
    distance_p_values: Floats  # (K,)
    marginal_p_values: Floats  # (K, d)
    p_values: tuple[float, float]  # all classes together: of distances, of marginals
    envelope: Floats  # 2.5 % and 97.5 % of the replicates' quantiles  (2, K, 99)
    simulations: int
    refit: bool
    left_out: tuple[str, ...]  # columns without variance of their own within classes

    @property
    def p_value(self) -> float:
        """Return the smaller of ``p_values``, adjusted for there being two."""
        return float(holm(np.array(self.p_values)).min())

    def rows(self) -> list[Row]:
        """Return a row for the distances of each class, then one for each marginal."""
        o, e = self.observed, self.expected
        shares = [
            {"beyond_95": float(a), "expected_beyond_95": float(b)}
            for a, b in zip(o.beyond, e.beyond, strict=True)
        ]
        none = dict.fromkeys(("beyond_95", "expected_beyond_95"), np.nan)
        distances = [
            self._row(k, "distance", o.distances[k], e.distances[k], self.distance_p_values[k])
            | shares[k]
            for k in range(len(self.classes))
        ]
        return distances + [
            self._row(k, name, o.marginals[k, j], e.marginals[k, j], self.marginal_p_values[k, j])
            | none
            for k in range(len(self.classes))
            for j, name in enumerate(self.feature_names)
        ]

    def to_frame(self) -> Any:
        """Return ``rows()`` as a pandas frame."""
        return as_frame(self.rows())

    def plot(self, ax: Any = None) -> Any:
        """Draw quantiles of distances against χ², with the range of the replicates."""
        ax = axes(ax)
        expected = chdtri(len(self.feature_names), 1 - LEVELS)
        ax.plot(expected, expected, color="0.6", lw=1)
        for k, label in enumerate(self.classes):
            color = f"C{k % 10}"
            ax.fill_between(expected, *self.envelope[:, k], color=color, alpha=0.15, lw=0)
            ax.plot(expected, self.observed.quantiles[k], color=color, label=str(label))
        ax.set_xlabel("squared distance that a Gaussian leads one to expect")
        ax.set_ylabel("squared Mahalanobis distance of the rows")
        ax.legend()
        return ax

    def __repr__(self) -> str:
        account = (
            f"{p_text(self.p_values[0])} for distances, {p_text(self.p_values[1])} for "
            f"marginals, {self.simulations} simulations"
        )
        sampled = bool(np.any(self.n_used < self.n_rows))
        remark = f"; a sample of {self.n_used.max()} rows of larger classes" if sampled else ""
        remark += columns_remark(self.left_out)
        if self.p_value > LEVEL:
            return f"Data drawn from the model look like the real data ({account}){remark}"
        found = f"do not look like the real data: {'; '.join(self._found())}"
        return f"Data drawn from the model {found} ({account}){remark}"

    def _row(self, k: int, what: str, value: float, expected: float, p: float) -> Row:
        return {
            "class": plain(self.classes[k]),
            "what": what,
            "statistic": float(value),
            "expected": float(expected),
            "p_value": float(p),
        }

    def _found(self) -> list[str]:
        """Return the clearest differences in words."""
        adjusted = holm(np.array(self.p_values))
        found = []
        if adjusted[0] <= LEVEL:
            k = int(np.argmax(self.observed.distances / self.expected.distances))
            found.append(
                f"distances of class {plain(self.classes[k])!r} "
                f"({self.observed.beyond[k]:.1%} of its rows beyond the ellipsoid of 95 %)"
            )
        if adjusted[1] <= LEVEL:
            ratios = self.observed.marginals / self.expected.marginals
            at, j = np.unravel_index(np.argmax(ratios), ratios.shape)
            found.append(f"{self.feature_names[j]!r} in class {plain(self.classes[at])!r}")
        return found


def predictive_check(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    simulations: int = 199,
    refit: bool = True,
    max_rows: int = 1000,
    random_state: Any = 0,
) -> PredictiveCheck:
    r"""Return how rows drawn from a fitted Gaussian classifier compare with the real ones.

    Each class is compared by the Anderson–Darling distance :math:`A^2` of its squared
    Mahalanobis distances from χ² and of each feature from its normal marginal. The p-values are
    shares of data sets drawn from the model, with the classes of the real rows, whose distance
    is at least as large.

    Parameters
    ----------
    estimator : fitted ``GaussianClassifier`` or preset
        The model that is asked about.
    X, y : array or frame (n, d), labels (n,)
        The rows it was fitted to, or some of them at random (weights are not supported); with
        ``refit=False``, rows it has not seen.
    simulations : int, default=199
        Data sets drawn; p-values are multiples of 1/(simulations + 1).
    refit : bool, default=True
        Fit the estimator to each drawn data set, as it was to the real one: without that a
        model fitted to the very rows it is compared with looks better than it is. Rows of the
        fit that are not looked at enter by their sums, drawn exactly at a cost that does not
        grow with their number. False compares with the model as it is, for unseen rows.
    max_rows : int, default=1000
        Rows of each class looked at; a larger class is represented by a random sample, and the
        result says so.
    random_state : int or Generator, default=0
        Seed of sample and simulations.

    Returns
    -------
    PredictiveCheck
        Columns that are constant within all classes, or combinations of others, are left out
        and named.

    References
    ----------
    Gelman, Meng & Stern (1996), *Statistica Sinica* 6, 733–807; Stute, González Manteiga &
    Presedo Quindimil (1993), *Metrika* 40, 243–256.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from suffice import QDA
    >>> X, y = load_iris(return_X_y=True)
    >>> check = predictive_check(QDA().fit(X, y), X, y, simulations=99)
    >>> check.p_values  # of distances, and of marginals: widths were rounded to a millimetre
    (0.51, 0.01)
    """
    x, codes, present = _matched(estimator, X, y, simulations)
    estimator, x, left_out = _where_it_varies(estimator, x)
    rng = np.random.default_rng(random_state)
    kept = np.concatenate([sample_of_class(codes, int(k), max_rows, rng) for k in present])
    replicates = Replicates.of(estimator, codes[kept], refit=refit)
    rows = np.asarray(x[kept], np.float64)
    observed = Discrepancy.of(estimator.model_, rows, codes[kept], present)
    drawn = [
        Discrepancy.of(model, z, codes[kept], present)
        for model, z in replicates.draw(simulations, rng)
    ]
    n_classes = len(estimator.classes_)
    return _compared(
        observed,
        drawn,
        classes=estimator.classes_[present],
        feature_names=_names(estimator),
        n_used=np.bincount(codes[kept], minlength=n_classes)[present],
        n_rows=np.bincount(codes, minlength=n_classes)[present],
        refit=refit,
        left_out=left_out,
    )


def _where_it_varies(estimator: Any, x: Any) -> tuple[Any, Any, tuple[str, ...]]:
    """Return estimator and rows without the columns that have no variance of their own."""
    moments, names = estimator.moments_, _names(estimator)
    kept = varying_columns(moments)
    if len(kept) == moments.n_features:
        return estimator, x, ()
    if not len(kept):
        msg = f"none of the columns {listed(names)} varies within classes: nothing to compare"
        raise InvalidInputError(msg)
    left_out = tuple(name for j, name in enumerate(names) if j not in kept)
    fewer = replace(moments, feature_names=names).select(kept)
    return refitted(estimator, fewer), x[:, kept], left_out


def _compared(observed: Discrepancy, drawn: list[Discrepancy], **known: Any) -> PredictiveCheck:
    """Return p-values of the observed discrepancies among the drawn ones."""
    distances = np.stack([one.distances for one in drawn])
    marginals = np.stack([one.marginals for one in drawn])
    quantiles = np.stack([one.quantiles for one in drawn])
    beyond = np.stack([one.beyond for one in drawn])
    total = simulated_p(float(observed.distances.sum()), distances.sum(1))
    marginal_total = simulated_p(float(observed.marginals.sum()), marginals.sum((1, 2)))
    return PredictiveCheck(
        observed=observed,
        expected=Discrepancy(
            distances.mean(0), marginals.mean(0), quantiles.mean(0), beyond.mean(0)
        ),
        distance_p_values=_each_p(observed.distances, distances),
        marginal_p_values=_each_p(observed.marginals, marginals),
        p_values=(total, marginal_total),
        envelope=np.quantile(quantiles, [0.025, 0.975], axis=0),
        simulations=len(drawn),
        **known,
    )


def _each_p(observed: Floats, drawn: Floats) -> Floats:
    """Return the p-value of each entry."""
    flat = drawn.reshape(len(drawn), -1)
    values = [simulated_p(float(v), flat[:, i]) for i, v in enumerate(observed.ravel())]
    return np.array(values).reshape(observed.shape)


def _matched(estimator: Any, X: Any, y: Any, simulations: int) -> tuple[Any, Codes, Codes]:
    """Return rows, their codes in the estimator's classes, and the classes that have rows."""
    if not hasattr(getattr(estimator, "model_", None), "covariance_of"):
        msg = f"predictive_check needs a fitted Gaussian classifier, got {estimator!r}"
        raise InvalidParameterError(msg)
    if simulations < 39:
        msg = f"simulations must be at least 39 for two tests at the 5 % level, got {simulations}"
        raise InvalidParameterError(msg)
    x, labels, codes, _ = labelled_rows(X, y)
    unknown = labels[~np.isin(labels, estimator.classes_)]
    if len(unknown):
        msg = f"labels {listed(unknown)} are not among those of the fit: drop their rows"
        raise UnknownLabelError(msg)
    if x.shape[1] != estimator.model_.n_features:
        msg = f"X has {x.shape[1]} features, the fit had {estimator.model_.n_features}"
        raise FeatureMismatchError(msg)
    position = np.searchsorted(estimator.classes_, labels)
    return x, position[codes], np.sort(position)


def _names(estimator: Any) -> tuple[str, ...]:
    d = estimator.model_.n_features
    return estimator.moments_.feature_names or tuple(str(j) for j in range(d))
