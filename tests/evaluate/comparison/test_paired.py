"""One rule compares models, by rows, with one correction; and one rule recommends."""

import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import load_digits
from sklearn.dummy import DummyClassifier
from sklearn.neighbors import KNeighborsClassifier

import suffice as sf
from suffice.core.decision.error_intervals import wilson
from suffice.evaluate.comparison.comparison import compared, folds_for, size_of
from suffice.evaluate.comparison.competitors import (
    NUMBERS_OF_NEIGHBOURS,
    CalibratedSvm,
    ChosenNeighbours,
)
from suffice.evaluate.comparison.fit_times import FitSize, affordable
from suffice.evaluate.comparison.models import parse_models
from suffice.evaluate.comparison.paired import RowLosses, choice_estimate


class Column(ClassifierMixin, BaseEstimator):
    """Predicts what stands in a column."""

    def __init__(self, column=0):
        self.column = column

    def fit(self, X, y):  # noqa: ARG002
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return X[:, self.column].astype(int)


def told(answers, n_folds=5):
    """Return the comparison of models whose answers to n rows are given, one column each."""
    y = np.arange(len(answers)) % 2
    X = np.column_stack([np.where(wrong, 1 - y, y) for wrong in answers.T])
    folds = [
        (
            np.flatnonzero(np.arange(len(y)) * n_folds // len(y) != f),
            np.flatnonzero(np.arange(len(y)) * n_folds // len(y) == f),
        )
        for f in range(n_folds)
    ]
    return sf.compare(X, y, {f"m{j}": Column(j) for j in range(answers.shape[1])}, folds)


def random_losses(rng, n=200, n_models=30):
    wrong = (rng.random((n_models, n)) < 0.5).astype(float)
    losses = np.stack([wrong, wrong + 0.1 * rng.random((n_models, n))])
    names = tuple(f"m{j}" for j in range(n_models))
    folds = np.arange(n) % 5
    sizes = np.arange(n_models, dtype=float)
    return RowLosses(
        names, losses, np.ones(n), folds, np.full(n_models, 1.25), sizes, (True,) * n_models
    )


def test_errors_of_8_9_and_0_8_percent_on_4300_rows_differ_though_folds_vary():
    wrong = np.zeros((4300, 2), bool)
    wrong[:383, 0] = True  # 8.9 %, all in one fold
    wrong[-34:, 1] = True  # 0.8 %
    frame = told(wrong).to_frame()
    assert frame.loc["m0", "p_adjusted"] < 0.0001
    assert frame.loc["m0", "error_difference_low"] > 0.05


def test_a_p_value_is_at_most_five_percent_exactly_where_the_interval_excludes_nothing():
    rng = np.random.default_rng(0)
    found = []
    for share in np.linspace(0.1, 0.3, 12):
        wrong = np.column_stack([rng.random(300) < 0.1, *(rng.random((3, 300)) < share)])
        found += told(wrong).differences()
    outside = [d.low > 0 or d.high < 0 for d in found]
    assert outside == [d.p_value <= 0.05 for d in found]
    assert outside == [d.verdict != "alike" for d in found]
    assert 0 < sum(outside) < len(outside)


def test_p_values_are_adjusted_for_the_pairs_of_models_and_the_constant_is_one_question(table):
    X, y, _ = table("wine")
    few = {d.model: d.p_value for d in sf.compare(X, y, ["LDA", "tree"], 5).differences()}
    all_four = sf.compare(X, y, ["LDA", "tree", "QDA", "NB"], 5).against("LDA").differences()
    many = {d.model: d.p_value for d in all_four}
    assert many["decision tree"] == pytest.approx(6 * few["decision tree"])
    assert many["constant"] == few["constant"]


def test_of_one_fold_the_test_is_mcnemars():
    rng = np.random.default_rng(1)
    wrong = np.column_stack([rng.random(2000) < 0.2, rng.random(2000) < 0.23])
    X = np.column_stack([np.arange(2000) % 2 != w for w in wrong.T]).astype(float)
    y = np.arange(2000) % 2
    split = [(np.arange(10), np.arange(10, 2000))]
    result = sf.compare(X, y, {"a": Column(0), "b": Column(1)}, split)
    (test,) = (d for d in result.differences() if d.model != "constant")
    b, c = (wrong[10:, 1] & ~wrong[10:, 0]).sum(), (wrong[10:, 0] & ~wrong[10:, 1]).sum()
    mcnemar = abs(b - c) / np.sqrt(b + c)
    z = stats.norm.isf(test.p_value / 2)
    assert z == pytest.approx(mcnemar, rel=0.02)


def test_differences_of_log_loss_have_the_corrected_variance_of_rows(iris):
    folds = folds_for(*iris, 5, None, None, 0)
    result = compared(parse_models(["LDA", "NB"], 0), folds, 0, keep=True)
    (test,) = (d for d in result.differences("log_loss") if d.model == "GaussianNB")
    own, other = (result[name].held_out.in_order() for name in ("LDA", "GaussianNB"))
    d = -other.logs[np.arange(150), other.truth] + own.logs[np.arange(150), own.truth]
    # ρ of models that change little with the training rows is 1/4
    t = d.mean() / np.sqrt(d.var(ddof=1) * (1 / 150 + 0.25 / 120))
    assert result.reference == "LDA"
    assert test.mean == pytest.approx(d.mean(), rel=1e-9)
    assert test.p_value == pytest.approx(2 * stats.t(149).sf(abs(t)), rel=1e-6)


def test_text_and_table_use_the_same_p_values(table):
    X, y, _ = table("fgl")
    result = sf.compare(X, y, ["LDA", "QDA", "GaussianNB", "tree"], 5)
    frame = result.to_frame()
    for d in result.differences():
        assert frame.loc[d.model, "p_adjusted"] == d.p_value
    said = result.verdict.split("Compared with ")[1].split("The p-values")[0]
    others = said.partition(", ")[2]
    # who is called worse is so by the table, and no other is
    for part in re.split(r"(?<=\)\.) ", others.strip()):
        named = [d for d in result.differences() if d.model in part]
        assert named
        is_alike = "differ significantly" in part or "differs significantly" in part
        assert {d.p_value <= 0.05 for d in named} == {not is_alike}
    assert np.isnan(frame.loc[result.reference, "p_adjusted"])


def test_a_constant_classifier_stands_in_every_comparison(table):
    X, y, _ = table("abalone19_some")
    result = sf.compare(X, y, ["LDA"], 5)
    constant = result.to_frame().loc["constant"]
    assert constant["error"] == pytest.approx(32 / 1232)
    assert constant["auc"] == 0.5
    shares = np.array([1200, 32]) / 1232
    assert constant["log_loss"] == pytest.approx(-shares @ np.log(shares), rel=1e-3)
    assert "constant" in str(result)
    assert result.baseline.name == "constant"


def test_a_model_whose_log_loss_explodes_is_not_recommended(table):
    X, y, _ = table("fgl")
    result = sf.compare(X, y, ["QDA", "GaussianNB", "knn"], 5)
    assert result.to_frame().loc["QDA", "log_loss"] > 10
    assert result.reference == "nearest neighbours"


@pytest.mark.parametrize("name", ["fgl", "zoo", "wine", "crabs"])
def test_no_model_is_significantly_better_than_the_recommended_one(name, table):
    X, y, _ = table(name)
    result = sf.compare(X, y, ["LDA", "QDA", "NB", "knn", "tree"], 5)
    for loss in ("error", "log_loss"):
        assert "better" not in {d.verdict for d in result.differences(loss)}


def test_all_models_compete_on_equal_terms():
    X, y = load_digits(return_X_y=True)
    shrunk = sf.LDA(shrinkage="oas")
    result = sf.compare(X, y, {"LDA": shrunk, "NB": "NB", "near": "knn"}, 3)
    assert result.reference == "near"
    assert result["LDA"].error > result["near"].error


def test_a_simpler_model_with_fewer_errors_is_preferred_unless_its_log_loss_is_clearly_worse():
    rng = np.random.default_rng(0)
    n, base = 400, rng.gamma(2.0, 0.3, 400)
    errors = np.zeros((2, n))
    errors[0, :40] = errors[1, :44] = 1  # the first makes fewer

    def recommended(gap, sizes=(10.0, 100.0), wrong=errors):
        logs = np.stack([base + gap + 0.01 * rng.normal(size=n), base])
        rows = np.stack([wrong, logs])
        known = (np.ones(n), np.arange(n) % 5, np.full(2, 0.25), np.array(sizes), (True, True))
        return RowLosses(("simple", "large"), rows, *known).recommended()

    se = base.std() * np.sqrt(1.25 / n)
    assert recommended(0.0015) == 0  # beyond the error of the difference, not of the loss
    assert recommended(0.0015, sizes=(100.0, 10.0)) == 1  # no simpler
    assert recommended(0.0015, wrong=errors[::-1]) == 1  # more errors
    assert recommended(1.2 * se) == 1


def test_a_simpler_model_with_more_errors_does_not_replace_one_that_is_as_good():
    rng = np.random.default_rng(0)
    n, base = 400, rng.gamma(2.0, 0.3, 400)
    errors = np.zeros((3, n))
    errors[0, :44] = errors[1, :40] = errors[2, :43] = 1
    noise = 0.01 * rng.normal(size=(2, n))
    noise -= noise.mean(1, keepdims=True)
    logs = np.stack([base, base + 0.0003 + noise[0], base + 0.0009 + noise[1]])
    overlap = np.full(3, 0.25)
    sizes = np.array([100.0, 26.0, 10.0])
    known = (np.ones(n), np.arange(n) % 5, overlap, sizes, (True,) * 3)
    rows = RowLosses(("best", "good", "small"), np.stack([errors, logs]), *known)
    assert rows.names[rows.recommended()] == "good"


def test_the_price_of_simplicity_stands_in_the_verdict():
    # m0 makes two errors more than m1 of 400, m2 is useless
    wrong = np.zeros((400, 3), bool)
    wrong[:12, 0] = wrong[5:15, 1] = wrong[:200, 2] = True
    result = told(wrong).against("m0")
    assert "0.5 percentage points more errors than m1 (2.5" in result.verdict
    assert "not significant" in result.verdict


def test_the_price_of_simplicity_does_not_contradict_the_rounded_errors():
    # 47 and 45 of 214 rows: 22.0 % and 21.0 %, which differ by 0.93 points
    wrong = np.zeros((214, 3), bool)
    wrong[:47, 0] = wrong[5:50, 1] = wrong[:107, 2] = True
    result = told(wrong).against("m0")
    assert "Its error is 22.0" in result.verdict
    assert "0.93 percentage points more errors than m1 (21.0" in result.verdict


def test_the_least_of_many_estimates_flatters_and_the_nested_one_does_not():
    rng = np.random.default_rng(2)
    nested, least = [], []
    for _ in range(12):
        losses = random_losses(rng)
        estimate = choice_estimate(losses)
        nested.append(estimate.error)
        least.append(losses.losses[0, losses.recommended()].mean())
        assert len(estimate.choices) == 5
    assert np.mean(least) < 0.46
    assert np.mean(nested) == pytest.approx(0.5, abs=0.03)


def test_the_nested_estimate_is_that_of_choosing_by_the_other_folds():
    losses = random_losses(np.random.default_rng(3), n=60, n_models=4)
    each = np.empty(60)
    for fold in range(5):
        here = losses.folds == fold
        each[here] = losses.losses[0, losses.within(~here).recommended(), here]
    found = choice_estimate(losses)
    assert found.error == pytest.approx(each.mean())
    # choosing depends on the training rows: ρ = ½, and n / n_train = 5/4 of 5 folds
    overlap = max(0.5 * 5 / 4, losses.overlap.max())
    low, high = wilson(np.array(each.mean()), np.array(60 / (1 + overlap)))
    assert (found.low, found.high) == pytest.approx((float(low), float(high)))


def test_models_that_take_too_long_are_named():
    models = parse_models(None, 0)
    kept, said = affordable(models, 10, FitSize(1600, 64, 10))
    names = {model.name for model in kept}
    assert "gradient boosting" not in names
    assert {"AutoGaussian", "logistic regression"} <= names
    assert "gradient boosting" in {slow.name for slow in said}
    assert affordable(models, 10, FitSize(135, 4, 3)) == (models, ())
    assert affordable(models, 10, FitSize(330, 6, 3, n_incomplete=4)) == (models, ())
    holes = {m.name for m in affordable(models, 10, FitSize(600, 35, 19, n_incomplete=35))[0]}
    whole = {m.name for m in affordable(models, 10, FitSize(600, 35, 19))[0]}
    assert whole - holes == {"QDA"}


def test_the_size_of_a_fit_counts_columns_as_they_are_encoded():
    frame = pd.DataFrame({"a": [1.0, None, 3.0, 4.0] * 5, "b": list("xyzx") * 5})
    folds = folds_for(frame, np.arange(20) % 2, 5, None, None, 0)
    assert size_of(folds) == (16, 4, 2, 1)  # a, a missing, b=y, b=z
    plain = folds_for(np.arange(40.0).reshape(20, 2), np.arange(20) % 2, 5, None, None, 0)
    assert size_of(plain) == (16, 2, 2, 0)


def test_the_penalty_of_logistic_regression_is_chosen(iris):
    frame = sf.compare(*iris, ["logistic"], 10).to_frame()
    assert frame.loc["logistic regression", "log_loss"] < 0.1


def test_the_number_of_neighbours_has_the_least_brier_score_left_out(iris):
    X, y = iris
    model = ChosenNeighbours().fit(X, y)
    truth = np.eye(3)[np.unique(y, return_inverse=True)[1]]
    briers = []
    for k in NUMBERS_OF_NEIGHBOURS:
        p = [
            KNeighborsClassifier(int(k))
            .fit(np.delete(X, i, 0), np.delete(y, i))
            .predict_proba(X[i : i + 1])[0]
            for i in range(0, 150, 3)
        ]
        briers.append(np.square(p - truth[::3]).sum())
    chosen = model.neighbours_.n_neighbors
    assert chosen in NUMBERS_OF_NEIGHBOURS
    assert briers[list(NUMBERS_OF_NEIGHBOURS).index(chosen)] < min(briers) + 0.5
    one = KNeighborsClassifier(int(chosen)).fit(X, y)
    np.testing.assert_array_equal(model.predict_proba(X), one.predict_proba(X))


def test_the_support_vector_machine_states_calibrated_probabilities(iris):
    X, y = iris
    p = CalibratedSvm().fit(X[::2], y[::2]).predict_proba(X[1::2])
    np.testing.assert_allclose(p.sum(1), 1)
    truth = np.unique(y, return_inverse=True)[1][1::2]
    assert -np.log(p[np.arange(75), truth]).mean() < 0.3
    two = CalibratedSvm().fit(X[50:], y[50:])
    assert two.predict_proba(X[50:]).shape == (100, 2)
    assert np.mean(two.predict(X[50:]) == y[50:]) > 0.9


def test_select_never_picks_the_constant_it_was_not_asked_for(iris):
    noise = DummyClassifier(strategy="uniform", random_state=0)
    chosen = sf.lectures.select(*iris, {"noise": noise})
    assert chosen.pick == "noise"


def test_a_support_vector_machine_does_not_mind_rows_in_order():
    rng = np.random.default_rng(0)
    a, b = np.repeat([-1.2, 0, 1.2], 100), rng.integers(0, 2, 300) * 2 - 1.0
    y = ((b > 0) == (a == 0)) ^ (rng.random(300) < 0.1)
    X = np.c_[a, b]
    assert np.mean(CalibratedSvm().fit(X, y).predict(X) != y) < 0.15


def test_rows_of_hardly_any_weight_do_not_make_a_loss_better_known():
    few = random_losses(np.random.default_rng(0), 40, 6)
    more = random_losses(np.random.default_rng(1), 4000, 6)
    joined = replace(
        few,
        losses=np.concatenate([few.losses, more.losses], axis=2),
        weights=np.concatenate([few.weights, 1e-12 * more.weights]),
        folds=np.concatenate([few.folds, more.folds]),
    )
    for m in range(6):
        expected = few.losses[1, m].std() * np.sqrt(2.25 / 40)
        assert few._standard_error(1, m) == pytest.approx(expected)
        assert joined._standard_error(1, m) == pytest.approx(expected)
    assert joined.recommended() == few.recommended()
