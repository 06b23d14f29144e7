"""Gaussian naive Bayes by scikit-learn's definitions, from moments that batches add to."""

from dataclasses import replace
from typing import Any, Self, cast

import numpy as np
from sklearn import naive_bayes as theirs
from sklearn.utils.multiclass import _check_partial_fit_first_call
from sklearn.utils.validation import _check_sample_weight

from suffice.discriminative.design import coded_moments
from suffice.linalg import LOG_2PI
from suffice.model.covariance import DiagonalCovariance
from suffice.model.posterior import Joint
from suffice.model.scoring import Scorer
from suffice.moments import Moments
from suffice.moments.collect import ratio
from suffice.sklearn.rows import Scored, labelled_rows, pooled_rows
from suffice.table import Table
from suffice.table.labels import codes_of
from suffice.typing import Floats


class GaussianNB(Scored, theirs.GaussianNB):
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

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from rows ``X`` with labels ``y``."""
        self._validate_params()
        table = labelled_rows(self, X, y)
        self.classes_ = table.classes
        return self._learn(table, sample_weight, None)

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Add rows to what was learnt; the first call lists all ``classes``."""
        self._validate_params()
        first = _check_partial_fit_first_call(self, classes)
        batch = labelled_rows(self, X, y, reset=first)
        codes = codes_of(batch.classes, self.classes_, strict=False)
        if (codes < 0).any():
            raise ValueError(
                f"The target label(s) {batch.classes[codes < 0]} in y do not exist in the initial "
                f"classes {self.classes_}"
            )
        table = replace(batch, classes=self.classes_, codes=codes[batch.codes])
        return self._learn(table, sample_weight, None if first else self.moments_)

    def _learn(self, table: Table, sample_weight: Any, before: Moments | None) -> Self:
        if sample_weight is not None:
            weight = _check_sample_weight(sample_weight, table.x, dtype=np.float64)
            table = replace(table, weight=weight)
        batch = coded_moments(table, "diagonal")
        every = batch if sample_weight is None else coded_moments(pooled_rows(table), "diagonal")
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
            (len(priors) != len(self.classes_), "Number of priors must match number of classes."),
            (not np.isclose(priors.sum(), 1.0), "The sum of the priors should be 1."),
            ((priors < 0).any(), "Priors must be non-negative."),
        ):
            if wrong:
                raise ValueError(msg)
        return priors

    def predict_joint_log_proba(self, X: Any) -> Floats:
        """Return log p(x, class), (n, K)."""
        return cast("Floats", self._read(X, Joint()))

    def _scorer(self) -> Scorer:
        sigmas = [DiagonalCovariance(np.sqrt(v, dtype=np.float64)) for v in self.var_]
        log_dets = np.array([sigma.log_det for sigma in sigmas])
        with np.errstate(divide="ignore"):
            log_priors = np.log(self.class_prior_, dtype=np.float64)
        # log π_k − ½ Σ_j (log 2π σ² + (x − θ)² / σ²)
        constants = log_priors - 0.5 * (self.theta_.shape[1] * LOG_2PI + log_dets)
        return Scorer.of(constants, np.asarray(self.theta_, np.float64), sigmas)

    def _precision(self) -> Any:
        return self.var_.dtype
