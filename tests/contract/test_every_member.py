"""Every kind of member of an average is saved, exported and explained, on every kind of table."""

from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.utils.class_weight import compute_sample_weight
from tests.data.sql.conftest import duckdb, sqlite
from tests.export import test_document as document_reader
from tests.export.mixed import table as mixed_table
from tests.export.test_onnx_holes import answers
from tests.export.test_sql import run

import suffice as sf
from suffice.core.model.views import (
    KernelFeatures,
    PiecewiseLinear,
    Plain,
    PowerTransformed,
    Softened,
)
from suffice.errors import InvalidParameterError
from suffice.estimators import auto as auto_module
from suffice.export.sql import to_sql
from suffice.persistence.load import load_classifier
from suffice.selection.search import plan
from suffice.selection.search.candidates import GaussianCandidate
from suffice.selection.search.ranking import Ranking

__all__ = ["duckdb", "sqlite"]
pytestmark = pytest.mark.filterwarnings("ignore:fetch_arrow_table:DeprecationWarning")

N_ROWS = 150
NEIGHBOURS = ("neighbours", KNeighborsClassifier(15))  # takes no weights


def gaussian(view, kernel=None):
    """Return a test for candidates with a Gaussian on a view."""

    def matches(candidate):
        is_of_view = isinstance(candidate, GaussianCandidate) and isinstance(
            candidate.view, view
        )
        return is_of_view and (kernel is None or candidate.view.kernel == kernel)

    return matches


def named(name):
    """Return a test for candidates of another kind, by the start of their names."""
    return lambda candidate: getattr(candidate, "name", "").startswith(name)


MEMBERS = {
    "Gaussians": gaussian(Plain),
    "Gaussians of transformed features": gaussian(PowerTransformed),
    "Gaussians with noise on indicators": gaussian(Softened),
    "Gaussian kernels": gaussian(KernelFeatures, "Gaussian"),
    "Laplace kernels": gaussian(KernelFeatures, "Laplace"),
    "piecewise-linear features": gaussian(PiecewiseLinear),
    "logistic regression": named("logistic regression"),
    "additive logistic regression": named("additive logistic regression"),
    "extra trees": named("extra trees"),
    "random forest": named("random forest"),
    "boosted trees": named("boosted trees"),
}
OF_NUMBERS = [member for member in MEMBERS if "indicators" not in member]


def average_only(member, monkeypatch):
    """Give equal weights to the candidates of one kind, and try every kind on few rows."""
    matches = MEMBERS.get(member, named(member))

    def with_equal_shares(self):
        n = sum(map(matches, self.candidates))
        assert n
        return [replace(each, weight=matches(each) / n) for each in self.candidates]

    monkeypatch.setattr(Ranking, "with_shares", with_equal_shares)
    monkeypatch.setattr(plan, "FEW_ROWS", 100)
    monkeypatch.setattr(auto_module, "_FEW_ROWS", 100)
    monkeypatch.setattr(auto_module, "_MANY_ROWS", 100)


def skewed(seed):
    """Return skewed features of three classes as a frame, and the classes."""
    rng = np.random.default_rng(seed)
    y = rng.choice(3, N_ROWS, p=[0.2, 0.3, 0.5])
    centres = np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    x = np.exp(rng.normal(size=(N_ROWS, 3)) + centres[y])
    return pd.DataFrame(x, columns=["width", "len gth", "a'ge"]), y


def numbers(seed):
    frame, y = skewed(seed)
    return frame, y + 10, None


def missing_cells(seed):
    frame, y = skewed(seed)
    is_missing = np.random.default_rng(seed).random((N_ROWS, 2)) < 0.15
    frame[["width", "a'ge"]] = frame[["width", "a'ge"]].mask(is_missing)
    return frame, np.array(["a", "it's", "日本"])[y], None


def weights(seed):
    frame, y = skewed(seed)
    weight = np.random.default_rng(seed).choice([0.0, 0.5, 1.0, 3.0], N_ROWS)
    return frame, y == 2, weight


def text_and_missing_cells(seed):
    return *mixed_table(seed, n=N_ROWS), None


def cases():
    """Return each kind of table with each kind of member that it can have."""
    everywhere = [member for member in OF_NUMBERS if "transformed" not in member]
    return [
        *((numbers, member) for member in OF_NUMBERS),
        *((missing_cells, member) for member in MEMBERS),
        *((weights, member) for member in OF_NUMBERS),
        *((text_and_missing_cells, member) for member in everywhere),
        (text_and_missing_cells, "Gaussians with noise on indicators"),
    ]


QUICK = ("extra trees", "logistic regression", "neighbours")  # others are among the slow tests


def of_member(member):
    return pytest.param(member, marks=[] if member in QUICK else [pytest.mark.slow])


def as_parameter(table, member):
    is_quick = table is text_and_missing_cells and member in QUICK
    marks = [] if is_quick else [pytest.mark.slow]
    return pytest.param(table, member, id=f"{member}, {table.__name__}", marks=marks)


