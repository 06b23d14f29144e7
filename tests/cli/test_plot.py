"""``suffice plot``: the figures of the library, from the command line."""

import inspect
import re

import numpy as np
import polars as pl
import pytest
from sklearn.model_selection import StratifiedKFold, cross_val_predict

import suffice as sf
from suffice import datasets, plots
from suffice.cli.plot import KINDS

PNG = b"\x89PNG"


APART = {"perceptron_steps", "regression_line"}  # not of labelled rows alone


def first_parameter(figure):
    return next(iter(inspect.signature(figure).parameters), "")


def test_every_kind_is_a_figure_and_is_listed_with_its_line(ok):
    text = " ".join(ok("plot", "--help").split())
    of = {name: first_parameter(getattr(plots, name)) for name in plots.__all__}
    drawn = {
        name for name, first in of.items() if first in ("X", "estimator", "source")
    } - APART
    assert set(KINDS) == {name.replace("_", "-") for name in drawn}
    for kind in KINDS:
        figure = getattr(plots, kind.replace("-", "_"))
        assert inspect.isfunction(figure)
        first = inspect.getdoc(figure).partition("\n")[0]
        line = KINDS[kind].shows
        assert f" {kind} {line} " in text
        assert first.endswith(line)
        assert not line.startswith("Return")
        assert KINDS[kind].function() is figure


@pytest.mark.parametrize(
    "kind", ["decision-regions", "density-surface", "confusion-matrix", "pairs"]
)
def test_a_figure_of_each_sort_is_written(ok_json, tmp_path, kind):
    wanted = ["--feature", "petal_length", "--feature", "petal_width"]
    told = ok_json("plot", kind, "iris", *wanted, "-o", "figure.png")
    assert told["output"] == "figure.png"
    assert (tmp_path / "figure.png").read_bytes()[:4] == PNG


def test_errors_are_those_of_rows_held_out(ok, monkeypatch):
    seen = []
    X, y = datasets.load("iris").arrays()

    def drawn(*args, **_):
        seen.append(args)
        return plots.pairs(X, y)

    drawn.__signature__ = inspect.signature(plots.roc)
    monkeypatch.setattr(plots, "roc", drawn)
    ok("plot", "roc", "iris", "-m", "qda", "-o", "roc.svg")
    ((found,),) = seen
    folds = StratifiedKFold(10, shuffle=True, random_state=0)
    expected = cross_val_predict(sf.QDA(), X, y, cv=folds, method="predict_proba")
    np.testing.assert_allclose(found.posteriors, expected, rtol=1e-9)
    ok("fit", "iris", "-m", "lda", "-o", "iris.suffice", "-q")
    ok("plot", "roc", "iris", "-m", "iris.suffice", "-o", "roc.svg", "--force")
    assert isinstance(seen[1][0], sf.LDA)


def test_a_model_file_finds_its_columns_by_name(ok):
    iris = datasets.load("iris").frame()
    iris.select(reversed(iris.columns)).with_columns(more=pl.lit(1.5)).write_csv("other.csv")
    ok("fit", "iris", "-m", "lda", "-o", "iris.suffice", "-q")
    ok(
        "plot",
        "confusion-matrix",
        "other.csv",
        "-t",
        "species",
        "-m",
        "iris.suffice",
        "-o",
        "c.svg",
    )
    ok(
        "plot",
        "decision-regions",
        "other.csv",
        "-t",
        "species",
        "-m",
        "iris.suffice",
        "-o",
        "d.svg",
    )


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["roc", "iris", "-o", "x.jpg"], ".pdf, .png, .svg"),
        (["roc", "iris", "-m", "perceptron", "-o", "x.png"], "perceptron has none"),
        (["roc", "iris", "-m", "best", "-o", "x.png"], "use one of lda"),
        (["roc", "iris", "--set", "colour=red", "-o", "x.png"], "has no parameter 'colour'"),
        (["roc", "iris", "--set", "theme=dark", "-o", "x.png"], "has no parameter 'theme'"),
        (
            ["roc", "few.csv", "-t", "kind", "-o", "x.png"],
            "no class has the 10 rows that 10 folds need",
        ),
        (
            ["roc", "few.csv", "-t", "kind", "-m", "iris.suffice", "-o", "x.png"],
            "few.csv does not have the columns 'sepal_length', 'sepal_width'",
        ),
        (
            ["neighbourhood", "iris", "-o", "x.png"],
            "needs the parameter 'query': give it by --set query=VALUE",
        ),
        (["pairs", "iris", "--weight", "sepal_width", "-o", "x.png"], "leave out --weight"),
    ],
)
def test_what_cannot_be_drawn_is_refused_in_a_line(refused, words, said, tmp_path):
    (tmp_path / "few.csv").write_text("a,b,kind\n1,2,x\n2,1,x\n3,5,y\n4,4,y\n")
    sf.LDA().fit_moments(sf.summarize("iris")).save(tmp_path / "iris.suffice")
    assert said in refused("plot", *words)


def test_an_unknown_kind_is_refused(refused):
    assert "'decision-regions'" in refused("plot", "regions", "iris", "-o", "x.png", code=2)


def test_show_prints_the_coefficients_of_a_logistic_model(ok, ok_json):
    ok("fit", "exam", "-m", "logistic", "--set", "l2=0", "-o", "exam.suffice", "-q")
    assert re.search(r"intercept +−4\.07771 *\n +hours +1\.50465", ok("show", "exam.suffice"))
    told = ok_json("show", "exam.suffice")
    np.testing.assert_allclose(
        [told["intercept"][0], told["coef"][0][0]], [-4.0777, 1.5046], atol=1e-4
    )


@pytest.mark.parametrize("model", ["m.suffice", "qda", "logistic"])
def test_errors_are_of_every_row_and_column_of_a_mixed_table(ok, tmp_path, model, monkeypatch):
    rng = np.random.default_rng(0)
    y = rng.choice(["no", "yes"], 120)
    city = np.where(rng.random(120) < 0.9, np.where(y == "yes", "Bern", "Rom"), "Wien")
    size = np.where(rng.random(120) < 0.2, None, rng.normal(size=120).round(3))
    frame = pl.DataFrame({"city": city, "size": size.tolist(), "y": y})
    frame.write_csv(tmp_path / "mixed.csv")
    ok("fit", "mixed.csv", "--target", "y", "-m", "lda", "-o", "m.suffice")
    seen, draw = [], plots.confusion_matrix

    def drawn(*of, **how):
        seen.extend(of)
        return draw(*of, **how)

    drawn.__signature__ = inspect.signature(draw)
    monkeypatch.setattr(plots, "confusion_matrix", drawn)
    ok("plot", "confusion-matrix", "mixed.csv", "--target", "y", "-m", model, "-o", "x.png")
    if model == "m.suffice":
        assert (seen[1].shape, seen[1].columns) == ((120, 2), ["city", "size"])
    else:
        assert len(seen[0].truth) == 120
        assert seen[0].right.mean() > 0.8  # by the city alone
