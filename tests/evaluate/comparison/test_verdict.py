"""Whether a model can be used: against class frequencies, in counts, with caveats."""

import dataclasses

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import RepeatedStratifiedKFold

import suffice as sf
from suffice.evaluate.comparison import importance
from suffice.evaluate.comparison.comparison import compared, folds_for
from suffice.evaluate.comparison.importance import permutation_importance
from suffice.evaluate.comparison.learning_curve import Forecast, Growth, growth
from suffice.evaluate.comparison.models import parse_models
from suffice.evaluate.comparison.paired import ChoiceEstimate
from suffice.evaluate.comparison.verdict import ClassRecall, _misses, most_missed, verdict_on
from suffice.evaluate.curves.thresholds import roc_curve
from suffice.present.report.documented_table import DocumentedTable
from suffice.present.report.findings import ReportSettings, judge


def verdict(X, y, models, cv=5, **options):
    folds = folds_for(X, y, cv, None, None, 0)
    result = compared(parse_models(models, 0), folds, 0, keep=True)
    return result, verdict_on(result, chosen=True, **options)


def judged(X, y, models, **settings):
    data = DocumentedTable.of(X, y)
    return judge(data, data, ReportSettings(models=models, cv=5, progress=False, **settings))


@pytest.fixture(scope="module")
def abalone(table):
    X, y, _ = table("abalone19_some")
    return verdict(X, y, ["logistic", "NB"])


def test_a_model_that_finds_no_positive_is_not_plainly_usable(abalone):
    result, found = abalone
    worst = found.recalls[0]
    assert (worst.label, worst.n_found, worst.of) == ("positive", 0, 32)
    assert found.usable != "yes"
    # the sentence before it is on the constant classifier
    assert found.headline.endswith(
        ". Logistic regression misses 32 of 32 rows of class positive (100\N{NO-BREAK SPACE}%)."
    )
    assert not any("misses 32 of 32" in told for told in (*found.sentences, *found.caveats))
    assert "misclassifies no more: 2.6" in found.headline
    assert result.reference == "logistic regression"


def test_it_is_said_at_which_threshold_it_would_be_useful(abalone):
    result, found = abalone
    own = result[result.reference]
    p, truth = own.held_out.posteriors[:, 1], own.held_out.truth

    def best(p, truth):
        tried = np.unique(p)[:, None]
        gains = ((p >= tried) & (truth == 1)).sum(1) / 32 - ((p >= tried) & (truth == 0)).sum(
            1
        ) / 1200
        return tried[gains.argmax(), 0]

    # a number of few digits that finds the same rows
    np.testing.assert_array_equal(p >= found.threshold.value, p >= best(p, truth))
    assert len(str(found.threshold.value)) < 8
    called = p >= found.threshold.value  # as the slider of the page counts
    assert found.threshold.n_found == (called & (truth == 1)).sum() >= 16
    assert found.threshold.false_alarms == (called & (truth == 0)).sum()
    (said,) = (sentence for sentence in found.sentences if "false alarm" in sentence)
    assert f"finds {found.threshold.n_found} of 32 rows, with" in said
    assert "This threshold was chosen on the same rows" in said


def test_the_auc_of_the_table_is_the_area_of_the_roc_curve(abalone):
    result, found = abalone
    rows = result[result.reference].held_out
    assert found.auc == roc_curve(rows.truth == 1, rows.posteriors[:, 1]).area


def test_weekly_returns_are_not_predicted(table):
    X, y, _ = table("islr_weekly")
    _, found = verdict(X, y, ["LDA", "logistic"])
    assert found.usable == "no"
    assert found.threshold is None
    assert found.headline.startswith("Do not use ")
    assert all(gain.p_value > 0.05 for gain in found.gains)
    assert not any("posteriors" in caveat for caveat in found.caveats)


