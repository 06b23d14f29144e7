"""Averages of models as queries: every view, every kind of member, on every engine."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from tests.export.mixed import table
from tests.export.test_sql import as_frame, run

import suffice as sf
from suffice.core.decision import Classifier
from suffice.core.decision.bayes_decision import Costs, decision_by
from suffice.core.model.averaged import (
    AveragedModel,
    ForeignModel,
    Share,
    TemperedModel,
)
from suffice.core.model.views import (
    Plain,
    PowerTransformed,
)
from suffice.core.power_transform import PowerTransform
from suffice.core.table import Table
from suffice.errors import InvalidParameterError
from suffice.export import sql_average
from suffice.export.sql import to_sql
from suffice.selection.search.boosting import fit_boosting
from suffice.selection.search.tree_growing import grow_extra_trees
from suffice.selection.search.view_fitting import fit_kernel_features, fit_pieces, fit_softened

rng = np.random.default_rng(0)
Y = np.arange(90) % 3
X = rng.normal(size=(90, 3)) + rng.normal(size=(3, 3))[Y]
POWER = PowerTransformed(PowerTransform.of(np.exp(X)))
PRIORS = np.array([0.5, 0.3, 0.2])
TREES = grow_extra_trees(  # deeper than a stage
    Table.of(np.exp(X), Y), n_trees=5, min_leaf_rows=1, n_rows=90, seed=0
)
BOOSTED = fit_boosting(Table.of(np.exp(X), Y), n_rounds=4, n_repeats=2, seed=0)
VIEWS = {
    "plain": Plain(),
    "transformed": POWER,
    "kernel": fit_kernel_features(
        POWER, np.exp(X), width=0.7, n_landmarks=4, seed=0
    ).unmixed(),
    "Laplace kernel": fit_kernel_features(
        Plain(), np.exp(X), width=0.7, n_landmarks=5, seed=0, kernel="Laplace"
    ).unmixed(),
    "bent": fit_pieces(np.exp(X), 9),
    "softened": fit_softened(Plain(), np.exp(X), 0.1),
}
pytestmark = pytest.mark.filterwarnings("ignore:fetch_arrow_table:DeprecationWarning")


def averaged(shares):
    best = sf.QDA().fit(np.exp(X), Y).model_.model
    model = AveragedModel(tuple(shares), np.arange(3), 0.02, PRIORS, best, temperature=0.8)
    return Classifier.of(np.array(["a", "b", "it's"]), None, model)


def shares():
    """Yield a share of quadratic scores, or linear ones, for each view, and of other kinds."""
    for at, view in enumerate(VIEWS.values()):
        kind = sf.LDA(shrinkage=0.1) if view.lifted else sf.QDA(temperature=1.5 + at)
        yield Share(view, kind.fit(view.apply(np.exp(X)), Y).model_.model, 0.1)
    linear = sf.LogisticRegression().fit(np.exp(X), Y).model_.model
    yield Share(Plain(), TemperedModel(linear, 0.7, 0.05), 0.1)
    bent = sf.LogisticRegression(l2=1.0).fit(VIEWS["bent"].apply(np.exp(X)), Y).model_.model
    yield Share(VIEWS["bent"], TemperedModel(bent, 1.2, 0.05), 0.1)
    yield Share(Plain(), TemperedModel(TREES, 1.3, 0.05), 0.05)
    yield Share(Plain(), TemperedModel(BOOSTED, 0.9, 0.05), 0.05)


def test_a_query_of_every_view_and_member_answers_like_the_average(
    database, filled, monkeypatch
):
    monkeypatch.setattr(sql_average, "LEVELS", 2)
    rows = np.exp(np.vstack([X, 3 * X]))
    at = np.arange(len(TREES.threshold)) != TREES.left  # where the sides of a split part
    rows = np.vstack([rows, np.repeat(TREES.threshold[at].astype(float), 3).reshape(-1, 3)])
    filled(as_frame(rows, "uvw"))
    known = averaged(shares())
    for classifier in (
        known,
        replace(known, decision=decision_by(Costs(reject=0.3), known.classes)),
    ):
        query = to_sql(classifier, "rows", database.name, columns=list("uvw"), keep=["id"])
        answer = run(database, query)
        posterior = answer.select("p_a", "p_b", "p_it's").to_numpy()
        np.testing.assert_allclose(posterior, classifier.posterior(rows), rtol=0, atol=1e-12)
        assert answer["label"].to_list() == [x or None for x in classifier.predict(rows)]


@pytest.mark.parametrize("member", ["transformed", "kernel", "bent", "trees"])
def test_rows_with_holes_and_far_away_have_no_answer_and_abort_nothing(
    database, filled, member
):
    model: object = TemperedModel(TREES, 1.0, 0.1)
    if member != "trees":
        model = sf.LDA(shrinkage=0.1).fit(VIEWS[member].apply(np.exp(X)), Y).model_.model
    known = averaged([Share(VIEWS.get(member, Plain()), model, 1.0)])
    frame = as_frame(np.array([[1.0, 1.0, 1.0], [1.0, np.nan, 1.0], [1.0, 1e300, 1.0]]), "uvw")
    filled(frame.with_columns(pl.all().fill_nan(None)))
    answer = run(
        database, to_sql(known, "rows", database.name, columns=list("uvw"), keep=["id"])
    )
    assert answer["label"][0] is not None
    assert answer.row(1)[1:] == (None,) * 4
    assert member in ("bent", "trees") or answer.row(2)[1:] == (None,) * 4


@pytest.mark.parametrize("kind", [sf.AutoGaussian, sf.AutoClassifier])
def test_automatic_classifiers_of_a_mixed_table_with_gaps(duckdb, kind):
    rows, y = table(n=150)
    model = kind().fit(rows, y)
    duckdb.create_table("rows", pl.from_pandas(rows.assign(id=range(150))).to_arrow())
    answer = run(duckdb, to_sql(model, "rows", keep=["id"]))
    got = answer.select("p_a", "p_b", "p_c").to_numpy()
    np.testing.assert_allclose(got, model.predict_proba(rows), rtol=0, atol=1e-9)
    assert answer["label"].to_list() == model.predict(rows).tolist()


def test_members_that_have_no_query_are_named(monkeypatch):
    foreign = TemperedModel(ForeignModel(sf.LDA(), 3), 1.0, 0.1)
    with pytest.raises(InvalidParameterError, match=r"not exported \(LDA\)"):
        to_sql(averaged([Share(Plain(), foreign, 1.0)]), "rows", columns=list("uvw"))
    bent = fit_pieces(np.exp(X), 99)
    wide = sf.QDA(shrinkage=0.5).fit(rng.normal(size=(90, 99)), Y).model_.model
    with pytest.raises(
        InvalidParameterError, match=r"member over piecewise-linear features.*99 features is"
    ):
        to_sql(averaged([Share(bent, wide, 1.0)]), "rows", columns=list("uvw"))
    monkeypatch.setattr(sql_average, "MOST_NODES", 10)
    grown = TemperedModel(TREES, 1.0, 0.1)
    with pytest.raises(InvalidParameterError, match=r"trees has \d+ nodes.*best_estimator_"):
        to_sql(averaged([Share(Plain(), grown, 1.0)]), "rows", columns=list("uvw"))
