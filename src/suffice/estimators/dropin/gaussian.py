"""scikit-learn's discriminant analyses and Gaussian naive Bayes, computed from moments."""

from dataclasses import dataclass, replace
from typing import Any, Literal, Self, TypeAlias

import numpy as np
from scipy import linalg
from sklearn import discriminant_analysis as theirs
from sklearn import naive_bayes
from sklearn.utils.multiclass import _check_partial_fit_first_call
from sklearn.utils.validation import _check_sample_weight

from suffice.core.estimation.shrinkage import ledoit_wolf_intensity
from suffice.core.linalg import LOG_2PI, principal_axes, rank_tolerance, resolved, unit_scale
from suffice.core.model.covariance import DiagonalCovariance, FullCovariance
from suffice.core.model.posterior import Joint
from suffice.core.model.scoring import Scorer
from suffice.core.moments import Moments
from suffice.core.moments.collect import ratio
from suffice.core.table import Table
from suffice.core.table.labels import codes_of
from suffice.discriminative.problem import coded_moments
from suffice.estimators.dropin.drop_in import (
    FLOATS,
    DropIn,
    DropInWithScores,
    LinearDropIn,
    float_type,
    labelled_table,
    log_of,
    pooled_rows,
)
from suffice.typing import Array, Floats, LabelsLike, RowsLike, WeightsLike

# Limit on the numbers in the scatters of all classes. Above it, scikit-learn fits the model,
# because it takes the classes one by one and needs less memory.
_MOST_NUMBERS = 1 << 27

ShrinkageWord: TypeAlias = float | Literal["auto"] | None


# --- covariances -----------------------------------------------------------------------------


def class_covariances(moments: Moments, shrinkage: ShrinkageWord) -> Floats:
    """Return Σ_k of every class (K, d, d), with divisor n_k and scikit-learn's shrinkage."""
    if shrinkage != "auto":
        sigmas = moments.scatters / moments.weights[:, None, None]
        return shrunk_to_sphere(sigmas, shrinkage)
    fourths = moments.required_fourth().fourths
    covariances = []
    for weight, scatter, fourth in zip(
        moments.weights, moments.scatters, fourths, strict=True
    ):
        covariances.append(_standardized_ledoit_wolf(weight, scatter, fourth))
    return np.stack(covariances)


def shrunk_to_sphere(sigma: Floats, shrinkage: float | None) -> Floats:
    """Return (1 − γ) Σ + γ (tr Σ / d) I for one matrix or a stack."""
    if not shrinkage:
        return sigma
    d = sigma.shape[-1]
    mean = np.trace(sigma, axis1=-2, axis2=-1)[..., None, None] / d
    return np.asarray((1 - shrinkage) * sigma + shrinkage * mean * np.eye(d))


def _standardized_ledoit_wolf(weight: float, scatter: Floats, fourth: Floats) -> Floats:
    """Return the covariance, shrunk towards a sphere after its columns are standardised."""
    sigma = scatter / weight
    gamma = ledoit_wolf_intensity(weight, scatter, fourth)
    scale = unit_scale(np.diagonal(sigma))
    # Σ = D R D → D ((1 − γ) R + γ (tr R / d) I) D
    return shrunk_to_sphere(sigma / scale / scale[:, None], gamma) * scale * scale[:, None]


def _needs_sklearn(estimator: Any, table: Table, n_scatters: int) -> bool:
    """Return whether scikit-learn's own code must do the fit, or raise its errors."""
    if estimator.solver == "svd" and estimator.shrinkage is not None:
        return True
    if estimator.covariance_estimator is not None or table.n_classes < 2:
        return True
    if n_scatters * table.n_features**2 > _MOST_NUMBERS:
        return True
    return table.n_features >= table.n_rows or table.n_rows == table.n_classes


# --- linear ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class LinearSolution:
    """The result of a solver of linear discriminant analysis; None where it computes no value."""

    coef: Floats  # w  (K, d)
    intercept: Floats  # w_0  (K,)
    covariance: Floats | None = None  # Σ within classes  (d, d)
    scalings: Floats | None = None  # axes  (d, r)
    explained_variance_ratio: Floats | None = None  # (r,)
    xbar: Floats | None = None  # mean under the priors  (d,)


