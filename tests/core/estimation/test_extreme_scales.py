"""Units near the ends of floating point: the same answer, or a word about it."""

import numpy as np
import pytest

from suffice import LDA, QDA, RDA, AutoGaussian, GaussianClassifier, GaussianNB, Moments
from suffice.core.estimation.edda import FAMILIES
from suffice.errors import InvalidInputError

SCALES = np.array([1e-20, 1e-5, 1e5, 1e20])
OF_UNITS = {"EII", "VII", "EVE", "VVE", "EEV", "VEV"}


@pytest.mark.parametrize(
    "scale", [1e-150, 1e-100, 1e-80, 1e-70, 1e-30, 1e30, 1e75, 1e77, 1e100, 1e150]
)
def test_ledoit_wolf_of_very_large_and_small_numbers(iris, scale):
    X, y = iris
    expected = LDA(shrinkage="ledoit-wolf").fit(X, y).predict_proba(X)
    if 1e-71 < scale < 1e76:
        found = LDA(shrinkage="ledoit-wolf").fit(X * scale, y).predict_proba(X * scale)
        np.testing.assert_allclose(found, expected, atol=1e-12)
        return
    with pytest.raises(InvalidInputError, match=r"fourth powers.*column 0.*rescale.*'oas'"):
        LDA(shrinkage="ledoit-wolf").fit(X * scale, y)
    LDA().fit(X * scale, y)


@pytest.mark.parametrize(
    "estimator", [LDA(), QDA(), GaussianNB(), RDA(), AutoGaussian()], ids=str
)
@pytest.mark.parametrize("scale", [1e-140, 1e-160, 1e-300])
def test_numbers_whose_squares_vanish_are_refused(iris, estimator, scale):
    X, y = iris
    if scale == 1e-140:  # squares of 1e-280 have all their digits
        assert estimator.fit(X * scale, y).score(X * scale, y) == estimator.fit(X, y).score(
            X, y
        )
        return
    with pytest.raises(InvalidInputError, match=r"squares.*column 0.*rescale"):
        estimator.fit(X * scale, y)


def test_constant_columns_are_no_vanishing_squares():
    X = np.c_[
        np.full(6, 1e-300), [0.0, 0, 0, 1e-300, 1e-300, 1e-300], np.arange(6.0), np.zeros(6)
    ]
    moments = Moments.of(X, [0, 0, 0, 1, 1, 1])
    assert moments.diagonals[:, [0, 1, 3]].max() == 0


@pytest.mark.parametrize("code", FAMILIES)
def test_families_of_columns_of_very_different_scales(iris, code):
    X, y = iris
    if code in OF_UNITS - {"EII", "VII"}:
        with pytest.raises(
            InvalidInputError, match=rf"'{code}' depends on the units.*rescale"
        ):
            GaussianClassifier(code).fit(X * SCALES, y)
        return
    fitted = GaussianClassifier(code).fit(X * SCALES, y)
    if code not in OF_UNITS:
        expected = GaussianClassifier(code).fit(X, y).predict_proba(X)
        np.testing.assert_allclose(fitted.predict_proba(X * SCALES), expected, atol=1e-8)


def test_a_family_is_chosen_among_those_that_can_be_fitted(iris):
    X, y = iris
    chosen = GaussianClassifier("auto").fit(X * SCALES, y)
    assert chosen.family_ not in OF_UNITS
    assert chosen.score(X * SCALES, y) > 0.95
