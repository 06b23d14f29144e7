"""Learning curves: the same rows for all, more rows at each size, and who overtakes whom."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB

import suffice as sf
from suffice.errors import InvalidParameterError
from suffice.evaluate.comparison.learning_curve import _order, _splits


@pytest.fixture(scope="module")
def curve(iris):
    return sf.learning_curve(*iris, n_repeats=4)


def test_every_start_of_the_order_is_stratified():
    codes = np.repeat([0, 1, 2], [60, 30, 10])
    train, held = _order(codes, 0.3, np.random.default_rng(0))
    assert sorted([*train, *held]) == list(range(100))
    for size in (10, 20, 50, 70):
        counts = np.bincount(codes[train[:size]], minlength=3)
        assert (np.abs(counts - size * np.array([0.6, 0.3, 0.1])) <= 1.01).all()


def test_larger_sizes_hold_the_smaller_and_never_a_test_row():
    codes = np.resize([0, 1], 60)
    orders = [_order(codes, 0.3, np.random.default_rng(seed)) for seed in (0, 1)]
    small, large = _splits(orders, 10), _splits(orders, 40)
    for (few, held), (many, same) in zip(small, large, strict=True):
        assert set(few) <= set(many)
        assert not set(many) & set(held)
        np.testing.assert_array_equal(held, same)


def test_losses_are_those_of_fitting_the_first_rows(iris):
    X, y = iris
    found = sf.learning_curve(
        X, y, {"LDA": sf.LDA()}, sizes=[30, 90], n_repeats=2, random_state=7
    )
    codes = np.unique(y, return_inverse=True)[1]
    rng = np.random.default_rng(7)
    for repeat in range(2):
        train, held = _order(codes, 0.3, rng)
        for at, size in enumerate((30, 90)):
            fitted = sf.LDA().fit(X[train[:size]], y[train[:size]])
            wrong = np.mean(fitted.predict(X[held]) != y[held])
            assert found["LDA"].losses[at, repeat, 0] == pytest.approx(wrong)


def test_generative_and_discriminative_members_are_told_apart(iris):
    members = {
        "ours": sf.QDA(),
        "theirs": GaussianNB(),
        "logistic": sf.LogisticRegression(),
        "their logistic": LogisticRegression(),
    }
    curves = sf.learning_curve(*iris, members, sizes=[60], n_repeats=2).curves
    assert [c.generative for c in curves] == [True, True, False, False]


def test_rows_hold_a_line_for_every_member_and_size(curve):
    frame = curve.to_frame()
    assert len(frame) == len(curve.curves) * len(curve.sizes)
    lda = frame[frame["model"] == "LDA"]
    np.testing.assert_allclose(lda["error"], curve["LDA"].mean("error"))
    np.testing.assert_allclose(lda["log_loss_se"], curve["LDA"].standard_error("log_loss"))
    assert (np.diff(curve.sizes) > 0).all()
    assert curve.sizes[-1] == 105


def test_naive_bayes_starts_better_and_logistic_regression_ends_better():
    rng = np.random.default_rng(0)
    y = np.resize([0, 1], 1500)
    core = rng.normal(size=(1500, 1)) + y[:, None]
    # copies of one noisy feature: independence is assumed wrongly, and one better feature
    copies = core + 0.3 * rng.normal(size=(1500, 8))
    better = rng.normal(size=(1500, 1)) + 2 * y[:, None] - 0.5 * core
    X = np.hstack([copies, better])
    members = {"naive": sf.GaussianNB(), "logistic": sf.LogisticRegression(l2=0.01)}
    found = sf.learning_curve(X, y, members, sizes=[12, 1000], n_repeats=12)
    assert found["logistic"].mean()[-1] < found["naive"].mean()[-1] - 0.02


def test_a_size_that_a_member_cannot_learn_from_is_a_gap(iris):
    class Picky(sf.LDA):
        def fit(self, X, y, sample_weight=None):
            if len(X) < 50:
                msg = "too few rows"
                raise RuntimeError(msg)
            return super().fit(X, y, sample_weight)

        fit_moments = property()  # it must see rows

    found = sf.learning_curve(
        *iris, {"LDA": sf.LDA(), "picky": Picky()}, [20, 90], n_repeats=2
    )
    assert np.isnan(found["picky"].mean()).tolist() == [True, False]
    assert found["picky"].failures == ("RuntimeError: too few rows",)


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"sizes": [20, 500]}, "between 2 and the 105 rows"),
        ({"sizes": []}, "between 2 and"),
        ({"test": 0}, "test must be a share"),
        ({"n_repeats": 1}, "at least two"),
    ],
)
def test_wishes_that_make_no_sense_are_refused(change, match, iris):
    with pytest.raises(InvalidParameterError, match=match):
        sf.learning_curve(*iris, **change)


def test_a_curve_that_is_not_there_is_named(curve):
    with pytest.raises(InvalidParameterError, match="no curve is called 'SVM'"):
        curve["SVM"]


def test_rows_with_missing_values_are_left_out(iris):
    X, y = iris
    holes = X.copy()
    holes[[0, 60, 120], 2] = np.nan
    keep = ~np.isnan(holes).any(1)
    a = sf.learning_curve(holes, y, ["LDA"], [30, 90], n_repeats=3)
    b = sf.learning_curve(X[keep], y[keep], ["LDA"], [30, 90], n_repeats=3)
    np.testing.assert_array_equal(a["LDA"].losses, b["LDA"].losses)


def test_identical_rows_are_used_once():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 4)).repeat(4, 0)
    y = rng.integers(0, 2, 60).repeat(4)  # coin flips
    copied = sf.learning_curve(X, y, ["tree"], [30], n_repeats=5)
    once = sf.learning_curve(X[::4], y[::4], ["tree"], [30], n_repeats=5)
    assert copied["decision tree"].mean()[0] > 0.3
    np.testing.assert_array_equal(copied["decision tree"].losses, once["decision tree"].losses)
