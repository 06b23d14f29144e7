"""Rows of short floats and integers, as stored embeddings are, are read as they stand."""

import numpy as np
import pytest

import suffice as sf

ml_dtypes = pytest.importorskip("ml_dtypes")

TYPES = (np.float16, ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn, np.int8, np.uint8)


@pytest.mark.parametrize("dtype", TYPES, ids=lambda dtype: np.dtype(dtype).name)
@pytest.mark.parametrize("model", [sf.LDA(shrinkage=0.5), sf.LogisticRegression()], ids=repr)
def test_models_of_short_numbers_equal_those_of_the_same_numbers_in_double_precision(
    dtype, model
):
    rng = np.random.default_rng(0)
    y = np.arange(30) % 3
    X = (20 * rng.uniform(size=(30, 6)) + 10 * y[:, None]).astype(dtype)
    exact = X.astype(np.float64)
    model.fit(X, y)
    posterior = model.predict_proba(X)
    double = type(model)(**model.get_params()).fit(exact, y)
    np.testing.assert_allclose(posterior, double.predict_proba(exact), atol=1e-12)
    np.testing.assert_array_equal(model.predict(X), double.predict(exact))
