"""Answers of a model for rows of any number: one for each row, in order, whole or not at all."""

import gzip

import numpy as np
import polars as pl
import pytest

import suffice as sf
from suffice.data.columns.roles import Roles
from suffice.data.predict import Answers, predict_stream
from suffice.data.summarize import summarize
from suffice.errors import (
    FeatureMismatchError,
    InvalidInputError,
    InvalidParameterError,
    SufficeWarning,
)

READERS = {
    "csv": pl.read_csv,
    "tsv": lambda p: pl.read_csv(p, separator="\t"),
    "parquet": pl.read_parquet,
    "feather": pl.read_ipc,
    "jsonl": pl.read_ndjson,
}


@pytest.fixture(scope="module")
def model(frame):
    return fitted(sf.QDA(), frame)


def fitted(estimator, frame):
    moments = summarize(frame, "colour", columns=["a", "b", "c", "count"])
    return estimator.fit_moments(moments)


def features(frame):
    return frame.select("a", "b", "c", "count").cast(pl.Float64).to_numpy()


@pytest.mark.parametrize("ending", READERS)
@pytest.mark.parametrize("source", ["csv", "parquet", "jsonl"])
def test_every_format_gives_the_answers_of_the_estimator(
    model, frame, write, tmp_path, source, ending
):
    out = tmp_path / f"out.{ending}"
    done = predict_stream(model, write(frame, f"in.{source}"), out)
    answers = READERS[ending](out)
    x = features(frame)
    assert answers.columns == [
        "row_id",
        "label",
        "p_blue",
        "p_green",
        "p_red",
        "log_density",
        "outlier",
    ]
    assert answers["row_id"].to_list() == frame["row_id"].to_list()
    assert answers["label"].to_list() == [
        model.classes_[k] for k in model.model_.model.most_probable(x)
    ]
    posterior = answers.select("p_blue", "p_green", "p_red").to_numpy()
    np.testing.assert_allclose(posterior, model.model_.model.posterior(x), rtol=1e-12)
    np.testing.assert_allclose(
        answers["log_density"], model.model_.model.log_density(x), rtol=1e-12
    )
    assert (done.rows, done.unanswered) == (500, 0)
    assert done.outliers == answers["outlier"].sum()


def test_rows_of_many_batches_keep_their_order(model, frame, tmp_path):
    many = pl.concat([frame] * 60).with_columns(row_id=pl.int_range(pl.len()))
    many.write_parquet(tmp_path / "in.parquet", row_group_size=1000)
    predict_stream(model, tmp_path / "in.parquet", tmp_path / "out.parquet")
    out = pl.read_parquet(tmp_path / "out.parquet")
    assert out["row_id"].to_list() == list(range(30_000))
    np.testing.assert_array_equal(out["p_red"][:500], out["p_red"][-500:])


def test_a_glob_is_answered_file_after_file(model, frame, write, tmp_path):
    for i in range(5):
        write(frame[i * 100 : (i + 1) * 100], f"in{i}.csv")
    predict_stream(model, f"{tmp_path}/in*.csv", tmp_path / "out.csv")
    assert pl.read_csv(tmp_path / "out.csv")["row_id"].to_list() == frame["row_id"].to_list()


def test_columns_are_matched_by_name(model, frame, tmp_path):
    predict_stream(model, frame, tmp_path / "a.parquet")
    predict_stream(model, frame.select(reversed(frame.columns)), tmp_path / "b.parquet")
    a, b = pl.read_parquet(tmp_path / "a.parquet"), pl.read_parquet(tmp_path / "b.parquet")
    assert a.equals(b)


def test_an_infinite_number_is_refused_with_its_row_and_column(model, frame, tmp_path):
    many = pl.concat([frame] * 60).with_columns(
        a=pl.when(pl.int_range(pl.len()) == 29_000).then(float("-inf")).otherwise("a"),
        c=pl.when(pl.int_range(pl.len()) == 28_007).then(float("inf")).otherwise("c"),
    )
    many.write_parquet(tmp_path / "in.parquet", row_group_size=1000)
    for source, label in ((many, "the frame"), (tmp_path / "in.parquet", "in.parquet")):
        told = (
            rf"{label} contains infinity: row 28,007 \(counted from 0\), column 'c'\. Correct"
        )
        with pytest.raises(InvalidInputError, match=told):
            predict_stream(model, source, tmp_path / "out.parquet")
    assert not (tmp_path / "out.parquet").exists()