class LinearDiscriminantAnalysis(LinearDropIn, theirs.LinearDiscriminantAnalysis):
    """Linear discriminant analysis with scikit-learn's parameters and definitions.

    ``fit`` reads the rows once, and the solvers work on their sums.

    Hastie, Tibshirani & Friedman (2009), *The Elements of Statistical Learning*, 4.3.

    Examples
    --------
    >>> from suffice.sklearn import LinearDiscriminantAnalysis
    >>> X, y = [[-1, -1], [-2, -1], [-3, -2], [1, 1], [2, 1], [3, 2]], [1, 1, 1, 2, 2, 2]
    >>> LinearDiscriminantAnalysis().fit(X, y).predict([[-0.8, -1]]).tolist()
    [1]
    """

    def fit(self, X: RowsLike, y: LabelsLike) -> Self:
        """Fit the model to rows ``X`` with labels ``y``."""
        self._validate_params()
        table = labelled_table(self, X, y, ensure_min_samples=2, dtype=FLOATS)
        priors = table.class_weights / table.n_rows
        if self.priors is not None:
            priors = np.asarray(self.priors, np.float64)
        storage = self._storage()
        n_scatters = table.n_classes if storage == "per-class" else 1
        most_components = min(table.n_classes - 1, table.n_features)
        n_components = most_components if self.n_components is None else self.n_components
        has_odd_priors = (priors < 0).any() or abs(priors.sum() - 1.0) > 1e-5
        if (
            has_odd_priors
            or n_components > most_components
            or _needs_sklearn(self, table, n_scatters)
        ):
            super().fit(X, y)
            return self
        moments = coded_moments(table, storage, fourth=self.shrinkage == "auto")
        dtype = float_type(table.x)
        self.classes_ = table.classes
        self.priors_ = priors.astype(dtype)
        self.means_ = moments.means.astype(dtype)
        self._max_components = n_components
        self._n_features_out = n_components
        self._keep(self._solution(moments, priors, n_components, table), dtype)
        return self

    def _solution(
        self,
        moments: Moments,
        priors: Floats,
        n_components: int,
        table: Table,
    ) -> LinearSolution:
        if self.solver == "svd":
            return self._by_axes(moments, priors, n_components)
        if self.solver == "lsqr":
            return self._by_inverse(moments, priors)
        return self._by_ratio(moments, priors, n_components, table)

    def _keep(self, solution: LinearSolution, dtype: type[np.floating[Any]]) -> None:
        """Set the fitted attributes to the result of a solver, in the precision of the rows."""
        coef = solution.coef
        intercept = solution.intercept
        if len(intercept) == 2:  # scikit-learn keeps one row: the second class minus the first
            coef = np.diff(coef, axis=0)
            intercept = np.diff(intercept)
        self.coef_ = coef.astype(dtype)
        self.intercept_ = intercept.astype(dtype)
        if solution.covariance is not None:
            self.covariance_ = solution.covariance.astype(dtype)
        if solution.scalings is not None:
            self.scalings_ = solution.scalings.astype(dtype)
        if solution.explained_variance_ratio is not None:
            self.explained_variance_ratio_ = solution.explained_variance_ratio.astype(dtype)
        if solution.xbar is not None:
            self.xbar_ = solution.xbar.astype(dtype)

    def _storage(self) -> Literal["per-class", "pooled"]:
        """Return the storage of the scatter that the solver needs."""
        if self.shrinkage == "auto":
            return "per-class"
        # scikit-learn weights the class covariances by the user's priors, not by numbers of rows
        needs_covariance = self.solver != "svd" or self.store_covariance
        if self.priors is not None and needs_covariance:
            return "per-class"
        return "pooled"

    def _within(self, moments: Moments, priors: Floats) -> Floats:
        """Return Σ_k π_k Σ_k."""
        if moments.storage == "per-class":
            sigmas = class_covariances(moments, self.shrinkage)
            return np.asarray(np.einsum("k,kij->ij", priors, sigmas))
        # with class frequencies as priors, Σ_k (n_k / n) M_k / n_k = M / n
        return shrunk_to_sphere(moments.pooled_scatter / moments.total_weight, self.shrinkage)

    def _by_axes(self, moments: Moments, priors: Floats, n_components: int) -> LinearSolution:
        """Solve by whitening along the within-class principal axes of deviation above ``tol``."""
        n = moments.total_weight
        sigma = moments.pooled_scatter / n
        between = moments.between_scatter.diagonal() / n
        variances = resolved(sigma.diagonal(), moments.grand_mean, between)
        scale = unit_scale(variances)
        varies = variances > 0
        correlations = sigma / scale / scale[:, None] * np.outer(varies, varies)
        e, v = linalg.eigh(correlations)
        # singular values of the scaled rows are √e
        is_kept = e > max(self.tol**2, rank_tolerance(moments.n_features))
        whitening = (v[:, is_kept] / np.sqrt(e[is_kept]))[:, ::-1] / scale[:, None]
        mean_offset = priors @ moments.centred_means
        offsets = moments.centred_means - mean_offset
        xbar = moments.grand_mean + mean_offset
        # the axes of the class means: √(n π_k / (K − 1)) (μ_k − μ) whitened
        spread = np.sqrt(n * priors / (len(offsets) - 1))[:, None] * offsets @ whitening
        _, s, vt = np.linalg.svd(spread, full_matrices=False)
        scalings = whitening @ vt[s > self.tol * s[:1]].T
        z = offsets @ scalings
        coef = z @ scalings.T
        return LinearSolution(
            coef=coef,
            # −½ |z_k|² + log π_k − w_kᵀ μ
            intercept=-0.5 * np.square(z).sum(1) + log_of(priors) - coef @ xbar,
            covariance=self._within(moments, priors) if self.store_covariance else None,
            scalings=scalings,
            explained_variance_ratio=(s**2 / np.sum(s**2))[:n_components],
            xbar=xbar,
        )

    def _by_inverse(self, moments: Moments, priors: Floats) -> LinearSolution:
        """Solve Σ w_k = μ_k, the solver "lsqr"."""
        covariance = self._within(moments, priors)
        weights = linalg.lstsq(covariance, moments.means.T)[0].T
        return LinearSolution(
            coef=weights,
            intercept=_intercepts(moments.means, weights, priors),
            covariance=covariance,
        )

    def _by_ratio(
        self,
        moments: Moments,
        priors: Floats,
        n_components: int,
        table: Table,
    ) -> LinearSolution:
        """Solve for the axes with the greatest ratio of between-class to within-class variance."""
        covariance = self._within(moments, priors)
        between = self._total(moments, table) - covariance
        values, vectors = linalg.eigh(between, covariance)
        scalings = vectors[:, ::-1]
        weights = moments.means @ scalings @ scalings.T
        return LinearSolution(
            coef=weights,
            intercept=_intercepts(moments.means, weights, priors),
            covariance=covariance,
            scalings=scalings,
            explained_variance_ratio=(values / values.sum())[::-1][:n_components],
        )

    def _total(self, moments: Moments, table: Table) -> Floats:
        """Return the covariance of all rows about their mean, shrunk like the class covariances."""
        if self.shrinkage == "auto":
            whole = coded_moments(pooled_rows(table), "per-class", fourth=True)
            return np.asarray(class_covariances(whole, "auto")[0])
        scatter = moments.scatter.pooled() + moments.between_scatter
        return shrunk_to_sphere(scatter / moments.total_weight, self.shrinkage)


