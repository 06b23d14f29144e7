"""CountNB over a text column, beside CountVectorizer and rows of counts."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from sklearn.feature_extraction.text import CountVectorizer

import suffice as sf
from suffice.errors import ForgetError, InvalidParameterError, MissingStatisticsError
from suffice.persistence.load import load_classifier

KINDS = ["multinomial", "complement", "bernoulli", "poisson"]


@pytest.fixture(name="reviews", scope="module")
def _reviews():
    rng = np.random.default_rng(0)
    words = np.array(["tea", "the", "win", "cash", "train", "late", "prize"])
    y = rng.choice(["ham", "spam"], 60)
    shares = {"ham": [3, 3, 1, 0.5, 3, 2, 0.5], "spam": [1, 3, 3, 3, 0.5, 0.5, 3]}
    texts = []
    for label in y:
        p = np.array(shares[label]) / sum(shares[label])
        texts.append(" ".join(rng.choice(words, rng.integers(0, 8), p=p)))
    texts[3] += " Unique"
    return pd.DataFrame({"review": texts, "stars": rng.integers(1, 6, 60)}), y


@pytest.mark.parametrize("kind", KINDS)
def test_a_text_column_equals_counts_of_its_words(reviews, kind, tmp_path):
    frame, y = reviews
    vectorizer = CountVectorizer()
    X = vectorizer.fit_transform(frame["review"])
    counts = sf.CountNB(kind, alpha="auto", temperature="auto").fit(X, y)
    model = sf.CountNB(kind, alpha="auto", temperature="auto", text="review").fit(frame, y)
    assert_array_equal(model.predict_proba(frame), counts.predict_proba(X))
    assert_array_equal(model.predict_proba(frame["review"].tolist()), counts.predict_proba(X))
    assert model.settings_.alpha == counts.settings_.alpha
    assert model.feature_names_in_.tolist() == ["review"]
    names = vectorizer.get_feature_names_out()
    assert model.top_features("spam", 2) == counts.top_features("spam", 2, names=names)
    model.save(tmp_path / "m.suffice")
    for loaded in (
        sf.load(tmp_path / "m.suffice").model_,
        load_classifier(tmp_path / "m.suffice"),
    ):
        # texts are counted, and rows of counts are read as they are
        for rows in (frame, frame["review"].to_numpy(), X, X.toarray()):
            assert_array_equal(loaded.posterior(rows), counts.predict_proba(X))
        assert loaded.columns == ("review",)


@pytest.mark.parametrize("kind", KINDS)
def test_batches_add_words_and_forgetting_removes_them(reviews, kind):
    frame, y = reviews
    whole = sf.CountNB(kind, text="review").fit(frame, y)
    parts = sf.CountNB(kind, text="review")
    for start in (0, 20, 40):
        parts.partial_fit(frame[start : start + 20], y[start : start + 20])
    assert parts.moments_.feature_names == whole.moments_.feature_names
    assert_array_equal(parts.predict_proba(frame), whole.predict_proba(frame))
    rest = whole.forget(frame[:10], y[:10])
    never = sf.CountNB(kind, text="review").fit(frame[10:], y[10:])
    assert "unique" not in rest.moments_.feature_names
    assert_array_equal(rest.predict_proba(frame), never.predict_proba(frame))
    weighted = sf.CountNB(kind, text="review").fit(frame, y, np.arange(60) >= 10)
    assert_array_equal(weighted.predict_proba(frame), never.predict_proba(frame))
    with pytest.raises(ForgetError):
        rest.forget(["unheard words"], ["ham"])


def test_what_texts_cannot_do_is_refused_with_the_cure(reviews, tmp_path):
    frame, y = reviews
    model = sf.CountNB(text="review").fit(frame, y)
    with pytest.raises(InvalidParameterError, match="exports cannot write"):
        model.export(tmp_path / "m.sql", to="sql")
    with pytest.raises(InvalidParameterError, match="CountVectorizer"):
        sf.leave_one_out(sf.CountNB(text="review"), frame, y)
    with pytest.raises(InvalidParameterError, match="top_features"):
        model.explain_row(frame[:1])
    with pytest.raises(InvalidParameterError, match="text must be the name of a text column"):
        sf.CountNB(text="").fit(frame, y)
    nameless = sf.CountSums.of([[1, 0], [0, 2]], ["ham", "spam"])
    with pytest.raises(MissingStatisticsError, match="needs sums whose features are words"):
        sf.CountNB(text="review").fit_moments(nameless)
    sums = sf.CountNB(text="review").fit_moments(model.moments_)
    assert_array_equal(sums.predict_proba(frame), model.predict_proba(frame))
    own = model.log_likelihood(frame, y)
    assert own == pytest.approx(model.log_likelihood())
