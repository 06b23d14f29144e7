"""Discriminant analysis and Gaussian naive Bayes by scikit-learn's definitions, from moments."""

from dataclasses import replace
from typing import Any, Self

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
from suffice.estimators.dropin import rows
from suffice.estimators.dropin.rows import log_of, pooled_rows
from suffice.typing import Floats

_MOST_NUMBERS = 1 << 27  # of scatters: beyond this, class by class is kinder to the memory


def class_covariances(moments: Moments, shrinkage: Any) -> Floats:
    """Return Σ_k of every class, (K, d, d), biased, and shrunk as scikit-learn shrinks."""
    scatters, weights = moments.scatters, moments.weights
    if shrinkage == "auto":
        fourths = moments.required_fourth().fourths
        return np.stack(list(map(_standardised_ledoit_wolf, weights, scatters, fourths)))
    return shrunk_to_sphere(scatters / weights[:, None, None], shrinkage)


def shrunk_to_sphere(sigma: Floats, shrinkage: float | None) -> Floats:
    """Return (1 − γ) Σ + γ (tr Σ / d) I, of one matrix or of many."""
    if not shrinkage:
        return sigma
    d = sigma.shape[-1]
    mean = np.trace(sigma, axis1=-2, axis2=-1)[..., None, None] / d
    return np.asarray((1 - shrinkage) * sigma + shrinkage * mean * np.eye(d))


def _standardised_ledoit_wolf(weight: float, scatter: Floats, fourth: Floats) -> Floats:
    """Return the covariance shrunk to a sphere in units of its own standard deviations."""
    sigma = scatter / weight
    gamma = ledoit_wolf_intensity(weight, scatter, fourth)
    scale = unit_scale(np.diagonal(sigma))
    # Σ = D R D → D ((1 − γ) R + γ (tr R / d) I) D
    return shrunk_to_sphere(sigma / scale / scale[:, None], gamma) * scale * scale[:, None]


def _is_theirs(asked: Any, table: Table, n_scatters: int) -> bool:
    """Return whether scikit-learn's own code must answer, or refuse in its own words."""
    misused = asked.solver == "svd" and asked.shrinkage is not None
    alone = asked.covariance_estimator is not None or table.n_classes < 2
    big = n_scatters * table.n_features**2 > _MOST_NUMBERS
    few = table.n_features >= table.n_rows or table.n_rows == table.n_classes
    return misused or alone or big or few


