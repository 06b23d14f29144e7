"""``est.export`` writes a query, a graph or a document of every estimator, whole or not at all."""

import json
import os

import numpy as np
import onnxruntime
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError
from tests.export.test_sql import as_frame, run

import suffice as sf
from suffice.errors import FeatureMismatchError, InvalidParameterError
from suffice.export import to_document, to_onnx, to_sql

rng = np.random.default_rng(0)
Y = np.arange(60) % 3
X = rng.normal(size=(60, 3)) + 2 * rng.normal(size=(3, 3))[Y]
COLUMNS = ["u", "v", "w"]
FRAME = pd.DataFrame(X, columns=COLUMNS)
ESTIMATORS = [
    sf.LDA(),
    sf.QDA(),
    sf.GaussianNB(),
    sf.RDA(),
    sf.GaussianClassifier("spherical"),
    sf.MixtureClassifier(1),
    sf.AutoGaussian(),
    sf.AutoClassifier(),
    sf.LogisticRegression(),
    sf.Perceptron(),
    sf.LeastSquaresClassifier(),
]
every_estimator = pytest.mark.parametrize(
    "estimator", ESTIMATORS, ids=lambda estimator: type(estimator).__name__
)
pytestmark = [
    pytest.mark.filterwarnings("ignore:fetch_arrow_table:DeprecationWarning"),
    # the perceptron does not separate these rows
    pytest.mark.filterwarnings("ignore::suffice.estimators.linear.UnfinishedDescentWarning"),
]


def fitted(estimator):
    return estimator.fit(FRAME, Y)


@every_estimator
def test_the_query_of_every_estimator_answers_like_it(estimator, duckdb, tmp_path):
    model = fitted(estimator)
    model.export(tmp_path / "score.sql", to="sql", table="main.flowers")
    query = (tmp_path / "score.sql").read_text()
    assert query == to_sql(model, ["main", "flowers"]) + ";\n"
    duckdb.create_table("flowers", as_frame(X, COLUMNS).to_arrow())
    kept = to_sql(model, "flowers", keep=["id"])
    assert run(duckdb, kept)["label"].to_list() == model.predict(FRAME).tolist()


@every_estimator
def test_the_graph_of_every_estimator_answers_like_it(estimator, tmp_path):
    model = fitted(estimator)
    path = tmp_path / "model.onnx"
    model.export(path, to="onnx")
    assert path.read_bytes() == to_onnx(model).SerializeToString()
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    label = session.run(["label"], {"X": X})[0]
    assert label.tolist() == model.predict(FRAME).tolist()


@every_estimator
def test_the_document_of_every_estimator_is_json(estimator, tmp_path):
    model = fitted(estimator)
    model.export(tmp_path / "model.json", to="json")
    document = json.loads((tmp_path / "model.json").read_text(), parse_constant=pytest.fail)
    assert document["model"] == type(model).__name__
    assert document["classes"] == [0, 1, 2]
    assert document.keys() == to_document(model).keys()


@pytest.mark.parametrize(
    ("dialect", "type_of_numbers"),
    [
        (None, "DOUBLE)"),
        ("duckdb", "DOUBLE)"),
        ("postgres", "DOUBLE PRECISION"),
        ("sqlite", "REAL"),
    ],
)
def test_a_query_is_written_in_the_dialect_asked_for(tmp_path, dialect, type_of_numbers):
    path = tmp_path / "score.sql"
    fitted(sf.LDA()).export(path, to="sql", dialect=dialect)
    assert f"AS {type_of_numbers}" in path.read_text()
    assert 'FROM "rows" AS' in path.read_text()


@pytest.mark.parametrize("to", ["pmml", "SQL", None, ["sql"]])
def test_another_format_is_refused(tmp_path, to):
    with pytest.raises(InvalidParameterError, match="to must be one of 'sql', 'onnx', 'json'"):
        fitted(sf.LDA()).export(tmp_path / "f", to=to)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("to", ["onnx", "json"])
@pytest.mark.parametrize("option", [{"dialect": "duckdb"}, {"table": "rows"}])
def test_dialect_and_table_are_refused_where_there_is_no_query(tmp_path, to, option):
    with pytest.raises(InvalidParameterError, match=f"not for to='{to}': leave them out"):
        fitted(sf.LDA()).export(tmp_path / "f", to=to, **option)
    assert not list(tmp_path.iterdir())


def test_another_dialect_is_refused(tmp_path):
    with pytest.raises(InvalidParameterError, match="dialect must be one of 'duckdb'"):
        fitted(sf.LDA()).export(tmp_path / "f", to="sql", dialect="oracle")
    assert not list(tmp_path.iterdir())


def test_a_query_needs_names_of_columns(tmp_path):
    with pytest.raises(FeatureMismatchError, match=r"columns=\[\.\.\.\] of to_sql"):
        sf.LDA().fit(X, Y).export(tmp_path / "f", to="sql")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("to", ["sql", "onnx", "json"])
def test_the_old_file_stays_where_writing_fails(tmp_path, monkeypatch, to):
    path = tmp_path / "kept"
    path.write_text("old")

    def fail(_):
        raise OSError("the disk is gone")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="the disk is gone"):
        fitted(sf.LDA()).export(path, to=to)
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["kept"]


def test_an_estimator_that_is_not_fitted_is_refused(tmp_path):
    with pytest.raises(NotFittedError, match="not fitted yet"):
        sf.LDA().export(tmp_path / "f", to="json")
    assert not list(tmp_path.iterdir())
