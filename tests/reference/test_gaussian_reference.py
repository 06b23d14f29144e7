"""LDA and QDA against 400-bit arithmetic and R's MASS, and scikit-learn where definitions agree."""

import numpy as np
import pytest
import sklearn
from packaging.version import Version
from sklearn import discriminant_analysis, naive_bayes

from suffice import LDA, QDA, GaussianNB

NAMES = ["iris", "crabs", "wine", "banknote", "penguins_numeric", "pima_tr"]
DIVISORS = ["mle", "unbiased"]
KINDS = {"lda": LDA, "qda": QDA}


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("divisor", DIVISORS)
@pytest.mark.parametrize("kind", KINDS)
def test_log_posteriors_have_ten_correct_digits(table, reference, name, divisor, kind):
    X, y, _ = table(name)
    exact = reference("exact_gaussian")["datasets"][name]
    found = KINDS[kind](divisor=divisor).fit(X, y).predict_log_proba(X[exact["rows_0based"]])
    expected = exact[f"{kind}_log_posterior_{divisor}"]
    np.testing.assert_allclose(found, expected, rtol=1e-10)


@pytest.mark.parametrize("name", NAMES)
def test_means_and_covariances_are_exact_to_rounding(table, reference, name):
    X, y, _ = table(name)
    exact = reference("exact_gaussian")["datasets"][name]
    linear = LDA(divisor="unbiased").fit(X, y)
    np.testing.assert_allclose(linear.means_, exact["means"], rtol=1e-14)
    np.testing.assert_allclose(linear.covariance_, exact["cov_pooled_unbiased"], rtol=1e-11)
    quadratic = QDA(divisor="unbiased").fit(X, y)
    np.testing.assert_allclose(
        quadratic.covariance_, exact["cov_class_unbiased"], rtol=1e-11, atol=1e-13
    )


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("divisor", DIVISORS)
def test_discriminant_coordinates_equal_those_of_mass(table, reference, name, divisor):
    X, y, _ = table(name)
    mass = reference("mass")[name]
    lda = LDA(divisor=divisor).fit(X, y)
    coordinates = lda.transform(X[mass["rows_0based"]])
    expected = np.array(mass[f"lda_{divisor}"]["scores_x"]).reshape(coordinates.shape)
    signs = np.sign((coordinates * expected).sum(0))
    np.testing.assert_allclose(coordinates, signs * expected, atol=1e-8)
    svd = np.array(mass[f"lda_{divisor}"]["svd"]) ** 2
    np.testing.assert_allclose(lda.discriminants_.explained_ratio, svd / svd.sum(), atol=1e-8)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("divisor", DIVISORS)
@pytest.mark.parametrize("kind", KINDS)
def test_training_errors_equal_those_of_mass(table, reference, name, divisor, kind):
    X, y, _ = table(name)
    mass = reference("mass")[name][f"{kind}_{divisor}"]
    estimator = KINDS[kind](divisor=divisor).fit(X, y)
    assert (estimator.predict(X) != y).sum() == mass["train_errors"]
    uniform = estimator.with_priors("uniform")
    assert (uniform.predict(X) != y).sum() == mass["train_errors_uniform_prior"]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("divisor", DIVISORS)
def test_naive_bayes_equals_the_stable_r_values(table, reference, name, divisor):
    X, y, _ = table(name)
    r = reference("mass")[name]
    expected = r["naive_bayes"][f"stable_{divisor}"]
    nb = GaussianNB(divisor=divisor).fit(X, y)
    found = nb.predict_log_proba(X[r["rows_0based"]])
    np.testing.assert_allclose(found, expected["log_posterior"], rtol=1e-8, atol=1e-8)
    assert (nb.predict(X) != y).sum() == expected["train_errors"]


@pytest.mark.parametrize("name", NAMES)
def test_scikit_learn_agrees_where_its_divisor_is_ours(table, name):
    X, y, _ = table(name)
    # scikit-learn divides by n since 1.9.1; before, LDA by n and QDA by n − 1
    quadratic = "mle" if Version(sklearn.__version__) >= Version("1.9.1") else "unbiased"
    X = (X - X.mean(0)) / X.std(0)  # its thresholds depend on units; ours do not
    pairs = [
        (LDA(divisor="mle"), discriminant_analysis.LinearDiscriminantAnalysis(solver="lsqr")),
        (QDA(divisor=quadratic), discriminant_analysis.QuadraticDiscriminantAnalysis()),
        (GaussianNB(divisor="mle"), naive_bayes.GaussianNB(var_smoothing=0)),
    ]
    for ours, theirs in pairs:
        expected = theirs.fit(X, y).predict_proba(X)
        np.testing.assert_allclose(ours.fit(X, y).predict_proba(X), expected, atol=1e-8)
