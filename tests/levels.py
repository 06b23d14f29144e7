"""Rates of simulated alarms, against the rates that chance allows."""

import numpy as np

DEVIATIONS = 3.3  # that chance exceeds in 1 of 1,000 rates


def assert_rate(alarms, least, most):
    """Fail unless the share of alarms lies between both ends."""
    rate = np.mean(alarms)
    assert least <= rate <= most, (
        f"alarms in {rate:.4f} of {np.size(alarms):,}: expected {least:.4f} to {most:.4f}"
    )


def assert_exact_rate(alarms, expected):
    """Fail unless the share of alarms is the expected one, up to chance."""
    half = DEVIATIONS * np.sqrt(expected * (1 - expected) / np.size(alarms))
    assert_rate(alarms, expected - half, expected + half)


def assert_uniform(p_values, levels=(0.05, 0.2, 0.5)):
    """Fail unless p-values are as often below each level as the level says, up to chance."""
    p = np.asarray(p_values)
    assert np.isfinite(p).all()
    for level in levels:
        assert_exact_rate(p <= level, level)
