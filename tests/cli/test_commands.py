"""Every command does what it says, through the real entry point."""

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from sklearn.pipeline import make_pipeline

import suffice as sf
from suffice import datasets
from suffice.estimators.encoder import TableEncoder
from suffice.estimators.saved import portable


@pytest.fixture
def iris(ok):
    ok("fit", "iris", "-o", "iris.suffice")
    return "iris.suffice"


def test_summarize_saves_the_sums_of_a_data_set(ok_json):
    done = ok_json("summarize", "iris", "-o", "iris.moments")
    assert done["rows"] == 150
    assert done["classes"] == ["setosa", "versicolor", "virginica"]
    X, y = datasets.load("iris").arrays()
    saved = sf.load("iris.moments")
    np.testing.assert_allclose(saved.scatters, sf.Moments.of(X, y).scatters, rtol=1e-12)


def test_summarize_says_what_it_guesses_and_leaves_out(run):
    pl.DataFrame(
        {"id": range(6), "site": ["north"] * 6, "x": [0.5, 1, 2, 3, 4, None]}
    ).with_columns(label=pl.Series(["a", "b"] * 3)).write_csv("d.csv")
    result = run("summarize", "d.csv", "-o", "d.moments")
    assert result.exit_code == 0
    assert result.stderr.splitlines() == [
        "note: taking 'label' as the target, by its name [SF105]",
        "note: columns left out: 'site' (constant); 'id' (ids) [SF102]",
        "d.moments: Moments(2 classes × 1 feature, 6 rows, weight 6, per-class scatter); "
        "not used: 2 columns",
    ]


def test_quiet_says_nothing(run):
    result = run("summarize", "penguins", "-o", "p.moments", "--quiet")
    assert (result.exit_code, result.stdout, result.stderr) == (0, "", "")


def test_summarize_reads_standard_input(ok):
    ok(
        "summarize",
        "-",
        "-t",
        "species",
        "-o",
        "a",
        stdin=datasets.load("iris").path.read_bytes(),
    )
    assert sf.load("a").counts.tolist() == [50, 50, 50]


def test_summarize_may_keep_less_or_more(ok):
    ok("summarize", "iris", "--storage", "diagonal", "-o", "d")
    assert sf.load("d").storage == "diagonal"
    ok("summarize", "iris", "--fourth", "-o", "f")
    assert sf.load("f").fourth is not None


def test_merging_the_sites_is_fitting_the_whole(ok, ok_json):
    frame = datasets.load("iris").frame()
    for site, part in (("a", frame[:70]), ("b", frame[70:])):
        part.write_parquet(f"{site}.parquet")
        ok("summarize", f"{site}.parquet", "-t", "species", "-o", f"{site}.moments")
    assert ok_json("merge", "a.moments", "b.moments", "-o", "all.moments")["rows"] == 150
    ok("fit", "all.moments", "-o", "merged.suffice")
    ok("fit", "iris", "-o", "whole.suffice")
    merged, whole = sf.load("merged.suffice"), sf.load("whole.suffice")
    np.testing.assert_allclose(merged.covariance_, whole.covariance_, rtol=1e-10)


def test_forgetting_a_site_is_never_having_seen_it(ok, ok_json):
    frame = datasets.load("iris").frame()
    frame[::2].write_csv("half.csv")
    ok("summarize", "iris", "-o", "all.moments")
    ok("summarize", "half.csv", "-t", "species", "-o", "half.moments")
    done = ok_json("forget", "all.moments", "half.moments", "-o", "rest.moments")
    assert (done["forgotten"], done["rows"]) == (75, 75)
    X, y = datasets.load("iris").arrays()
    other = sf.Moments.of(X[1::2], y[1::2])
    np.testing.assert_allclose(sf.load("rest.moments").scatters, other.scatters, rtol=1e-9)


def test_a_model_forgets_rows_of_a_file(ok, iris):
    datasets.load("iris").frame()[:10].write_csv("gone.csv")
    ok("forget", iris, "gone.csv", "--target", "species", "-o", iris)
    assert sf.load(iris).moments_.counts.tolist() == [40, 50, 50]


def test_rows_with_a_constant_category_are_forgotten_in_the_columns_of_the_total(ok):
    frame = datasets.load("penguins").frame()
    frame.write_csv("all.csv")
    frame[:5].write_csv("gone.csv")  # all of one island and one year
    frame[5:].write_csv("rest.csv")
    ok("summarize", "all.csv", "-t", "species", "-o", "all.moments")
    ok("summarize", "rest.csv", "-t", "species", "-o", "rest.moments")
    ok("forget", "all.moments", "gone.csv", "-t", "species", "-o", "left.moments")
    left = sf.load("left.moments")
    rest = sf.load("rest.moments")
    assert left.feature_names == rest.feature_names
    assert left.counts.tolist() == rest.counts.tolist()
    np.testing.assert_allclose(left.means, rest.means, rtol=1e-9, atol=1e-9)


