"""Student t models beside SciPy's distributions."""

import numpy as np
import pytest
from scipy import stats

from suffice.core.model import FullCovariance
from suffice.core.model.student import StudentModel


def model_of(degrees, shares, psi):
    d = len(psi)
    return StudentModel(
        np.log([0.3, 0.7]),
        np.zeros(d),
        np.stack([np.zeros(d), np.ones(d)]),
        (FullCovariance.of(psi),),
        np.array([0, 0]),
        np.asarray(degrees, float),
        np.asarray(shares, float),
    )


@pytest.mark.parametrize("degrees", [2.5, 3.0, 12.0])
def test_variances_are_those_of_the_distribution_of_scipy(degrees):
    psi = np.array([[2.0]])
    model = model_of([degrees, degrees + 1], [0.8, 0.5], psi)
    for k, (f, s) in enumerate([(degrees, 0.8), (degrees + 1, 0.5)]):
        expected = stats.t(df=f, scale=np.sqrt(2.0 / (s * f))).var()
        np.testing.assert_allclose(model.covariance_matrices[k], [[expected]], rtol=1e-12)


def test_variances_are_infinite_for_two_degrees_of_freedom_or_fewer():
    model = model_of([2.0, 1.0], [0.8, 0.5], np.array([[2.0]]))
    assert np.isinf(model.covariance_matrices).all()


def test_joint_densities_are_those_of_scipy():
    psi = np.array([[2.0, 0.5], [0.5, 1.0]])
    degrees, shares = [4.0, 7.0], [0.8, 0.5]
    model = model_of(degrees, shares, psi)
    x = np.random.default_rng(0).normal(size=(5, 2))
    for k, (f, s) in enumerate(zip(degrees, shares, strict=True)):
        t = stats.multivariate_t(loc=[k, k], shape=psi / (s * f), df=f)
        expected = t.logpdf(x) + np.log([0.3, 0.7][k])
        np.testing.assert_allclose(model.log_joint(x)[:, k], expected, rtol=1e-12)
