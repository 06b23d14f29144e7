"""The report fits each model once for every fold, and the chosen one once more on all rows."""

from collections import Counter

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import stats
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

import suffice as sf
from suffice.core.decision.predictions import Predictions
from suffice.core.table.sampling import stratified_sample
from suffice.evaluate.comparison import comparison
from suffice.evaluate.comparison.comparison import compared, folds_for
from suffice.evaluate.comparison.fit_times import FitSize
from suffice.evaluate.comparison.models import ComparedModel, parse_models
from suffice.present.report import build, findings
from suffice.present.report.documented_table import DocumentedTable
from suffice.present.report.findings import ReportSettings

FITS: Counter[str] = Counter()


class Counted(DecisionTreeClassifier):
    """A tree that counts how often it is fitted."""

    def fit(self, X, y, sample_weight=None):
        FITS[f"{type(self).__name__} of depth {self.max_depth}"] += 1
        return super().fit(X, y, sample_weight)


def test_no_model_is_fitted_twice_on_a_fold(iris, monkeypatch):
    monkeypatch.setattr("suffice.present.report.findings.growth", lambda *_, **__: None)
    X, y = iris
    FITS.clear()
    models = {"stump": Counted(max_depth=1, random_state=0)}
    sf.report(X, y, estimator=Counted(max_depth=3, random_state=0), models=models, cv=4)
    assert FITS == {"Counted of depth 1": 4, "Counted of depth 3": 4 + 1}


@pytest.mark.parametrize("name", ["QDA", "tree"])
def test_kept_predictions_are_those_of_the_models_of_the_other_folds(name, iris):
    X, y = iris
    folds = folds_for(X, y, 5, None, None, 0)
    (model,) = parse_models(name, 0)
    kept = compared((model,), folds, 0, keep=True)[model.name].held_out.in_order()
    np.testing.assert_array_equal(kept.rows, np.arange(len(y)))
    for train, test in folds.splits:
        fitted = model.estimator.fit(X[train], y[train])
        again = Predictions.by(fitted, X[test], y[test])
        np.testing.assert_array_equal(kept.predicted[test], again.predicted)
        np.testing.assert_allclose(kept.posteriors[test], again.posteriors, atol=1e-9)


def test_posteriors_are_not_kept_unless_asked_for(iris):
    outcome = sf.compare(*iris, ["LDA"], 3)["LDA"]
    assert outcome.held_out.logs is None
    assert outcome.held_out.error == pytest.approx(outcome.error, abs=0.01)


@pytest.mark.parametrize("mixed", [False, True])
def test_of_many_rows_others_than_the_compared_ones_test_the_choice(mixed, monkeypatch):
    monkeypatch.setattr(build, "SAMPLE_ROWS", 120)
    rng = np.random.default_rng(3)
    y = rng.integers(0, 2, 300)
    X = pd.DataFrame({"a": rng.normal(size=300) + y, "b": rng.normal(size=300), "c": y})
    X["c"] = rng.permutation(X["c"])
    if mixed:
        X["c"] = np.where(X["c"] == 1, "u", "v")
    result = sf.report(X, y, models=["LDA", "tree"])
    sample = stratified_sample(y, 120, 0)
    # others test the choice, so that three folds suffice to make it; the rest is not kept
    assert (result.comparison.n_folds, result.judgement.data.table.n_rows) == (3, 120)
    others = np.random.default_rng(0).permutation(np.setdiff1d(np.arange(300), sample))[:120]
    assert result.comparison.reference == "LDA"
    learnt = sf.LDA().fit(X.iloc[sample], y[sample])
    wrong = learnt.predict(X.iloc[others]) != y[others]
    found = result.judgement.verdict.choice
    assert (found.error, found.n_rows) == (pytest.approx(wrong.mean()), 120)
    interval = stats.binomtest(int(wrong.sum()), 120).proportion_ci(method="wilson")
    assert (found.low, found.high) == pytest.approx((interval.low, interval.high))
    assert "On 120 other rows, which were not used to choose the model" in " ".join(
        result.judgement.verdict.sentences
    )


def test_a_model_too_slow_for_all_rows_learns_from_the_sample_and_the_page_says_so(
    monkeypatch,
):
    monkeypatch.setattr(build, "SAMPLE_ROWS", 120)
    monkeypatch.setattr("suffice.present.report.findings.MANY_ROWS", 250)
    rng = np.random.default_rng(5)
    y = rng.integers(0, 2, 300)
    X = rng.normal(size=(300, 2)) + 2 * y[:, None]
    slow = sf.report(X, y, estimator=KNeighborsClassifier(9), models=["LDA"], cv=3, fast=True)
    assert slow.estimator.n_samples_fit_ == 120
    said = slow.write("md")
    assert "KNeighborsClassifier was then fitted to a sample of 120 rows" in said
    assert "fitted to all rows" not in said
    quick = sf.report(X, y, estimator=sf.LDA(), models=["NB"], cv=3, fast=True)
    assert quick.estimator.moments_.counts.sum() == 300
    assert "LDA was then fitted to all rows" in quick.write("md")


def test_rows_of_numbers_are_held_once_however_many_there_are():
    rng = np.random.default_rng(6)
    x = np.asfortranarray(rng.normal(size=(500, 3)))
    data = DocumentedTable.of(pl.DataFrame(x, schema=["a", "b", "c"]), np.arange(500) % 2)
    assert np.shares_memory(data.table.x, x)
    assert np.shares_memory(data.named_rows.to_numpy(), x)
    assert all(np.shares_memory(p.values, x) for p in data.profiles)
    assert len({id(p.empty) for p in data.profiles}) == 1
    x[3, 1] = np.nan
    holed = DocumentedTable.of(pl.DataFrame(x, schema=["a", "b", "c"]), np.arange(500) % 2)
    assert [int(p.empty.sum()) for p in holed.profiles] == [0, 1, 0]


def test_boosting_libraries_join_reports_and_comparisons_where_installed(monkeypatch):
    def boosters(seed):
        assert seed == 7
        return (ComparedModel("LightGBM", sf.LDA()),)

    monkeypatch.setattr(findings, "installed_boosters", boosters)
    monkeypatch.setattr(comparison, "installed_boosters", boosters)
    size = FitSize(100, 4, 2)
    names = [model.name for model in ReportSettings(seed=7).members(10, size)[0]]
    assert {"AutoClassifier", "LightGBM", "gradient boosting"} <= set(names)
    for chosen in ({"models": ["LDA"]}, {"fast": True}):
        members, _ = ReportSettings(seed=7, **chosen).members(10, size)
        assert "LightGBM" not in [model.name for model in members]
    rng = np.random.default_rng(0)
    y = np.arange(40) % 2
    compared = sf.compare(rng.normal(size=(40, 2)) + y[:, None], y, cv=2, random_state=7)
    assert {outcome.name for outcome in compared.outcomes} == set(names)