def test_a_row_that_lacks_a_number_has_no_answer_of_a_model_without_density(frame, tmp_path):
    names = ["a", "c"]
    gaps = frame.with_columns(a=pl.when(pl.int_range(pl.len()) == 3).then(None).otherwise("a"))
    logistic = sf.LogisticRegression().fit(frame.select(names), frame["colour"].to_list())
    with pytest.warns(SufficeWarning, match=r"1 of 500 rows has no prediction: .* 'a' \(1\)"):
        done = predict_stream(logistic, gaps, tmp_path / "out.parquet")
    out = pl.read_parquet(tmp_path / "out.parquet")
    assert done.unanswered == 1
    assert out["label"].is_null().arg_true().to_list() == [3]
    assert out["p_red"].is_null().arg_true().to_list() == [3]
    assert out["row_id"].null_count() == 0
    expected = logistic.predict_proba(frame.select(names)[4:5])[0, 2]
    np.testing.assert_allclose(out["p_red"][4], expected)


def test_a_row_beyond_all_bounds_gets_an_empty_answer(model, frame, tmp_path):
    far = frame.with_columns(a=pl.when(pl.int_range(pl.len()) == 5).then(1e300).otherwise("a"))
    with pytest.warns(
        SufficeWarning, match="1 of 500 rows has no prediction: too far from all classes"
    ):
        done = predict_stream(model, far, tmp_path / "out.csv")
    assert done.unanswered == 1


def test_a_row_that_lacks_a_number_is_judged_by_the_others(model, frame, tmp_path):
    text = pl.concat([frame] * 60).write_csv() + "late,NA,1,1,1,red\n"
    (tmp_path / "in.csv").write_text(text)
    done = predict_stream(
        model, tmp_path / "in.csv", tmp_path / "out.csv", columns=sf.Columns(ids=["row_id"])
    )
    assert (done.rows, done.unanswered) == (30_001, 0)
    out = pl.read_csv(tmp_path / "out.csv")
    row = np.array([[np.nan, 1, 1, 1]])
    expected = model.model_.allowing_missing().posterior(row)[0]
    np.testing.assert_allclose(out[-1].select("^p_.*$").row(0), expected)


def test_columns_may_be_kept_and_prefixed(model, frame, tmp_path):
    predict_stream(
        model, frame, tmp_path / "o.csv", prefix="m_", columns=sf.Columns(ids=["colour", "b"])
    )
    columns = pl.read_csv(tmp_path / "o.csv").columns
    assert columns[:4] == ["colour", "b", "m_label", "m_p_blue"]


def test_a_kept_column_that_clashes_is_refused(model, frame, tmp_path):
    with pytest.raises(
        InvalidInputError, match="'label' is kept, but a prediction column has the same name"
    ):
        predict_stream(
            model,
            frame.rename({"colour": "label"}),
            tmp_path / "o.csv",
            columns=sf.Columns(ids=["label"]),
        )


def test_a_file_that_lacks_a_column_is_refused_and_nothing_written(model, frame, tmp_path):
    with pytest.raises(
        FeatureMismatchError, match="lacks the column 'c' that the model needs"
    ):
        predict_stream(model, frame.drop("c"), tmp_path / "o.csv")
    assert not list(tmp_path.iterdir())


def test_a_failure_half_way_leaves_the_old_file(model, frame, tmp_path):
    (tmp_path / "in.csv").write_text(
        pl.concat([frame] * 60).write_csv() + "x,oops,1,1,1,red\n"
    )
    out = tmp_path / "out.csv"
    out.write_text("old")
    with pytest.raises(InvalidInputError, match="column 'a' holds 'oops'"):
        predict_stream(model, tmp_path / "in.csv", out)
    assert out.read_text() == "old"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["in.csv", "out.csv"]


