"""Classifiers of other kinds in the average: judged on rows they have not seen, kept as arrays."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_wine
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

import suffice as sf
from suffice.core.model.averaged import Trees, bin_edges, distinct
from suffice.core.model.tree_loops import grown
from suffice.core.model.views import PiecewiseLinear
from suffice.core.table import Table
from suffice.core.table.sampling import stratified_folds
from suffice.errors import InvalidParameterError
from suffice.persistence.load import load_classifier
from suffice.selection.search.candidates import (
    ForeignLearner,
    LogisticPath,
    OutsideCandidate,
    TreeLearner,
    held_out_posteriors,
    judged_member,
    judging_folds,
    mixing_weights,
)
from suffice.selection.search.training import Cells


def boxes(n, seed):
    """Classes that are boxes along the axes: what trees are good at."""
    x = np.random.default_rng(seed).uniform(size=(n, 4))
    return x, (((x[:, 0] > 0.5) ^ (x[:, 1] > 0.3)) & (x[:, 2] < 0.8)).astype(int)


def cells_of(x, y, n_folds=5, weight=None):
    table = Table.of(x, y, weight)
    return Cells.of(table, stratified_folds(table.codes, n_folds, 0))


NOISE = np.random.default_rng(9).normal(size=(240, 3))
LOGISTIC = make_pipeline(StandardScaler(), LogisticRegression())
MEMBERS = {
    "extra trees": TreeLearner(1, best=False, seed=0),
    "random forest": TreeLearner(2, best=True, seed=0),
    "logistic": LogisticPath((100.0, 1.0, 0.01)),
    "additive logistic": LogisticPath((50.0,), PiecewiseLinear.of(NOISE, 30)),
    "trees of another library": ForeignLearner(ExtraTreesClassifier(30, bootstrap=True)),
    "logistic of another library": ForeignLearner(LOGISTIC),
    "neighbours": ForeignLearner(KNeighborsClassifier(1)),
    "mixture": ForeignLearner(sf.MixtureClassifier(3, n_init=1)),
}


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("name", MEMBERS)
def test_random_labels_show_no_gain_over_the_prior(name, seed):
    y = np.random.default_rng(seed).permutation(np.arange(240) % 3)
    found = judged_member(name, MEMBERS[name], cells_of(NOISE, y), 3)
    assert len(found) == len(MEMBERS[name].settings)
    for _, true_log in found:
        assert -true_log.mean() > np.log(3) - 2 * true_log.std() / np.sqrt(240)


def test_a_member_is_judged_by_copies_that_did_not_see_the_rows():
    x, y = boxes(100, 0)
    cells = cells_of(x, y)
    [found] = held_out_posteriors(ForeignLearner(LOGISTIC), cells)
    table = cells.table
    lo, hi = cells.fold_edges[2:4]
    rest = np.r_[0:lo, hi:100]
    again = make_pipeline(StandardScaler(), LogisticRegression())
    again.fit(table.x[rest], table.codes[rest])
    np.testing.assert_allclose(found[lo:hi], again.predict_proba(table.x[lo:hi]))


def test_logistic_paths_are_the_optima_of_scikit_learn():
    X, y = load_wine(return_X_y=True)
    z = (X - X.mean(0)) / X.std(0, ddof=1)
    for labels in (y, (y > 0).astype(int)):
        table = Table.of(z, labels)
        found = LogisticPath((10.0, 0.1)).learn(table, [0, 1], judging=False)
        for model, c in zip(found, (0.1, 10.0), strict=True):
            other = LogisticRegression(C=c, tol=1e-8, max_iter=5000).fit(z, labels)
            np.testing.assert_allclose(model.posterior(z), other.predict_proba(z), atol=1e-4)


def test_a_tree_grown_to_the_end_knows_every_row_and_leaves_have_their_size():
    x, y = boxes(300, 0)
    w = np.random.default_rng(0).uniform(0.5, 2, 300)
    table = Table.of(x, y, w)
    for least in (1, 3, 10):
        trees = Trees.grown(table, 5, least, 300, 0)
        leaf = trees.left == np.arange(len(trees.left))
        np.testing.assert_allclose(trees.shares.sum(1), 1)
        for root in trees.roots:  # the root has the weight of each class
            np.testing.assert_allclose(trees.shares[root], table.class_weights / w.sum())
        for i in range(5):
            alone = replace(trees, roots=trees.roots[i : i + 1])
            node = np.full(300, trees.roots[i])
            while not leaf[node].all():
                lower = x[np.arange(300), trees.feature[node]].astype(np.float32)
                lower = lower <= trees.threshold[node]
                node = np.where(lower, trees.left[node], trees.right[node])
            assert np.unique(node, return_counts=True)[1].min() >= least
            np.testing.assert_allclose(alone.posterior(x), trees.shares[node])
            if least == 1:
                assert (alone.posterior(x).argmax(1) == y).all()
    assert Trees.grown(table, 2, 1, 300, 0).posterior(x[:0]).shape == (0, 2)


@pytest.mark.parametrize("least", [1, 4])
@pytest.mark.parametrize("seed", range(5))
def test_a_random_forest_splits_where_the_impurity_of_the_parts_is_least(seed, least):
    rng = np.random.default_rng(seed)
    x = rng.choice(np.arange(30.0) ** 1.5, 60)[:, None].astype(np.float32)
    y, w = rng.integers(0, 3, 60), rng.uniform(0.5, 2, 60)
    columns, drawn = np.ascontiguousarray(x.T), (np.arange(60)[None], np.zeros(1, np.intp))
    _, ways, threshold, _ = grown(columns, bin_edges(columns), (y, w), drawn, 3, least)

    def impurity(t):
        parts = [np.bincount(y[side], w[side], 3) for side in (x[:, 0] <= t, x[:, 0] > t)]
        return sum(part.sum() - (part**2).sum() / part.sum() for part in parts)

    values = np.unique(x)
    cuts = [t for t in values if least <= (x <= t).sum() <= 60 - least]
    best = min(cuts, key=impurity)
    assert ways[0, 2] == 0
    assert best < threshold[0] < values[values > best].min()


def test_rows_that_are_alike_are_one_row_drawn_more_often(monkeypatch):
    rng = np.random.default_rng(0)
    x, w = rng.integers(0, 3, (200, 2)).astype(float), rng.integers(1, 3, 200).astype(float)
    table = Table.of(x, rng.integers(0, 2, 200), w)
    few, place = distinct(table)
    rows = np.column_stack([table.x, table.codes, w])
    np.testing.assert_array_equal(
        np.column_stack([few.x, few.codes, few.weights])[place], rows
    )
    assert few.n_rows == len(np.unique(rows, axis=0)) < 100
    apart = table.with_rows(rng.normal(size=x.shape))
    assert distinct(apart)[0] is apart
    options = [(1, False), (2, True)]
    found = [Trees.grown(table, 9, least, 150, 0, best=best) for least, best in options]
    monkeypatch.setattr(
        "suffice.core.model.averaged.distinct", lambda t: (t, np.arange(t.n_rows))
    )
    for (least, best), trees in zip(options, found, strict=True):
        one_by_one = Trees.grown(table, 9, least, 150, 0, best=best)
        for name in ("roots", "left", "right", "feature", "threshold", "shares"):
            np.testing.assert_array_equal(getattr(trees, name), getattr(one_by_one, name))


@pytest.mark.parametrize(
    ("best", "theirs"),
    [
        (False, ExtraTreesClassifier(100, random_state=0)),
        (True, RandomForestClassifier(100, max_features=0.5, random_state=0)),
    ],
)
def test_trees_are_as_good_as_those_of_scikit_learn(best, theirs):
    x, y = boxes(400, 0)
    new, truth = boxes(2000, 1)
    ours = Trees.grown(Table.of(x, y), 100, 1, 400, 0, best=best).posterior(new)
    theirs = theirs.fit(x, y).predict_proba(new)
    errors = [(p.argmax(1) != truth).mean() for p in (ours, theirs)]
    assert abs(errors[0] - errors[1]) < 0.02
    assert np.abs(ours - theirs).mean() < 0.05


def test_shapes_of_single_features_win_a_share_and_are_kept_in_a_file(tmp_path):
    rng = np.random.default_rng(0)
    x = rng.uniform(size=(900, 3))
    up = 3.0 * (np.abs(x - 0.5) < 0.25).sum(1) - 4.5  # log odds: a plateau in each feature
    y = (rng.uniform(size=900) < 1 / (1 + np.exp(-up))).astype(int)
    auto = sf.AutoClassifier(kernel_features=False).fit(x[:400], y[:400])
    [share] = [c.weight for c in auto.choices_ if c.describe().startswith("additive")]
    assert share > 0.1
    auto.save(tmp_path / "auto.suffice")
    again = sf.load(tmp_path / "auto.suffice")
    new = x[400:]
    np.testing.assert_allclose(again.predict_proba(new), auto.predict_proba(new), rtol=1e-12)
    assert again.explain() == auto.explain()
    np.testing.assert_allclose(
        load_classifier(tmp_path / "auto.suffice").posterior(new), auto.predict_proba(new)
    )


@pytest.mark.parametrize(("rows", "folds"), [(1_500, 5), (6_000, 2)])
def test_members_of_many_rows_are_judged_on_the_first_folds_that_have_rows_enough(rows, folds):
    cells = cells_of(np.zeros((rows, 1)), np.arange(rows) % 2)
    assert judging_folds(cells).tolist() == list(range(folds))


def test_trees_win_a_share_where_classes_are_boxes(tmp_path):
    X, y = boxes(400, 0)
    new, truth = boxes(2000, 1)
    auto, gaussian = sf.AutoClassifier().fit(X, y), sf.AutoGaussian().fit(X, y)
    others = [c for c in auto.choices_ if isinstance(c, OutsideCandidate)]
    assert sum(c.weight for c in others if c.name in ("extra trees", "random forest")) > 0.3
    assert "random forest" in auto.explain()
    rows = np.arange(2000)
    better, worse = (m.predict_log_proba(new)[rows, truth].mean() for m in (auto, gaussian))
    assert better > worse
    assert type(auto.best_estimator_) is sf.GaussianClassifier
    auto.save(tmp_path / "auto.suffice")
    again = sf.load(tmp_path / "auto.suffice")
    np.testing.assert_allclose(again.predict_proba(new), auto.predict_proba(new), rtol=1e-12)
    assert again.explain() == auto.explain()
    lean = load_classifier(tmp_path / "auto.suffice")
    np.testing.assert_allclose(lean.posterior(new), auto.predict_proba(new), rtol=1e-12)


def test_members_of_users_join_and_are_refused_in_files_by_name(tmp_path):
    X, y = boxes(300, 0)
    auto = sf.AutoGaussian(
        members=[("forest", RandomForestClassifier(40, random_state=0)), GaussianNB()]
    )
    auto.fit(X, y)
    names = [c.name for c in auto.choices_ if isinstance(c, OutsideCandidate)]
    assert sorted(names) == ["GaussianNB", "forest"]
    assert next(c.weight for c in auto.choices_ if getattr(c, "name", "") == "forest") > 0
    np.testing.assert_allclose(auto.predict_proba(X).sum(1), 1)
    with pytest.raises(InvalidParameterError, match="the member 'forest' cannot be saved"):
        auto.save(tmp_path / "auto.suffice")


def test_members_without_posteriors_or_with_one_name_are_refused(iris):
    with pytest.raises(InvalidParameterError, match="predict_proba"):
        sf.AutoGaussian(members=[LinearSVC()]).fit(*iris)
    with pytest.raises(InvalidParameterError, match="two members are called 'GaussianNB'"):
        sf.AutoGaussian(members=[GaussianNB(), GaussianNB()]).fit(*iris)


def test_rows_of_weight_zero_are_absent():
    X, y = boxes(120, 3)
    w = np.random.default_rng(0).integers(0, 3, 120).astype(float)
    all_rows = sf.AutoClassifier().fit(X, y, w)
    counted = sf.AutoClassifier().fit(X[w > 0], y[w > 0], w[w > 0])
    np.testing.assert_allclose(all_rows.predict_proba(X), counted.predict_proba(X), rtol=1e-9)


@pytest.mark.parametrize("kind", [sf.AutoGaussian, sf.AutoClassifier])
def test_a_mixed_table_of_random_labels_teaches_nothing(kind):
    rng = np.random.default_rng(3)
    share = np.array([0.5, 0.3, 0.2])
    entropy = -(share * np.log(share)).sum()

    def drawn(n):
        numbers = rng.normal(size=(n, 3))
        frame = pd.DataFrame(numbers, columns=list("abc"))
        labels = np.repeat([0, 1, 2], (n * share).astype(int))
        return frame.assign(level=rng.choice(list("stuvwxyz"), n)), rng.permutation(labels)

    auto = kind().fit(*drawn(400))
    for choice in auto.choices_:
        assert choice.log_loss > entropy - 2 * choice.log_loss_se - 0.01, choice.describe()
    X, y = drawn(3000)
    found = auto.predict_log_proba(X)[np.arange(3000), y]
    # none knows more than the frequencies, and the average hardly believes that it does
    assert entropy - 2 * found.std() / np.sqrt(3000) < -found.mean() < entropy + 0.05


def test_shares_of_very_many_equals_are_shares():
    shares = mixing_weights(np.full((80, 50), -0.3), np.ones(50))
    np.testing.assert_allclose(shares, 1 / 80)