@pytest.mark.parametrize(("table", "member"), [as_parameter(*case) for case in cases()])
def test_every_member_is_saved_exported_and_explained(
    table, member, monkeypatch, tmp_path, duckdb, sqlite
):
    average_only(member, monkeypatch)
    auto = sf.AutoClassifier().fit(*table(0))
    assert all(MEMBERS[member](each.candidate) for each in auto.members_)
    rows, _, _ = table(1)
    posterior = auto.predict_proba(rows)

    auto.save(tmp_path / "auto.suffice")
    loaded = sf.load(tmp_path / "auto.suffice")
    np.testing.assert_allclose(loaded.predict_proba(rows), posterior, rtol=1e-12)
    lean = load_classifier(tmp_path / "auto.suffice")
    np.testing.assert_allclose(lean.posterior(rows), posterior, rtol=1e-12)

    for estimator in (auto, loaded):
        assert_explained(estimator, rows)

    columns_or_array = rows if auto.encoding_ else rows.to_numpy()
    document_reader.agrees(auto, columns_or_array[:20])
    _, found = answers(auto, columns_or_array)
    np.testing.assert_allclose(found, posterior, rtol=0, atol=1e-6)
    for database in (duckdb, sqlite):
        columns = pl.from_pandas(rows.assign(id=range(len(rows))))
        database.create_table("rows", columns.to_arrow(), overwrite=True)
        answer = run(database, to_sql(auto, "rows", database.name, keep=["id"]))
        found = answer.select(f"p_{label}" for label in auto.classes_).to_numpy()
        np.testing.assert_allclose(found, posterior, rtol=0, atol=1e-9)


def assert_explained(auto, rows):
    assert "The best setting is" in auto.explain()
    assert auto.feature_importances_.shape == (rows.shape[1],)
    assert auto.feature_importances_.sum() == pytest.approx(1)
    explanation = auto.explain_row(rows.iloc[[7]])
    assert explanation.predicted == auto.predict(rows)[7]
    second, first = np.sort(auto.predict_log_proba(rows)[7])[-2:]
    assert explanation.log_odds == pytest.approx(first - second, rel=1e-6, abs=1e-9)


def test_a_member_of_another_library_is_explained_and_refused_by_name(monkeypatch, tmp_path):
    average_only("neighbours", monkeypatch)
    rows, y, _ = numbers(0)
    auto = sf.AutoClassifier(members=[NEIGHBOURS]).fit(rows, y)
    assert_explained(auto, rows)
    with pytest.raises(InvalidParameterError, match="the member 'neighbours' cannot be saved"):
        auto.save(tmp_path / "auto.suffice")
    for to in ("sql", "onnx", "json"):
        with pytest.raises(InvalidParameterError, match=r"exported \(KNeighborsClassifier"):
            auto.export(tmp_path / "auto", to=to)


@pytest.mark.parametrize("member", [of_member(member) for member in OF_NUMBERS])
def test_a_large_constant_added_to_the_features_changes_nothing(member, monkeypatch):
    average_only(member, monkeypatch)
    rows, y, _ = numbers(0)
    x = np.round(rows.to_numpy() * 2.0**16) / 2.0**16  # the sum below is exact
    near = sf.AutoClassifier().fit(x, y).predict_proba(x)
    far = sf.AutoClassifier().fit(x + 2.0**30, y).predict_proba(x + 2.0**30)
    np.testing.assert_allclose(far, near, atol=1e-4)


def rare(seed, n=600):
    """Return rows, one in twenty of which is of the rare class."""
    rng = np.random.default_rng(seed)
    y = (np.arange(n) % 20 == 0).astype(int)
    return np.exp(rng.normal(size=(n, 3)) + 0.7 * y[:, None]), y


@pytest.mark.parametrize(
    "member",
    [of_member(member) for member in (*OF_NUMBERS, "neighbours", "Gaussian process")],
)
def test_balanced_weights_reach_every_member(member, monkeypatch):
    average_only(member, monkeypatch)
    X, y = rare(0)
    members = [NEIGHBOURS, ("Gaussian process", GaussianProcessClassifier(random_state=0))]
    auto = sf.AutoClassifier(members=members if member not in MEMBERS else None)
    new, _ = rare(1, 2000)
    frequent = auto.fit(X, y).predict_proba(new)[:, 1].mean()
    balanced = auto.fit(X, y, compute_sample_weight("balanced", y)).predict_proba(new)[:, 1]
    assert balanced.mean() > 2 * frequent


@pytest.mark.parametrize("kind", [sf.AutoGaussian, sf.AutoClassifier])
def test_costs_decide_and_keep_the_posteriors(kind, tmp_path):
    X, y = rare(0)
    new, truth = rare(1, 2000)
    costs = [[0, 20], [1, 0]]
    auto = kind(costs=costs).fit(X, y)
    p = auto.predict_proba(new)[:, 1]
    np.testing.assert_array_equal(auto.predict(new), p > 1 / 21)
    plain = kind().fit(X, y)
    np.testing.assert_allclose(plain.predict_proba(new)[:, 1], p, rtol=1e-9)
    np.testing.assert_array_equal(plain.with_costs(costs).predict(new), auto.predict(new))
    assert plain.costs is None
    n_found, n_found_without = (m.predict(new)[truth == 1].sum() for m in (auto, plain))
    assert n_found > 2 * n_found_without

    auto.save(tmp_path / "auto.suffice")
    for saved in (
        sf.load(tmp_path / "auto.suffice"),
        load_classifier(tmp_path / "auto.suffice"),
    ):
        np.testing.assert_array_equal(saved.predict(new), auto.predict(new))
    document_reader.agrees(auto, new[:20])
    label, _ = answers(auto, new)
    np.testing.assert_array_equal(label, auto.predict(new))

    rejecting = plain.with_costs(sf.Costs(reject=0.02))
    assert np.isnan(rejecting.predict(new)).mean() == pytest.approx(
        np.mean(np.minimum(p, 1 - p) > 0.02)
    )
    for impossible in ([[0, 1]], [[0, np.nan], [1, 0]]):
        with pytest.raises(InvalidParameterError):
            kind(costs=impossible).fit(X, y)
        with pytest.raises(InvalidParameterError):
            plain.with_costs(impossible)