def test_a_full_disk_is_told_by_name(model, frame, tmp_path, monkeypatch):
    def full(*_):
        msg = "parquet: underlying IO error: No space left on device (os error 28)"
        raise pl.exceptions.ComputeError(msg)

    monkeypatch.setattr("suffice.data.formats.writing.SINKS", {".parquet": full})
    with pytest.raises(OSError, match=r"No space left on device: '.*out\.parquet'"):
        predict_stream(model, frame, tmp_path / "out.parquet")
    assert not list(tmp_path.iterdir())


def test_an_unknown_extension_of_the_output_lists_the_known(model, frame, tmp_path):
    with pytest.raises(ValueError, match=r"names no format to write: use \.csv"):
        predict_stream(model, frame, tmp_path / "out.xlsx")


def test_costs_decide_the_label(frame, tmp_path):
    costs = {("red", "blue"): 50.0, ("red", "green"): 50.0}
    model = fitted(sf.LDA(costs=costs), frame)
    predict_stream(model, frame, tmp_path / "o.parquet")
    labels = pl.read_parquet(tmp_path / "o.parquet")["label"].to_list()
    nameless = type(model)(costs=costs).fit_moments(
        summarize([(features(frame), frame["colour"].to_numpy())])
    )
    assert labels == nameless.predict(features(frame)).tolist()


def test_a_refused_row_has_no_label_but_posteriors(frame, tmp_path):
    model = fitted(sf.LDA(costs=sf.Costs(reject=0.2)), frame)
    predict_stream(model, frame, tmp_path / "o.parquet")
    out = pl.read_parquet(tmp_path / "o.parquet")
    assert 0 < out["label"].null_count() < 500
    assert out["p_red"].null_count() == 0


@pytest.mark.parametrize("reject_label", ["unsure", -1])
@pytest.mark.parametrize("labels", [[3, 1], [True, False]])
def test_the_label_of_refused_rows_is_never_lost_or_taken_for_a_class(
    labels, reject_label, tmp_path
):
    x = np.random.default_rng(0).normal(size=60)
    data = pl.DataFrame({"u": x, "t": labels * 30})
    model = sf.LDA(costs=sf.Costs(reject=0.3, reject_label=reject_label)).fit(
        data.select("u"), labels * 30
    )
    predict_stream(model, data, tmp_path / "o.parquet", columns=sf.Columns(ignore=["t"]))
    found = pl.read_parquet(tmp_path / "o.parquet")["label"].to_list()
    expected = model.predict(data.select("u")).tolist()
    assert reject_label in expected
    assert list(map(str, found)) == list(map(str, expected))


