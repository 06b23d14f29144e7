"""Classifiers of other kinds in the average: judged on rows they have not seen, kept as arrays."""

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
from suffice.core.table import Table
from suffice.core.table.sampling import stratified_folds
from suffice.errors import InvalidParameterError
from suffice.persistence.load import load_classifier
from suffice.selection.search.candidates import LearnerCandidate
from suffice.selection.search.learner_losses import (
    held_out_posteriors,
    judge_learner,
    judging_folds,
)
from suffice.selection.search.learners import ForeignLearner, LogisticPath, TreeLearner
from suffice.selection.search.ranking import mixing_weights
from suffice.selection.search.training import Cells
from suffice.selection.search.view_fitting import fit_pieces


def boxes(n, seed):
    """Classes that are boxes along the axes: what trees are good at."""
    x = np.random.default_rng(seed).uniform(size=(n, 4))
    return x, (((x[:, 0] > 0.5) ^ (x[:, 1] > 0.3)) & (x[:, 2] < 0.8)).astype(int)


def cells_of(x, y, n_folds=5, weight=None):
    table = Table.of(x, y, weight)
    return Cells.of(table, stratified_folds(table.codes, n_folds, 0))


NOISE = np.random.default_rng(9).normal(size=(240, 3))
LOGISTIC = make_pipeline(StandardScaler(), LogisticRegression())
LEARNERS = {
    "extra trees": TreeLearner(1, random_forest=False, seed=0),
    "random forest": TreeLearner(2, random_forest=True, seed=0),
    "logistic": LogisticPath((100.0, 1.0, 0.01)),
    "additive logistic": LogisticPath((50.0,), fit_pieces(NOISE, 30)),
    "trees of another library": ForeignLearner(ExtraTreesClassifier(30, bootstrap=True)),
    "logistic of another library": ForeignLearner(LOGISTIC),
    "neighbours": ForeignLearner(KNeighborsClassifier(1)),
    "mixture": ForeignLearner(sf.MixtureClassifier(3, n_init=1)),
}


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("name", LEARNERS)
def test_random_labels_show_no_gain_over_the_prior(name, seed):
    y = np.random.default_rng(seed).permutation(np.arange(240) % 3)
    found = judge_learner(name, LEARNERS[name], cells_of(NOISE, y), 3)
    assert len(found) == len(LEARNERS[name].settings)
    for _, true_log, _ in found:
        assert -true_log.mean() > np.log(3) - 2 * true_log.std() / np.sqrt(240)


def test_a_learner_is_judged_by_copies_that_did_not_see_the_rows():
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
    others = [c for c in auto.choices_ if isinstance(c, LearnerCandidate)]
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
    names = [c.name for c in auto.choices_ if isinstance(c, LearnerCandidate)]
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
