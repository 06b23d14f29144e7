"""A line-up judged on the same folds equals refitting each member on each of them."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import stats
from sklearn.base import clone
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.model_selection import GroupKFold, StratifiedKFold, cross_val_predict
from sklearn.naive_bayes import GaussianNB as SklearnNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

import suffice as sf
from suffice.core.model.views import KernelFeatures
from suffice.core.threads import at_most
from suffice.errors import InvalidInputError, InvalidParameterError, TooFewClassesError
from suffice.evaluate.comparison import comparison, competitors
from suffice.evaluate.comparison.fit_times import FitSize, affordable
from suffice.evaluate.comparison.judging import FromMoments, learner_of
from suffice.evaluate.comparison.model_size import n_parameters
from suffice.evaluate.comparison.models import NAMED_MODELS, installed_boosters, parse_models
from suffice.selection.processes import Worker

FOLDS = StratifiedKFold(5, shuffle=True, random_state=0)
GAUSSIANS = {
    "LDA": sf.LDA(),
    "QDA": sf.QDA(),
    "naive": sf.GaussianNB(),
    "shrunk": sf.GaussianClassifier(shrinkage=0.2, pooling=0.5, divisor="unbiased"),
    "least squares": sf.LeastSquaresClassifier(),
}


@pytest.fixture(scope="module")
def wine(table):
    X, y, _ = table("wine")
    return X, y


@pytest.fixture(scope="module")
def gaussians(wine):
    return sf.compare(*wine, GAUSSIANS, cv=5)


def held_out(y):
    return [test for _, test in FOLDS.split(np.zeros(len(y)), y)]


@pytest.mark.parametrize("name", GAUSSIANS)
def test_errors_read_from_sums_equal_those_of_refitting_every_fold(name, wine, gaussians):
    X, y = wine
    predicted = cross_val_predict(GAUSSIANS[name], X, y, cv=FOLDS)
    error = np.mean(predicted != y)
    row = gaussians.to_frame().loc[name]
    assert row["error"] == pytest.approx(error, abs=1e-14)
    n_train = np.mean([len(y) - len(test) for test in held_out(y)])
    spread = error * (1 - error) * (1 / len(y) + 0.25 / n_train)
    assert row["error_se"] == pytest.approx(np.sqrt(spread), rel=1e-12)


@pytest.mark.parametrize("name", ["LDA", "QDA", "naive", "shrunk"])
def test_probabilistic_losses_equal_those_of_refitting_every_fold(name, wine, gaussians):
    X, y = wine
    p = cross_val_predict(GAUSSIANS[name], X, y, cv=FOLDS, method="predict_proba")
    truth = np.eye(3)[np.unique(y, return_inverse=True)[1]]
    row = gaussians.to_frame().loc[name]
    wanted = {
        "log_loss": log_loss(y, p),
        "brier": ((p - truth) ** 2).sum(1).mean(),
        "auc": roc_auc_score(y, p, multi_class="ovr"),
    }
    for metric, value in wanted.items():
        assert row[metric] == pytest.approx(value, rel=1e-9, abs=1e-12), metric


def test_our_naive_bayes_from_sums_is_scikit_learns_fitted_on_rows(wine):
    both = {"ours": sf.GaussianNB(), "theirs": SklearnNB(var_smoothing=0)}
    frame = sf.compare(*wine, both, cv=5).to_frame()
    ours, theirs = frame.loc["ours"], frame.loc["theirs"]
    for metric in ("error", "log_loss", "brier", "auc", "calibration_error"):
        assert ours[metric] == pytest.approx(theirs[metric], rel=1e-9)
    learners = [learner_of(model, wine[0], is_plain=True) for model in both.values()]
    assert [isinstance(each, FromMoments) for each in learners] == [True, False]


def test_the_calibration_error_is_the_mean_gap_between_stated_and_observed(iris):
    X, y = iris
    row = sf.compare(X, y, {"LDA": sf.LDA()}, cv=5).to_frame().loc["LDA"]
    p = cross_val_predict(sf.LDA(), X, y, cv=FOLDS, method="predict_proba")
    right, stated = np.unique(y)[p.argmax(1)] == y, p.max(1)
    bins = np.clip((stated * 15).astype(int), 0, 14)
    gaps = [abs((right[bins == b] - stated[bins == b]).sum()) for b in range(15)]
    assert row["calibration_error"] == pytest.approx(sum(gaps) / len(y), rel=1e-9)


def test_the_interval_is_wilsons_of_fewer_rows_since_training_sets_overlap(gaussians):
    row = gaussians.to_frame().loc["naive"]
    p, n, z = row["error"], 178 / (1 + 0.25 * 178 / 142.4), stats.norm.ppf(0.975)
    # the shares q with |p − q| = z √(q (1 − q) / n)
    wanted = np.sort(np.roots([1 + z**2 / n, -(2 * p + z**2 / n), p**2]))
    np.testing.assert_allclose([row["error_low"], row["error_high"]], wanted, rtol=1e-9)


def test_members_come_sorted_by_error_and_the_frame_is_indexed_by_model(gaussians):
    frame = gaussians.to_frame()
    assert frame.index.name == "model"
    assert frame["error"].is_monotonic_increasing
    assert gaussians.best == frame.index[0]
    wanted = {
        "error",
        "error_se",
        "log_loss",
        "brier",
        "auc",
        "fit_seconds",
        "predict_seconds",
    }
    assert wanted <= set(frame.columns)


def test_the_same_seed_gives_the_same_answer_and_another_seed_other_folds(iris):
    runs = [sf.compare(*iris, ["LDA", "tree"], 5, random_state=s) for s in (0, 0, 1)]
    one, same, other = (run.to_frame()[["error", "log_loss"]].to_numpy() for run in runs)
    np.testing.assert_array_equal(one, same)
    assert not np.array_equal(one, other)


def test_processes_meet_at_the_shortest_fits(monkeypatch):
    monkeypatch.setattr(comparison, "expected_seconds", lambda case: case)
    assert comparison._longest_outside([3, 0, 9, 1, 5]) == [9, 3, 0, 1, 5]


def test_the_order_of_members_changes_nothing(iris):
    a, b = (sf.compare(*iris, names, 5).to_frame() for names in (["LDA", "NB"], ["NB", "LDA"]))
    columns = ["error", "log_loss", "brier", "auc", "p_adjusted"]
    pd.testing.assert_frame_equal(a[columns], b[columns])


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, np.ndarray.tolist])
def test_frames_and_lists_give_the_answer_of_arrays(make, iris):
    X, y = iris
    models = {"LDA": sf.LDA(), "near": make_pipeline(StandardScaler(), KNeighborsClassifier())}
    plain, other = (sf.compare(x, y, models, cv=3) for x in (X, make(X)))
    assert other.notes == ()
    columns = ["error", "log_loss", "brier"]
    pd.testing.assert_frame_equal(plain.to_frame()[columns], other.to_frame()[columns])


def test_a_row_of_weight_two_counts_in_losses_as_two(iris):
    X, y = iris
    w = np.ones(150)
    w[::7] = 2
    splits = [(train, test) for train, test in FOLDS.split(X, y)]
    row = sf.compare(X, y, {"QDA": sf.QDA()}, splits, sample_weight=w).to_frame().loc["QDA"]
    wrong = np.empty(150)
    for train, test in splits:
        fitted = sf.QDA().fit(X[train], y[train], sample_weight=w[train])
        wrong[test] = fitted.predict(X[test]) != y[test]
    assert row["error"] == pytest.approx(np.average(wrong, weights=w), abs=1e-14)


def test_a_member_without_weights_says_so(iris):
    X, y = iris
    result = sf.compare(X, y, ["LDA", KNeighborsClassifier()], 3, sample_weight=np.ones(150))
    assert result.notes == (
        "KNeighborsClassifier: ignores sample weights: its fit does not accept them",
    )


def test_rows_of_weight_nothing_are_never_seen(iris):
    X, y = iris
    bad = np.vstack([X, 1e6 * np.ones((30, 4))])
    labels, w = np.concatenate([y, y[::5]]), np.r_[np.ones(150), np.zeros(30)]
    result = sf.compare(bad, labels, ["LDA", "NB"], 5, sample_weight=w)
    assert result.n_rows == 150
    assert result.to_frame().drop("constant")["error"].max() < 0.1


def test_groups_stay_whole(iris):
    X, y = iris
    groups = np.arange(150) // 5
    result = sf.compare(X, y, ["LDA"], 5, groups=groups)
    assert "whole groups" in result.protocol
    outcome = result["LDA"]
    folds = pd.DataFrame({"group": groups[outcome.held_out.rows], "fold": outcome.folds})
    assert folds.groupby("group")["fold"].nunique().eq(1).all()
    own = sf.compare(X, y, ["LDA"], GroupKFold(5), groups=groups)
    assert own.protocol == "5 folds, GroupKFold"


def test_a_classifier_without_posteriors_is_ranked_by_its_scores(iris):
    row = sf.compare(*iris, {"ridge": RidgeClassifier()}, 5).to_frame().loc["ridge"]
    assert np.isnan(row[["log_loss", "brier", "calibration_error"]].astype(float)).all()
    assert 0.8 < row["auc"] <= 1


def test_two_classes_are_ranked_by_the_one_score_of_a_decision_function(wine):
    X, y = wine
    X, y = X[y != y[0]], y[y != y[0]]
    row = (
        sf.compare(X, y, {"svm": make_pipeline(StandardScaler(), SVC())}, 5)
        .to_frame()
        .loc["svm"]
    )
    score = cross_val_predict(
        make_pipeline(StandardScaler(), SVC()), X, y, cv=FOLDS, method="decision_function"
    )
    area = roc_auc_score(y == np.unique(y)[1], score)
    assert row["auc"] == pytest.approx(area, rel=1e-12)


def test_the_default_line_up_has_both_halves_and_their_friends(iris, monkeypatch):
    steps = []
    monkeypatch.setattr(competitors, "find_spec", lambda _: None)
    result = sf.compare(*iris, cv=2, progress=lambda done, total: steps.append((done, total)))
    assert result.to_frame().index.sort_values().tolist() == sorted(
        [
            "AutoClassifier",
            "AutoGaussian",
            "GaussianNB",
            "LDA",
            "QDA",
            "RBF-SVM",
            "RDA",
            "constant",
            "decision tree",
            "gradient boosting",
            "least squares",
            "logistic regression",
            "nearest neighbours",
            "random forest",
        ]
    )
    assert not result.failures
    assert steps[-1] == (28, 28)
    assert [done for done, _ in steps] == sorted(done for done, _ in steps)


def test_numbers_of_parameters_are_counted(iris):
    X, y = iris
    tree = DecisionTreeClassifier(max_leaf_nodes=3, random_state=0)
    models = {
        "LDA": sf.LDA(),
        "QDA": sf.QDA(),
        "NB": sf.GaussianNB(),
        "tree": tree,
        "logistic": sf.LogisticRegression(),
        "near": KNeighborsClassifier(),
    }
    sizes = sf.compare(X, y, models, cv=3).to_frame()["n_parameters"]
    # means, covariances, priors: 12 + 10 + 2, 12 + 30 + 2, 12 + 12 + 2
    assert sizes[["LDA", "QDA", "NB"]].tolist() == [24, 44, 26]
    assert sizes["logistic"] == 2 * 5
    assert sizes["tree"] == 2 * 2 + 3 * 2
    assert np.isnan(sizes["near"])


def test_many_rows_let_slow_members_be_judged_on_a_sample(monkeypatch):
    monkeypatch.setattr("suffice.evaluate.comparison.comparison.MANY_ROWS", 1000)
    monkeypatch.setattr("suffice.evaluate.comparison.comparison.SAMPLE_ROWS", 300)
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 2000)
    X = rng.normal(size=(2000, 3)) + y[:, None]
    result = sf.compare(X, y, ["LDA", "neighbours"], 4)
    frame = result.to_frame()
    assert frame["n_rows"].drop("constant").to_dict() == {
        "LDA": 2000,
        "nearest neighbours": 300,
    }
    assert any("sample of 300 of 2,000 rows" in note for note in result.notes)
    assert 0 <= frame.loc["nearest neighbours", "p_adjusted"] <= 1


def test_a_member_that_fails_is_reported_and_the_others_are_judged(iris):
    class Broken(DummyClassifier):
        def fit(self, *_, **__):
            msg = "out of luck"
            raise RuntimeError(msg)

    result = sf.compare(*iris, {"LDA": sf.LDA(), "broken": Broken()}, 3)
    assert result.best == "LDA"
    assert result.to_frame().loc["broken", "failure"] == "RuntimeError: out of luck"
    assert "broken failed" in result.verdict
    with pytest.raises(
        InvalidInputError, match=r"no model could be evaluated. broken failed: .*out of luck"
    ):
        sf.compare(*iris, {"broken": Broken()}, 3)


def test_a_class_that_a_fold_never_learns_costs_its_rows_but_does_not_stop(iris):
    X, y = iris
    split = [(np.flatnonzero(y != "setosa"), np.flatnonzero(y == "setosa"))]
    frame = sf.compare(
        X, y, {"LDA": sf.LDA(), "near": KNeighborsClassifier()}, split
    ).to_frame()
    assert frame.loc[["LDA", "near"], "error"].tolist() == [1, 1]
    assert np.isfinite(frame["log_loss"]).all()


def test_warnings_of_members_become_notes(iris):
    result = sf.compare(*iris, {"plain": sf.Perceptron(max_iter=2)}, 3)
    assert len(result.notes) == 1
    expected = "plain: the perceptron still makes mistakes after 2 passes"
    assert result.notes[0].startswith(expected)


def test_the_estimators_passed_are_left_unfitted(iris):
    mine = sf.LDA()
    sf.compare(*iris, {"mine": mine}, 3)
    assert not hasattr(mine, "classes_")


@pytest.mark.parametrize(
    ("models", "match"),
    [
        ([], "models is empty"),
        (["LDAA"], "did you mean 'LDA'"),
        ([sf.LDA], "pass an instance, LDA\\(\\)"),
        ([StandardScaler()], "no classifier|expected a classifier"),
        (3, "names, estimators or a mapping"),
        ([("a", sf.LDA()), ("a", sf.QDA())], "'a' twice"),
    ],
)
def test_a_line_up_that_makes_no_sense_is_refused(models, match, iris):
    with pytest.raises(InvalidParameterError, match=match):
        sf.compare(*iris, models)


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"cv": 1}, "at least two folds"),
        ({"cv": "five"}, "cv must be"),
        ({"progress": "yes"}, "progress must be"),
        ({"groups": np.zeros(150), "cv": 3}, "all rows are in one group"),
    ],
)
def test_a_protocol_that_makes_no_sense_is_refused(change, match, iris):
    with pytest.raises(InvalidParameterError, match=match):
        sf.compare(*iris, ["LDA"], **change)


def test_rows_and_labels_that_do_not_match_are_refused(iris):
    X, y = iris
    with pytest.raises(InvalidInputError, match="150 rows but y has 149"):
        sf.compare(X, y[:-1], ["LDA"])
    with pytest.raises(TooFewClassesError, match="at least 2 classes"):
        sf.compare(X, np.zeros(150), ["LDA"])
    with pytest.raises(InvalidInputError, match="groups has shape"):
        sf.compare(X, y, ["LDA"], groups=[1, 2])


def test_every_row_of_an_incomplete_table_is_judged_by_every_model(iris):
    X, y = iris
    holes = X.copy()
    holes[3, 1] = np.nan
    result = sf.compare(holes, y, ["LDA", "logistic", "knn", "tree"], 5)
    assert not result.failures
    assert [outcome.n_rows for outcome in result.outcomes] == [150] * 5


def test_a_model_of_numbers_gets_categories_as_indicators(iris):
    X, y = iris
    frame = pd.DataFrame(X, columns=list("abcd")).assign(
        e=np.where(X[:, 2] > 4.8, "long", "short")
    )
    result = sf.compare(frame, y, {"own": LogisticRegression()}, 5)
    dense = np.column_stack([X, X[:, 2] <= 4.8])
    wrong = [
        np.mean(LogisticRegression().fit(dense[a], y[a]).predict(dense[b]) != y[b])
        for a, b in FOLDS.split(X, y)
    ]
    assert result.outcomes[0].error == pytest.approx(np.mean(wrong))


class Own(DecisionTreeClassifier):
    """One that other processes do not know."""


def without_times(result):
    frame = result.to_frame().drop(columns=["fit_seconds", "predict_seconds"])
    return str(frame.to_dict("index")), result.notes, [f.message for f in result.failures]


@pytest.mark.slow
@pytest.mark.parametrize("kind", [np.asarray, pl.DataFrame])
def test_folds_fitted_by_another_process_give_the_same_answer_to_the_last_bit(
    kind, iris, monkeypatch
):
    X, y = iris
    models = ["LDA", "RDA", "logistic", LogisticRegression(max_iter=3, random_state=0), "svm"]
    models += ["tree", RidgeClassifier(alpha=-1.0, random_state=0), "forest"]
    with at_most(1):
        here = sf.compare(kind(X), y, models, cv=4)
    answers, ask = [], Worker.run
    monkeypatch.setattr(Worker, "run", lambda *args: answers.append(ask(*args)) or answers[-1])
    monkeypatch.setattr(
        "concurrent.futures.Future.cancel", lambda _: False
    )  # all is done there
    monkeypatch.setattr("suffice.evaluate.comparison.judging._LONG", 0.0)
    with at_most(2):
        both = sf.compare(kind(X), y, models, cv=4)
    assert [answer is not None for answer in answers].count(True) == 4 * 8
    assert without_times(both) == without_times(here)
    assert any("failed to converge" in note for note in both.notes)
    assert [f.name for f in both.failures] == ["RidgeClassifier"]


def test_only_known_models_with_seeds_of_their_own_travel():
    chosen = [*parse_models(None, 0), *parse_models({"pipe": make_pipeline(sf.LDA())}, 0)]
    assert all(model.travels for model in chosen)
    own = {"own": Own(random_state=0), "tree": DecisionTreeClassifier()}
    assert not any(model.travels for model in parse_models(own, 0))


def test_generative_and_discriminative_models_are_told_apart():
    from sklearn.datasets import load_iris
    from sklearn.discriminant_analysis import QuadraticDiscriminantAnalysis
    from sklearn.svm import LinearSVC

    models = {"LDA": sf.LDA(), "theirs": QuadraticDiscriminantAnalysis(), "SVM": LinearSVC()}
    table = sf.compare(
        *load_iris(return_X_y=True), models=models, cv=2, progress=False
    ).to_frame()
    wanted = {"LDA": "generative", "theirs": "generative", "SVM": "discriminative"}
    assert table["approach"].to_dict() == wanted | {"constant": "neither"}


def test_parameters_of_every_member_of_an_average_are_counted():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))
    y = (np.sin(3 * X[:, 0]) + X[:, 1] > 0).astype(int) + (X[:, 0] > 1)
    auto = sf.AutoClassifier(members=[("tree", DecisionTreeClassifier(max_depth=2))]).fit(X, y)
    expected = -1.0
    for member in auto.members_:
        model = getattr(member.model, "inner", member.model)
        if hasattr(model, "roots"):
            leaf = model.left == np.arange(len(model.left))
            expected += 2 * (~leaf).sum() + 2 * leaf.sum()
        elif hasattr(model, "weights"):
            expected += 2 * (model.weights.shape[1] + 1)
        elif hasattr(model, "fitted"):
            expected += n_parameters(model.fitted)
        else:
            expected += model.n_parameters
        expected += 1
    assert n_parameters(auto) == expected
    assert any(isinstance(m.candidate.view, KernelFeatures) for m in auto.members_)


def test_columns_of_numbers_that_are_levels_are_read_as_levels():
    rng = np.random.default_rng(0)
    level = rng.integers(0, 6, 240)
    y = np.isin(level, [1, 4]) ^ (rng.random(240) < 0.1)
    X = np.column_stack([level.astype(float), rng.normal(size=240)])
    folds = list(StratifiedKFold(4).split(X, y))
    model = sf.LDA(categorical=[0])
    wrong = [
        error for a, b in folds for error in clone(model).fit(X[a], y[a]).predict(X[b]) != y[b]
    ]
    assert np.mean(wrong) < 0.15
    assert sf.compare(X, y, {"by level": model}, folds)["by level"].error == np.mean(wrong)


@pytest.mark.parametrize(
    ("name", "kind", "called"),
    [
        ("auto", sf.AutoClassifier, "AutoClassifier"),
        ("AutoClassifier", sf.AutoClassifier, "AutoClassifier"),
        ("AutoGaussian", sf.AutoGaussian, "AutoGaussian"),
        ("least squares", sf.LeastSquaresClassifier, "least squares"),
        ("LeastSquaresClassifier", sf.LeastSquaresClassifier, "least squares"),
        ("DecisionTreeClassifier", DecisionTreeClassifier, "decision tree"),
    ],
)
def test_a_name_means_the_model_that_has_it(name, kind, called):
    (model,) = parse_models([name], 0)
    assert type(model.estimator) is kind
    assert model.name == called


def test_no_two_models_share_a_spelling():
    spellings = [
        "".join(filter(str.isalnum, spelling.casefold()))
        for model in NAMED_MODELS
        for spelling in {model.name, *model.aliases}
    ]
    assert len(spellings) == len(set(spellings))


def test_a_comparison_of_auto_classifier_judges_auto_classifier(iris):
    result = sf.compare(*iris, models=["AutoClassifier"], cv=2)
    assert {outcome.name for outcome in result.outcomes} == {"AutoClassifier", "constant"}


def test_default_models_that_draw_have_the_seed_asked_for():
    models = parse_models(None, 7) + parse_models("perceptron", 7)
    seeds = {m.name: m.estimator.get_params().get("random_state", 7) for m in models}
    assert set(seeds.values()) == {7}


@pytest.mark.parametrize("library", ["LightGBM", "XGBoost", "CatBoost"])
def test_boosting_libraries_join_where_installed_and_repeat_themselves(library, iris):
    pytest.importorskip(library.lower())
    X, y = iris
    labels = np.array(["a", "b", "c"])[np.unique(y, return_inverse=True)[1]]
    assert library in [model.name for model in installed_boosters(0)]
    first, second = (sf.compare(X, labels, [library], cv=2, progress=False) for _ in range(2))
    assert np.array_equal(first[library].row_losses, second[library].row_losses)
    assert first[library].error < 0.1


def test_a_boosting_library_that_is_not_installed_is_refused_by_name(iris, monkeypatch):
    monkeypatch.setattr(competitors, "find_spec", lambda _: None)
    assert installed_boosters(0) == ()
    with pytest.raises(
        InvalidInputError, match="LightGBM is not installed: pip install lightgbm"
    ):
        sf.compare(*iris, ["LightGBM"], cv=2, progress=False)


def test_a_model_left_out_says_its_true_reason():
    models = parse_models(["logistic", "LDA"], 0)
    kept, said = affordable(models, 10, FitSize(1200, 500, 4))
    assert [model.name for model in kept] == ["LDA"]
    assert [each.sentence for each in said] == ["logistic regression would take about 72 s"]
    # few rows of many features are fitted in the span of the rows
    assert affordable(models, 10, FitSize(63, 2308, 4)) == (models, ())
    assert affordable(models[:1], 1, FitSize(100, 499, 4)) == (models[:1], ())
