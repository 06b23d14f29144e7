"""``suffice compare`` shows the line-up, the verdict, and writes what is asked for."""

from pathlib import Path

import polars as pl
import pytest

import suffice as sf
from suffice import datasets


def test_the_table_and_the_verdict_are_those_of_the_library(ok):
    printed = ok("compare", "iris", "-m", "lda", "-m", "naive bayes", "--cv", "5")
    wanted = sf.compare(*datasets.load("iris").arrays(), ["LDA", "NB"], 5)
    assert wanted.verdict in printed
    assert "150 rows of 3 classes; 5 stratified folds" in printed


def test_json_holds_every_number_and_no_nan(ok_json):
    said = ok_json(
        "compare", "wine", "-m", "lda", "-m", "perceptron", "--cv", "3", "--seed", "4"
    )
    by_name = {row["model"]: row for row in said["models"]}
    wanted = sf.compare(*datasets.load("wine").arrays(), ["LDA"], 3, random_state=4).to_frame()
    assert by_name["LDA"]["error"] == pytest.approx(wanted.loc["LDA", "error"])
    assert by_name["perceptron"]["log_loss"] is None
    assert said["best"] in by_name


def test_the_table_and_the_figure_are_written(ok, tmp_path):
    ok("compare", "iris", "-m", "lda", "-m", "qda", "-o", "t.csv", "--plot", "t.png")
    assert pl.read_csv("t.csv")["model"].sort().to_list() == ["LDA", "QDA", "constant"]
    assert (tmp_path / "t.png").read_bytes()[:4] == b"\x89PNG"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["t.csv", "t.png"]


def test_any_classifier_can_be_added(ok_json):
    said = ok_json("compare", "iris", "-m", "lda", "--add", "sklearn.svm.SVC", "--cv", "3")
    assert {row["model"] for row in said["models"]} == {"LDA", "SVC", "constant"}


def test_rows_with_gaps_and_words_are_all_compared(run):
    result = run("compare", "penguins", "-m", "lda", "--cv", "3")
    assert result.exit_code == 0
    assert "344 rows of 3 classes" in result.stdout
    assert "left out" not in result.stderr


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (("-m", "ldaa"), "did you mean 'LDA'"),
        (("--add", "sklearn.svm.Nothing"), "give the import path of a class"),
        (("--add", "sklearn.cluster.KMeans", "-m", "lda"), "not a classifier"),
        (("--plot", "x.txt"), "a figure is written to"),
    ],
)
def test_what_cannot_be_done_is_said_in_one_line(args, words, refused):
    assert words in refused("compare", "iris", *args)


def small_class(name):
    rows = [f"{i % 7 + 3 * (i % 2)},{i % 5},{'xy'[i % 2]}" for i in range(40)] + [
        "9,9,z",
        "8,9,z",
    ]
    Path(name).write_text("\n".join(["a,b,kind", *rows]) + "\n")


def test_a_class_smaller_than_the_folds_is_compared_as_in_a_report(ok_json):
    small_class("d.csv")
    said = ok_json("compare", "d.csv", "-t", "kind", "-m", "lda", "-m", "naive bayes")
    told = ok_json("report", "d.csv", "-t", "kind", "--format", "json", "--fast", "--cv", "10")
    by_name = [{row["model"]: row["error"] for row in each["models"]} for each in (said, told)]
    assert set(by_name[0]) == {"LDA", "GaussianNB", "constant"}
    assert by_name[0]["LDA"] == by_name[1]["LDA"]
