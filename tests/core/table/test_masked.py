"""One rule for infinite and masked cells, where rows, labels and weights are checked."""

import numpy as np
import pandas as pd
import pytest

from suffice import Moments
from suffice.core.table.labels import as_labels, has_label
from suffice.core.table.matrix import as_matrix, as_weights, is_complete
from suffice.core.table.mixed import read
from suffice.errors import InvalidInputError

X = np.arange(24.0).reshape(8, 3) ** 2
Y = np.array([0, 1] * 4)
MASK = np.zeros(X.shape, bool)
MASK[3, 1] = True


def test_a_masked_number_is_a_missing_value():
    with_nan = np.where(MASK, np.nan, X)
    matrix, _ = as_matrix(np.ma.array(X, mask=MASK))
    assert type(matrix) is np.ndarray
    np.testing.assert_array_equal(matrix, with_nan)
    assert is_complete(np.ma.array(X, mask=MASK)).tolist() == [row != 3 for row in range(8)]
    ours, expected = Moments.of(np.ma.array(X, mask=MASK), Y), Moments.of(with_nan, Y)
    np.testing.assert_array_equal(ours.means, expected.means)
    np.testing.assert_array_equal(ours.scatters, expected.scatters)


def test_masked_whole_numbers_are_missing_and_unmasked_ones_keep_their_type():
    whole = X.astype(np.int64)
    matrix, _ = as_matrix(np.ma.array(whole, mask=MASK))
    assert np.isnan(matrix[3, 1])
    assert as_matrix(np.ma.array(whole))[0].dtype == np.int64


def test_a_masked_text_is_an_empty_cell():
    texts = np.array([["a", "u"], ["b", "v"], ["a", "u"]])
    mask = [[False, False], [True, False], [False, False]]
    rows = read(np.ma.array(texts, mask=mask))
    assert [c.levels for c in rows.schema.categories] == [("a",), ("u", "v")]
    assert [c.missing for c in rows.schema.categories] == [True, False]


def test_a_masked_label_is_no_label():
    y = np.ma.array(Y, mask=np.arange(8) == 5)
    assert has_label(y).tolist() == [row != 5 for row in range(8)]
    with pytest.raises(InvalidInputError, match="row 5 has no label"):
        Moments.of(X, y)
    assert as_labels(np.ma.array(Y)).dtype == Y.dtype


def test_a_masked_weight_is_refused_with_its_row():
    w = np.ma.array(np.ones(8), mask=np.arange(8) == 2)
    with pytest.raises(InvalidInputError, match="sample_weight of row 2 is masked"):
        Moments.of(X, Y, w)
    np.testing.assert_array_equal(as_weights(np.ma.ones(8), 8), np.ones(8))


@pytest.mark.parametrize("missing", ["marginal", "indicator", "refuse"])
@pytest.mark.parametrize("storage", ["per-class", "pooled", "diagonal"])
def test_an_infinite_number_is_refused_with_its_row_and_column(storage, missing):
    x = X.copy()
    x[6, 2] = -np.inf
    options = {"storage": storage, "missing": missing, "fourth": False}
    with pytest.raises(InvalidInputError, match="infinity: row 6, column 2"):
        Moments.of(x, Y, **options)
    frame = pd.DataFrame(x, columns=["a", "b", "c"]).assign(d=list("uvuvuvuv"))
    with pytest.raises(InvalidInputError, match="infinity: row 6, column 'c'"):
        Moments.of(frame, Y, **options)
    if missing != "refuse":
        x[1, 0] = np.nan
        column = "'x2'" if missing == "indicator" else "2"
        with pytest.raises(InvalidInputError, match=f"infinity: row 6, column {column}"):
            Moments.of(x, Y, **options)


def test_covariances_are_scatters_over_weights_and_zero_without_rows():
    moments = Moments.of(X, Y, classes=[0, 1, 2])
    for k in (0, 1):
        expected = np.cov(X[k == Y].T, bias=True)
        np.testing.assert_allclose(moments.covariances[k], expected)
    assert not moments.covariances[2].any()
