"""Losses of held-out rows."""

import numpy as np

from suffice.core.decision.predictions import ABSENT_LOSS, Predictions


def test_a_row_of_no_known_class_is_not_taken_for_one_of_the_last():
    logs = np.log([[0.1, 0.9], [0.1, 0.9]])
    rows = Predictions.of_logs(["a", "new"], logs, ["a", "b"], strict=False)
    error, log_loss, brier = rows.row_losses
    np.testing.assert_allclose(error, [1, 1])
    np.testing.assert_allclose(log_loss, [-np.log(0.1), ABSENT_LOSS])
    np.testing.assert_allclose(brier, [0.81 + 0.81, 0.01 + 0.81 + 1])
