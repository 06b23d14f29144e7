"""What cannot be compared, and why."""

import pytest
from sklearn.cluster import DBSCAN
from sklearn.linear_model import LinearRegression

from suffice.errors import InvalidParameterError
from suffice.evaluate.comparison.models import parse_models


class Labels:
    """Something that predicts, but is not fitted."""

    def predict(self, X):
        return X


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (DBSCAN(), "expected a classifier, with fit and predict"),
        (Labels(), "expected a classifier, with fit and predict"),
        (LinearRegression(), "which is (no|not a) classifier"),
        (LinearRegression, r"pass an instance, LinearRegression\(\)"),
    ],
)
def test_a_model_that_is_no_classifier_is_refused_with_what_it_lacks(model, message):
    with pytest.raises(InvalidParameterError, match=message):
        parse_models([model], 0)
