"""Roots of noisy quadratics, and parameters of counts."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import suffice as sf
from suffice.core.linalg import EPS
from suffice.core.model.geometry.conic import real_roots


@given(a=st.floats(0.1, 1.0), c=st.floats(0.1, 1.0))
def test_a_double_root_survives_noise_of_its_coefficients_and_no_more(a, c):
    b = 2 * np.sqrt(a * c)
    noise = 1e-7
    # all three coefficients are moved so that the discriminant falls
    moved = (a + noise, b - noise, c + noise)
    assert len(real_roots(*moved, noise=1.001 * noise)) == 1
    assert len(real_roots(*moved, noise=0.9 * noise)) == 0


def test_a_multinomial_class_has_a_probability_less_than_features():
    X = np.random.default_rng(0).poisson(2.0, size=(40, 5))
    model = sf.CountNB().fit(X, np.arange(40) % 3).model_.model
    assert model.n_parameters == 2 + 3 * 4


def test_a_discriminant_below_zero_by_four_epsilon_is_rounding_and_by_five_is_none():
    # t²/2 + t + c has the discriminant 1 − 2c
    assert len(real_roots(0.5, 1.0, 0.5 * (1 + 4 * EPS))) == 1
    assert len(real_roots(0.5, 1.0, 0.5 * (1 + 5 * EPS))) == 0
