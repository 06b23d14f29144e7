"""New rows of a plug-in Gaussian follow the Student t of Hotelling's law."""

import numpy as np
import pytest
from scipy import stats

import suffice as sf

N, D = 45, 4
RNG = np.random.default_rng(0)
Y = np.array(["a", "b", "c"])[np.minimum(np.arange(N) % 4, 2)]  # 12, 11 and 22 rows
X = RNG.normal(size=(N, D)) @ RNG.normal(size=(D, D)) + 2.0 * (Y == "b")[:, None]


def scatter(label):
    z = X[label == Y] - X[label == Y].mean(0)
    return z.T @ z


@pytest.mark.parametrize("divisor", ["mle", "unbiased"])
@pytest.mark.parametrize(
    ("tied", "groups"),
    [
        (True, {"a": "abc", "b": "abc", "c": "abc"}),
        (False, {"a": "a", "b": "b", "c": "c"}),
        ((("a", "c"),), {"a": "ac", "b": "b", "c": "ac"}),
    ],
)
def test_new_rows_are_student_t_by_scipy(divisor, tied, groups):
    fitted = sf.GaussianClassifier(tied=tied, divisor=divisor).fit(X, Y).model_
    expected = []
    for label, group in groups.items():
        n = (label == Y).sum()
        f = sum((member == Y).sum() - 1 for member in group) - D + 1
        shape = (1 + 1 / n) / f * sum(scatter(member) for member in group)
        mean = X[label == Y].mean(0)
        expected.append(stats.multivariate_t(mean, shape, f).logpdf(X))
    found = fitted.density.of_new_rows().class_log_density(X)
    np.testing.assert_allclose(found, np.transpose(expected), rtol=1e-9)


def test_some_features_and_some_classes_keep_their_rows():
    density = sf.QDA().fit(X, Y).model_.density
    few = sf.QDA().fit(X[:, :2], Y).model_.density
    found = density.marginal(np.array([0, 1])).of_new_rows().class_log_density(X[:, :2])
    np.testing.assert_allclose(found, few.of_new_rows().class_log_density(X[:, :2]))
    both = density.some(np.array([0, 2])).of_new_rows().class_log_density(X)
    np.testing.assert_allclose(both, density.of_new_rows().class_log_density(X)[:, [0, 2]])


def holed():
    x = X.copy()
    x[0, 0] = np.nan
    return x


@pytest.mark.parametrize(
    "fitted",
    [
        sf.LDA(shrinkage=0.1).fit(X, Y),
        sf.QDA(shrinkage="oas").fit(X, Y),
        sf.GaussianClassifier(pooling=0.5).fit(X, Y),
        sf.GaussianNB().fit(X, Y),
        sf.LDA().fit(X, Y, sample_weight=np.linspace(0.5, 1.7, N)),
        sf.LDA().fit(holed(), Y),
    ],
    ids=["shrunk", "oas", "pooled", "diagonal", "weighted", "missing"],
)
def test_estimates_without_a_known_law_are_left_as_they_are(fitted):
    density = fitted.model_.density
    assert density.of_new_rows() is density


def test_weights_that_count_rows_are_rows():
    counted = sf.QDA().fit(X, Y, sample_weight=np.full(N, 2)).model_.density.of_new_rows()
    repeated = sf.QDA().fit(np.tile(X, (2, 1)), np.tile(Y, 2)).model_.density.of_new_rows()
    np.testing.assert_allclose(counted.class_log_density(X), repeated.class_log_density(X))


def test_a_class_without_rows_does_not_hide_the_law_of_the_others():
    emptied = sf.QDA().fit(X, Y).forget(X[Y == "b"], Y[Y == "b"])
    density = emptied.model_.density
    assert density.of_new_rows() is not density
    codes = np.zeros(5, np.intp)
    assert np.isfinite(density.of_new_rows().sample_of(codes, np.random.default_rng(0))).all()
