"""Queries of mixed tables, and of rows with holes, answer like the models, on every engine."""

import numpy as np
import polars as pl
import pytest
from tests.export.mixed import MIXED, scored, table, with_holes
from tests.export.models import MODELS, fitted, rows
from tests.export.test_sql import as_frame, run, same_labels

import suffice as sf

pytestmark = pytest.mark.filterwarnings("ignore:fetch_arrow_table:DeprecationWarning")

NARROW = [n for n in MODELS if n not in ("qda of thirty features", "lda of many features")]
INTEGRATING = [n for n in NARROW if n not in ("debiased", "logistic", "softmax")]
INTEGRATING = [n for n in INTEGRATING if "least squares" not in n]


def agrees(database, model, X, *, sql=None, **options):
    options = {"keep": ["id"], **options}
    answer = run(database, sql or model.to_sql("rows", database.name, **options))
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