class LinearDiscriminantAnalysis(rows.Linear, theirs.LinearDiscriminantAnalysis):
    """Linear discriminant analysis: parameters, attributes and definitions are scikit-learn's.

    The rows are summed once and the solvers work on the sums.

    Hastie, Tibshirani & Friedman (2009), *The Elements of Statistical Learning*, 4.3.

    Examples
    --------
    >>> from suffice.sklearn import LinearDiscriminantAnalysis
    >>> X, y = [[-1, -1], [-2, -1], [-3, -2], [1, 1], [2, 1], [3, 2]], [1, 1, 1, 2, 2, 2]
    >>> LinearDiscriminantAnalysis().fit(X, y).predict([[-0.8, -1]]).tolist()
    [1]
    """

    def fit(self, X: Any, y: Any) -> Self:
        """Learn from rows ``X`` with labels ``y``."""
        self._validate_params()
        table = rows.labelled_table(self, X, y, ensure_min_samples=2, dtype=rows.FLOATS)
        per_class = table.n_classes if self._storage() == "per-class" else 1
        priors = table.class_weights / table.n_rows if self.priors is None else self.priors
        self.priors_ = np.asarray(priors, np.float64)
        odd = (self.priors_ < 0).any() or abs(self.priors_.sum() - 1.0) > 1e-5
        most = min(table.n_classes - 1, table.n_features)
        self._max_components = most if self.n_components is None else self.n_components
        if _is_theirs(self, table, per_class) or odd or self._max_components > most:
            return super().fit(X, y)  # type: ignore[no-any-return]
        self.classes_ = table.classes
        moments = coded_moments(table, self._storage(), fourth=self.shrinkage == "auto")
        self.means_ = moments.means
        solvers = {"svd": self._by_axes, "lsqr": self._by_inverse, "eigen": self._by_ratio}
        solvers[self.solver](moments, table)
        if table.n_classes == 2:
            self.coef_, self.intercept_ = np.diff(self.coef_, axis=0), np.diff(self.intercept_)
        if table.x.dtype == np.float32:
            _to_single(self)
        self._n_features_out = self._max_components
        return self

    def _storage(self) -> str:
        own = self.priors is not None and (self.solver != "svd" or self.store_covariance)
        return "per-class" if own or self.shrinkage == "auto" else "pooled"

    def _within(self, moments: Moments) -> Floats:
        """Return Σ_k π_k Σ_k."""
        if moments.storage == "per-class":
            sigmas = class_covariances(moments, self.shrinkage)
            return np.asarray(np.einsum("k,kij->ij", self.priors_, sigmas))
        # with the priors of the rows, Σ_k (n_k / n) S_k / n_k = S / n
        return shrunk_to_sphere(moments.pooled_scatter / moments.total_weight, self.shrinkage)

    def _by_axes(self, moments: Moments, _table: Table) -> None:
        """Whiten by the principal axes of the within-class correlations, above ``tol``."""
        if self.store_covariance:
            self.covariance_ = self._within(moments)
        n, d = moments.total_weight, moments.n_features
        sigma, totals = moments.pooled_scatter / n, moments.between_scatter.diagonal() / n
        variances = resolved(sigma.diagonal(), moments.grand_mean, totals)
        scale = unit_scale(variances)
        e, v = linalg.eigh(
            sigma / scale / scale[:, None] * np.outer(variances > 0, variances > 0)
        )
        # singular values of the scaled rows are √e
        kept = e > max(self.tol**2, rank_tolerance(d))
        whitening = (v[:, kept] / np.sqrt(e[kept]))[:, ::-1] / scale[:, None]
        about = self.priors_ @ moments.centred_means
        offsets, self.xbar_ = moments.centred_means - about, moments.grand_mean + about
        # the axes of the class means: √(n π_k / (K − 1)) (μ_k − μ) whitened
        spread = np.sqrt(n * self.priors_ / (len(offsets) - 1))[:, None] * offsets @ whitening
        _, s, vt = np.linalg.svd(spread, full_matrices=False)
        self.explained_variance_ratio_ = (s**2 / np.sum(s**2))[: self._max_components]
        self.scalings_ = whitening @ vt[s > self.tol * s[:1]].T
        z = offsets @ self.scalings_
        self.coef_ = z @ self.scalings_.T
        # −½ |z_k|² + log π_k − w_kᵀ μ
        self.intercept_ = (
            -0.5 * np.square(z).sum(1) + log_of(self.priors_) - self.coef_ @ self.xbar_
        )

    def _by_inverse(self, moments: Moments, _table: Table) -> None:
        """Solve Σ w_k = μ_k."""
        self.covariance_ = self._within(moments)
        self._score_by(linalg.lstsq(self.covariance_, self.means_.T)[0].T)

    def _by_ratio(self, moments: Moments, table: Table) -> None:
        """Find the axes of the greatest ratio of between-class to within-class variance."""
        self.covariance_ = self._within(moments)
        between = self._total(moments, table) - self.covariance_
        values, vectors = linalg.eigh(between, self.covariance_)
        self.explained_variance_ratio_ = (values / values.sum())[::-1][: self._max_components]
        self.scalings_ = vectors[:, ::-1]
        self._score_by(self.means_ @ self.scalings_ @ self.scalings_.T)

    def _total(self, moments: Moments, table: Table) -> Floats:
        """Return the covariance of all rows about their mean, shrunk as the others are."""
        if self.shrinkage == "auto":
            whole = coded_moments(pooled_rows(table), "per-class", fourth=True)
            return np.asarray(class_covariances(whole, "auto")[0])
        scatter = moments.scatter.pooled() + moments.between_scatter
        return shrunk_to_sphere(scatter / moments.total_weight, self.shrinkage)

    def _score_by(self, weights: Floats) -> None:
        # w_k0 = −½ μ_kᵀ w_k + log π_k
        half = 0.5 * np.einsum("kj,kj->k", self.means_, weights)
        self.coef_, self.intercept_ = weights, log_of(self.priors_) - half


