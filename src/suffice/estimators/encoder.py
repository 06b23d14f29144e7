"""Encode tables of any kind as numbers, for classifiers that accept only numbers."""

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from suffice.core.table.indicator_encoding import Encoding
from suffice.core.table.matrix import is_mixed
from suffice.core.table.mixed import read
from suffice.typing import Floats, Labels, LabelsLike, RowsLike


class TableEncoder(TransformerMixin, BaseEstimator):
    """Encode a table with categories and missing values as numbers.

    A category becomes indicators of all levels except the most frequent level. A missing number is
    replaced with the mean and marked by an indicator. A missing category is a separate level. A
    level that does not occur in ``fit`` is treated as the most frequent level.

    Parameters
    ----------
    categorical : list of columns, optional
        Columns whose numbers are codes of categories, by name or position; text columns are
        always categorical.

    Attributes
    ----------
    encoding_ : Encoding
        The columns, their levels, and the reference level of each category.

    Examples
    --------
    >>> import pandas as pd
    >>> from suffice.sklearn import TableEncoder
    >>> X = pd.DataFrame({"age": [30.0, None, 50.0], "sex": ["f", "m", "f"]})
    >>> coder = TableEncoder().fit(X)
    >>> coder.get_feature_names_out().tolist()
    ['age', 'age missing', 'sex=m']
    >>> coder.transform(X).tolist()
    [[30.0, 0.0, 0.0], [40.0, 1.0, 1.0], [50.0, 0.0, 0.0]]
    """

    def __init__(self, categorical: Sequence[str | int] | None = None) -> None:
        self.categorical = categorical

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        tags.input_tags.allow_nan = True
        return tags

    def fit(self, X: RowsLike, y: LabelsLike | None = None) -> Self:  # noqa: ARG002
        """Learn the columns and their levels from rows ``X``; labels are ignored."""
        table = self._checked(X, reset=True)
        rows = read(table, categorical=self.categorical, missing="indicator")
        # the mean of each column replaces missing values in later rows
        self._fills = rows.x.mean(axis=0)
        starts = rows.schema.starts[:-1]
        positions = np.where(rows.indicators < 0, -1, rows.indicators + starts)
        weights = np.bincount(positions[positions >= 0], minlength=rows.schema.n_indicators)
        self.encoding_ = Encoding.of(rows.schema, weights.astype(np.float64))
        return self

    def transform(self, X: RowsLike) -> Floats:
        """Return the rows as numbers without missing values, (n, D)."""
        check_is_fitted(self)
        rows = read(self._checked(X, reset=False), self.encoding_.schema)
        encoded = self.encoding_.rows(rows.x, rows.indicators)
        numbers = encoded[:, : len(self._fills)]
        numbers[:] = np.where(np.isnan(numbers), self._fills, numbers)
        return np.nan_to_num(encoded, copy=False, nan=0.0, posinf=np.inf, neginf=-np.inf)

    def get_feature_names_out(self, input_features: object = None) -> Labels:  # noqa: ARG002
        """Return the names of the columns that ``transform`` returns."""
        check_is_fitted(self)
        return np.array(self.encoding_.feature_names, dtype=object)

    def _checked(self, X: RowsLike, *, reset: bool) -> Any:
        """Return the table after scikit-learn's checks; numbers may be NaN."""
        if is_mixed(X) or self.categorical is not None:
            return validate_data(self, X, reset=reset, skip_check_array=True)
        numbers = validate_data(self, X, reset=reset, ensure_all_finite="allow-nan")
        # a frame stays a frame, since the names of its columns are needed
        return X if hasattr(X, "columns") else numbers


def takes(estimator: Any, X: RowsLike, *, has_gaps: bool) -> bool:
    """Return whether a classifier accepts the columns and the missing values of a table."""
    from sklearn.compose import ColumnTransformer
    from sklearn.pipeline import Pipeline
    from sklearn.utils import get_tags

    steps = [estimator]
    if isinstance(estimator, Pipeline):
        steps = [step for _, step in estimator.steps]
    if isinstance(steps[0], ColumnTransformer):
        return True  # the user's own encoder handles the columns and the missing values
    tags = [get_tags(step).input_tags for step in steps]
    takes_columns = tags[0].categorical or tags[0].string or not is_mixed(X)
    takes_gaps = all(tag.allow_nan for tag in tags)
    fills_gaps = any(type(step).__module__.startswith("sklearn.impute") for step in steps)
    return bool(takes_columns and (not has_gaps or fills_gaps or takes_gaps))
