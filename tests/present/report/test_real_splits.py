"""Reports state the error of unseen groups and of later rows beside that of random rows."""

import json
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import polars as pl
import pytest
from click.testing import CliRunner

import suffice as sf
from suffice.cli.group import suffice
from suffice.core.text.numbers import percent
from suffice.errors import SufficeError
from suffice.present.report.build import report_of
from suffice.present.report.documented_table import DocumentedTable
from suffice.present.report.findings import ReportSettings, _without_answered_hint

MODELS = ["neighbours"]


def patients(n_patients=40, n_visits=6):
    """Return rows of patients: visits are alike, and the class is the patient's by chance."""
    rng = np.random.default_rng(0)
    patient = np.repeat(np.arange(n_patients), n_visits)
    centres = 4 * rng.normal(size=(n_patients, 3))
    sick = np.where(rng.permutation(n_patients) % 2, "sick", "well")
    X = pd.DataFrame(centres[patient] + 0.1 * rng.normal(size=(len(patient), 3)))
    X.columns = ["a", "b", "c"]
    return X, sick[patient], pd.Series(patient, name="patient")


@pytest.mark.parametrize("given", [True, False])
def test_a_table_of_patients_has_the_error_of_unseen_patients(given):
    X, y, patient = patients()
    if given:
        page = sf.report(X, y, models=MODELS, cv=5, groups=patient, fast=True, progress=False)
    else:
        X = X.assign(patient=patient)
        page = sf.report(X, y, models=MODELS, cv=5, fast=True, progress=False)
    errors = page.comparison.real_errors
    random, unseen = errors.errors
    assert (random.split, unseen.split) == ("random rows", "unseen groups")
    assert unseen.is_worse
    assert unseen.error > random.error + 0.2
    assert page.answer.usable != "yes"
    assert f"{percent(unseen.error)} " in page.answer.headline
    # the constant classifier is compared on rows held out at random, and so is said to be
    assert ("On the same rows, the constant classifier" in page.answer.headline) != given
    assert errors.sentence in page.answer.caveats
    assert "rows in unseen groups of patient" in errors.sentence
    assert json.loads(page.write("json"))["real_errors"]["expected"] == "unseen groups"


@pytest.mark.filterwarnings("ignore:column '(patient|x3)' has 100 levels")
@pytest.mark.parametrize("kind", ["pandas", "polars", "array"])
def test_named_patients_are_groups_though_their_levels_are_merged(kind):
    X, y, patient = patients(n_patients=100, n_visits=4)
    X = X.assign(patient=[f"P{code:03d}" for code in patient])
    if kind == "polars":
        X = pl.from_pandas(X)
    if kind == "array":
        X = X.to_numpy(dtype=object)
    data = DocumentedTable.of(X, y)
    assert len(np.unique(data.identities(data.profiles[3]))) == 100
    if kind != "array":
        settings = ReportSettings(models=MODELS, cv=5, fast=True, progress=False)
        errors = report_of(data, settings).comparison.real_errors
        assert errors.groups_name == "patient"
        assert [each.split for each in errors.errors] == ["random rows", "unseen groups"]