def test_the_gain_over_class_frequencies_is_tested_three_times(iris):
    _, found = verdict(*iris, ["LDA"])
    error, log_loss, balanced = found.gains
    assert (error.measure, log_loss.measure) == ("error", "log-loss")
    assert error.constant == pytest.approx(2 / 3)
    assert log_loss.constant == pytest.approx(np.log(3), rel=1e-3)
    assert (balanced.measure, balanced.constant) == ("balanced accuracy", pytest.approx(1 / 3))
    assert balanced.model == pytest.approx(0.98)
    assert all(gain.is_better and gain.p_value < 0.0001 for gain in found.gains)
    assert found.usable == "yes"
    assert found.caveats == ()


def test_the_protocol_says_how_the_winner_was_judged(iris):
    result, found = verdict(*iris, ["LDA", "tree"])
    assert found.choice is not None
    named = verdict_on(result.against("decision tree"), chosen=False)
    assert named.protocol.endswith("the model was fixed beforehand")
    assert named.choice is None
    assert named.error == result["decision tree"].error


def test_it_is_said_in_how_many_folds_the_others_choose_the_same_model(iris):
    result, found = verdict(*iris, ["LDA", "tree"])
    assert found.choice.choices == ("LDA",) * 5
    assert found.sentences == (
        f"Why LDA: it has the lowest log-loss ({result['LDA'].log_loss:.3f}). If the model is "
        "chosen again for every fold, from the rows of the other folds, LDA is chosen in all 5 "
        "folds.",
    )
    split = dataclasses.replace(found.choice, choices=("LDA", "tree", "LDA", "QDA", "LDA"))
    said = dataclasses.replace(found, choice=split).sentences[-1]
    e, low, high = (
        f"{100 * v:.1f}\N{NO-BREAK SPACE}%" for v in (split.error, split.low, split.high)
    )
    assert said.endswith(
        "LDA is chosen in 3 of 5 folds. The others choose QDA and tree. The error is then "
        f"{e} ({low} to {high}). This error includes the effect of choosing the model."
    )
    other = dataclasses.replace(found.choice, choices=("QDA",) * 5)
    said = dataclasses.replace(found, choice=other).sentences[-1]
    assert (
        "LDA is chosen in none of 5 folds. Instead, they choose QDA. The error is then" in said
    )
    named = verdict_on(result.against("decision tree"), chosen=False)
    assert named.sentences == ("decision tree was asked for, not chosen.",)


def test_a_model_that_misses_more_than_a_third_of_a_class_is_used_with_care():
    rng = np.random.default_rng(2)
    y = np.where(rng.random(600) < 0.35, "yes", "no")
    X = rng.normal(size=(600, 2)) + 1.1 * (y == "yes")[:, None]
    _, found = verdict(X, y, ["LDA"])
    worst = found.recalls[0]
    assert 1 / 2 < worst.n_found / worst.of < 2 / 3
    assert (found.usable, found.caveats) == ("with care", ())
    missed = worst.of - worst.n_found
    share = f"{100 * missed / worst.of:.1f}\N{NO-BREAK SPACE}%"
    said = f"LDA misses {missed} of {worst.of} rows of class yes ({share})."
    assert found.headline.endswith(said)


def test_the_class_missed_most_has_the_largest_share_missed_however_small_it_is():
    found = tuple(
        ClassRecall(*each)
        for each in (("a", 1, 3), ("b", 15, 30), ("c", 29, 30), ("d", 20, 60))
    )
    assert most_missed(found).label == "d"  # two thirds, as of "a", and of more rows
    assert _misses("LDA", found) == (
        "LDA misses 66.7\N{NO-BREAK SPACE}% of the rows of each of the classes d and a (40 of 60 "
        "and 2 of 3), and at least half of the rows of 1 other class."
    )
    assert _misses("LDA", found[1:]) == (
        "LDA misses 40 of 60 rows of class d (66.7\N{NO-BREAK SPACE}%), and at least half of "
        "the rows of 1 other class."
    )
    of_equal_size = (ClassRecall("BF", 48, 50), ClassRecall("BM", 48, 50))
    assert _misses("LDA", of_equal_size) == (
        "LDA misses 4.0\N{NO-BREAK SPACE}% of the rows of each of the classes BF and BM (2 of 50 "
        "and 2 of 50)."
    )
    assert most_missed(found[:3]).label == "a"