GROUPS = [["setosa"], ["versicolor", "virginica"]]
TIED = f"tied={json.dumps(GROUPS)}"


@pytest.mark.parametrize(
    ("options", "name", "settings"),
    [
        (["--model", "lda"], "LDA", {"divisor": "mle"}),
        (["--model", "qda", "--divisor", "unbiased"], "QDA", {"divisor": "unbiased"}),
        (["--model", "nb"], "GaussianNB", {"divisor": "mle"}),
        (
            ["-m", "gaussian", "--tied", "--shrinkage", "0.25", "--pooling", "0.5"],
            "GaussianClassifier",
            {"tied": True, "shrinkage": 0.25, "pooling": 0.5},
        ),
        (["--shrinkage", "oas"], "LDA", {"shrinkage": "oas"}),
        (["--shrinkage", "ledoit-wolf"], "LDA", {"shrinkage": "ledoit-wolf"}),
        (["--priors", "uniform"], "LDA", {"priors": "uniform"}),
        (["--temperature", "0.5", "--reject", "0.1"], "LDA", {"temperature": 0.5}),
        (
            ["-m", "gaussian", "--set", f"tied={json.dumps(GROUPS)}"],
            "GaussianClassifier",
            {"tied": GROUPS},
        ),
        (
            ["--set", 'shrinkage={"intensity": 0.2, "target": "sphere"}'],
            "LDA",
            {"shrinkage": sf.Shrinkage(0.2, target="sphere")},
        ),
    ],
)
def test_fit_takes_the_settings_of_the_estimator(ok, options, name, settings):
    ok("fit", "iris", *options, "-o", "m.suffice")
    model = sf.load("m.suffice")
    assert type(model).__name__ == name
    assert {key: getattr(model, key) for key in settings} == settings


def test_a_preset_refuses_the_setting_it_stands_for(refused):
    assert "LDA has no setting 'tied'" in refused("fit", "iris", "--untied", "-o", "m.suffice")


@pytest.mark.parametrize(
    ("model", "verbs"),
    [
        ("lda", {"sample", "boundary", "forget"}),
        ("qda", {"sample", "boundary", "forget"}),
        ("nb", {"sample", "boundary", "forget"}),
        ("rda", {"sample", "boundary", "forget"}),
        ("gaussian", {"sample", "boundary", "forget"}),
        ("mixture", {"sample"}),
        ("auto", {"sample"}),
        ("least-squares", {"boundary", "forget"}),
        ("logistic", {"boundary"}),
        ("perceptron", {"boundary"}),
    ],
)
def test_every_model_is_fitted_saved_and_asked(ok, ok_json, run, refused, model, verbs):
    ok("fit", "iris", "-m", model, "-o", "m.suffice")
    datasets.load("iris").frame()[:5].write_csv("part.csv")
    assert ok_json("predict", "m.suffice", "iris", "-o", "out.csv")["rows"] == 150
    labels = pl.read_csv("out.csv")["label"]
    assert (labels == datasets.load("iris").frame()["species"]).mean() > 0.8
    assert ok("show", "m.suffice")
    assert json.loads(ok("export", "m.suffice"))["classes"][0] == "setosa"
    commands = {
        "sample": ("sample", "m.suffice", "-n", "3"),
        "boundary": ("boundary", "m.suffice", "setosa", "virginica"),
        "forget": ("forget", "m.suffice", "part.csv", "-t", "species", "-o", "rest.suffice"),
    }
    missing = {"sample": "densities", "boundary": "boundary", "forget": "moments"}
    for verb, command in commands.items():
        if verb in verbs:
            ok(*command)
        else:
            assert f"has no {missing[verb]}" in refused(*command)


def test_what_is_left_to_auto_is_chosen_from_rows(ok, refused):
    ok(
        "fit",
        "iris",
        "-m",
        "qda",
        "--shrinkage",
        "auto",
        "--temperature",
        "auto",
        "-o",
        "m.suffice",
    )
    assert 0 <= sf.load("m.suffice").settings_.shrinkage <= 1
    ok("fit", "iris", "-m", "qda", "--set", "power=yeo-johnson", "-o", "t.suffice")
    assert sf.load("t.suffice").moments_.power is not None
    ok("summarize", "iris", "-o", "i.moments")
    assert "'auto' needs rows" in refused("fit", "i.moments", "-m", "rda", "-o", "m.suffice")
    assert "must be fitted to rows" in refused(
        "fit", "i.moments", "-m", "logistic", "-o", "m.suffice"
    )


