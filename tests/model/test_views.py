"""Views of rows: what each of their features is."""

import numpy as np
import pytest

from suffice.model.views import FourierFeatures, Plain


@pytest.mark.parametrize("phase", [0.0, 1e-9, 0.3, np.pi / 2, np.pi, 3 * np.pi, -np.pi, 40.0, 1e5])
def test_fourier_features_are_cosine_and_sine_of_the_phase(phase):
    one = np.ones(1)
    view = FourierFeatures(Plain(), 0 * one, one, np.array([[1.0, -1.0, 0.5]]), 1.0)
    at = phase * np.array([1.0, -1.0, 0.5])
    expected = [phase, *np.cos(at), *np.sin(at)]
    np.testing.assert_allclose(view.apply(np.array([[phase]]))[0], expected, rtol=0, atol=1e-15)
