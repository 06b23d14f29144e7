"""Classifiers of counts on the command line."""

import numpy as np
import polars as pl
import pytest

import suffice as sf


@pytest.fixture(name="files", autouse=True)
def _files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    y = rng.choice(["ham", "spam"], 80)
    rates = np.array([[3.0, 1.0, 0.5], [0.5, 1.0, 3.0]])
    counts = rng.poisson(rates[(y == "spam").astype(int)])
    frame = pl.DataFrame(counts, schema=["tea", "the", "win"]).with_columns(label=pl.Series(y))
    frame.write_csv("all.csv")
    frame[:40].write_csv("a.csv")
    frame[40:].write_csv("b.csv")
    return frame


def test_a_model_of_counts_is_fitted_asked_merged_and_forgets(ok, ok_json, files):
    ok(
        "fit",
        "all.csv",
        "-t",
        "label",
        "-m",
        "counts",
        "--set",
        "alpha=0.5",
        "-o",
        "all.suffice",
    )
    assert ok_json("predict", "all.suffice", "all.csv", "-o", "out.csv")["rows"] == 80
    assert (pl.read_csv("out.csv")["label"] == files["label"]).mean() > 0.8
    assert ok("show", "all.suffice")
    ok("sample", "all.suffice", "-n", "3")
    ok("forget", "all.suffice", "b.csv", "-t", "label", "-o", "rest.suffice")
    ok("fit", "a.csv", "-t", "label", "-m", "counts", "-o", "a.suffice")
    ok("fit", "b.csv", "-t", "label", "-m", "counts", "-o", "b.suffice")
    rest = sf.load("rest.suffice").moments_
    assert rest.sums.tolist() == sf.load("a.suffice").moments_.sums.tolist()
    ok("merge", "a.suffice", "b.suffice", "-o", "both.counts")
    whole = sf.load("all.suffice").moments_
    assert sf.load("both.counts").sums.tolist() == whole.sums.tolist()


def test_sums_of_counts_and_of_numbers_are_not_merged(ok, refused):
    ok("fit", "a.csv", "-t", "label", "-m", "counts", "-o", "a.suffice")
    ok("fit", "b.csv", "-t", "label", "-m", "lda", "-o", "b.suffice")
    message = refused("merge", "a.suffice", "b.suffice", "-o", "both.counts")
    assert "b.suffice holds sums of numbers and a.suffice holds sums of counts" in message


def test_the_complement_and_fractions_have_no_samples(ok, refused):
    ok(
        "fit",
        "all.csv",
        "-t",
        "label",
        "-m",
        "counts",
        "--set",
        "kind=complement",
        "-o",
        "m.suffice",
    )
    ok("predict", "m.suffice", "all.csv", "-o", "out.csv")
    assert "no densities" in refused("sample", "m.suffice", "-n", "3")
    ok("fit", "iris", "-m", "counts", "-o", "m.suffice")
    ok("predict", "m.suffice", "iris", "-o", "answers.csv")
    assert "no densities" in refused("sample", "m.suffice", "-n", "3")
