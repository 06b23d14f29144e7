"""What the verdict says of its doubts, and which other models it names."""

from dataclasses import replace

import numpy as np
import pytest

import suffice as sf
from suffice.core.text.numbers import percent
from suffice.evaluate.comparison.choice_reason import _percent_beside
from suffice.evaluate.comparison.comparison import compared, folds_for
from suffice.evaluate.comparison.models import parse_models
from suffice.evaluate.comparison.verdict import ClassRecall, standing_of, verdict_on


@pytest.fixture(scope="module")
def overlap():
    """Return a comparison in which a third to a half of the rarer class is missed."""
    rng = np.random.default_rng(0)
    y = np.where(rng.random(400) < 0.34, "ill", "well")
    X = np.c_[rng.normal(size=400) + 1.5 * (y == "ill"), rng.normal(size=400)]
    folds = folds_for(X, y, 5, None, None, 0)
    return compared(parse_models(["LDA", "logistic"], 0), folds, 0, progress=False, keep=True)


def test_with_care_says_which_conditions_are_not_met(overlap):
    found = verdict_on(overlap, chosen=True)
    recalls = (ClassRecall("ill", 6, 10), ClassRecall("well", 7, 10))
    standing = found.standing._replace(recalls=recalls, n_serious=0, better=("error",))
    for change, doubts in (
        ({}, "it misses more than a third of class ill"),
        (
            {"n_serious": 1},
            "it misses more than a third of class ill and the first caveat is ",
        ),
        (
            {"n_serious": 1, "better": ("log-loss",)},
            "it does not make significantly fewer errors than the constant classifier, it misses "
            "more than a third of class ill and the first caveat is serious.",
        ),
        ({"recalls": recalls[1:], "n_serious": 2}, "the first 2 caveats are serious"),
        (
            {"better": ("log-loss",), "recalls": recalls[1:]},
            "it does not make significantly fewer errors than the constant classifier",
        ),
        (
            {"recalls": (ClassRecall("a", 1, 9), ClassRecall("b", 1, 9))},
            "it misses more than a third of classes a and b",
        ),
    ):
        other = replace(found, usable="with care", standing=standing._replace(**change))
        assert f"is to be used with care because {doubts}" in other.sentences[-2]
    for usable in ("yes", "no"):
        sentences = replace(found, usable=usable, standing=standing).sentences
        assert not any("to be used with care" in each for each in sentences)


def test_a_threshold_is_stated_where_more_than_a_third_of_the_rarer_class_is_missed(overlap):
    found = verdict_on(overlap, chosen=True)
    worst = found.recalls[0]
    assert worst.label == "ill"
    assert worst.is_often_missed
    assert not worst.misses_half
    assert found.usable == "with care"
    assert found.threshold is not None
    assert found.threshold.n_found > worst.n_found
    assert any("false alarm" in each for each in found.sentences)


def test_no_threshold_is_stated_where_the_more_frequent_class_is_missed(overlap):
    result = replace(overlap)
    rows = result[result.reference].held_out
    # as if the model called nearly every row ill
    called = replace(rows, predicted=np.zeros_like(rows.predicted))
    outcomes = [
        replace(o, held_out=called) if o.name == result.reference else o
        for o in result.outcomes
    ]
    found = verdict_on(replace(result, outcomes=tuple(outcomes)), chosen=True)
    assert (found.recalls[0].label, found.recalls[0].n_found) == ("well", 0)
    assert found.threshold is None


def test_the_error_of_the_verdict_has_a_subject_and_no_condition(overlap):
    found = verdict_on(overlap, chosen=True)
    standing = found.standing._replace(
        error=found.standing.error._replace(includes_choice=True)
    )
    headline = replace(found, standing=standing).headline
    assert " can be used: if " not in headline
    assert "with care: if " not in headline
    assert (
        f"the procedure that chose {found.model}, repeated in every fold, misclassifies "
        f"{percent(found.error)} of held-out rows (95"
    ) in headline
    assert "which may be too low, because it was chosen on the same rows." in headline


def test_a_model_that_is_not_recommended_is_the_only_one_spoken_of(overlap):
    rng = np.random.default_rng(3)
    y = np.arange(90) % 2
    result = sf.compare(rng.normal(size=(90, 2)), y, models=["LDA"], cv=3, progress=False)
    assert standing_of(result, None).usable == "no"
    assert result.verdict.startswith(
        "Not recommended: LDA. It is not significantly better than the constant classifier by "
        "error, log-loss or balanced accuracy on 90 rows. "
    )


def test_the_model_that_is_easier_to_read_has_usable_posteriors_if_any_has():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(400, 3))
    y = (np.sign(X[:, 0] * X[:, 1]) + 0.8 * X[:, 2] + 0.5 * rng.normal(size=400) > 0).astype(
        int
    )
    models = ["random forest", "decision tree", "logistic"]
    result = sf.compare(X, y, models=models, cv=3, progress=False)
    tree, equation = result["decision tree"], result["logistic regression"]
    assert tree.error < equation.error
    assert equation.log_loss < result.baseline.log_loss < tree.log_loss
    reason = verdict_on(result, chosen=True).reason
    assert reason.startswith("Why random forest")
    assert "Logistic regression is easier to read (" in reason


@pytest.mark.parametrize(
    ("share", "other", "expected"),
    [
        (0.225, 0.23, "22.5 %"),
        (0.23, 0.23, "23.0 %"),
        (32 / 4174, 34 / 4174, "0.77 % against 0.81 %"),
        (0.12301, 0.12304, "12.301 % against 12.304 %"),
    ],
)
def test_two_shares_that_round_alike_are_stated_with_more_digits(share, other, expected):
    assert _percent_beside(share, other).replace("\N{NO-BREAK SPACE}", " ") == expected
