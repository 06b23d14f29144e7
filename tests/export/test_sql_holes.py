"""Queries of mixed tables, and of rows with holes, answer like the models, on every engine."""

import numpy as np
import polars as pl
import pytest
from tests.export.mixed import INTEGRATING, MIXED, scored, table, with_holes
from tests.export.models import fitted, rows
from tests.export.test_sql import as_frame, run, same_labels

import suffice as sf
from suffice.export import sql
from suffice.export.sql import to_sql

pytestmark = pytest.mark.filterwarnings("ignore:fetch_arrow_table:DeprecationWarning")


def agrees(database, model, X, **options):
    answer = run(database, to_sql(model, "rows", database.name, keep=["id"], **options))
    posterior = answer.select(f"p_{label}" for label in model.classes_).to_numpy()
    np.testing.assert_allclose(posterior, model.predict_proba(X), rtol=0, atol=1e-9)
    assert same_labels(answer["label"].to_list(), model.predict(X))


def as_polars(frame):
    return (
        pl.from_pandas(frame.convert_dtypes(), nan_to_null=True)
        .with_row_index("id")
        .cast({"id": pl.Int64})
    )


@pytest.mark.parametrize("name", MIXED)
@pytest.mark.parametrize("gaps", [True, False])
def test_a_query_of_a_mixed_table_answers_like_the_model(database, filled, name, gaps):
    model = MIXED[name].fit(*table(gaps=gaps))
    filled(as_polars(scored()))
    agrees(database, model, scored())


@pytest.mark.parametrize("name", INTEGRATING)
def test_holes_are_integrated_out(database, filled, name):
    model, X = fitted(name)
    X = with_holes(X)
    columns = [f"x{j}" for j in range(X.shape[1])]
    filled(as_frame(X, columns))
    agrees(database, model, X, columns=columns)


@pytest.mark.parametrize(
    "model",
    [
        sf.QDA(),
        sf.LDA(),
        sf.GaussianNB(),
        sf.QDA(power="yeo-johnson"),
        sf.GaussianClassifier(estimate="predictive"),
    ],
)
def test_far_and_tiny_numbers_abort_nothing_and_have_no_label_without_posteriors(
    database, filled, model
):
    X, y = rows(1, 3, 2)
    X /= np.abs(X).mean(0)
    X[:, 0] -= X[:, 0].mean()
    model.fit(X, y)
    odd = [1e155, -1e155, 1e308, -1e308, 1e-200, 5e-324, 0.0, 1e20, np.nan]
    far = np.array([[a, b] for a in odd for b in odd])
    filled(as_frame(far, ["a", "b"]))
    answer = run(
        database, to_sql(model, "rows", database.name, columns=["a", "b"], keep=["id"])
    )
    posterior = answer.select("p_0", "p_1", "p_2").to_numpy().astype(float)
    for row, label, p in zip(far, answer["label"].to_list(), posterior, strict=True):
        if label is None:
            assert np.isnan(p).all()
            assert np.nanmax(np.abs(row)) > 1e100
        else:
            np.testing.assert_allclose(p, model.predict_proba(row[None])[0], atol=1e-9)


def test_beyond_the_size_of_a_query_one_empty_column_counts_and_more_give_no_answer(
    database, filled
):
    X, y = rows(2, 2, 40)
    model = sf.LDA().fit(X, y)
    holed = X[:9].copy()
    holed[[1, 2, 3, 5, 5], [0, 39, 7, 3, 4]], holed[6] = np.nan, np.nan
    columns = [f"x{j}" for j in range(40)]
    filled(as_frame(holed, columns))
    answer = run(database, to_sql(model, "rows", database.name, columns=columns, keep=["id"]))
    assert answer.row(5) == (5, None, None, None)
    posterior = np.delete(answer.select("p_0", "p_1").to_numpy().astype(float), 5, 0)
    wanted = model.predict_proba(np.delete(holed, 5, 0))
    np.testing.assert_allclose(posterior, wanted, rtol=0, atol=1e-9)


def test_one_empty_column_of_each_group(database, filled, monkeypatch):
    monkeypatch.setattr(sql, "MOST_TERMS", {1: 10_000})
    X, y = rows(5, 5, 4)
    model = sf.GaussianClassifier(tied=[[0, 1], [2, 3, 4]]).fit(X, y)
    X[np.arange(100), np.arange(100) % 4] = np.nan
    filled(as_frame(X[:120], list("abcd")))
    agrees(database, model, X[:120], columns=list("abcd"))


def test_rare_levels_count_together_and_numbers_may_be_levels(database, filled):
    rng = np.random.default_rng(0)
    town = np.array([f"t{j % 60 if j % 3 else 0}" for j in range(400)])
    code = rng.integers(0, 4, 400).astype(float)
    y = np.where(rng.random(400) < 0.2 + 0.15 * code, "yes", "no")
    frame = pl.DataFrame({"id": np.arange(400), "town": town, "code": code})
    with pytest.warns(match="levels: the 39 most frequent are kept"):
        model = sf.LDA(categorical=["code"]).fit(frame.drop("id"), y)
    new = frame.with_columns(
        pl.when(pl.col("id") % 5 == 0)
        .then(pl.lit("elsewhere"))
        .otherwise("town")
        .alias("town"),
        pl.when(pl.col("id") % 7 == 1).then(None).otherwise("code").alias("code"),
    )
    filled(new)
    agrees(database, model, new.drop("id"))
