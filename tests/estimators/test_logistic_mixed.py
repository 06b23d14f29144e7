"""Logistic regression of tables with categories and missing values, as they are."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline

import suffice as sf
from suffice.errors import InvalidInputError
from suffice.export.sql import to_sql
from suffice.persistence.load import load_classifier
from suffice.sklearn import TableEncoder


def mixed(n=200, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.choice(["no", "yes"], n)
    city = rng.choice(["Bern", "Rom", "Wien"], n)
    size = rng.normal(size=n) + (y == "yes") + (city == "Rom")
    frame = pd.DataFrame({"city": city, "size": size, "age": rng.integers(20, 60, n)})
    frame.loc[::7, "size"] = np.nan
    frame.loc[::11, "city"] = None
    return frame, y


@pytest.fixture
def fitted():
    X, y = mixed()
    return sf.LogisticRegression(l2=1.0).fit(X, y), X, y


@pytest.mark.parametrize("l2", [1.0, "auto"])
def test_it_is_the_regression_of_the_encoded_table(l2):
    X, y = mixed()
    found = sf.LogisticRegression(l2=l2).fit(X, y)
    piped = make_pipeline(TableEncoder(), sf.LogisticRegression(l2=l2)).fit(X, y)
    new = mixed(seed=1)[0]
    np.testing.assert_allclose(found.predict_proba(new), piped.predict_proba(new), rtol=1e-9)
    np.testing.assert_allclose(found.coef_, piped[-1].coef_, rtol=1e-9)
    assert found.n_features_in_ == 3
    np.testing.assert_allclose(
        found.predict_proba(pl.from_pandas(new)), found.predict_proba(new), rtol=1e-12
    )


@pytest.mark.parametrize(
    "classifier",
    [
        sf.LogisticRegression(l2=1.0),
        sf.LogisticRegression(l2=1.0, fit_intercept=False),
    ],
)
def test_gaps_and_levels_that_only_later_rows_have_are_read_as_the_encoder_reads_them(
    classifier, tmp_path
):
    X, y = mixed()
    later = mixed(seed=1)[0]
    later.loc[::5, "age"] = np.nan
    later.loc[::9, "city"] = "Oslo"
    assert not X["age"].isna().any()
    direct = clone(classifier).fit(X, y)
    piped = make_pipeline(TableEncoder(), clone(classifier)).fit(X, y)
    scores = direct.decision_function(later)
    np.testing.assert_allclose(scores, piped.decision_function(later), rtol=1e-9)
    direct.save(tmp_path / "model.npz")
    restored = sf.load(tmp_path / "model.npz")
    np.testing.assert_array_equal(restored.decision_function(later), scores)


def test_coefficients_are_named_by_what_they_are_of(fitted):
    model = fitted[0]
    terms = model.summary().to_frame().index.tolist()
    assert terms[:4] == ["intercept", "size", "age", "size missing"]
    assert set(terms[4:]) == {"city=Bern", "city=Rom", "city=(missing)"}


def test_files_answer_as_the_model_does(fitted, tmp_path):
    model, X, _ = fitted
    model.save(tmp_path / "m.suffice")
    again = sf.load(tmp_path / "m.suffice")
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    assert again.n_features_in_ == 3
    assert again.feature_names_in_.tolist() == ["city", "size", "age"]
    X.to_csv(tmp_path / "new.csv", index=False)
    known = load_classifier(tmp_path / "m.suffice")
    sf.streams.predict_stream(known, tmp_path / "new.csv", tmp_path / "out.csv")
    out = pl.read_csv(tmp_path / "out.csv")
    assert out["label"].to_list() == model.predict(X).tolist()


def test_a_query_answers_as_the_model_does(fitted):
    model, X, _ = fitted
    duckdb = pytest.importorskip("duckdb")
    rows = pl.from_pandas(X)  # noqa: F841
    found = duckdb.sql(to_sql(model, "rows", keep=["size"])).pl()
    expected = model.predict_proba(X)[:, 1]
    assert sorted(found["p_yes"].to_list()) == pytest.approx(sorted(expected.tolist()))


def test_batches_of_a_mixed_table_are_refused():
    X, y = mixed()
    with pytest.raises(InvalidInputError, match="complete numeric rows only: encode"):
        sf.LogisticRegression().partial_fit(X, y)


def test_a_model_of_whole_numbers_still_refuses_holes():
    X, y = mixed()
    numbers = X[["age"]].to_numpy(float).copy()
    model = sf.LogisticRegression().fit(numbers, y)
    numbers[4] = np.nan
    with pytest.raises(InvalidInputError, match="row 4"):
        model.predict(numbers)


def test_the_report_keeps_it():
    X, y = mixed()
    X = X.assign(size=X["size"].fillna(0.0), city=X["city"].fillna("Bern"))
    found = sf.report(X, y, models=["logistic"], cv=3, fast=True)
    assert isinstance(found.estimator, sf.LogisticRegression)


def test_a_refused_batch_changes_nothing():
    X, y = mixed()
    numbers = X[["age"]].to_numpy(float)
    model = sf.LogisticRegression().partial_fit(numbers, y)
    before = model.predict_proba(numbers)
    with pytest.raises(InvalidInputError, match="complete numeric rows only: encode"):
        model.partial_fit(X[["city"]].to_numpy(object), y)
    np.testing.assert_array_equal(model.predict_proba(numbers), before)
