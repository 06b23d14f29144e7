"""Cross-validation in two passes over a source equals cross-validation in memory."""

import numpy as np
import polars as pl
import pytest
from sklearn.model_selection import PredefinedSplit
from tests.selection.validation.test_cross_validation import POWERS, rows

import suffice as sf
from suffice import LDA, QDA, RDA, GaussianClassifier
from suffice.errors import InvalidInputError, InvalidParameterError
from suffice.selection.validation.streamed import hashed

GRID = {"pooling": [0.0, 0.5], "shrinkage": [0.0, 0.2, 1.0]}
NAMES = ["a", "b", "c", "d"]


@pytest.fixture
def small_blocks(monkeypatch):
    """Blocks of 64 rows, so that a small file is read in several."""
    monkeypatch.setattr("suffice.data.rows.loading.rows_per_block", lambda _: 64)


def table(n=400):
    X, y, w = rows(0, n)
    day = np.random.default_rng(1).integers(0, 4, n)
    frame = pl.DataFrame(X, schema=NAMES).with_columns(
        kind=pl.Series(np.array(["u", "v", "w"])[y]), w=w, day=day
    )
    return frame, X, y, w, day


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("suffix", ["csv", "parquet"])
@pytest.mark.parametrize(
    ("estimator", "grid"),
    [
        (GaussianClassifier(), GRID),
        (LDA(priors="uniform"), {"shrinkage": [0.0, 0.3], "temperature": [0.5, 1.0]}),
        (GaussianClassifier(estimate="predictive"), {"tied": [True, False]}),
        (QDA(power=POWERS, shrinkage="oas"), None),
    ],
)
def test_two_passes_equal_memory(tmp_path, suffix, estimator, grid):
    frame, X, y, w, day = table()
    path = tmp_path / f"rows.{suffix}"
    getattr(frame, f"write_{suffix}")(path)
    found = sf.streams.cross_validate_stream(
        estimator, path, "kind", grid, fold="day", weight="w", columns=NAMES
    )
    labels = np.array(["u", "v", "w"])[y]
    expected = sf.cross_validate(
        estimator, X, labels, grid, cv=PredefinedSplit(day), sample_weight=w
    )
    np.testing.assert_allclose(found.fold_losses, expected.fold_losses, rtol=1e-10)
    assert found.best_params == expected.best_params
    np.testing.assert_allclose(
        found.best_estimator.predict_proba(frame.select(NAMES)),
        expected.best_estimator.predict_proba(X),
        atol=1e-10,
    )


@pytest.mark.usefixtures("small_blocks")
def test_a_hash_of_the_row_decides_its_fold_whatever_the_order():
    frame, X, y, _, _ = table()
    found = sf.streams.cross_validate_stream(QDA(), frame.drop("w", "day"), "kind", cv=3)
    shuffled = frame.drop("w", "day").sample(fraction=1.0, shuffle=True, seed=0)
    again = sf.streams.cross_validate_stream(QDA(), shuffled, "kind", cv=3)
    np.testing.assert_allclose(again.fold_losses, found.fold_losses, rtol=1e-9)
    folds = hashed(X, 3)
    assert np.bincount(folds, minlength=3).min() > 100
    expected = sf.cross_validate(QDA(), X, y, cv=PredefinedSplit(folds))
    np.testing.assert_allclose(found.fold_losses, expected.fold_losses, rtol=1e-10)
    signed = np.array([[0.0, 1.0], [-0.0, 1.0]])
    assert np.ptp(hashed(signed, 97)) == 0


@pytest.mark.parametrize("n_folds", [2, 4, 5, 8, 10, 16])
def test_whole_numbers_of_one_column_are_spread_over_all_folds(n_folds):
    folds = hashed(np.arange(1.0, 1001.0)[:, None], n_folds)
    assert np.bincount(folds, minlength=n_folds).min() > 0.7 * 1000 / n_folds


def test_a_class_of_one_fold_only_is_said_so():
    frame, *_ = table()
    frame = frame.filter((pl.col("kind") != "w") | (pl.col("day") == 1))
    found = sf.streams.cross_validate_stream(LDA(), frame, "kind", fold="day", columns=NAMES)
    assert any("class 'w' has no training row in fold 1" in line for line in found.absent)
    assert np.isfinite(found.fold_losses).all()


def test_what_cannot_be_judged_from_sums_is_refused():
    frame, *_ = table()
    with pytest.raises(InvalidParameterError, match="use cross_validate"):
        sf.streams.cross_validate_stream(RDA(), frame, "kind")
    with pytest.raises(InvalidParameterError, match="a PowerTransform"):
        sf.streams.cross_validate_stream(LDA(power="yeo-johnson"), frame, "kind")
    powers = [sf.PowerTransform([0.5, e, 1.0, 1.0]) for e in (0.5, 0.5 + 1e-9)]
    with pytest.raises(InvalidParameterError, match="share one transform"):
        sf.streams.cross_validate_stream(LDA(), frame, "kind", {"power": powers})
    with pytest.raises(InvalidInputError, match=r"no column 'dya'.*'day'"):
        sf.streams.cross_validate_stream(LDA(), frame, "kind", fold="dya")
    with pytest.raises(InvalidInputError, match="at least 2 folds"):
        sf.streams.cross_validate_stream(LDA(), frame.with_columns(day=1), "kind", fold="day")
    with pytest.raises(InvalidParameterError, match="at least 2"):
        sf.streams.cross_validate_stream(LDA(), frame, "kind", cv=1)


def test_rows_left_out_are_told_once():
    frame, *_ = table()
    holes = frame.with_columns(
        pl.when(pl.col("day") == 1).then(None).otherwise("a").alias("a")
    )
    with pytest.warns(UserWarning, match="left out") as told:
        sf.streams.cross_validate_stream(LDA(), holes, "kind", cv=3, columns=NAMES)
    assert sum("left out" in str(one.message) for one in told) == 1
