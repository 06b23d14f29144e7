"""Parts of a predictive check, from simulated values that are written out."""

import numpy as np

from suffice.evaluate.diagnostics.predictive_check import PredictiveCheck


def check():
    values = np.array([[[9.0, 1.0]], [[1.0, 2.0]], [[2.0, 6.0]], [[3.0, 1.0]]])
    quantiles = np.concatenate(
        [np.full((1, 1, 99), 50.0), np.arange(1.0, 40.0)[:, None, None] * np.ones((1, 1, 99))]
    )
    return PredictiveCheck(
        classes=np.array(["a"]),
        feature_names=("width",),
        n_used=np.array([400]),
        n_rows=np.array([1000]),
        values=values,
        quantiles=quantiles,
        left_out=(),
    )


def test_the_envelope_holds_the_middle_95_percent_of_the_replicates():
    envelope = check().envelope
    assert envelope.shape == (2, 1, 99)
    # of 39 replicates and the data, each is the smallest with probability 1/40
    np.testing.assert_allclose(envelope[0], 1.0)
    np.testing.assert_allclose(envelope[1], 39.0)


def test_each_row_compares_the_data_with_the_mean_of_the_replicates():
    distance, width = check().rows()
    assert (distance["what"], distance["statistic"], distance["expected"]) == (
        "distance",
        9,
        2,
    )
    assert (width["what"], width["statistic"], width["expected"]) == ("width", 1, 3)
    # none of 3 replicates is as large as 9, and all are as large as 1
    assert (distance["p_value"], width["p_value"]) == (0.25, 1.0)


def test_a_check_says_how_many_rows_it_looked_at():
    assert "a sample of 400 rows of each larger class" in repr(check())