@pytest.mark.parametrize("name", ["fgl", "zoo", "iris"])
def test_the_named_class_is_the_one_of_which_most_is_missed(table, name):
    X, y, _ = table(name)
    result, found = verdict(X, y, ["LDA", "tree"])
    rows = result[result.reference].held_out
    shares = {}
    for k, label in enumerate(rows.classes.tolist()):
        of_class = rows.truth == k
        shares[label] = np.mean(rows.predicted[of_class] != k)
    assert shares[most_missed(found.recalls).label] == max(shares.values())


def test_a_row_number_as_the_only_signal_is_a_caveat():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"noise": rng.normal(size=300), "index": np.arange(300)})
    found = judged(X, np.repeat(["a", "b", "c"], 100), ["LDA", "tree"]).verdict
    assert found.usable == "with care"
    assert found.caveats[0].startswith("Column 'index' numbers the rows: ")


def test_every_caveat_is_told_once_serious_ones_first(iris):
    _, found = verdict(*iris, ["LDA"], first=["1.", "2."], last=["3.", "2.", "4."])
    assert found.caveats == ("1.", "2.", "3.", "4.")
    assert found.usable == "with care"


def test_twenty_rows_are_used_with_care(table):
    X, y, _ = table("hours")
    _, found = verdict(X, y, ["LDA"])
    assert found.usable == "with care"
    assert "There are only 20 rows: the error is known only roughly." in found.caveats


@pytest.mark.parametrize(("apart", "usable"), [(1.1, "with care"), (3.0, "yes")])
def test_a_model_that_errs_often_is_used_with_care(apart, usable):
    rng = np.random.default_rng(0)
    y = np.arange(600) % 3
    centres = apart / np.sqrt(2) * np.eye(3)
    _, found = verdict(rng.normal(size=(600, 3)) + centres[y], y, ["LDA"])
    assert all(each.n_found >= each.of / 2 for each in found.recalls)
    assert (found.error > 1 / 3) == (usable == "with care")
    assert found.usable == usable
    assert any(c.startswith("More than a third of rows") for c in found.caveats) == (apart < 3)


def test_importance_is_that_of_held_out_rows():
    rng = np.random.default_rng(1)
    y = np.arange(400) % 2
    X = pd.DataFrame(
        {"signal": rng.normal(size=400) + 2 * y, "noise": rng.normal(size=400), "tag": "x"}
    ).assign(tag=[f"t{i % 7}" for i in range(400)])
    folds = folds_for(X, y, 5, None, None, 0)
    (model,) = parse_models(["tree"], 0)
    outcome = compared((model,), folds, 0, keep=True)["decision tree"]
    found = {
        i.feature: i for i in permutation_importance(model, outcome, folds, tuple(X.columns))
    }
    assert next(iter(found)) == "signal"
    assert found["signal"].low > 0.15
    for name in ("noise", "tag"):  # which the tree has learnt by heart
        assert abs(found[name].mean) < 0.05
    assert {i.loss for i in found.values()} == {"error"}


def test_importance_equals_shuffling_by_hand():
    rng = np.random.default_rng(2)
    y = np.arange(200) % 2
    X = np.column_stack([rng.normal(size=200) + 3 * y, rng.normal(size=200)])
    folds = folds_for(X, y, 4, None, None, 0)
    (model,) = parse_models(["LDA"], 0)
    outcome = compared((model,), folds, 0, keep=True)["LDA"]
    (first, second) = permutation_importance(model, outcome, folds, ("a", "b"), seed=5)
    rises = []
    for train, test in folds.splits:
        fitted = sf.LDA().fit(X[train], y[train])
        for _ in range(40):
            mixed = X[test].copy()
            mixed[:, 0] = rng.permutation(mixed[:, 0])
            rises.append(np.mean(fitted.predict(mixed) != y[test]))
    assert (first.feature, second.feature) == ("a", "b")
    assert first.mean == pytest.approx(np.mean(rises) - outcome.error, abs=0.03)
    assert first.low < first.mean < first.high


