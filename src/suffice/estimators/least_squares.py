"""A classifier and a regression, both fitted by least squares from moments."""

from collections.abc import Mapping
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from suffice.core.checks import whole_number
from suffice.core.estimation.plug_in import require_two_classes
from suffice.core.moments import Moments
from suffice.core.table.matrix import as_weights, column_position
from suffice.core.threads import one_at_a_time
from suffice.discriminative.least_squares import (
    joint_moments,
    regress_column,
    regress_indicators,
)
from suffice.errors import InvalidParameterError, require_word
from suffice.estimators.linear import LinearDecisions
from suffice.estimators.predictor import (
    SumsToCollect,
    checked_table,
    require_moments,
    set_features,
)
from suffice.persistence.fields import State
from suffice.persistence.moments_file import checked_state
from suffice.typing import Array, Floats, Labels, LabelsLike, RowsLike, WeightsLike

_FLOATS = (np.float64, np.float32)


class LeastSquaresClassifier(LinearDecisions):
    """Regress the indicator of each class on x, and predict the class with the largest value.

    The model is computed from moments, so it can be fitted batch by batch, or to moments from
    another machine. Constant and duplicated columns have no effect.

    Attributes
    ----------
    classes_ : array (K,)
    moments_ : Moments
        Sums of the training rows.
    coef_ : array (1, d) or (K, d)
        Coefficients of the fitted indicators. Two classes have one row, the second minus the first.
    intercept_ : array (1,) or (K,)

    References
    ----------
    Hastie, Tibshirani & Friedman (2009), *The Elements of Statistical Learning*, section 4.2.

    Examples
    --------
    >>> from suffice import LeastSquaresClassifier
    >>> fit = LeastSquaresClassifier().fit([[0.0], [1.0], [3.0], [4.0]], [0, 0, 1, 1])
    >>> fit.coef_.round(6).tolist(), fit.predict([[1.5], [2.5]]).tolist()
    ([[0.6]], [0, 1])
    """

    classes_: Labels
    moments_: Moments

    def _sums_to_collect(self) -> SumsToCollect:
        return SumsToCollect()

    def fit(self, X: RowsLike, y: LabelsLike, sample_weight: WeightsLike = None) -> Self:
        """Fit the model to rows ``X`` with labels ``y``."""
        x, labels, weight = checked_table(self, X, y, sample_weight, reset=True)
        return self._set_moments(Moments.of(x, labels, weight, missing="refuse", fourth=False))

    def fit_moments(self, moments: Moments) -> Self:
        """Fit the model to sums that were collected before, without reading rows."""
        require_moments(self, moments)
        set_features(self, moments.n_features, moments.feature_names)
        return self._set_moments(moments)

    @one_at_a_time
    def partial_fit(
        self,
        X: RowsLike,
        y: LabelsLike,
        classes: LabelsLike | None = None,
        sample_weight: WeightsLike = None,
    ) -> Self:
        """Add rows, in any order and in batches of any size. New classes are allowed."""
        is_first = not hasattr(self, "moments_")
        x, labels, weight = checked_table(self, X, y, sample_weight, reset=is_first)
        batch = Moments.of(x, labels, weight, missing="refuse", fourth=False, classes=classes)
        return self._set_moments(batch if is_first else self.moments_ + batch)

    def _set_moments(self, moments: Moments) -> Self:
        require_two_classes(moments.classes, moments.weights)
        self.moments_ = moments
        self.classes_ = moments.classes
        model = regress_indicators(moments)
        coef = model.weights
        at_centre = model.intercepts
        if len(coef) == 2:
            coef = np.diff(coef, axis=0)
            at_centre = np.diff(at_centre)
        scale = np.sqrt(moments.total_variances)
        self._set_scores(coef, at_centre, model.centre, scale)
        return self

    def _state(self) -> State:
        return checked_state(self.moments_)

    def _restored(self, header: Mapping[str, Any], arrays: Mapping[str, Array]) -> Self:
        return self.fit_moments(Moments.of_archive(header, arrays))