@pytest.mark.parametrize(
    ("data", "setting"), [("iris", 'estimate="predictive"'), ("penguins", 'covariance="tree"')]
)
def test_fit_says_no_likelihood_where_sums_do_not_tell_it(ok_json, data, setting):
    done = ok_json("fit", data, "-m", "gaussian", "--set", setting, "-o", "m.suffice")
    assert done["rows"] == len(datasets.load(data).frame())
    assert "log_likelihood" not in done


def test_show_prints_the_settings_that_are_no_defaults(ok):
    ok("fit", "iris", "-m", "qda", "--shrinkage", "0.1", "-o", "m.suffice")
    assert "QDA(shrinkage=0.1)\n" in ok("show", "m.suffice")


def test_fit_takes_a_prior_for_every_class(ok):
    shares = {"setosa": 0.5, "versicolor": 0.25, "virginica": 0.25}
    ok("fit", "iris", *(f"--priors={c}={p}" for c, p in shares.items()), "-o", "m.suffice")
    np.testing.assert_allclose(sf.load("m.suffice").priors_, [0.5, 0.25, 0.25])


def test_fit_reads_the_sums_inside_a_model(ok, iris):
    ok("fit", iris, "--model", "qda", "-o", "q.suffice")
    assert sf.load("q.suffice").moments_.counts.sum() == 150


def test_predict_writes_a_row_for_every_row(ok, ok_json, iris):
    done = ok_json("predict", iris, "iris", "-o", "out.parquet", "--keep", "species")
    assert done == {"output": "out.parquet", "rows": 150, "unanswered": 0, "outliers": 0}
    out = pl.read_parquet("out.parquet")
    assert (out["species"] == out["label"]).mean() == pytest.approx(0.98)


def test_predict_answers_on_standard_output(ok, iris):
    text = ok("predict", iris, "-", stdin=datasets.load("iris").path.read_bytes())
    lines = text.splitlines()
    assert lines[0] == "label,p_setosa,p_versicolor,p_virginica,log_density,outlier"
    assert len(lines) == 151


def test_predict_copies_ids_as_they_are_written(ok, iris):
    frame = datasets.load("iris").frame().with_row_index("row_id")
    frame = frame.with_columns(
        pl.format("{}{}", pl.lit("00"), pl.col("row_id")).alias("row_id")
    )
    frame.write_csv("new.csv")
    ok("predict", iris, "new.csv", "-o", "out.csv")
    lines = [line.split(",")[0] for line in Path("out.csv").read_text().splitlines()]
    assert lines[:3] == ["row_id", "000", "001"]


def test_predict_may_keep_everything(ok, iris):
    ok("predict", iris, "iris", "--keep-all", "--prefix", "m.", "-o", "out.csv")
    columns = pl.read_csv("out.csv").columns
    assert columns[:5] == datasets.load("iris").frame().columns
    assert columns[5:7] == ["m.label", "m.p_setosa"]


def test_the_rate_of_outliers_may_be_set(ok_json, iris):
    few = ok_json("predict", iris, "iris", "-o", "a.csv", "--outlier-rate", "0.001")[
        "outliers"
    ]
    many = ok_json("predict", iris, "iris", "-o", "b.csv", "--outlier-rate", "0.2")["outliers"]
    assert few < 5 < 15 < many < 50


def test_sample_draws_the_same_rows_for_the_same_seed(ok, iris):
    first = ok("sample", iris, "-n", "20", "--seed", "7")
    assert first == ok("sample", iris, "-n", "20", "--seed", "7")
    assert first != ok("sample", iris, "-n", "20", "--seed", "8")
    assert first.splitlines()[0].endswith("petal_width,label")
    assert len(first.splitlines()) == 21


def test_sample_takes_no_column_for_the_labels(ok, refused):
    rows = "".join(f"{i % 5},{i % 7},{'uv'[i % 2]}\n" for i in range(40))
    Path("rows.csv").write_text(f"x,label,t\n{rows}")
    ok("fit", "rows.csv", "-t", "t", "-o", "m.suffice")
    assert "'label' is a feature: name another, such as --label class" in refused(
        "sample", "m.suffice", "-n", "3"
    )
    assert ok("sample", "m.suffice", "-n", "3", "--label", "t").startswith("x,label,t\n")


