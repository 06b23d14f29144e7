"""The reason given for a model is the rule that chose it; two errors stand side by side."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin

import suffice as sf
from suffice.core.text.numbers import count, loss, percent
from suffice.evaluate.comparison.caveats import caveats_of_choice
from suffice.evaluate.comparison.choice_reason import (
    _beaten_in_words,
    _differs_otherwise,
    _excess_in_words,
    _log_loss_of_rule,
    _why_about_as_good,
    _why_not,
    _why_not_smaller,
    reason_for,
)
from suffice.evaluate.comparison.comparison import compared, folds_for
from suffice.evaluate.comparison.models import parse_models
from suffice.evaluate.comparison.paired import ChoiceEstimate, Recommendation, RowLosses
from suffice.evaluate.comparison.verdict import verdict_on

MODELS = ["LDA", "QDA", "NB", "knn", "tree", "least squares"]


@pytest.fixture(scope="module")
def comparisons(table):
    results = {}
    for name in ("wine", "fgl", "crabs", "iris", "haberman", "bupa", "cats", "zoo"):
        X, y, _ = table(name)
        folds = folds_for(X, y, 5, None, None, 0)
        results[name] = compared(parse_models(MODELS, 0), folds, 0, keep=True)
    for seed in range(3):
        rng = np.random.default_rng(seed)
        y = np.arange(300) % 2
        X = rng.normal(size=(300, 4)) + 0.7 * y[:, None]  # that need few parameters
        folds = folds_for(X, y, 5, None, None, 0)
        results[f"round {seed}"] = compared(parse_models(MODELS, 0), folds, 0, keep=True)
    return results


def test_least_is_said_of_the_least_and_simplest_of_the_smallest(comparisons):
    said = set()
    for result in comparisons.values():
        reason = reason_for(result)
        own = result[result.reference]
        others = [o for o in result.outcomes if o.name not in ("constant", own.name)]
        log_losses = [o.log_loss for o in others if np.isfinite(o.log_loss)]
        if reason.startswith(
            f"Why {own.name}: it has the lowest log-loss ({loss(own.log_loss)})."
        ):
            said.add("least")
            assert own.log_loss <= min(log_losses)
        elif "it has the fewest parameters" in reason:
            said.add("simplest")
            assert f"({count(own.n_parameters)}) of the models" in reason
            assert own.log_loss > min(log_losses)
            best = min(
                (o for o in others if np.isfinite(o.log_loss)), key=lambda o: o.log_loss
            )
            assert not best.n_parameters < own.n_parameters
            assert own.log_loss - best.log_loss < best.standard_errors[1]
        else:
            said.add("other")
        assert "p =" not in reason
    assert {"least", "simplest"} <= said


def test_who_errs_less_often_is_named_with_the_reason_against_it(comparisons):
    n_rivals = 0
    for result in comparisons.values():
        reason = reason_for(result)
        own = result[result.reference]
        for how in ("makes as many errors (", "makes fewer errors ("):
            if how in reason:
                n_rivals += 1
                before, after = reason.split(f" {how}")
                name = before.split(". ")[-1].lower()
                rival = next(o for o in result.outcomes if o.name.lower() == name)
                assert after.startswith(percent(rival.error))
                assert (rival.error == own.error) == (how == "makes as many errors (")
                assert rival.error <= own.error
    assert n_rivals >= 2


def test_a_worse_log_loss_does_not_read_as_the_least_one():
    y = np.arange(4000) % 2
    sign = np.where(np.arange(4000) % 40 == 0, -1, 1) * (2 * y - 1)
    slope = np.random.default_rng(0).normal(size=4000)
    least = 0.5 + 0.3 * sign
    worse = 0.5 + (0.3 - 1e-5 * np.abs(slope)) * sign
    X = np.column_stack([least, worse])
    models = {"least": Stated(0), "worse": Stated(1)}
    result = sf.compare(X, y, models, 5, progress=False)
    losses = replace(
        result.row_losses, sizes=np.array([9.0, 99.0, 1.0]), readable=(True, False, True)
    )
    assert losses.names == ("least", "worse", "constant")
    result.__dict__["row_losses"] = losses
    made = losses.recommendation()
    assert (made.chosen, made.close) == (0, (0,))
    assert loss(result["least"].log_loss) == loss(result["worse"].log_loss)
    assert _why_not(result, made, 1) == (
        f"Worse makes as many errors ({percent(result['worse'].error)}), but cannot be written "
        "as an equation or a single tree."
    )


def test_the_headline_is_the_error_of_the_whole_procedure_with_that_of_the_model_beside(
    comparisons,
):
    n_different = 0
    for result in comparisons.values():
        found = verdict_on(result, chosen=True)
        model = result[result.reference]
        choice = result.choice
        is_different = set(choice.choices) != {model.name}
        n_different += is_different
        name = f"{model.name[:1].upper()}{model.name[1:]}"
        own = f"{name} itself misclassifies {percent(model.error)}"
        assert (own in found.headline) == is_different
        assert (own in result.verdict) == is_different
        assert found.includes_choice == is_different
        assert found.gains[0].model == found.error
        if is_different:
            assert (found.error, found.low, found.high) == (
                choice.error,
                choice.low,
                choice.high,
            )
            assert found.gains[0].p_value == choice.p_value
            procedure = f"he procedure that chose {model.name}, repeated in every fold,"
            said = f"{procedure} misclassifies {percent(choice.error)}"
            assert f"t{said} of held-out rows" in found.headline
            assert f"T{said} (95" in result.verdict
        else:
            assert (found.error, found.low, found.high) == (model.error, *model.interval)
            said = f"it misclassifies {percent(model.error)} of held-out rows"
            assert said in found.headline
    assert 0 < n_different < len(comparisons)


def test_a_model_that_was_asked_for_has_no_error_of_a_choice(comparisons):
    for result in comparisons.values():
        same = result.against(result.reference)
        assert same.choice is None
        assert not verdict_on(same, chosen=False).includes_choice


def estimate(error, low, choices):
    return ChoiceEstimate(error=error, low=low, high=0.5, choices=choices, n_rows=0)


@pytest.mark.parametrize(
    ("error", "choices", "told"),
    [
        (
            0.20,
            ("LDA", "LDA", "tree"),
            "tree is chosen in 1 of 3 folds. Expect an error between",
        ),  # below 0.25
        (
            0.20,
            ("LDA", "LDA", "QDA"),
            "tree is chosen in none of 3 folds. Expect an error between",
        ),
        (
            0.30,
            ("LDA", "LDA", "QDA"),
            "tree is chosen in none of 3 folds. Instead, the folds choose LDA and QDA.",
        ),
        (0.30, ("LDA", "LDA", "tree"), ""),
        (0.30, ("tree", "tree", "tree"), ""),
    ],
)
def test_a_choice_that_no_other_rows_make_is_a_serious_caveat(error, choices, told):
    caveats = caveats_of_choice("tree", error, estimate(0.35, 0.25, choices))
    assert [each.severity for each in caveats] == ["serious"] * bool(told)
    assert all(told in each.sentence for each in caveats)


def test_posteriors_worse_than_the_class_frequencies_lose_to_usable_ones_of_more_errors(table):
    X, y, _ = table("fgl")
    models = ["LDA", "GaussianNB", "logistic regression", "decision tree"]
    result = sf.compare(X, y, models, cv=3, progress=False)
    tree = result["decision tree"]
    assert tree.log_loss > result.baseline.log_loss
    assert result.outcomes[0] is tree  # significantly fewer errors than every other
    own = result[result.reference]
    assert own.log_loss < result.baseline.log_loss
    assert (
        f"Decision tree makes fewer errors ({percent(tree.error)}), but its posteriors are worse"
    ) in reason_for(result)
    assert "significant, p" in result.verdict  # the price in errors
    assert not [each for each in result.caveats if each.code == "posteriors"]


def useless_and(log_losses, wrong_of_other):
    """Return a model of 45 errors and useless posteriors, another one, and the constant."""
    n = 300
    wrong = np.zeros((3, n))
    wrong[0, :45] = wrong[1, wrong_of_other] = wrong[2, :150] = 1
    logs = np.stack([np.where(wrong[0], 10.0, 0.0), log_losses, np.full(n, 0.69)])
    return RowLosses(
        names=("useless", "other", "constant"),
        losses=np.stack([wrong, logs]),
        weights=np.ones(n),
        folds=np.arange(n) % 5,
        overlap=np.full(3, 0.25),
        sizes=np.array([1.0, 1000.0, 1.0]),
        readable=(True, False, True),
    )


def test_useless_posteriors_are_set_aside_only_where_another_model_can_take_their_place():
    noise = np.random.default_rng(0).normal(scale=0.3, size=300)
    noise -= noise.mean()
    often, rarely = slice(40, 180), slice(40, 90)
    assert useless_and(0.5 + noise, often).recommendation().set_aside == (0,)  # usable ones
    assert useless_and(0.68 + noise, rarely).recommendation().set_aside == (
        0,
    )  # as rarely wrong
    neither = useless_and(0.68 + noise, often).recommendation()
    assert (neither.set_aside, neither.chosen) == ((), 0)


class Stated(ClassifierMixin, BaseEstimator):
    """States the posterior of class 1 that stands in a column."""

    def __init__(self, column=0):
        self.column = column

    def fit(self, X, y):  # noqa: ARG002
        self.classes_ = np.unique(y)
        return self

    def predict_proba(self, X):
        return np.column_stack([1 - X[:, self.column], X[:, self.column]])

    def predict(self, X):
        return (X[:, self.column] > 0.5).astype(int)


def test_a_model_that_errs_less_often_than_every_other_is_explained_by_that():
    y = np.arange(300) % 2
    row = np.arange(300)
    timid = 0.5 + 0.02 * np.where(row % 20 == 0, -1, 1) * (2 * y - 1)  # 5 % errors
    bold = 0.5 + 0.3 * np.where(row % 5 == 0, -1, 1) * (2 * y - 1)  # 20 % errors
    X = np.column_stack([timid, bold])
    result = sf.compare(X, y, {"timid": Stated(0), "bold": Stated(1)}, 5, progress=False)
    assert result["bold"].log_loss < result["timid"].log_loss
    assert result.reference == "timid"
    assert reason_for(result) == (
        "Why timid: every other model makes significantly more errors, by at least 15.0 percentage "
        "points (300 rows)."
    )


def test_posteriors_worse_than_the_class_frequencies_lose_to_useful_ones_of_as_few_errors():
    rng = np.random.default_rng(0)
    n = 300
    base = rng.gamma(2.0, 0.2, n)
    wrong = np.zeros((3, n))
    wrong[0, :60] = wrong[1, 3:66] = wrong[2, :150] = 1
    constant = np.full(n, 0.69)
    logs = np.stack([constant + 0.002, base, constant])
    losses = RowLosses(
        names=("simple", "useful", "constant"),
        losses=np.stack([wrong, logs]),
        weights=np.ones(n),
        folds=np.arange(n) % 5,
        overlap=np.full(3, 0.25),
        sizes=np.array([1.0, 1000.0, 1.0]),
        readable=(True, False, True),
    )
    assert not losses.has_useful_posteriors(0)
    assert losses.names[losses.recommended()] == "useful"


def test_the_words_of_compare_and_of_the_report_follow_from_the_same_numbers(comparisons):
    words = {
        "yes": "Recommended: ",
        "with care": "Recommended with care: ",
        "no": "No model is ",
    }
    advice = {"yes": " can be used: ", "with care": " with care: ", "no": "Do not use "}
    seen = set()
    for result in comparisons.values():
        found = verdict_on(result, chosen=True)
        better = {gain.measure for gain in found.gains if gain.is_better}
        assert result.verdict.startswith(words[found.usable])
        assert advice[found.usable] in found.headline
        assert (found.usable == "no") == (not found.standing.better)
        assert set(found.standing.better) <= better
        if found.usable == "with care" and "error" not in found.standing.better:
            assert (
                f"By {found.standing.better[0]}, {found.model} is significantly better"
                in found.headline
            )
            assert (
                f"By {found.standing.better[0]}, {found.model} is significantly better"
                in result.verdict
            )
        seen.add(found.usable)
    assert {"yes", "with care"} <= seen


def test_the_p_value_of_the_choice_is_that_of_its_rows_against_the_constant():
    rng = np.random.default_rng(0)
    y = np.arange(300) % 2
    X = rng.normal(size=(300, 2)) + 0.4 * y[:, None]
    result = sf.compare(X, y, ["LDA", "QDA", "tree"], cv=5, progress=False)
    choice = result.choice
    assert 0 < choice.p_value < 1
    same = set(choice.choices) == {result.reference}
    own = result.difference("constant").p_value
    # the choice has the variance of the least stable model
    assert not same or choice.p_value >= own


def losses_of_four(best, rival, chosen):
    """Return the losses of 60 rows: equal errors, and a log-loss for each of three models."""
    names = ("constant", "forest", "SVM", "LDA")
    losses = np.zeros((2, 4, 60))
    losses[0, 0] = 1.0
    losses[1] = np.array([1.5, best, rival, chosen])[:, None]
    return RowLosses(
        names=names,
        losses=losses,
        weights=np.ones(60),
        folds=np.arange(60) % 5,
        overlap=np.zeros(4),
        sizes=np.array([1.0, 1000.0, 500.0, 10.0]),
        readable=(False, False, False, True),
    )


def test_a_rival_of_no_larger_log_loss_is_not_said_to_have_a_worse_one():
    losses = losses_of_four(0.30, 0.33, 0.35)
    made = Recommendation(
        chosen=3, best=1, loss=1, close=(1, 3), unbeaten_in_error=(1, 2, 3), set_aside=()
    )
    assert _differs_otherwise(losses, made, 2)  # SVM: less log-loss than LDA, but not readable
    assert not _differs_otherwise(losses_of_four(0.30, 0.40, 0.35), made, 2)


def test_the_reason_against_a_rival_names_the_standard_error_that_it_exceeds():
    noise = np.where(np.arange(60) % 2, 0.2, -0.2)
    losses = losses_of_four(0.30, 0.33, 0.35)
    losses.losses[1, 1] += noise
    losses.losses[1, 2] += noise  # the difference is the same for every row
    made = Recommendation(
        chosen=1, best=1, loss=1, close=(1,), unbeaten_in_error=(1, 2, 3), set_aside=()
    )
    assert _excess_in_words(losses, made, 2, 0.33) == (
        "its log-loss (0.330) exceeds that of forest by more than one standard error of the "
        "difference"
    )
    assert losses.means[1, 2] - losses.means[1, 1] > 0.02
    losses.losses[1, 2] -= 3 * noise  # now the difference varies more than its size
    told = losses.excess(2, 1, 1)
    assert told is None or told == (1, False)


@pytest.mark.parametrize("worse_by", ["error", "log-loss"])
def test_the_reason_against_a_beaten_model_names_both_losses_and_the_rows(worse_by):
    losses = losses_of_four(0.30, 0.33, 0.35)
    losses.losses[0, 1, :6] = 1.0  # 10 % errors
    losses.losses[0, 2, :6] = 1.0
    unbeaten = (1, 2, 3)
    if worse_by == "error":
        losses.losses[0, 2, :30] = 1.0
        unbeaten = (1, 3)
    made = Recommendation(
        chosen=1, best=1, loss=1, close=(1,), unbeaten_in_error=unbeaten, set_aside=()
    )
    figures = {
        "error": (
            f"its error is significantly above that of LDA ({percent(0.5)} against {percent(0)}, "
            "60 rows)"
        ),
        "log-loss": (
            "its log-loss is significantly above that of forest (0.330 against 0.300, 60 rows)"
        ),
    }
    assert _beaten_in_words(losses, made, 2) == figures[worse_by]
    if worse_by == "error":
        assert _why_not_smaller(losses, made, 2) == (
            f"SVM has fewer parameters (500), but {figures['error']}."
        )


def test_only_a_model_that_is_about_as_good_is_said_to_be(comparisons):
    for result in comparisons.values():
        losses = result.row_losses
        made = losses.recommendation()
        is_good = losses.excess(made.chosen, made.best, made.loss) is None
        assert is_good or "about as good" not in reason_for(result)


def test_a_simpler_model_that_replaces_another_is_not_said_to_be_about_as_good():
    losses = losses_of_four(0.30, 0.31, 0.90)
    losses.losses[1, 1:3] += np.where(np.arange(60) % 2, 0.2, -0.2)
    losses.losses[1, 2] += np.where(np.arange(60) // 2 % 2, 0.06, -0.06)
    made = losses.recommendation()
    # SVM: 1.3 standard errors of the difference worse, 0.4 standard errors of the forest's loss
    assert losses.excess(2, 1, 1) == (1, True)
    assert (made.best, made.replaced, made.chosen) == (1, 1, 2)
    assert _why_about_as_good(losses, made, "log-loss", "0.300") == (
        "Why SVM: it has fewer parameters (500) than forest, makes no more errors, and its "
        "log-loss is within one standard error of the lowest (forest, 0.300)."
    )


def test_posteriors_are_no_reason_against_a_rival_where_the_chosen_ones_are_as_useless(table):
    X, y, _ = table("islr_weekly")
    result = sf.compare(X, y, ["logistic regression", "RDA"], progress=False)
    own = result[result.reference]
    assert own.log_loss > result.baseline.log_loss
    assert "its posteriors are worse" not in reason_for(result)


def test_the_log_loss_of_a_reason_is_the_one_that_the_rule_compares():
    losses = losses_of_four(0.30, 0.33, 0.35)
    assert _log_loss_of_rule(losses, 1, 0.3) == "0.300"
    assert _log_loss_of_rule(losses, 1, 2.829) == "0.300, capped at 10 per row"