class LinearGaussianRegressor(RegressorMixin, BaseEstimator):
    """Linear regression as a generative model: y | x ~ N(wᵀφ(x) + w_0, σ²).

    φ(x) is x, or x and its powers. With powers, the mean of y is a curve that is still linear in w.

    Parameters
    ----------
    degree : int, default=1
        Highest power of each feature: 1 fits a line, 2 a parabola.
    divisor : {"mle", "unbiased"}, default="mle"
        σ² is the residual sum of squares divided by the weight of the rows (maximum
        likelihood), or by that weight minus the number of coefficients.

    Attributes
    ----------
    coef_ : array (degree · d,)
        Coefficients of all features, followed by those of their squares, and so on.
    intercept_ : float
    variance_ : float
        σ².
    moments_ : Moments
        Moments of the features and, in the last column, of the target.

    References
    ----------
    Bishop (2006), *Pattern Recognition and Machine Learning*, section 3.1.1.

    Examples
    --------
    >>> import numpy as np
    >>> from suffice.lectures import LinearGaussianRegressor
    >>> x = np.arange(6.0)[:, None]
    >>> fit = LinearGaussianRegressor().fit(x, [1.0, 3.0, 5.0, 7.0, 9.0, 11.5])
    >>> fit.coef_.round(4).tolist(), round(fit.intercept_, 4), round(fit.variance_, 4)
    ([2.0714], 0.9048, 0.0198)
    >>> fit.sample([[10.0]], random_state=0).shape
    (1,)
    """

    coef_: Floats
    intercept_: float
    variance_: float
    moments_: Moments

    def __init__(
        self,
        divisor: Literal["mle", "unbiased"] = "mle",
        *,
        degree: int = 1,
    ) -> None:
        self.divisor = divisor
        self.degree = degree

    def fit(self, X: RowsLike, y: npt.ArrayLike, sample_weight: WeightsLike = None) -> Self:
        """Fit the regression to rows ``X`` with targets ``y``."""
        x, target = validate_data(self, X, y, dtype=_FLOATS, y_numeric=True)
        powers = self._powers(x)
        moments = joint_moments(powers, target, as_weights(sample_weight, len(x)))
        return self._set_moments(moments, powers.shape[1])

    def fit_moments(self, moments: Moments, target: int | str) -> Self:
        """Fit the regression of one column on all others to sums that were collected before."""
        require_moments(self, moments)
        if self.degree != 1:
            raise InvalidParameterError(
                f"degree={self.degree} needs the powers of the features, which the sums do not "
                "hold: fit rows, or sum the powers as features and leave degree out"
            )
        names = moments.feature_names
        column = column_position(target, names, moments.n_features)
        others = None
        if names is not None:
            others = [*names[:column], *names[column + 1 :]]
        set_features(self, moments.n_features - 1, others)
        return self._set_moments(moments, column)

    def predict(self, X: RowsLike) -> Floats:
        """Return the mean of y given x, (n,); its standard deviation is √``variance_``."""
        check_is_fitted(self)
        x = validate_data(self, X, reset=False, dtype=_FLOATS)
        return np.asarray(self._powers(x) @ self.coef_ + self.intercept_, np.float64)

    def sample(
        self,
        X: RowsLike,
        random_state: int | np.random.RandomState | None = None,
    ) -> Floats:
        """Draw one y for each row, (n,)."""
        mean = self.predict(X)
        noise = check_random_state(random_state).standard_normal(len(mean))
        return np.asarray(mean + np.sqrt(self.variance_) * noise)

    def _powers(self, x: Floats) -> Floats:
        """Return φ(x): the features, their squares, and so on, (n, degree · d)."""
        degree = whole_number("degree", self.degree)
        return np.hstack([x**power for power in range(1, degree + 1)])

    def _set_moments(self, moments: Moments, column: int) -> Self:
        require_word(self.divisor, ("mle", "unbiased"), "divisor")
        regression = regress_column(moments, column, unbiased=self.divisor == "unbiased")
        self.moments_ = moments
        self.coef_ = regression.slopes
        self.intercept_ = regression.intercept
        self.variance_ = regression.variance
        return self
