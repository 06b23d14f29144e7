"""``suffice export`` writes queries and graphs that answer like the model."""

from pathlib import Path

import duckdb
import numpy as np
import onnxruntime
import polars as pl
import pytest
from click.testing import CliRunner

import suffice as sf
from suffice.cli.group import suffice
from suffice.datasets import DATASETS


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def run(*args):
        return CliRunner().invoke(suffice, list(args))

    assert run("fit", "iris", "--model", "qda", "-o", "m.suffice").exit_code == 0
    return run


@pytest.fixture
def flowers():
    return pl.read_csv(DATASETS["iris"].path).with_row_index("id")


def test_sql_of_the_command_line_runs(run, flowers):
    result = run(
        "export", "m.suffice", "--to", "sql", "--table", "main.flowers", "--keep", "id"
    )
    assert result.exit_code == 0, result.stderr
    model = sf.load("m.suffice")
    connection = duckdb.connect()
    connection.register("arrow", flowers.to_arrow())
    connection.execute("CREATE TABLE flowers AS SELECT * FROM arrow")
    answer = sorted(connection.execute(result.stdout).fetchall())
    X = flowers.select(model.feature_names_in_.tolist()).to_pandas()
    assert [row[1] for row in answer] == model.predict(X).tolist()
    posterior = np.array([row[2:] for row in answer])
    np.testing.assert_allclose(posterior, model.predict_proba(X), atol=1e-10)


def test_onnx_of_the_command_line_runs(run, flowers):
    assert run("export", "m.suffice", "--to", "onnx", "-o", "m.onnx").exit_code == 0
    model = sf.load("m.suffice")
    X = flowers.select(model.feature_names_in_.tolist()).to_pandas()
    session = onnxruntime.InferenceSession("m.onnx", providers=["CPUExecutionProvider"])
    label, posterior = session.run(None, {"X": X.to_numpy()})
    assert label.tolist() == model.predict(X).tolist()
    np.testing.assert_allclose(posterior, model.predict_proba(X), atol=1e-10)


def test_a_clash_of_names_is_one_line_with_the_cure(run):
    result = run("export", "m.suffice", "--to", "sql", "--keep", "label")
    assert result.exit_code == 1
    assert result.stderr.splitlines()[-1].endswith("set a prefix for the prediction columns")


@pytest.mark.parametrize("name", ["penguins", "titanic_passengers", "credit_data"])
def test_a_mixed_table_goes_from_fit_to_exports_with_every_row_and_column(
    tmp_path, monkeypatch, name
):
    monkeypatch.chdir(tmp_path)
    data = Path(__file__).parents[1] / "reference" / "data" / f"{name}.csv"
    columns = pl.read_csv(data).columns[:-1]

    def run(*args):
        result = CliRunner().invoke(suffice, list(map(str, args)))
        assert result.exit_code == 0, result.stderr
        return result.stdout

    run("fit", data, "--target", "target", "--model", "nb", "-o", "m.suffice")
    run("predict", "m.suffice", data, "-o", "labels.csv")
    query = run("export", "m.suffice", "--to", "sql", "--table", "t")
    run("export", "m.suffice", "--to", "onnx", "-o", "m.onnx")
    session = onnxruntime.InferenceSession("m.onnx", providers=["CPUExecutionProvider"])
    assert {each.name for each in session.get_inputs()} == set(columns)
    assert all(f'"{column}"' in query for column in columns)
    connection = duckdb.connect()
    connection.execute(f"CREATE TABLE t AS SELECT * FROM read_csv('{data}', header = true)")
    labels = [row[0] for row in connection.execute(query).fetchall()]
    predicted = pl.read_csv("labels.csv")
    assert predicted["label"].to_list() == labels