def _to_single(estimator: Any) -> None:
    """Turn every array that a fit found to float32, as its rows were."""
    for name, value in vars(estimator).items():
        if isinstance(value, np.ndarray) and value.dtype == np.float64 and name != "classes_":
            setattr(estimator, name, value.astype(np.float32))


class QuadraticDiscriminantAnalysis(rows.Decided, theirs.QuadraticDiscriminantAnalysis):
    """Quadratic discriminant analysis: parameters, attributes and definitions are scikit-learn's.

    Hastie, Tibshirani & Friedman (2009), *The Elements of Statistical Learning*, 4.3.

    Examples
    --------
    >>> from suffice.sklearn import QuadraticDiscriminantAnalysis
    >>> X, y = [[-1, -1], [-2, -1], [-3, -2], [1, 1], [2, 1], [3, 2]], [1, 1, 1, 2, 2, 2]
    >>> QuadraticDiscriminantAnalysis().fit(X, y).predict([[-0.8, -1]]).tolist()
    [1]
    """

    solver: Any = "svd"  # where these are no parameters yet
    shrinkage: Any = None
    covariance_estimator: Any = None

    def fit(self, X: Any, y: Any) -> Self:
        """Learn from rows ``X`` with labels ``y``."""
        self._validate_params()
        table = rows.labelled_table(self, X, y)
        counts = table.class_weights
        if _is_theirs(self, table, table.n_classes) or (counts == 1).any():
            return super().fit(X, y)  # type: ignore[no-any-return]
        priors = counts / table.n_rows if self.priors is None else np.array(self.priors)
        moments = coded_moments(table, "per-class", fourth=self.shrinkage == "auto")
        sigmas = class_covariances(moments, self.shrinkage)
        svd = self.solver == "svd"
        add = self.reg_param if svd else 0.0
        found = filter(None, map(principal_axes, sigmas))
        axes = [((1 - add) * scaling + add, rotation) for scaling, rotation in found]
        full = len(axes) == table.n_classes and all((s > self.tol).all() for s, _ in axes)
        # what sums of squares cannot tell, the rows may
        if not full or (svd and counts.min() < table.n_features):
            return super().fit(X, y)  # type: ignore[no-any-return]
        if svd:
            sigmas = np.stack([(s * rotation) @ rotation.T for s, rotation in axes])
        single = np.float32 if table.x.dtype == np.float32 else np.float64
        self.classes_, self.priors_ = table.classes, priors
        self.means_ = moments.means.astype(single)
        self.scalings_ = [scaling.astype(single) for scaling, _ in axes]
        self.rotations_ = [rotation.astype(single) for _, rotation in axes]
        if self.store_covariance:
            self.covariance_ = [sigma.astype(single) for sigma in sigmas]
        self._known = (self.scalings_, self.rotations_, self._covariances())
        return self

    def _covariances(self) -> list[FullCovariance]:
        axes = zip(self.scalings_, self.rotations_, strict=True)
        roots = (np.asarray(v, np.float64) * np.sqrt(s, dtype=np.float64) for s, v in axes)
        return [FullCovariance.of_root(root) for root in roots]

    def _scorer(self) -> Scorer:
        scalings, rotations, known = vars(self).get("_known", (None, None, None))
        same = scalings is self.scalings_ and rotations is self.rotations_
        covariances = known if same else self._covariances()
        # log π_k − ½ log|Σ_k| − ½ |W_k (x − μ_k)|²
        log_dets = np.array([np.log(s, dtype=np.float64).sum() for s in self.scalings_])
        constants = log_of(self.priors_) - 0.5 * log_dets
        return Scorer.of(constants, np.asarray(self.means_, np.float64), covariances)


