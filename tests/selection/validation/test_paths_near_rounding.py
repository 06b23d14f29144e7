"""Covariances whose least eigenvalue is rounding are filled, whatever the number of shrinkages."""

import numpy as np
import pytest

import suffice as sf
from suffice.core.estimation.settings import Settings
from suffice.core.linalg import rank_tolerance
from suffice.selection.validation.held_out import _FilledPath, _path_of, _TiedPath

D = 8
# rows of mean zero whose columns are uncorrelated, of variance one
AXES = np.vstack([np.eye(D), -np.eye(D)]) * np.sqrt(D)


@pytest.mark.parametrize("n_gammas", [1, 40])
@pytest.mark.parametrize(("multiple", "kind"), [(0.6, _FilledPath), (1.7, _TiedPath)])
def test_a_path_is_filled_below_the_tolerance_of_its_features(n_gammas, multiple, kind):
    # correlation √(1 − ε²) of two columns: the least eigenvalue is about ½ ε²
    square = 2 * multiple * rank_tolerance(D)
    x = AXES.copy()
    x[:, 1] = np.sqrt(1 - square) * AXES[:, 0] + np.sqrt(square) * AXES[:, 1]
    moments = sf.Moments.of(np.vstack([x, x]), np.repeat([0, 1], 2 * D))
    path = _path_of(
        moments,
        np.zeros(2, np.intp),
        Settings(tied=True).regularisation,
        np.zeros(n_gammas),
    )
    assert type(path) is kind
