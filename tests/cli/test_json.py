"""``--json`` prints one JSON document, whatever the command, and nothing else."""

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import suffice as sf
from suffice import datasets


@pytest.fixture
def document(ok):
    """Return a function that runs a command with --json and parses strictly what it prints."""

    def never(constant):
        raise AssertionError(constant)

    return lambda *args: json.loads(ok(*args, "--json"), parse_constant=never)


@pytest.fixture
def iris(ok):
    ok("fit", "iris", "-o", "iris.suffice")
    return "iris.suffice"


def test_samples_are_json(document, iris):
    said = document("sample", iris, "-n", "4", "--seed", "1")
    assert len(said["rows"]) == 4
    assert set(said["rows"][0]) == {*datasets.load("iris").feature_names, "label"}
    assert document("sample", iris, "-n", "0") == {"rows": []}


def test_a_data_set_is_json(document):
    said = document("datasets", "penguins")
    assert len(said["rows"]) == 344
    assert said["rows"][3]["bill_length_mm"] is None


def test_a_query_is_json(document, ok, iris):
    said = document("export", iris, "--to", "sql", "--table", "t")
    assert said == {"sql": ok("export", iris, "--to", "sql", "--table", "t").strip()}


def test_a_graph_is_not_json(refused, iris):
    assert "name a file with -o" in refused("export", iris, "--to", "onnx", "--json", code=2)


def test_numbers_that_json_lacks_are_null(document, ok):
    rows = "x,y,kind\n" + "".join(f"{i % 3},1,{'ab'[i % 2]}\n" for i in range(12))
    Path("d.csv").write_text(rows)
    document("fit", "d.csv", "-t", "kind", "-m", "qda", "-o", "m.suffice")
    document("show", "m.suffice")
    document("compare", "d.csv", "-t", "kind", "-m", "lda", "-m", "perceptron", "--cv", "3")


def test_an_automatic_model_is_exported_whole(document, ok):
    ok("fit", "iris", "-m", "auto", "-o", "a.suffice")
    said = document("export", "a.suffice")
    assert len(said["average"]["shares"]) >= 1
    assert sum(share["weight"] for share in said["average"]["shares"]) == pytest.approx(1)


def test_rows_and_columns_that_were_not_used_are_counted(document, run):
    none, some = {"columns": 0, "rows": 0}, {"columns": 0, "rows": 2}
    assert document("summarize", "penguins", "-o", "p.moments")["not_used"] == none
    assert document("fit", "penguins", "-m", "nb", "-o", "n.suffice")["not_used"] == none
    assert document("fit", "penguins", "-m", "logistic", "-o", "l.suffice")["not_used"] == some
    assert document("compare", "penguins", "-m", "lda", "--cv", "3")["not_used"] == none
    assert document("fit", "iris", "-o", "i.suffice")["not_used"] == {"columns": 0, "rows": 0}
    line = run("fit", "penguins", "-m", "logistic", "-o", "l.suffice").stderr.splitlines()[-1]
    assert line.endswith("; not used: 2 rows")
    assert "not used" not in run("summarize", "iris", "-o", "p.moments").stderr


def test_a_model_without_densities_has_no_outliers(run, document, ok):
    ok("fit", "iris", "-m", "logistic", "-o", "l.suffice")
    assert document("predict", "l.suffice", "iris", "-o", "o.csv")["outliers"] is None
    assert "outlier" not in run("predict", "l.suffice", "iris", "-o", "o.csv").stderr


def test_an_empty_class_has_no_mean(ok, document):
    x = np.array([[1.0], [2.0], [3.0]])
    m = sf.Moments.of(x, ["a", "b", "b"], classes=["a", "b", "c"])
    m.save("m.moments")
    assert document("show", "m.moments")["means"] == [[1.0], [2.5], [None]]
    assert ok("show", "m.moments").strip().splitlines()[-1].split() == [
        "mean",
        "x0",
        "1",
        "2.5",
        "–",
    ]


def test_show_tells_what_an_automatic_model_is(ok):
    ok("fit", "iris", "-m", "auto", "-o", "a.suffice")
    text = ok("show", "a.suffice")
    model = sf.load("a.suffice")
    best = max(model.choices_, key=lambda choice: choice.weight)
    assert f"{best.weight:.0%}" in text
    assert best.view.name in text
    assert "3 classes: setosa, versicolor and virginica" in text
    assert text.count("%") == sum(choice.weight > 0 for choice in model.choices_)


def test_a_logistic_model_shows_its_coefficients(ok):
    ok("fit", "iris", "-m", "logistic", "-o", "l.suffice")
    assert "petal_length" in ok("show", "l.suffice")


def test_all_columns_are_copied_as_they_are_written(ok, iris):
    frame = datasets.load("iris").frame()
    wide = frame.with_columns(pl.Series("petal_length", ["28", "1.50"] * 75))
    wide.write_csv("new.csv")
    ok("predict", iris, "new.csv", "--keep-all", "-o", "out.csv")
    wanted = [line.split(",") for line in Path("new.csv").read_text().splitlines()]
    found = [line.split(",")[:5] for line in Path("out.csv").read_text().splitlines()]
    assert found == wanted


def test_labels_with_leading_zeros_are_kept(ok, document):
    rows = "".join(f"{i % 7},{i % 3},{['007', '010'][i % 2]}\n" for i in range(40))
    Path("d.csv").write_text("a,b,agent\n" + rows)
    said = document("fit", "d.csv", "-t", "agent", "-o", "m.suffice")
    assert said["classes"] == ["007", "010"]
    ok("predict", "m.suffice", "d.csv", "-o", "out.csv")
    labels = {line.split(",")[0] for line in Path("out.csv").read_text().splitlines()[1:]}
    assert labels <= {"007", "010"}


@pytest.mark.parametrize("ending", ["parquet", "jsonl"])
def test_typed_columns_are_copied_exactly(ok, iris, ending):
    big = 2**53 + 1
    frame = datasets.load("iris").frame().with_columns(pl.lit(big).alias("petal_width"))
    (frame.write_parquet if ending == "parquet" else frame.write_ndjson)(f"new.{ending}")
    ok("predict", iris, f"new.{ending}", "--keep-all", "-o", "out.parquet")
    assert pl.read_parquet("out.parquet")["petal_width"].to_list() == [big] * 150


def test_standard_input_is_copied_as_it_is_written(ok, iris):
    frame = (
        datasets.load("iris")
        .frame()
        .with_columns(pl.Series("petal_width", ["2", "1.50"] * 75))
    )
    text = ok("predict", iris, "-", "--keep-all", stdin=frame.write_csv().encode())
    wanted = [",".join(row) for row in frame.select(pl.all().cast(pl.String)).rows()]
    assert [",".join(line.split(",")[:5]) for line in text.splitlines()[1:]] == wanted