def _intercepts(means: Floats, weights: Floats, priors: Floats) -> Floats:
    """Return w_k0 = −½ μ_kᵀ w_k + log π_k, (K,)."""
    products = np.asarray(np.einsum("kj,kj->k", means, weights))
    return log_of(priors) - 0.5 * products


# --- quadratic -------------------------------------------------------------------------------


class QuadraticDiscriminantAnalysis(DropInWithScores, theirs.QuadraticDiscriminantAnalysis):
    """Quadratic discriminant analysis with scikit-learn's parameters and definitions.

    Hastie, Tibshirani & Friedman (2009), *The Elements of Statistical Learning*, 4.3.

    Examples
    --------
    >>> from suffice.sklearn import QuadraticDiscriminantAnalysis
    >>> X, y = [[-1, -1], [-2, -1], [-3, -2], [1, 1], [2, 1], [3, 2]], [1, 1, 1, 2, 2, 2]
    >>> QuadraticDiscriminantAnalysis().fit(X, y).predict([[-0.8, -1]]).tolist()
    [1]
    """

    # older versions of scikit-learn lack these parameters
    solver: str = "svd"
    shrinkage: ShrinkageWord = None
    covariance_estimator: Any = None
    # the factored covariances of the last fit, and the attributes that they were computed from
    _factored: tuple[list[Array], list[Array], list[FullCovariance]] | None = None

    def fit(self, X: RowsLike, y: LabelsLike) -> Self:
        """Fit the model to rows ``X`` with labels ``y``."""
        self._validate_params()
        table = labelled_table(self, X, y)
        counts = table.class_weights
        if _needs_sklearn(self, table, table.n_classes) or (counts == 1).any():
            super().fit(X, y)
            return self
        moments = coded_moments(table, "per-class", fourth=self.shrinkage == "auto")
        sigmas = class_covariances(moments, self.shrinkage)
        by_svd = self.solver == "svd"
        axes = self._regularized_axes(sigmas)
        # sums of squares may have lost digits that the rows still have
        if axes is None or (by_svd and counts.min() < table.n_features):
            super().fit(X, y)
            return self
        dtype = float_type(table.x)
        self.classes_ = table.classes
        self.priors_ = counts / table.n_rows
        if self.priors is not None:
            self.priors_ = np.array(self.priors)
        self.means_ = moments.means.astype(dtype)
        self.scalings_ = [scaling.astype(dtype) for scaling, _ in axes]
        self.rotations_ = [rotation.astype(dtype) for _, rotation in axes]
        if self.store_covariance:
            if by_svd:
                sigmas = np.stack([(scaling * v) @ v.T for scaling, v in axes])
            self.covariance_ = [sigma.astype(dtype) for sigma in sigmas]
        self._factored = (self.scalings_, self.rotations_, self._covariances())
        return self

    def _regularized_axes(self, sigmas: Floats) -> list[tuple[Floats, Floats]] | None:
        """Return the variances and axes of each class; None if some variance is too small."""
        added = self.reg_param if self.solver == "svd" else 0.0
        axes = []
        for sigma in sigmas:
            principal = principal_axes(sigma)
            if principal is None:
                return None
            variances, rotation = principal
            scaling = (1 - added) * variances + added
            if not (scaling > self.tol).all():
                return None
            axes.append((scaling, rotation))
        return axes

    def _covariances(self) -> list[FullCovariance]:
        covariances = []
        for scaling, rotation in zip(self.scalings_, self.rotations_, strict=True):
            root = np.asarray(rotation, np.float64) * np.sqrt(scaling, dtype=np.float64)
            covariances.append(FullCovariance.of_root(root))
        return covariances

    def _parameter_type(self) -> np.dtype[Any]:
        dtype: np.dtype[Any] = self.priors_.dtype
        return dtype

    def _scorer(self) -> Scorer:
        covariances = None
        if self._factored is not None:
            scalings, rotations, factored = self._factored
            if scalings is self.scalings_ and rotations is self.rotations_:
                covariances = factored
        if covariances is None:  # the user has replaced the attributes
            covariances = self._covariances()
        # log π_k − ½ log|Σ_k| − ½ |W_k (x − μ_k)|²
        log_dets = np.array([np.log(s, dtype=np.float64).sum() for s in self.scalings_])
        constants = log_of(self.priors_) - 0.5 * log_dets
        return Scorer.of(constants, np.asarray(self.means_, np.float64), covariances)