@pytest.mark.filterwarnings("ignore:column 'day' holds dates")
def test_a_table_with_dates_has_the_error_of_later_rows():
    rng = np.random.default_rng(1)
    n = 300
    days = pd.date_range("2024-01-01", periods=n)
    y = rng.integers(0, 2, n)
    # what the column means turns round in the middle
    x = rng.normal(size=n) + 3 * np.where(np.arange(n) < n // 2, y, -y)
    X = pd.DataFrame({"x": x, "day": days})
    page = sf.report(X, y, models=["tree"], cv=5, fast=True, progress=False)
    random, later = page.comparison.real_errors.errors
    assert later.split == "the future"
    assert later.n_rows < random.n_rows
    assert later.is_worse
    assert f"expect {percent(later.error)} errors" in page.answer.headline


def test_given_times_have_the_error_of_later_rows_beside_that_of_groups():
    rng = np.random.default_rng(2)
    X, y, patient = patients(n_patients=60)
    week = rng.permutation(len(X)) // 10
    late = week > 18
    X = X.assign(patient=patient)
    y = np.where(late & (rng.random(len(X)) < 0.6), np.where(y == "sick", "well", "sick"), y)
    settings = ReportSettings(models=MODELS, cv=5, fast=True, progress=False)
    page = report_of(DocumentedTable.of(X, y, time=week), settings)
    errors = page.comparison.real_errors.errors
    assert [each.split for each in errors] == ["random rows", "unseen groups", "the future"]
    assert errors[2].n_rows < len(X)
    # rows of weight zero are left out, and their times too
    kept = DocumentedTable.of(X, y, sample_weight=np.where(late, 0.0, 1.0), time=week)
    assert kept.time.max() == 18
    with pytest.raises(SufficeError, match="give one time for each row"):
        DocumentedTable.of(X, y, time=week[:-1])


def test_the_command_line_takes_the_column_of_times_and_leaves_it_out(tmp_path):
    X, y, patient = patients(n_patients=30)
    table = X.assign(patient=patient, year=np.arange(len(X)) // 20, state=y)
    file = tmp_path / "visits.csv"
    table.to_csv(file, index=False)
    page = tmp_path / "page.json"
    command = ["report", str(file), "-t", "state", "--time", "year", "--fast", "-o", str(page)]
    done = CliRunner().invoke(suffice, command)
    assert done.exit_code == 0, done.output
    document = json.loads(page.read_text())
    splits = [each["split"] for each in document["real_errors"]["errors"]]
    assert splits == ["random rows", "unseen groups", "the future"]
    assert "year" not in sf.load(tmp_path / "visits.suffice").feature_names_in_
    both = CliRunner().invoke(suffice, [*command, "--groups", "patient", "--force"])
    assert both.exit_code != 0


@pytest.mark.parametrize("weighted", [True, False])
def test_text_ids_of_many_levels_in_a_file_are_groups(weighted, tmp_path):
    X, y, patient = patients(n_patients=60, n_visits=4)
    table = X.assign(PatientID=[f"P{code:03d}" for code in patient], state=y, w=1.0)
    table.loc[5, "w"] = 0.0
    file = tmp_path / "visits.csv"
    table.drop(columns=[] if weighted else ["w"]).to_csv(file, index=False)
    page = tmp_path / "page.json"
    command = ["report", str(file), "-t", "state", "--fast", "-o", str(page)]
    done = CliRunner().invoke(suffice, [*command, *(["--weight", "w"] if weighted else [])])
    assert done.exit_code == 0, done.output
    errors = json.loads(page.read_text())["real_errors"]
    assert errors["groups"] == "PatientID"
    assert [each["split"] for each in errors["errors"]] == ["random rows", "unseen groups"]
    # each of the 60 patients is a group, not the 39 that are levels and one of all others
    assert "the 39 most frequent are kept" in done.output
    random, unseen = errors["errors"]
    assert unseen["error"] > random["error"] + 0.1


def test_a_table_without_groups_and_dates_has_one_error(iris_report):
    assert iris_report.comparison.real_errors is None
    assert iris_report.answer.document()["real_errors"] is None


@pytest.mark.parametrize(
    ("hint", "split", "is_kept"),
    [
        ("give --groups make", "unseen groups", False),
        ("give --groups site", "unseen groups", True),
        ("give --groups make", "the future", True),
    ],
)
def test_a_hint_at_groups_is_dropped_once_their_error_is_known(
    iris_report, hint, split, is_kept
):
    checks = replace(iris_report.judgement.checks, together=hint)
    errors = SimpleNamespace(groups_name="make", errors=(SimpleNamespace(split=split),))
    told = _without_answered_hint(checks, SimpleNamespace(real_errors=errors))
    assert bool(told.together) == is_kept
