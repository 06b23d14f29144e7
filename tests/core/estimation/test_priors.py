import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.base import clone

from suffice import LDA, QDA, RDA, GaussianNB, MixtureClassifier, Moments
from suffice.core.estimation.priors import class_priors
from suffice.errors import InvalidInputError, InvalidParameterError, UnknownLabelError

CLASSES = np.array(["bass", "salmon", "trout"])
WEIGHTS = np.array([6.0, 2.0, 0.0])
weights = arrays(np.float64, 3, elements=st.floats(1e-6, 1e6))


@given(weights)
def test_priors_sum_to_one_in_every_form(w):
    shares = w / w.sum()
    forms = [None, "uniform", shares, list(shares), dict(zip(CLASSES, shares, strict=True))]
    for priors in forms:
        pi = class_priors(priors, CLASSES, w)
        assert pi.sum() == pytest.approx(1, abs=1e-15)
        assert np.all(pi >= 0)


@given(weights, st.permutations([0, 1, 2]))
def test_a_mapping_does_not_depend_on_its_order(w, order):
    shares = w / w.sum()
    mapping = {str(CLASSES[k]): shares[k] for k in order}
    np.testing.assert_array_equal(
        class_priors(mapping, CLASSES, w), class_priors(shares, CLASSES, w)
    )


def test_the_default_is_the_share_of_each_class():
    assert class_priors(None, CLASSES, WEIGHTS).tolist() == [0.75, 0.25, 0.0]


def test_uniform_leaves_out_classes_never_seen():
    assert class_priors("uniform", CLASSES, WEIGHTS).tolist() == [0.5, 0.5, 0.0]


def test_labels_may_be_numbers_of_any_type():
    classes = np.array([3, 7])
    for mapping in ({3: 0.2, 7: 0.8}, {np.int64(7): 0.8, 3.0: 0.2}):
        assert class_priors(mapping, classes, np.ones(2)).tolist() == [0.2, 0.8]


def test_a_sum_that_is_one_but_for_rounding_is_made_one():
    pi = class_priors(np.full(3, 1 / 3) + 1e-10, CLASSES, WEIGHTS)
    assert pi.sum() == pytest.approx(1, abs=1e-15)


def test_the_given_array_is_not_changed():
    given_priors = np.array([0.5, 0.25, 0.25])
    class_priors(given_priors, CLASSES, WEIGHTS)[0] = 9
    assert given_priors[0] == 0.5


@pytest.mark.parametrize(
    ("priors", "error", "message"),
    [
        ([0.5, 0.5], InvalidParameterError, r"shape \(2,\), but there are 3 classes"),
        ([[0.5, 0.5, 0.0]], InvalidParameterError, "shape"),
        ([0.5, 0.6, -0.1], InvalidParameterError, "'trout' is -0.1"),
        ([0.5, np.nan, 0.5], InvalidParameterError, "'salmon' is nan"),
        ([0.5, 0.2, 0.2], InvalidParameterError, "sum to 0.9, not to 1"),
        (["a", "b", "c"], InvalidParameterError, "not numbers"),
        ("flat", InvalidParameterError, "'uniform'"),
        ({"bass": 1.0}, InvalidParameterError, "no entry for 'salmon', 'trout'"),
        ({"bas": 0.5, "salmon": 0.5}, UnknownLabelError, "'bas'.*did you mean 'bass'"),
        ({"cod": 1.0}, UnknownLabelError, "'cod'.*The classes are 'bass', 'salmon', 'trout'"),
        ({7: 1.0}, UnknownLabelError, "7, which is not a class"),
    ],
)
def test_wrong_priors_are_refused_with_the_class_at_fault(priors, error, message):
    with pytest.raises(error, match=message):
        class_priors(priors, CLASSES, WEIGHTS)


def test_without_any_weight_priors_must_be_given():
    with pytest.raises(InvalidInputError, match="set priors"):
        class_priors(None, CLASSES, np.zeros(3))
    with pytest.raises(InvalidInputError, match="set priors"):
        class_priors("uniform", CLASSES, np.zeros(3))
    assert class_priors([0.2, 0.3, 0.5], CLASSES, np.zeros(3)).tolist() == [0.2, 0.3, 0.5]


def test_of_many_classes_a_message_names_a_few():
    with pytest.raises(UnknownLabelError, match=r"11 and 488 more"):
        class_priors({-1: 1.0}, np.arange(500), np.ones(500))


ABSENT = [LDA(), QDA(), GaussianNB(), LDA(estimate="map")]


@pytest.mark.parametrize("estimator", ABSENT, ids=str)
def test_what_priors_give_to_a_class_without_rows_the_others_share(estimator):
    X, y = np.random.default_rng(0).normal(size=(40, 2)), np.repeat(["a", "b"], 20)
    known = clone(estimator).set_params(priors=[0.25, 0.75]).fit(X, y)
    sums, priors = Moments.of(X, y, classes=["a", "b", "z"]), [0.1, 0.3, 0.6]
    stated = clone(estimator).set_params(priors=priors).fit_moments(sums)
    changed = clone(estimator).fit_moments(sums).with_priors(priors)
    for found in (stated, changed):
        np.testing.assert_allclose(found.priors_, [0.25, 0.75, 0])
        np.testing.assert_allclose(found.predict_proba(X)[:, :2], known.predict_proba(X))
        np.testing.assert_allclose(found.model_.log_density(X), known.model_.log_density(X))
        error = known.model_.bayes_error(n_samples=100, random_state=0)
        assert found.model_.bayes_error(n_samples=100, random_state=0) == pytest.approx(error)


def test_priors_of_classes_without_rows_alone_are_refused():
    sums = Moments.of(
        [[0.0], [1.0], [3.0], [5.0]], ["a", "a", "b", "b"], classes=["a", "b", "z"]
    )
    with pytest.raises(InvalidParameterError, match="every class with rows has prior 0"):
        LDA(priors=[0, 0, 1]).fit_moments(sums)


def test_a_mixture_gives_a_class_without_rows_nothing():
    X, y = np.random.default_rng(0).normal(size=(30, 1)), np.repeat(["a", "b", "z"], 10)
    mixture = MixtureClassifier(n_components=1, priors=[0.1, 0.3, 0.6])
    mixture.fit(X, y, np.repeat([1.0, 1.0, 0.0], 10))
    assert mixture.predict_proba(X)[:, 2].max() == 0
    np.testing.assert_allclose(mixture.model_.model.priors, [0.25, 0.75, 0])


def test_a_covariance_knows_the_rows_that_it_comes_from():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], [10, 12, 14])
    X = rng.normal(size=(36, 3))
    # LDA shares 36 rows less 3 means, QDA has each class less its mean
    tied = LDA().fit(X, y).model_.model.sample_sizes
    np.testing.assert_array_equal(tied.rows, [10, 12, 14])
    np.testing.assert_array_equal(tied.degrees, [33, 33, 33])
    np.testing.assert_array_equal(tied.divisors, [36, 36, 36])
    own = QDA(divisor="unbiased").fit(X, y).model_.model.sample_sizes
    np.testing.assert_array_equal(own.degrees, [9, 11, 13])
    np.testing.assert_array_equal(own.divisors, [9, 11, 13])
    assert LDA(shrinkage=0.1).fit(X, y).model_.model.sample_sizes is None
    assert RDA(pooling=0.5, shrinkage=0.0).fit(X, y).model_.model.sample_sizes is None
    assert LDA().fit(X, y, 0.5 + rng.random(36)).model_.model.sample_sizes is None