# --- naive Bayes -----------------------------------------------------------------------------


class GaussianNB(DropIn, naive_bayes.GaussianNB):
    """Gaussian naive Bayes with the parameters, attributes and definitions of scikit-learn.

    The order and the size of the batches of ``partial_fit`` do not matter.

    Chan, Golub & LeVeque (1979), *Updating Formulae*, STAN-CS-79-773.

    Attributes
    ----------
    moments_ : Moments
        Sums of each class. The label of a class in these sums is its position in ``classes_``.

    Examples
    --------
    >>> from suffice.sklearn import GaussianNB
    >>> X, y = [[-1, -1], [-2, -1], [-3, -2], [1, 1], [2, 1], [3, 2]], [1, 1, 1, 2, 2, 2]
    >>> GaussianNB().fit(X, y).theta_.round(3).tolist()
    [[-2.0, -1.333], [2.0, 1.333]]
    """

    def fit(self, X: RowsLike, y: LabelsLike, sample_weight: WeightsLike = None) -> Self:
        """Fit the model to rows ``X`` with labels ``y``."""
        self._validate_params()
        table = labelled_table(self, X, y)
        self.classes_ = table.classes
        return self._learn(table, sample_weight, None)

    def partial_fit(
        self,
        X: RowsLike,
        y: LabelsLike,
        classes: LabelsLike | None = None,
        sample_weight: WeightsLike = None,
    ) -> Self:
        """Add rows to those of earlier calls; the first call lists all ``classes``."""
        self._validate_params()
        is_first = _check_partial_fit_first_call(self, classes)
        batch = labelled_table(self, X, y, reset=is_first)
        codes = codes_of(batch.classes, self.classes_, strict=False)
        if (codes < 0).any():
            raise ValueError(
                f"The target label(s) {batch.classes[codes < 0]} in y do not exist in the initial "
                f"classes {self.classes_}"
            )
        table = replace(batch, classes=self.classes_, codes=codes[batch.codes])
        return self._learn(table, sample_weight, None if is_first else self.moments_)

    def _learn(
        self,
        table: Table,
        sample_weight: WeightsLike,
        earlier: Moments | None,
    ) -> Self:
        if sample_weight is not None:
            weight = _check_sample_weight(sample_weight, table.x, dtype=np.float64)
            table = replace(table, weight=weight)
        batch = coded_moments(table, "diagonal")
        # scikit-learn computes the largest variance without the weights
        unweighted = batch
        if sample_weight is not None:
            unweighted = coded_moments(pooled_rows(table), "diagonal")
        self.epsilon_ = self.var_smoothing * unweighted.total_variances.max()
        self.moments_ = batch if earlier is None else earlier + batch
        dtype = float_type(table.x)
        self.class_count_ = self.moments_.weights.astype(dtype)
        self.theta_ = self.moments_.means.astype(dtype)
        variances = ratio(self.moments_.diagonals, self.moments_.weights[:, None])
        self.var_ = (variances + self.epsilon_).astype(dtype)
        if self.priors is None:
            self.class_prior_ = self.class_count_ / self.class_count_.sum()
        else:
            self.class_prior_ = self._checked_priors().astype(dtype)
        return self

    def _checked_priors(self) -> Floats:
        """Return the priors, or raise scikit-learn's error."""
        priors = np.asarray(self.priors, np.float64)
        if len(priors) != len(self.classes_):
            raise ValueError("Number of priors must match number of classes.")
        if not np.isclose(priors.sum(), 1.0):
            raise ValueError("The sum of the priors should be 1.")
        if (priors < 0).any():
            raise ValueError("Priors must be non-negative.")
        return priors

    def predict_joint_log_proba(self, X: RowsLike) -> Floats:
        """Return log p(x, class), (n, K)."""
        return self._read(X, Joint())

    def _parameter_type(self) -> np.dtype[Any]:
        dtype: np.dtype[Any] = self.var_.dtype
        return dtype

    def _scorer(self) -> Scorer:
        sigmas = [DiagonalCovariance(np.sqrt(v, dtype=np.float64)) for v in self.var_]
        log_dets = np.array([sigma.log_det for sigma in sigmas])
        d = self.theta_.shape[1]
        # log π_k − ½ Σ_j (log 2π σ² + (x − θ)² / σ²)
        constants = log_of(self.class_prior_) - 0.5 * (d * LOG_2PI + log_dets)
        return Scorer.of(constants, np.asarray(self.theta_, np.float64), sigmas)
