"""What batches, blocks and single rows may change: nothing, the last digits, or what is said."""

import numpy as np
import polars as pl
import pytest

import suffice as sf
from suffice.errors import SufficeWarning

CHOSEN = [
    (sf.RDA(), r"pooling and shrinkage"),
    (sf.GaussianClassifier(shrinkage="auto"), "shrinkage"),
    (sf.GaussianClassifier(power="yeo-johnson"), "power"),
    (sf.GaussianClassifier(power="auto"), "power"),
    (sf.GaussianClassifier(temperature="auto"), "temperature"),
]


@pytest.mark.parametrize(("estimator", "named"), CHOSEN, ids=lambda case: str(case))
def test_a_choice_that_the_first_batch_made_is_told_with_the_second(iris, estimator, named):
    X, y = iris
    estimator.partial_fit(X[::2], y[::2])
    with pytest.warns(SufficeWarning, match=rf"partial_fit keeps {named} as chosen"):
        estimator.partial_fit(X[1::2], y[1::2])
    with pytest.warns(SufficeWarning, match=rf"forget keeps {named} as chosen"):
        estimator.forget(X[:3], y[:3])


@pytest.mark.parametrize(
    "estimator",
    [
        sf.LDA(),
        sf.QDA(shrinkage="oas"),
        sf.GaussianNB(),
        sf.RDA(pooling=0.2, shrinkage=0.1),
        sf.GaussianClassifier(covariance="auto"),
    ],
    ids=str,
)
def test_batches_give_the_model_of_all_rows_without_a_warning(iris, estimator):
    X, y = iris
    order = np.random.default_rng(0).permutation(len(y))
    whole = estimator.fit(X, y).predict_proba(X)
    stream = type(estimator)(**estimator.get_params())
    for batch in np.array_split(order, 11):
        stream.partial_fit(X[batch], y[batch])
    np.testing.assert_allclose(stream.predict_proba(X), whole, atol=1e-9)


@pytest.mark.parametrize(
    "estimator",
    [sf.LDA(), sf.QDA(), sf.GaussianNB(), sf.LogisticRegression()],
    ids=str,
)
def test_the_answer_to_a_row_has_twelve_digits_whatever_rows_stand_beside_it(estimator):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 20_000)
    X = rng.normal(size=(20_000, 12)) + rng.normal(size=(3, 12))[y]
    fitted = estimator.fit(X[:500], y[:500])
    whole = fitted.predict_log_proba(X)
    for size in (1, 2, 17, 400):
        rows = slice(1000, 1000 + size)
        np.testing.assert_allclose(fitted.predict_log_proba(X[rows]), whole[rows], rtol=1e-12)


def test_a_missing_cell_does_not_change_the_scores_of_other_rows(iris):
    X, y = iris
    for estimator in (sf.LDA(), sf.QDA(), sf.GaussianNB()):
        fitted = estimator.fit(X, y)
        holes = X[:20].copy()
        holes[7, 2] = np.nan
        before = fitted.decision_function(X[:20])
        after = fitted.decision_function(holes)
        others = np.arange(20) != 7
        np.testing.assert_array_equal(after[others], before[others])
        # differences of scores are what posteriors tell
        log_odds = np.diff(fitted.predict_log_proba(holes), axis=1)
        np.testing.assert_allclose(np.diff(after, axis=1), log_odds, rtol=1e-8)


def test_an_array_and_a_file_of_many_rows_have_the_same_sums_to_twelve_digits(tmp_path):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 200_001)
    X = rng.normal(size=(200_001, 7)) + y[:, None]
    path = tmp_path / "rows.parquet"
    names = [f"x{j}" for j in range(7)]
    pl.DataFrame(X, schema=names).with_columns(y=y).write_parquet(path)
    array = sf.Moments.of(X, y, fourth=False)
    file = sf.summarize(path, "y")
    assert array.counts.tolist() == file.counts.tolist()
    np.testing.assert_allclose(array.means, file.means, rtol=1e-12)
    np.testing.assert_allclose(array.diagonals, file.diagonals, rtol=1e-12)
    off_diagonal = np.abs(array.scatters - file.scatters)
    assert off_diagonal.max() < 1e-12 * array.diagonals.max()
    # and threads change nothing at all
    again = sf.summarize(path, "y", n_jobs=2)
    np.testing.assert_array_equal(again.scatters, file.scatters)


IDLE = [
    (
        sf.GaussianClassifier(covariance="diagonal", shrinkage=0.5),
        "shrinkage=0.5 has no effect",
    ),
    (
        sf.GaussianClassifier(covariance="spherical", shrinkage=0.5),
        "shrinkage=0.5 has no effect",
    ),
    (sf.GaussianClassifier(tied=True, pooling=0.5), "pooling=0.5 has no effect"),
]


@pytest.mark.parametrize(("estimator", "told"), IDLE, ids=lambda case: str(case))
def test_a_setting_without_effect_is_told_by_name(iris, estimator, told):
    X, y = iris
    sums = sf.Moments.of(X, y)
    for learn in (
        lambda: estimator.fit(X, y),
        lambda: type(estimator)(**estimator.get_params()).fit_moments(sums),
    ):
        with pytest.warns(SufficeWarning, match=told):
            learn()


def test_settings_with_an_effect_are_not_told(iris):
    X, y = iris
    sphere = sf.Shrinkage(0.5, target="sphere")
    sf.GaussianClassifier(covariance="diagonal", shrinkage=sphere).fit(X, y)
    sf.GaussianClassifier(covariance="diagonal", shrinkage=0.0).fit(X, y)
    sf.GaussianClassifier(pooling=0.5, shrinkage=0.5).fit(X, y)


def test_names_of_columns_for_chunks_of_arrays_are_refused(iris):
    X, y = iris
    with pytest.raises(sf.errors.InvalidParameterError, match="target 'zzz'"):
        sf.summarize(iter([(X, y)]), "zzz")
    with pytest.raises(sf.errors.InvalidParameterError, match="weight 'ww'"):
        sf.summarize(iter([(X, y)]), weight="ww")
    frame = sf.datasets.load("iris").frame()
    assert sf.summarize(iter([frame]), "species").counts.sum() == 150
