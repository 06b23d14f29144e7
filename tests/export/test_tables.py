"""Real mixed tables: every row and column counts in SQL and in ONNX as it does in ours."""

from pathlib import Path

import duckdb
import numpy as np
import polars as pl
import pytest
from tests.export.test_onnx_holes import answers

import suffice as sf
from suffice.export import sql
from suffice.export.dialect import dialect_of
from suffice.export.sql import to_sql

DATA = Path(__file__).parents[1] / "reference" / "data"


@pytest.mark.parametrize("name", ["penguins", "titanic_passengers", "credit_data"])
@pytest.mark.parametrize(
    "model",
    [
        sf.LDA(),
        sf.LDA(missing="indicator", shrinkage=0.1),
        sf.GaussianNB(),
        sf.QDA(shrinkage=0.1),
    ],
    ids=["lda", "lda with indicators", "naive bayes", "qda"],
)
def test_a_real_table_is_scored_whole(name, model):
    frame = pl.read_csv(DATA / f"{name}.csv")
    X, y = frame.drop("target"), frame["target"].to_numpy()
    assert any(dtype == pl.String for dtype in X.dtypes)
    model.fit(X, y)
    posterior = model.predict_proba(X)
    label, numbers = answers(model, X.to_pandas())
    np.testing.assert_allclose(numbers, posterior, rtol=0, atol=1e-9)
    assert label.tolist() == model.predict(X).tolist()
    connection = duckdb.connect()
    connection.register("frame", X.with_row_index("id").to_arrow())
    found = connection.execute(to_sql(model, "frame", keep=["id"])).pl().sort("id")
    numbers = found.select(f"p_{k}" for k in model.classes_).to_numpy().astype(float)
    size = sql.Stages.of(model.model_, dialect_of("duckdb"), None).n_terms
    if size <= sql.MOST_TERMS[None]:
        assert not np.isnan(numbers).any()
    answered = ~np.isnan(numbers).any(1)
    assert answered.mean() > 0.95
    np.testing.assert_allclose(numbers[answered], posterior[answered], rtol=0, atol=1e-9)
    wanted = np.where(answered, model.predict(X), None).tolist()
    assert found["label"].to_list() == wanted
