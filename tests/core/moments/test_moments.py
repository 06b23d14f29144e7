"""What moments accept, refuse and say."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import suffice as sf
from suffice import Moments
from suffice.errors import (
    FeatureMismatchError,
    ForgetError,
    InvalidInputError,
    InvalidParameterError,
    MissingStatisticsError,
    SufficeWarning,
)

X = np.array([[1.0, 2.0], [3.0, 5.0], [4.0, 4.0]])
Y = ["a", "a", "b"]


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame, pa.table])
def test_frames_keep_their_column_names(frame):
    m = Moments.of(frame({"height": X[:, 0], "width": X[:, 1]}), Y)
    assert m.feature_names == ("height", "width")
    np.testing.assert_array_equal(m.means, Moments.of(X, Y).means)


@pytest.mark.parametrize(
    ("labels", "classes"),
    [
        ([2, 2, -1], [-1, 2]),
        ([1.0, 1.0, 0.0], [0.0, 1.0]),
        ([True, True, False], [False, True]),
        (["é", "é", "z"], ["z", "é"]),
        (np.array(["b", "b", "a"], object), ["a", "b"]),
        (np.array([3, 3, 10**12]), [3, 10**12]),
        (np.array([5, 5, 250], np.uint8), [5, 250]),
        (pd.Categorical(["x", "x", "y"]), ["x", "y"]),
        (pl.Series(["x", "x", "y"]), ["x", "y"]),
    ],
)
def test_any_labels_are_sorted_classes(labels, classes):
    m = Moments.of(X, labels)
    assert m.classes.tolist() == classes
    assert sorted(m.counts.tolist()) == [1, 2]


def test_many_text_labels_are_encoded_like_few():
    labels = np.array([f"k{i % 7}" for i in range(10_000)])
    m = Moments.of(np.ones((10_000, 1)), labels)
    assert m.classes.tolist() == [f"k{i}" for i in range(7)]
    assert m.counts.tolist() == np.bincount(np.arange(10_000) % 7).tolist()


@pytest.mark.parametrize(
    ("x", "y", "w", "message"),
    [
        (X[:, 0], Y, None, r"two dimensions .* shape \(3,\)"),
        (X, Y[:2], None, "3 rows but y has 2 labels"),
        (X, [["a"], ["a"], ["b"]], None, "one dimension"),
        (X, Y, [1, -1, 1], "row 1 is -1: give"),
        (X, Y, [1, np.nan, 1], "row 1 is nan"),
        (X, Y, [1, 1], r"shape \(2,\), but there are 3 rows"),
        (X, Y, [0, 0, 0], "zero for every row"),
        (X, ["a", None, "b"], None, "row 1 has no label"),
        (X, [1.0, np.nan, 2.0], None, r"NaN or infinity \(row 1\)"),
        (X, [0.5, 1.5, 2.5], None, "continuous .* bin the target"),
        (X, np.array(["a", 1, "b"], object), None, "mixes int, str"),
        (np.where(X == 5, np.nan, X), Y, None, "contains NaN: row 1, column 1"),
        (np.where(X == 4, np.inf, X), Y, None, "contains infinity: row 2, column 0"),
        (X * 1e200, Y, None, "after squaring: column"),
        (X * 1j, Y, None, "Complex data not supported"),
    ],
)
def test_bad_rows_are_refused_by_name(x, y, w, message):
    with pytest.raises(InvalidInputError, match=message):
        Moments.of(x, y, w, missing="refuse")


def test_a_bad_cell_in_a_large_frame_is_named():
    x = pd.DataFrame(np.zeros((100_000, 3)), columns=["a", "b", "c"])
    x.loc[54_321, "b"] = np.nan
    with pytest.raises(InvalidInputError, match="NaN: row 54321, column 'b'"):
        Moments.of(x, np.arange(100_000) % 2, missing="refuse")


def test_features_must_agree_on_merge():
    one = Moments.of(pd.DataFrame(X, columns=["a", "b"]), Y)
    other = Moments.of(pd.DataFrame(X, columns=["b", "a"]), Y)
    with pytest.raises(FeatureMismatchError, match=r"'a' on one side and 'b'.*same order"):
        one + other
    with pytest.raises(FeatureMismatchError, match="2 and 1 features"):
        one + Moments.of(X[:, :1], Y)


def test_text_and_number_labels_do_not_merge():
    with pytest.raises(InvalidInputError, match="text on one side and numbers on the other"):
        Moments.of(X, Y) + Moments.of(X, [1, 1, 2])


def test_only_what_was_added_can_be_forgotten():
    with pytest.raises(ForgetError, match="2 rows of class 'b': the sums have only 1 row"):
        Moments.of(X, Y) - Moments.of(X, ["b", "b", "a"])
    with pytest.raises(ForgetError, match="never added"):
        Moments.of(X, Y) - Moments.of(100 * X, Y)


@pytest.mark.parametrize(
    ("storage", "asked", "cure"),
    [
        ("pooled", "scatters", "per-class"),
        ("pooled", "diagonals", "diagonal"),
        ("diagonal", "pooled_scatter", "pooled"),
        ("diagonal", "scatters", "per-class"),
    ],
)
def test_sums_that_were_not_kept_are_refused_with_the_cure(storage, asked, cure):
    m = Moments.of(X, Y, storage=storage)
    with pytest.raises(MissingStatisticsError, match=cure):
        getattr(m, asked)


def test_merging_keeps_what_both_sides_have():
    fine, coarse = Moments.of(X, Y), Moments.of(X, Y, storage="pooled")
    with pytest.warns(SufficeWarning, match="keeps pooled scatter only"):
        assert (fine + coarse).storage == (coarse + fine).storage == "pooled"
    with pytest.warns(SufficeWarning, match="keeps diagonal scatter only"):
        assert (fine + Moments.of(X, Y, storage="diagonal")).storage == "diagonal"


def test_unknown_storage_is_refused():
    with pytest.raises(InvalidParameterError, match="storage must be one of"):
        Moments.of(X, Y, storage="sparse")


def test_adding_something_else_is_a_type_error():
    with pytest.raises(TypeError):
        Moments.of(X, Y) + 3


def test_features_are_selected_by_place_by_name_or_by_mask():
    x = pd.DataFrame(np.random.default_rng(0).normal(size=(10, 3)), columns=["u", "v", "w"])
    sums = Moments.of(x, np.arange(10) % 2)
    for columns in (
        [0, 2],
        [0, -1],
        ["u", "w"],
        [True, False, True],
        np.array([0, 2], np.uint8),
    ):
        found = sums.select(columns)
        assert found.feature_names == ("u", "w")
        np.testing.assert_array_equal(found.scatters, sums.scatters[:, [0, 2]][:, :, [0, 2]])
    assert sums.select([]).n_features == 0
    for columns in ([0.9], ["x"], [3], [True, False]):
        with pytest.raises(
            InvalidParameterError, match=r"no feature .*: name one of 'u', 'v', 'w'"
        ):
            sums.select(columns)


@pytest.mark.parametrize("settings", [{"missing": "drop"}, {"max_patterns": 0}])
def test_settings_that_say_nothing_are_refused(settings):
    with pytest.raises(InvalidParameterError, match="must be"):
        Moments.of(np.ones((4, 1)), [0, 0, 1, 1], **settings)


def test_one_weight_is_that_of_every_row():
    assert Moments.of([[0.0], [1.0], [2.0]], [0, 0, 1], 2.0).weights.tolist() == [4, 2]


def test_a_model_of_no_feature_is_refused():
    with pytest.raises(InvalidInputError, match="the moments have no features"):
        sf.LDA().fit_moments(Moments.of(np.zeros((4, 0)), [0, 0, 1, 1]))