class GaussianNB(rows.Scored, naive_bayes.GaussianNB):
    """Gaussian naive Bayes: parameters, attributes and definitions are scikit-learn's.

    Batches of ``partial_fit`` add up exactly: their order and grouping do not matter.

    Chan, Golub & LeVeque (1979), *Updating Formulae*, STAN-CS-79-773.

    Attributes
    ----------
    moments_ : Moments
        Sums of each class, known by its position in ``classes_``.

    Examples
    --------
    >>> from suffice.sklearn import GaussianNB
    >>> X, y = [[-1, -1], [-2, -1], [-3, -2], [1, 1], [2, 1], [3, 2]], [1, 1, 1, 2, 2, 2]
    >>> GaussianNB().fit(X, y).theta_.round(3).tolist()
    [[-2.0, -1.333], [2.0, 1.333]]
    """

    _told_by = "var_"

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from rows ``X`` with labels ``y``."""
        self._validate_params()
        table = rows.labelled_table(self, X, y)
        self.classes_ = table.classes
        return self._learn(table, sample_weight, None)

    def partial_fit(
        self,
        X: Any,
        y: Any,
        classes: Any = None,
        sample_weight: Any = None,
    ) -> Self:
        """Add rows to what was learnt; the first call lists all ``classes``."""
        self._validate_params()
        first = _check_partial_fit_first_call(self, classes)
        batch = rows.labelled_table(self, X, y, reset=first)
        codes = codes_of(batch.classes, self.classes_, strict=False)
        if (codes < 0).any():
            new = f"The target label(s) {batch.classes[codes < 0]} in y"
            raise ValueError(f"{new} do not exist in the initial classes {self.classes_}")
        table = replace(batch, classes=self.classes_, codes=codes[batch.codes])
        return self._learn(table, sample_weight, None if first else self.moments_)

    def _learn(self, table: Table, sample_weight: Any, before: Moments | None) -> Self:
        if sample_weight is not None:
            weight = _check_sample_weight(sample_weight, table.x, dtype=np.float64)
            table = replace(table, weight=weight)
        batch = coded_moments(table, "diagonal")
        every = (
            batch if sample_weight is None else coded_moments(pooled_rows(table), "diagonal")
        )
        self.epsilon_ = self.var_smoothing * every.total_variances.max()
        self.moments_ = moments = batch if before is None else before + batch
        single = np.float32 if table.x.dtype == np.float32 else np.float64
        self.class_count_ = moments.weights.astype(single)
        self.theta_ = moments.means.astype(single)
        variances = ratio(moments.diagonals, moments.weights[:, None])
        self.var_ = (variances + self.epsilon_).astype(single)
        if self.priors is None:
            self.class_prior_ = self.class_count_ / self.class_count_.sum()
        else:
            self.class_prior_ = self._given_priors().astype(single)
        return self

    def _given_priors(self) -> Floats:
        priors = np.asarray(self.priors, np.float64)
        for wrong, msg in (
            (
                len(priors) != len(self.classes_),
                "Number of priors must match number of classes.",
            ),
            (not np.isclose(priors.sum(), 1.0), "The sum of the priors should be 1."),
            ((priors < 0).any(), "Priors must be non-negative."),
        ):
            if wrong:
                raise ValueError(msg)
        return priors

    def predict_joint_log_proba(self, X: Any) -> Floats:
        """Return log p(x, class), (n, K)."""
        return np.asarray(self._read(X, Joint()))

    def _scorer(self) -> Scorer:
        sigmas = [DiagonalCovariance(np.sqrt(v, dtype=np.float64)) for v in self.var_]
        log_dets = np.array([sigma.log_det for sigma in sigmas])
        # log π_k − ½ Σ_j (log 2π σ² + (x − θ)² / σ²)
        constants = log_of(self.class_prior_) - 0.5 * (
            self.theta_.shape[1] * LOG_2PI + log_dets
        )
        return Scorer.of(constants, np.asarray(self.theta_, np.float64), sigmas)
