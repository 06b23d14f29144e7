"""Views of rows: what each of their features is."""

import numpy as np
import pytest

from suffice.model.views import (
    FourierFeatures,
    PiecewiseLinear,
    Plain,
    PowerTransformed,
    Softened,
    shown,
)
from suffice.power_transform import PowerTransform


@pytest.mark.parametrize("phase", [0.0, 1e-9, 0.3, np.pi / 2, np.pi, 3 * np.pi, -np.pi, 40.0, 1e5])
def test_fourier_features_are_cosine_and_sine_of_the_phase(phase):
    one = np.ones(1)
    view = FourierFeatures(Plain(), 0 * one, one, np.array([[1.0, -1.0, 0.5]]), 1.0)
    at = phase * np.array([1.0, -1.0, 0.5])
    expected = [phase, *np.cos(at), *np.sin(at)]
    np.testing.assert_allclose(view.apply(np.array([[phase]]))[0], expected, rtol=0, atol=1e-15)


@pytest.mark.parametrize("spread", [1.0, 1e4, 1e7])
def test_waves_of_many_rows_are_cosines_and_sines_however_long(spread):
    x = np.random.default_rng(0).uniform(-1, 1, (3000, 2))
    view = FourierFeatures.of(Plain(), x, 0.4, 100, 0)
    rows = spread * x
    z = (rows - view.centre) / view.scale
    found, angles = view.apply(rows), z @ view.frequencies
    waves = np.hstack([z, np.cos(angles), np.sin(angles)])
    # what rounding leaves of an angle
    np.testing.assert_allclose(found, waves, atol=1e-15 * (10 + np.abs(angles).max()), rtol=1e-13)


def test_what_lies_below_several_views_is_computed_once():
    x = np.random.default_rng(0).normal(size=(40, 3))
    below = PowerTransformed(PowerTransform.of(x, None))
    views = [below, FourierFeatures.of(below, x, 0.4, 5, 0), Softened.of(below, x, 0.1)]
    known = {}
    for view in (*views, PiecewiseLinear.of(x, 12), Plain()):
        np.testing.assert_allclose(shown(view, x, known), view.apply(x), rtol=1e-15)
    assert len(known) == 2
