"""What may be merged: labels that stay apart, columns and storages of the same kind."""

import numpy as np
import polars as pl
import pytest

import suffice as sf
from suffice.errors import InvalidInputError, SufficeWarning

X = np.random.default_rng(0).normal(size=(6, 2))
BIG = 2**53


def of(labels, **options):
    return sf.Moments.of(X[: len(labels)], labels, **options)


def test_whole_and_real_labels_that_a_float_cannot_tell_apart_are_refused():
    whole = of(np.array([BIG, BIG + 1, BIG + 2, BIG + 3]))
    with pytest.raises(InvalidInputError, match="9007199254740995"):
        whole + of(np.array([1.0, 2.0]))
    with pytest.raises(InvalidInputError, match="convert"):
        of(np.array([float(BIG), float(BIG + 2)])) + of(np.array([BIG, BIG + 1]))


def test_whole_and_real_labels_that_are_small_merge_by_value():
    both = of(np.array([1, 2, 3])) + of(np.array([1.0, 3.0, 5.0]))
    assert both.classes.tolist() == [1, 2, 3, 5]
    assert both.counts.tolist() == [2, 1, 2, 1]


def test_signed_and_unsigned_labels_keep_every_digit():
    signed, unsigned = (np.array([BIG, BIG + 1, BIG + 2], kind) for kind in ("i8", "u8"))
    both = of(signed) + of(unsigned)
    assert both.classes.tolist() == [BIG, BIG + 1, BIG + 2]
    assert both.counts.tolist() == [2, 2, 2]
    huge = np.array([2**63 + 1, 2**63 + 2], "u8")
    assert (of(signed) + of(huge)).classes.tolist() == [*signed.tolist(), *huge.tolist()]
    with pytest.raises(InvalidInputError, match="-1"):
        of(np.array([-1, 1])) + of(huge)


@pytest.mark.parametrize("numbers", [[0, 1], [0.0, 1.0], [3, 4]])
def test_truth_values_and_numbers_are_refused(numbers):
    with pytest.raises(InvalidInputError, match="true or false"):
        of(np.array([False, True])) + of(np.array(numbers))


def test_named_and_unnamed_columns_are_merged_by_place_and_said():
    named = sf.Moments.of(pl.DataFrame(X, schema=["a", "b"]), [0, 1] * 3)
    with pytest.warns(SufficeWarning, match="'a'.*no names"):
        both = named + of([0, 1, 0])
    assert both.feature_names == ("a", "b")
    assert (sf.Moments.empty() + named).feature_names == ("a", "b")


def test_a_coarser_storage_is_said():
    with pytest.warns(SufficeWarning, match="per-class scatter and with diagonal scatter"):
        both = of([0, 1, 0]) + of([0, 1, 0], storage="diagonal")
    assert both.storage == "diagonal"


@pytest.mark.parametrize("kind", ["i1", "u1", "i2", "i8", "u8"])
def test_labels_at_the_ends_of_their_type_are_told_apart(kind):
    info = np.iinfo(kind)
    ends = np.array([info.min, info.min + 1, info.max - 1, info.max], kind)
    assert of(ends).classes.tolist() == ends.tolist()
    assert of(ends[2:]).classes.tolist() == ends[2:].tolist()
