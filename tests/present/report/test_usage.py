"""Whatever the page tells a reader to type is typed here, for each kind of model."""

import base64
import io
import os
import shlex

import matplotlib as mpl
import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.neighbors import KNeighborsClassifier

import suffice as sf
from suffice.cli.group import suffice
from suffice.core.text.numbers import points_between
from suffice.errors import InvalidParameterError
from suffice.present.report.blocks import Code, Download, Paragraph
from suffice.present.report.build import report_of
from suffice.present.report.documented_table import DocumentedTable
from suffice.present.report.findings import ReportSettings
from suffice.present.report.usage import Provenance

from .test_report import blocks

mpl.use("Agg")
KINDS = {
    "LDA": sf.LDA(),
    "QDA": sf.QDA(shrinkage=0.1),
    "power": sf.LDA(power="yeo-johnson"),
    "auto": sf.AutoGaussian(kernel_features=False),
    "logistic": sf.LogisticRegression(l2="auto"),
    "perceptron": sf.Perceptron(variant="averaged"),
    "least squares": sf.LeastSquaresClassifier(),
    "forest": RandomForestClassifier(10, random_state=0),
    "tree": "decision tree",
    "boosting": HistGradientBoostingClassifier(max_iter=5, random_state=0),
    "neighbours": "nearest neighbours",
    "svm": "RBF-SVM",
}


@pytest.fixture(params=["plain", "mixed"])
def rows(request):
    rng = np.random.default_rng(0)
    y = np.arange(80) % 2 * 2 - 1  # −1 and 1: a name that looks like an option
    frame = pl.DataFrame({"a": rng.normal(size=80) + y, "b": np.exp(rng.normal(size=80))})
    if request.param == "mixed":
        frame = frame.with_columns(c=pl.Series(rng.choice(["u", "v", None], 80).tolist()))
    return frame, y


@pytest.mark.parametrize("kind", KINDS)
def test_every_command_and_every_line_of_code_runs(kind, rows, tmp_path, monkeypatch):
    frame, y = rows
    monkeypatch.chdir(tmp_path)
    estimator = KINDS[kind]
    if isinstance(estimator, str):
        from suffice.evaluate.comparison.models import parse_models

        (estimator,) = (m.estimator for m in parse_models([estimator], 0))
    data = DocumentedTable.of(frame, y, name="rows", target="kind")
    settings = ReportSettings(estimator, ["tree"], 3, 0, progress=False, fast=True)
    report = report_of(data, settings, Provenance(None, "rows model.suffice"))
    frame.write_csv("new.csv")
    report.save_model("rows model.suffice")
    codes = blocks(report, Code, "use")
    assert "suffice predict" in codes[0].text
    for code in codes:
        if code.language == "python":
            # X and y are the rows of the report, or are read by the code itself
            known = {"X": frame, "y": y} if "# X, y:" in code.text else {}
            exec(code.text, known)
            answers = known["model"].predict(frame)
            assert (answers == y).mean() > 0.7
            continue
        for line in code.text.splitlines():
            said = CliRunner().invoke(suffice, shlex.split(line)[1:])
            assert said.exit_code == 0, (line, said.output)
    assert_predicts_alike(report.estimator, frame, tmp_path)


def assert_predicts_alike(estimator, frame, folder):
    """Assert that the saved model, loaded and served, states the estimator's probabilities."""
    loaded = sf.load(folder / "rows model.suffice")
    np.testing.assert_array_equal(loaded.predict(frame), estimator.predict(frame))
    if not hasattr(estimator, "predict_proba"):
        return
    stated = estimator.predict_proba(frame)
    np.testing.assert_allclose(loaded.predict_proba(frame), stated, rtol=1e-12, atol=1e-300)
    served = pl.read_csv(folder / "predictions.csv")
    columns = [name for name in served.columns if name.startswith("p_")]
    np.testing.assert_allclose(served.select(columns), stated, rtol=1e-9, atol=1e-12)