def test_importance_of_many_rows_is_that_of_a_sample(monkeypatch):
    rng = np.random.default_rng(6)
    y = np.arange(900) % 2
    X = np.column_stack([rng.normal(size=900) + 2 * y, rng.normal(size=900)])
    folds = folds_for(X, y, 3, None, None, 0)
    (model,) = parse_models(["nearest neighbours"], 0)
    outcome = compared((model,), folds, 0, keep=True)["nearest neighbours"]
    (whole, _) = permutation_importance(model, outcome, folds, ("a", "b"))
    monkeypatch.setattr(importance, "MOST_PREDICTIONS", 1_200)
    (first, second) = permutation_importance(model, outcome, folds, ("a", "b"))
    assert (first.feature, first.n_rows, second.n_rows) == ("a", 300, 300)
    assert whole.n_rows == 900
    assert first.low < whole.mean < first.high
    ratio = (first.high - first.low) / (whole.high - whole.low)
    assert 1.5 < ratio < 2.5  # √3 times as wide, and wider as there are fewer repeats


@pytest.mark.parametrize(
    ("n_rows", "n_columns", "is_quick", "expected"),
    [
        (150, 4, False, (5, 150)),
        (1000, 20, False, (3, 1000)),
        (10_000, 16, False, (2, 1875)),
        (10_000, 16, True, (5, 10_000)),
        (10_000, 100, True, (2, 5000)),
    ],
)
def test_columns_are_shuffled_as_often_as_time_allows(n_rows, n_columns, is_quick, expected):
    assert importance._affordable(n_rows, n_columns, is_quick=is_quick) == expected


def test_a_model_that_errs_like_a_constant_is_explained_by_its_log_loss():
    rng = np.random.default_rng(4)
    y = (rng.random(400) < 0.3).astype(int)
    X = np.column_stack([rng.normal(size=400) + 2 * y, rng.normal(size=400)])
    folds = folds_for(X, y, 5, None, None, 0)
    (model,) = parse_models(["LDA"], 0)
    outcome = compared((model,), folds, 0, keep=True)["LDA"]
    # as if its errors were those of the most frequent class, on other rows
    losses = outcome.row_losses.copy()
    losses[0] = 0
    losses[0, : int((y == 1).sum())] = 1
    constant = dataclasses.replace(outcome, row_losses=losses)
    told = permutation_importance(model, constant, folds, ("a", "b"))
    assert {i.loss for i in told} == {"log_loss"}


def test_the_error_with_more_rows_is_foretold_within_its_interval():
    rng = np.random.default_rng(3)

    def rows(n):
        y = np.arange(n) % 2
        return rng.normal(size=(n, 12)) + 0.45 * y[:, None], y

    X, y = rows(120)
    folds = folds_for(X, y, 5, None, None, 0)
    (model,) = parse_models(["LDA"], 0)
    outcome = compared((model,), folds, 0, keep=True)["LDA"]
    found = growth(model, folds, outcome)
    assert [f.n_rows for f in found.forecast] == [120, 240, 480]
    now = found.forecast[0]
    assert (now.error, now.low, now.high) == pytest.approx((outcome.error, *outcome.interval))
    widths = [f.high - f.low for f in found.forecast]
    assert (
        min(widths[1:]) >= 0.9 * widths[0]
    )  # what is not known of it now, is not known later
    errors = [f.error for f in found.forecast]
    assert errors == sorted(errors, reverse=True)
    many, truth = rows(20_000)
    real = np.mean(sf.LDA().fit(*rows(480)).predict(many) != truth)
    assert found.forecast[-1].low <= real <= found.forecast[-1].high
    assert found.sentence.startswith("It is not clear whether more rows would help.")
    rare = np.where(np.arange(120) < 3, 2, y)  # so that every size is about that of all rows
    folds = folds_for(X, rare, 3, None, None, 0)
    assert growth(model, folds, compared((model,), folds, 0, keep=True)["LDA"]) is None


