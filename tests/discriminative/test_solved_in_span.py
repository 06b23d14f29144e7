"""When the rows are fewer than the features, and the features too many for a Hessian."""

import numpy as np
import pytest

from suffice.core.table.table import Table
from suffice.discriminative.row_span import is_solved_in_span


@pytest.mark.parametrize(
    ("n_rows", "n_features", "n_classes", "expected"),
    [
        # two classes have d + 1 parameters, three twice as many; 1,500 fit in a Hessian
        (20, 1499, 2, False),
        (20, 1500, 2, True),
        (20, 749, 3, False),
        (20, 750, 3, True),
        (1499, 1500, 2, True),
        (1500, 1500, 2, False),
    ],
)
def test_few_rows_of_many_features_are_solved_in_their_span(
    n_rows, n_features, n_classes, expected
):
    table = Table.of(np.zeros((n_rows, n_features)), np.arange(n_rows) % n_classes)
    assert is_solved_in_span(table) is expected
