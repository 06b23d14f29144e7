"""``suffice export`` writes queries and graphs that answer like the model."""

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
    result = run("export", "m.suffice", "--to", "sql", "--table", "main.flowers", "--keep", "id")
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
    assert result.stderr.splitlines()[-1].endswith("use a prefix for the answers")
