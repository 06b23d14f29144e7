"""What the linear classifiers share: digits far from the origin, and rows too small to square."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

import suffice as sf
from suffice.errors import InvalidInputError

FAR = 2.0**27  # about 1e8
LINEAR = (
    lambda: sf.LogisticRegression(),
    lambda: sf.LogisticRegression(l2=0),
    lambda: sf.LeastSquaresClassifier(),
    lambda: sf.Perceptron(variant="averaged", max_iter=5),
)


@pytest.fixture(name="rows", params=[2, 3])
def _rows(request):
    rng = np.random.default_rng(0)
    x = np.round(rng.normal(size=(200, 3)) * 2**20) / 2**20  # exact near 1e8 too
    noisy = x @ [1, 2, -1] + rng.normal(size=200)
    return x, np.digitize(noisy, [0.0, 1.5][: request.param - 1])


@pytest.mark.parametrize("make", LINEAR)
def test_scores_far_from_the_origin_keep_their_digits(make, rows, tmp_path):
    x, y = rows
    near, far = make().fit(x, y), make().fit(x + FAR, y)
    expected = near.decision_function(x)
    scale = np.abs(expected).max()
    # the centre itself is rounded, and the perceptron's way depends on it
    tolerance = 1e-8 if isinstance(near, sf.Perceptron) else 1e-12
    np.testing.assert_allclose(
        far.decision_function(x + FAR), expected, atol=tolerance * scale
    )
    far.save(tmp_path / "far.suffice")
    again = sf.load(tmp_path / "far.suffice")
    found = again.decision_function(x + FAR)
    np.testing.assert_array_equal(found, far.decision_function(x + FAR))


@pytest.mark.parametrize("make", LINEAR)
def test_coefficients_changed_by_hand_count(make, rows):
    x, y = rows
    fit = make().fit(x, y)
    before = fit.decision_function(x)
    fit.intercept_ += 1.0 if len(fit.coef_) == 1 else np.array([1.0, 0.0, 0.0])
    moved = fit.decision_function(x) - before
    np.testing.assert_allclose(moved if moved.ndim == 1 else moved[:, 0], 1.0)


@pytest.mark.parametrize("make", LINEAR)
def test_columns_whose_squares_vanish_are_refused(make, rows):
    x, y = rows
    tiny = x * np.array([1.0, 1e-300, 1.0])
    with pytest.raises(InvalidInputError, match=r"squares of column 1 underflow.*rescale"):
        make().fit(tiny, y)
    make().fit(x * np.array([1.0, 1e-140, 1.0]), y)


def test_an_unfinished_descent_is_scikit_learns_warning_too(rows):
    with pytest.warns(ConvergenceWarning):
        sf.LogisticRegression(l2=0, max_iter=1).fit(*rows)
    with pytest.warns(ConvergenceWarning):
        sf.Perceptron(max_iter=2).fit(*rows)