def test_sample_writes_any_number_of_rows(ok, iris):
    ok("sample", iris, "-n", "250000", "--label", "species", "-o", "s.parquet")
    assert pl.read_parquet("s.parquet")["species"].n_unique() == 3


def test_what_is_sampled_can_be_fitted_again(ok, iris):
    ok("sample", iris, "-n", "20000", "--seed", "1", "-o", "s.csv")
    ok("fit", "s.csv", "-o", "again.suffice", "--target", "label")
    np.testing.assert_allclose(
        sf.load("again.suffice").means_, sf.load(iris).means_, atol=0.05
    )


def test_boundary_prints_the_equation(ok, ok_json, iris):
    text = ok("boundary", iris, "versicolor", "virginica").strip()
    assert text == sf.load(iris).boundary("versicolor", "virginica").equation()
    document = ok_json("boundary", iris, "versicolor", "virginica")
    assert document["kind"] == "Hyperplane"
    assert document["equation"] == text


def test_labels_that_are_numbers_are_written_as_text(ok):
    ok("fit", "digits", "-m", "nb", "-o", "d.suffice")
    assert "= 0" in ok("boundary", "d.suffice", "3", "8")


def test_show_tells_what_is_inside(ok, ok_json, iris):
    text = ok("show", iris)
    assert "LDA(" in text
    assert "mean petal_length" in text
    document = ok_json("show", iris)
    assert document["estimator"] == "LDA"
    assert document["counts"] == [50, 50, 50]
    ok("summarize", "digits", "-o", "d.moments")
    assert "…" in ok("show", "d.moments")


def test_export_gives_the_numbers_of_the_model(ok, iris):
    document = json.loads(ok("export", iris))
    model = sf.load(iris)
    np.testing.assert_allclose(document["coef"], model.coef_)
    np.testing.assert_allclose(document["covariance"], model.covariance_)
    assert document["classes"] == model.classes_.tolist()
    ok("export", iris, "--to", "json", "-o", "m.json")
    assert json.loads(Path("m.json").read_text()) == document


def test_datasets_lists_what_there_is(ok, ok_json):
    assert all(name in ok("datasets") for name in datasets.names())
    assert [card["name"] for card in ok_json("datasets")["datasets"]] == list(datasets.names())


def test_datasets_writes_one(ok):
    ok("datasets", "penguins", "-o", "p.parquet")
    assert pl.read_parquet("p.parquet").height == 344
    assert ok("datasets", "exam").splitlines()[0] == "hours,passed"


def test_commands_options_data_sets_and_files_are_completed():
    from click.shell_completion import ShellComplete

    from suffice.cli.group import suffice

    complete = ShellComplete(suffice, {}, "suffice", "_SUFFICE_COMPLETE").get_completions
    assert [item.value for item in complete([], "fi")] == ["fit"]
    assert "--target" in [item.value for item in complete(["fit"], "--ta")]
    offered = complete(["fit"], "pen")
    assert [(item.value, item.type) for item in offered] == [
        ("penguins", "plain"),
        ("pen", "file"),
    ]


@pytest.mark.parametrize("name", datasets.names())
def test_every_data_set_can_be_fitted_and_predicted(ok, ok_json, name):
    ok("fit", name, "-o", "m.suffice", "--shrinkage", "0.1")
    done = ok_json("predict", "m.suffice", name, "-o", "out.csv")
    assert done["rows"] == datasets.load(name).n_rows


def test_show_lists_the_coefficients_of_a_recommended_linear_model_of_mixed_columns(ok):
    rng = np.random.default_rng(0)
    x = 100 + rng.normal(size=200)
    kind = np.where(rng.random(200) < 0.5, "a", "b")
    chance = 1 / (1 + np.exp(-3 * (x - 100) - 2 * (kind == "b")))
    y = np.where(rng.random(200) < chance, "yes", "no")
    rows = pl.DataFrame({"x": x, "kind": kind})
    fitted = make_pipeline(TableEncoder(), sf.LogisticRegression(1.0)).fit(rows, y)
    portable(fitted).save("d.suffice")  # as a report saves it
    shown = [line.split() for line in ok("show", "d.suffice").splitlines() if line.strip()]
    coefficients = {line[0]: line[-1].replace("−", "-") for line in shown}
    model = sf.load("d.suffice")
    at = pl.DataFrame({"x": [0.0, 1.0], "kind": ["a", "a"]})
    log_odds = np.diff(model.predict_log_proba(at), axis=1)[:, 0]
    assert float(coefficients["x"]) == pytest.approx(log_odds[1] - log_odds[0], rel=0.01)
    assert float(coefficients["intercept"]) == pytest.approx(log_odds[0], rel=0.01)
