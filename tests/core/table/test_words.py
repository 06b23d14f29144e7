"""Words of texts beside scikit-learn's CountVectorizer."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.feature_extraction.text import CountVectorizer

from suffice.core.table.words import TextColumn, texts_of
from suffice.errors import FeatureMismatchError, InvalidInputError


@given(st.lists(st.text(alphabet="aB_ 1é,.'-\n", max_size=30), min_size=1, max_size=6))
def test_counts_are_those_of_count_vectorizer(texts):
    texts = [*texts, "Two two words"]
    theirs = CountVectorizer().fit(texts)
    column = TextColumn.of("review", texts)
    assert list(column.vocabulary) == theirs.get_feature_names_out().tolist()
    assert column.rows(texts).matrix().toarray().tolist() == (
        theirs.transform(texts).toarray().tolist()
    )


def test_new_words_are_ignored_and_missing_texts_are_empty():
    column = TextColumn("review", ("tea", "win"))
    frame = pd.DataFrame({"review": ["win win cash", None, np.nan, "TEA"]})
    assert column.rows(frame).matrix().toarray().tolist() == [[0, 2], [0, 0], [0, 0], [1, 0]]


def test_what_is_not_text_is_refused_by_its_place():
    with pytest.raises(InvalidInputError, match="'review' must hold texts, but row 1 holds 3"):
        texts_of(["tea", 3], "review")
    with pytest.raises(FeatureMismatchError, match="no text column 'review': it has 'text'"):
        texts_of(pl.DataFrame({"text": ["tea"]}), "review")
    with pytest.raises(InvalidInputError, match=r"shape \(1, 2\)"):
        texts_of(np.array([["tea", "win"]]), "review")