def about(estimator, X, y):
    data = DocumentedTable.of(X, y)
    settings = ReportSettings(estimator, ["NB"], 3, 0, progress=False, fast=True)
    return report_of(data, settings, Provenance(None, "m.suffice"))


def test_a_model_too_large_for_the_page_is_said_to_be(rows, monkeypatch):
    assert "too large" not in about(sf.LDA(), *rows).write("md")
    monkeypatch.setattr("suffice.present.report.usage.MOST_BYTES", 300)
    report = about(sf.LDA(), *rows)
    assert "too large to embed in this page" in blocks(report, Paragraph, "use")[0].text
    assert not blocks(report, Download)


class OfAUser(KNeighborsClassifier):
    """A classifier that no library knows."""


def test_of_a_model_that_no_file_can_hold_the_best_that_one_can_is_named_with_its_price(rows):
    own = sf.AutoGaussian(kernel_features=False, members=[KNeighborsClassifier()])
    for estimator in (OfAUser(), own):
        report = about(estimator, rows[0].select("a", "b"), rows[1])
        said = blocks(report, Paragraph, "use")[0].text
        assert "joblib" in said
        errors = report.comparison["GaussianNB"].error, report.judgement.outcome.error
        assert "GaussianNB is best: it misclassifies" in said
        assert f"{points_between(*errors)} percentage points" in said
        assert "joblib.dump(model, 'model.joblib')" in blocks(report, Code, "use")[0].text
        with pytest.raises(InvalidParameterError, match="cannot be saved"):
            report.save_model("model.suffice")


def test_the_code_on_the_page_imports_from_where_users_do():
    report = about(
        HistGradientBoostingClassifier(max_iter=3),
        np.random.default_rng(0).normal(size=(60, 2)),
        np.arange(60) % 2,
    )
    (code,) = (c.text for c in blocks(report, Code, "use") if "fitted again" in c.caption)
    assert "from sklearn.ensemble import HistGradientBoostingClassifier" in code


def test_each_import_stands_once_at_the_start_of_the_code():
    data = sf.datasets.load("iris").frame()
    table = DocumentedTable.of(data.drop("species"), data["species"].to_numpy())
    reading = "import suffice as sf\nimport polars as pl\n\nX = 1\ny = 2"
    settings = ReportSettings(estimator=sf.LDA(), models=["NB"], fast=True, progress=False)
    report = report_of(table, settings, Provenance(reading=reading))
    (code,) = (c.text for c in blocks(report, Code, "use") if "fitted again" in c.caption)
    assert code.splitlines()[:5] == [
        "import polars as pl",
        "import suffice as sf",
        "",
        "X = 1",
        "y = 2",
    ]


def test_a_boundary_is_offered_where_there_is_one(iris_report):
    data = DocumentedTable.of(np.random.default_rng(0).normal(size=(40, 2)), np.arange(40) % 2)
    for estimator, has in ((sf.LDA(), True), (sf.AutoGaussian(kernel_features=False), False)):
        settings = ReportSettings(estimator, ["tree"], 3, 0, progress=False, fast=True)
        report = report_of(data, settings, Provenance(None, "m.suffice"))
        assert ("suffice boundary" in report.write("md")) == has


def test_the_page_carries_predictions_and_the_model(iris_report, tmp_path):
    files = {d.name: base64.b64decode(d.base64) for d in blocks(iris_report, Download)}
    told = pl.read_csv(io.BytesIO(files["predictions.csv"]))
    rows = iris_report.judgement.held_out
    assert told["predicted"].to_list() == rows.predicted_labels.tolist()
    np.testing.assert_allclose(told["p(setosa)"], rows.posteriors[:, 0], atol=5e-5)
    (tmp_path / "m.suffice").write_bytes(files["model.suffice"])
    np.testing.assert_array_equal(
        sf.load(tmp_path / "m.suffice").means_, iris_report.estimator.means_
    )
    page = iris_report.write("html")
    for download in blocks(iris_report, Download):
        assert f'download="{download.name}"' in page
        assert download.base64 in page
    assert os.linesep.encode() in files["predictions.csv"]
