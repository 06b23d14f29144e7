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
from sklearn.ensemble import RandomForestClassifier
from sklearn.neighbors import KNeighborsClassifier

import suffice as sf
from suffice.cli.group import suffice
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
    if hasattr(report.estimator, "save"):
        report.estimator.save("rows model.suffice")
    codes = blocks(report, Code, "use")
    assert ("suffice predict" in codes[0].text) == hasattr(report.estimator, "save")
    for code in codes:
        if code.language == "python":
            known = {"X": frame, "y": y, "X_new": frame[:5]}
            exec(code.text, known)
            answers = known["model"].predict(frame)
            assert (answers == y).mean() > 0.7
            continue
        for line in code.text.splitlines():
            said = CliRunner().invoke(suffice, shlex.split(line)[1:])
            assert said.exit_code == 0, (line, said.output)


def about(estimator, X, y):
    data = DocumentedTable.of(X, y)
    settings = ReportSettings(estimator, ["NB"], 3, 0, progress=False, fast=True)
    return report_of(data, settings, Provenance(None, "m.suffice"))


def test_a_model_too_large_for_the_page_is_said_to_be(rows, monkeypatch):
    assert "too large" not in about(sf.LDA(), *rows).write("md")
    monkeypatch.setattr("suffice.present.report.usage.MOST_BYTES", 300)
    report = about(sf.LDA(), *rows)
    assert "too large for the page to carry" in blocks(report, Paragraph, "use")[0].text
    assert not blocks(report, Download)


def test_a_model_that_no_file_can_hold_is_told_how_to_keep(rows):
    own = sf.AutoGaussian(kernel_features=False, members=[KNeighborsClassifier()])
    for estimator in (RandomForestClassifier(10, random_state=0), own):
        report = about(estimator, rows[0].select("a", "b"), rows[1])
        assert "joblib" in blocks(report, Paragraph, "use")[0].text
        assert "joblib.dump(model, 'model.joblib')" in blocks(report, Code, "use")[0].text


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