@pytest.mark.parametrize(
    ("errors", "low", "least_fall", "helps"),
    [
        ((0.2, 0.15), 0.1, 0.01, "would help"),
        # the interval of the fall holds zero
        ((0.2, 0.15), 0.1, 0.0, "may or may not help"),
        # one misclassified row
        ((0.005, 0.0), 0.0, 0.004, "may or may not help"),
        ((0.2, 0.195), 0.1, 0.001, "may or may not help"),
        ((0.2, 0.195), 0.17, 0.001, "would hardly help"),
        ((0.0, 0.0), 0.0, 0.0, "would hardly help"),
    ],
)
def test_more_rows_hardly_help_only_where_a_great_fall_is_ruled_out(
    errors, low, least_fall, helps
):
    now, twice = (Forecast(n, e, low, 0.3) for n, e in zip((200, 400), errors, strict=True))
    found = Growth("LDA", np.array([5]), np.array([0.3]), 3, (now, twice), least_fall)
    assert found.helps == helps


def test_numbers_are_the_same_wherever_they_are_told(iris):
    found = judged(*iris, ["LDA", "QDA"])
    outcome = found.outcome
    assert found.calibration.calibration_error == pytest.approx(outcome.calibration_error)
    assert outcome.error == found.held_out.error
    assert outcome.log_loss == pytest.approx(found.held_out.log_loss)
    assert f"calibration error is {outcome.calibration_error:.3f};" in str(found.calibration)


def test_parameters_are_counted_once(iris):
    auto = sf.AutoGaussian(kernel_features=False)
    found = judged(*iris, ["LDA"], estimator=auto, fast=True)
    from suffice.evaluate.comparison.model_size import n_parameters

    assert found.outcome.n_parameters == n_parameters(found.estimator)
    row = next(r for r in found.comparison.rows() if r["model"] == "AutoGaussian")
    assert row["n_parameters"] == found.outcome.n_parameters


def test_a_first_look_leaves_simulations_out(iris):
    found = judged(*iris, None, fast=True)
    assert found.growth is None
    assert found.importance == ()
    assert len(found.comparison.outcomes) == 6


def test_a_verdict_does_not_depend_on_the_unit_of_the_weights():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 30)
    X = rng.normal(size=(60, 2)) + 0.4 * y[:, None]

    def balanced(weight):
        folds = folds_for(X, y, 5, weight, None, 0)
        result = compared(parse_models(["LDA"], 0), folds, 0, keep=True)
        return verdict_on(result, chosen=True).gains[-1]

    plain = balanced(None)
    for unit in (1e-3, 1.0, 1e3):
        found = balanced(np.full(60, unit))
        assert (found.model, found.p_value) == pytest.approx((plain.model, plain.p_value))


def test_rows_judged_several_times_are_counted_once(iris):
    again = RepeatedStratifiedKFold(n_splits=3, n_repeats=4, random_state=0)
    _, found = verdict(*iris, ["LDA"], cv=again)
    assert [each.of for each in found.recalls] == [50, 50, 50]
    assert 0.9 * 150 < sum(each.n_found for each in found.recalls) <= 150


def test_a_verdict_reads_the_choice_of_the_folds_where_the_comparison_chose_and_none_tested(
    iris,
):
    folds = folds_for(*iris, 5, None, None, 0)
    result = compared(parse_models(["LDA", "QDA"], 0), folds, 0, keep=True)
    tested = ChoiceEstimate(error=0.5, low=0.4, high=0.6, choices=(), n_rows=10)
    assert result.choice is not None
    assert verdict_on(result, chosen=True).choice == result.choice
    assert verdict_on(result, chosen=True, tested=tested).choice == tested
    assert verdict_on(result, chosen=False).choice is None
