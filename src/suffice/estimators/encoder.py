"""Tables of any kind as numbers, for classifiers that take nothing else."""

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from suffice.core.table.matrix import is_mixed
from suffice.core.table.mixed import MixedRows, read
from suffice.core.table.schema import Encoding
from suffice.typing import Floats


class TableEncoder(TransformerMixin, BaseEstimator):
    """Numbers from a table with categories and empty cells.

    A category becomes an indicator of each level but the most frequent one; an empty number is
    filled by the mean and marked by an indicator, an empty category is a level of its own. A
    level not seen in ``fit`` counts as the most frequent one.

    Parameters
    ----------
    categorical : list of columns, optional
        Columns of numbers that are levels, by name or position; text always is.

    Attributes
    ----------
    encoding_ : Encoding
        The columns, their levels, and the references.

    Examples
    --------
    >>> import pandas as pd
    >>> from suffice import TableEncoder
    >>> X = pd.DataFrame({"age": [30.0, None, 50.0], "sex": ["f", "m", "f"]})
    >>> coder = TableEncoder().fit(X)
    >>> coder.get_feature_names_out().tolist()
    ['age', 'age missing', 'sex=m']
    >>> coder.transform(X).tolist()
    [[30.0, 0.0, 0.0], [40.0, 1.0, 1.0], [50.0, 0.0, 0.0]]
    """

    def __init__(self, categorical: Any = None) -> None:
        self.categorical = categorical

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = tags.input_tags.string = tags.input_tags.allow_nan = True
        return tags

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002
        """Learn the columns and their levels; labels play no part."""
        checked = _checked(self, X, reset=True)
        rows = read(checked, categorical=self.categorical, missing="indicator")
        # of every number its mean, for cells that are empty only later
        self._fills = rows.x.mean(axis=0)
        placed = np.where(rows.indicators < 0, -1, rows.indicators + rows.schema.starts[:-1])
        weights = np.bincount(placed[placed >= 0], minlength=rows.schema.n_indicators)
        self.encoding_ = Encoding.of(rows.schema, weights.astype(np.float64))
        return self

    def transform(self, X: Any) -> Floats:
        """Return the rows as numbers, none of them missing, (n, D)."""
        check_is_fitted(self)
        rows: MixedRows = read(_checked(self, X, reset=False), self.encoding_.schema)
        encoded = self.encoding_.rows(rows.x, rows.indicators)
        numbers = encoded[:, : len(self._fills)]
        numbers[:] = np.where(np.isnan(numbers), self._fills, numbers)
        return np.nan_to_num(encoded, copy=False, nan=0.0, posinf=np.inf, neginf=-np.inf)

    def get_feature_names_out(self, input_features: Any = None) -> Any:  # noqa: ARG002
        """Return the names of the columns that ``transform`` gives."""
        check_is_fitted(self)
        return np.array(self.encoding_.feature_names, dtype=object)


def takes(estimator: Any, X: Any, *, has_gaps: bool) -> bool:
    """Return whether a classifier says that it takes the columns and the empty cells of a table."""
    from sklearn.compose import ColumnTransformer
    from sklearn.pipeline import Pipeline
    from sklearn.utils import get_tags

    named = estimator.steps if isinstance(estimator, Pipeline) else [("", estimator)]
    steps = [step for _, step in named]
    if isinstance(steps[0], ColumnTransformer):
        return True  # it was made for a certain table
    tags = [get_tags(step).input_tags for step in steps]
    kinds = tags[0].categorical or tags[0].string or not is_mixed(X)
    fills = any(type(step).__module__.startswith("sklearn.impute") for step in steps)
    return bool(kinds and (not has_gaps or fills or all(tag.allow_nan for tag in tags)))


def _checked(estimator: Any, X: Any, *, reset: bool) -> Any:
    mixed = is_mixed(X) or estimator.categorical is not None
    options: Any = {"skip_check_array": True} if mixed else {"ensure_all_finite": "allow-nan"}
    known = validate_data(estimator, X, reset=reset, **options)
    return known if mixed or not hasattr(X, "columns") else X