@pytest.mark.parametrize("labels", [[3, 1, 2], [True, False], ["x", "y"]])
def test_labels_keep_their_type(labels, tmp_path):
    rng = np.random.default_rng(0)
    data = pl.DataFrame({"u": rng.normal(size=60), "t": labels * (60 // len(labels))})
    model = sf.GaussianNB().fit_moments(summarize(data, "t"))
    predict_stream(model, data, tmp_path / "o.parquet", columns=sf.Columns(ids=["t"]))
    out = pl.read_parquet(tmp_path / "o.parquet")
    assert out["label"].dtype == out["t"].dtype


def test_about_one_in_a_thousand_rows_of_the_model_is_an_outlier(model):
    x, _ = model.sample(200_000, np.random.default_rng(9))
    share = np.mean(
        model.model_.model.log_density(x) < Answers.of(model.model_, Roles(())).threshold
    )
    assert 0.0006 < share < 0.0015


def test_a_model_without_density_gives_labels_and_posteriors(frame):
    x, y = features(frame) / 1e3, frame["colour"].to_numpy()
    plain = sf.LogisticRegression().fit(x, y)
    answers = Answers.of(plain.model_, Roles(())).to(x)
    assert answers.columns == ["label", "p_blue", "p_green", "p_red"]
    assert answers["label"].to_list() == plain.predict(x).tolist()


def test_a_model_without_posteriors_gives_labels_alone(frame):
    x, y = features(frame) / 1e3, frame["colour"].to_numpy()
    fitted = sf.LeastSquaresClassifier().fit(x, y)
    answers = Answers.of(fitted.model_, Roles(())).to(x)
    assert answers.columns == ["label"]
    assert answers["label"].to_list() == fitted.predict(x).tolist()


def test_a_classifier_and_its_estimator_give_the_same_file(model, frame, tmp_path):
    for name, fitted in {"a": model, "b": model.model_}.items():
        predict_stream(fitted, frame, tmp_path / f"{name}.csv")
    assert (tmp_path / "a.csv").read_bytes() == (tmp_path / "b.csv").read_bytes()


def test_a_strangers_classifier_is_refused_by_name(frame, tmp_path):
    from sklearn.naive_bayes import GaussianNB

    with pytest.raises(
        InvalidParameterError, match="GaussianNB is not a classifier of suffice"
    ):
        predict_stream(GaussianNB(), frame, tmp_path / "out.csv")


def test_no_rows_give_no_answers(model, frame, tmp_path):
    predict_stream(model, frame.clear(), tmp_path / "o.parquet")
    assert pl.read_parquet(tmp_path / "o.parquet").height == 0


def test_a_blank_line_among_new_rows_is_told(model, frame, write, tmp_path):
    path = write(frame[:20], "in.csv")
    path.write_text(path.read_text() + "\n")
    with pytest.warns(
        SufficeWarning, match="1 line has fewer fields .*The first such line is line 22"
    ):
        predict_stream(model, path, tmp_path / "out.csv")


def test_levels_that_the_model_has_never_seen_are_told(tmp_path):
    rows = pl.DataFrame(
        {
            "x": [0.0, 1, 2, 3, 4, 5],
            "at": ["a", "b"] * 3,
            "of": [1, 2] * 3,
            "y": ["u", "v"] * 3,
        }
    )
    model = sf.LDA(shrinkage=0.5).fit_moments(
        summarize(rows, "y", columns=sf.Columns(categorical=["of"]))
    )
    new = pl.DataFrame({"x": [0.0, 1, 2], "at": ["a", "new", None], "of": [3, 4, 1]})
    message = (
        "levels that are not in the training rows count as missing values: 'of' (2), 'at' (1) of "
        "3 rows [SF105]"
    )
    with pytest.warns(SufficeWarning) as caught:
        predict_stream(model, new, tmp_path / "out.csv")
    assert message in [str(each.message) for each in caught]


@pytest.mark.parametrize("number", ["7", "NA"])
@pytest.mark.parametrize("ending", ["csv", "csv.gz"])
def test_marks_of_missing_values_in_kept_columns_are_copied(number, ending, tmp_path):
    model = sf.GaussianNB().fit(pl.DataFrame({"x": [0.0, 1, 5, 6]}), ["a", "a", "b", "b"])
    text = f"country,x\nNA,1\nDE,{number}\n ?,6\n,5\n".encode()
    path = tmp_path / f"new.{ending}"
    path.write_bytes(text if ending == "csv" else gzip.compress(text))
    predict_stream(
        model, path, tmp_path / "out.parquet", columns=sf.Columns(ids=["country", "x"])
    )
    kept = pl.read_parquet(tmp_path / "out.parquet", columns=["country", "x"])
    assert kept.rows() == [("NA", "1"), ("DE", number), (" ?", "6"), (None, "5")]


def test_a_column_of_text_that_is_empty_lacks_its_numbers(model, frame, tmp_path):
    empty = frame.with_columns(a=pl.lit(None, dtype=pl.String))
    told = predict_stream(model, empty, tmp_path / "out.parquet")
    assert (told.rows, told.unanswered) == (frame.height, 0)
    numbers = frame.with_columns(a=pl.lit(None, dtype=pl.Float64)).select(
        "a", "b", "c", "count"
    )
    answers = pl.read_parquet(tmp_path / "out.parquet")["label"].to_list()
    assert answers == model.predict(numbers).tolist()
