"""scikit-learn face of least squares: class indicators, and a linear Gaussian regression."""

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from suffice.discriminative.least_squares import joint_moments, regress_column, regress_indicators
from suffice.estimation.settings import parse_word
from suffice.estimators.linear import LinearDecisions, require_two
from suffice.estimators.predictor import checked_table, set_features
from suffice.moments import Moments
from suffice.moments.file import arrays_of, header_of
from suffice.table.matrix import as_weights, column_position
from suffice.threads import one_at_a_time
from suffice.typing import Floats


class LeastSquaresClassifier(LinearDecisions, BaseEstimator):
    """Regress the indicator of each class on x, and pick the class of the largest fit.

    Everything is read from moments: it can be fitted from sums collected elsewhere, and batch
    by batch. Constant and duplicated columns do not matter.

    Attributes
    ----------
    classes_ : array (K,)
    moments_ : Moments
        What was learnt from the data.
    coef_ : array (1, d) or (K, d)
        Of the fitted indicators; of two classes, of the second less the first.
    intercept_ : array (1,) or (K,)

    References
    ----------
    Hastie, Tibshirani & Friedman (2009), *The Elements of Statistical Learning*, section 4.2.

    Examples
    --------
    >>> from suffice.estimators.least_squares import LeastSquaresClassifier
    >>> fit = LeastSquaresClassifier().fit([[0.0], [1.0], [3.0], [4.0]], [0, 0, 1, 1])
    >>> fit.coef_.round(6).tolist(), fit.predict([[1.5], [2.5]]).tolist()
    ([[0.6]], [0, 1])
    """

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from rows ``X`` with labels ``y``."""
        x, y, sample_weight = checked_table(self, X, y, sample_weight, reset=True)
        return self._set_moments(Moments.of(x, y, sample_weight, missing="refuse", fourth=False))

    def fit_moments(self, moments: Moments) -> Self:
        """Learn from sums collected elsewhere, without a pass over the data."""
        set_features(self, moments.n_features, moments.feature_names)
        return self._set_moments(moments)

    @one_at_a_time
    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Add rows to what was learnt, new classes at any time, in any order and grouping."""
        first = "moments_" not in vars(self)
        x, y, sample_weight = checked_table(self, X, y, sample_weight, reset=first)
        more = Moments.of(x, y, sample_weight, missing="refuse", fourth=False, classes=classes)
        return self._set_moments(more if first else self.moments_ + more)

    def _set_moments(self, moments: Moments) -> Self:
        require_two(moments.classes[moments.weights > 0])
        self.moments_ = moments
        self.classes_ = moments.classes
        fit = regress_indicators(moments)
        coef, at_centre = fit.weights, fit.intercepts
        if len(coef) == 2:
            coef, at_centre = np.diff(coef, axis=0), np.diff(at_centre)
        self._set_scores(coef, at_centre, fit.centre)
        return self

    def _state(self) -> tuple[dict[str, Any], dict[str, Any]]:
        return header_of(self.moments_), arrays_of(self.moments_)

    def _restored(self, header: Mapping[str, Any], arrays: Mapping[str, Any]) -> Self:
        return self.fit_moments(Moments.of_archive(header, arrays))


class LinearGaussianRegressor(RegressorMixin, BaseEstimator):
    r"""Linear regression as a generative model: y | x ~ N(wᵀx + w_0, σ²).

    Parameters
    ----------
    divisor : {"mle", "unbiased"}, default="mle"
        σ² is the residual sum of squares divided by the weight of the rows (maximum
        likelihood), or by that less the number of coefficients.

    Attributes
    ----------
    coef_ : array (d,)
    intercept_ : float
    variance_ : float
        σ².
    moments_ : Moments
        Of the features and, as last column, the target.

    References
    ----------
    Bishop (2006), *Pattern Recognition and Machine Learning*, section 3.1.1.

    Examples
    --------
    >>> import numpy as np
    >>> from suffice.estimators.least_squares import LinearGaussianRegressor
    >>> x = np.arange(6.0)[:, None]
    >>> fit = LinearGaussianRegressor().fit(x, [1.0, 3.0, 5.0, 7.0, 9.0, 11.5])
    >>> fit.coef_.round(4).tolist(), round(fit.intercept_, 4), round(fit.variance_, 4)
    ([2.0714], 0.9048, 0.0198)
    >>> fit.sample([[10.0]], random_state=0).shape
    (1,)
    """

    def __init__(self, divisor: str = "mle") -> None:
        self.divisor = divisor

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from rows ``X`` with targets ``y``."""
        x, y = validate_data(self, X, y, dtype=(np.float64, np.float32), y_numeric=True)
        weight = as_weights(sample_weight, len(x))
        return self._set_moments(joint_moments(x, y, weight), x.shape[1])

    def fit_moments(self, moments: Moments, target: int | str) -> Self:
        """Learn the regression of one column on all others, from sums collected elsewhere."""
        names, d = moments.feature_names, moments.n_features
        column = column_position(target, names, d)
        others = None if names is None else [*names[:column], *names[column + 1 :]]
        set_features(self, d - 1, others)
        return self._set_moments(moments, column)

    def predict(self, X: Any, return_std: bool = False) -> Any:  # noqa: FBT001, FBT002
        """Return the mean of y given x, (n,), and if asked for the standard deviation, (n,)."""
        mean = self._mean(X)
        return (mean, np.full(len(mean), np.sqrt(self.variance_))) if return_std else mean

    def sample(self, X: Any, random_state: Any = None) -> Floats:
        """Draw one y for each row, (n,)."""
        mean = self._mean(X)
        noise = check_random_state(random_state).standard_normal(len(mean))
        return np.asarray(mean + np.sqrt(self.variance_) * noise)

    def log_density(self, X: Any, y: Any) -> Floats:
        """Return log p(y | x) of each row, (n,)."""
        residual = np.asarray(y, np.float64) - self._mean(X)
        # −½ (log 2πσ² + (y − ŷ)² / σ²)
        variance = self.variance_
        return np.asarray(-0.5 * (np.log(2 * np.pi * variance) + residual**2 / variance))

    def _mean(self, X: Any) -> Floats:
        check_is_fitted(self)
        x = validate_data(self, X, reset=False, dtype=(np.float64, np.float32))
        return np.asarray(x @ self.coef_ + self.intercept_, np.float64)

    def _set_moments(self, moments: Moments, column: int) -> Self:
        unbiased = parse_word(self.divisor, {"mle": False, "unbiased": True}, "divisor")
        found = regress_column(moments, column, unbiased=unbiased)
        self.moments_ = moments
        self.intercept_, self.coef_, self.variance_ = found
        return self
