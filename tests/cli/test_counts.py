"""Classifiers of counts on the command line."""

from pathlib import Path

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


def test_a_column_of_text_is_fitted_asked_and_forgotten(run, ok, ok_json, refused):
    rng = np.random.default_rng(1)
    y = rng.choice(["ham", "spam"], 60)
    texts = []
    for label in y:
        word = "tea, the train" if label == "ham" else 'a "free" prize'
        texts.append(f"{word} {rng.integers(10, 20)}")
    texts[0] = None
    frame = pl.DataFrame(
        {"id": range(60), "review": texts, "label": y, "stars": [1.5, 2.5] * 30}
    )
    frame.write_csv("reviews.csv")
    frame[:20].write_csv("some.csv")
    frame[20:].write_csv("rest.csv")
    fitted = run("fit", "reviews.csv", "--text", "review", "-t", "label", "-o", "m.suffice")
    assert fitted.exit_code == 0
    assert "fit uses only the words of column 'review'" in fitted.stderr
    assert "leaves out columns 'id', 'stars'" in fitted.stderr
    ok_json("predict", "m.suffice", "reviews.csv", "--keep", "id", "-o", "out.csv")
    answers = pl.read_csv("out.csv")
    model = sf.load("m.suffice")
    assert answers.columns == ["id", "label", "p_ham", "p_spam"]
    assert answers["p_spam"].to_list() == model.predict_proba(frame)[:, 1].tolist()
    assert answers["p_ham"][0] == pytest.approx((y == "ham").mean())
    ok("forget", "m.suffice", "some.csv", "-t", "label", "-o", "left.suffice")
    ok("fit", "rest.csv", "--text", "review", "-t", "label", "-o", "rest.suffice")
    left = sf.load("left.suffice").moments_
    assert left.sums.tolist() == sf.load("rest.suffice").moments_.sums.tolist()
    assert left.feature_names == sf.load("rest.suffice").moments_.feature_names
    options = ("--text", "review", "-t", "label", "-o", "x.suffice")
    assert "leave out --model" in refused("fit", "reviews.csv", "-m", "lda", *options)
    assert "leave out the option" in refused("fit", "reviews.csv", "-f", "stars", *options)
    assert "did you mean 'review'" in refused(
        "fit", "reviews.csv", "--text", "reviews", *options[2:]
    )


def test_texts_that_look_like_numbers_are_read_as_text(ok):
    texts = ["2020", "2020", "1999", "1999", "007"]
    frame = pl.DataFrame({"year": texts, "label": ["new", "new", "old", "old", "old"]})
    frame.write_csv("years.csv")
    ok("fit", "years.csv", "--text", "year", "-t", "label", "-o", "m.suffice")
    assert sf.load("m.suffice").moments_.feature_names == ("007", "1999", "2020")
    ok("predict", "m.suffice", "years.csv", "-o", "out.csv")
    assert pl.read_csv("out.csv")["label"].to_list() == ["new", "new", "old", "old", "old"]


def test_numbers_categories_and_counts_are_fitted_and_predicted_in_one_table(ok):
    mails = pl.DataFrame(
        {
            "hour": [9.5, 11.0, 10.0, 2.5, 3.0, 4.5],
            "sender": ["work", "home", "work", "shop", "shop", "home"],
            "word_tea": [2, 1, 1, 0, 0, 1],
            "word_win": [0, 0, 1, 3, 1, 2],
            "label": ["ham", "ham", "ham", "spam", "spam", "spam"],
        }
    )
    mails.write_csv("mails.csv")
    kinds = 'kinds={"word_*": "multinomial"}'
    fit = ("fit", "mails.csv", "--target", "label", "--model", "mixed-nb", "--set", kinds)
    ok(*fit, "-o", "mails.suffice")
    ok("predict", "mails.suffice", "mails.csv", "-o", "answers.csv")
    here = sf.MixedNB({"word_*": "multinomial"}).fit(mails.drop("label"), mails["label"])
    answers = pl.read_csv("answers.csv")
    assert answers["label"].to_list() == here.predict(mails.drop("label")).tolist()


def test_a_receipt_for_a_model_of_counts_is_refused_by_name(ok, refused):
    ok("fit", "all.csv", "-t", "label", "-m", "counts", "-o", "all.suffice")
    options = ("-t", "label", "-o", "rest.suffice", "--receipt", "proof.json")
    message = refused("forget", "all.suffice", "b.csv", *options)
    assert "--receipt" in message
    assert "holds a CountNB, which has none" in message
    assert not Path("rest.suffice").exists()
    assert not Path("proof.json").exists()


def test_a_mixed_naive_bayes_model_forgets_rows(ok, refused, files):
    both = files.with_columns(colour=pl.Series(["red", "blue"] * 40))
    both.write_csv("whole.csv")
    both[:40].write_csv("first.csv")
    both[40:].write_csv("second.csv")
    options = ("-t", "label", "-m", "mixed-nb", "--set", 'kinds={"t*": "multinomial"}')
    ok("fit", "whole.csv", *options, "-o", "whole.suffice")
    ok("fit", "first.csv", *options, "-o", "first.suffice")
    ok("forget", "whole.suffice", "second.csv", "-t", "label", "-o", "rest.suffice")
    rows = both.drop("label")
    np.testing.assert_allclose(
        sf.load("rest.suffice").predict_proba(rows),
        sf.load("first.suffice").predict_proba(rows),
        rtol=1e-9,
    )
    receipt = ("-t", "label", "-o", "x.suffice", "--receipt", "proof.json")
    assert "holds a MixedNB, which has none" in refused(
        "forget", "whole.suffice", "second.csv", *receipt
    )


def test_sums_of_counts_say_that_rows_are_forgotten_by_their_model(ok, refused):
    ok("fit", "all.csv", "-t", "label", "-m", "counts", "-o", "all.suffice")
    ok("merge", "all.suffice", "-o", "all.counts")
    message = refused("forget", "all.counts", "b.csv", "-t", "label", "-o", "rest.counts")
    assert "all.counts holds sums of counts" in message


def test_sums_of_counts_are_fitted_like_the_model_that_they_come_from(ok, refused, files):
    ok("fit", "all.csv", "-t", "label", "-m", "counts", "-o", "all.suffice")
    ok("merge", "all.suffice", "-o", "all.counts")
    ok("fit", "all.counts", "-m", "counts", "-o", "again.suffice")
    rows = files.drop("label")
    np.testing.assert_array_equal(
        sf.load("again.suffice").predict_proba(rows),
        sf.load("all.suffice").predict_proba(rows),
    )
    assert "LDA" in refused("fit", "all.counts", "-m", "lda", "-o", "lda.suffice")
    ok("summarize", "all.csv", "-t", "label", "-o", "all.moments")
    message = refused("fit", "all.moments", "-m", "counts", "-o", "x.suffice")
    assert "CountNB is fitted to CountSums, not to Moments" in message
