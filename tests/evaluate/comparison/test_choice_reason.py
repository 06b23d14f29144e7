"""The reason given for a model is the rule that chose it; the headline is of the procedure."""

import numpy as np
import pytest

import suffice as sf
from suffice.core.text.numbers import count, loss, percent
from suffice.evaluate.comparison.choice_reason import reason_for
from suffice.evaluate.comparison.comparison import compared, folds_for
from suffice.evaluate.comparison.models import parse_models
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
        if reason.startswith(f"Why {own.name}: least log-loss ({loss(own.log_loss)})."):
            said.add("least")
            assert own.log_loss <= min(log_losses)
        elif "it is the simplest" in reason:
            said.add("simplest")
            assert f"with {count(own.n_parameters)} parameters" in reason
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
        for how in ("errs as often (", "errs less often ("):
            if how in reason:
                n_rivals += 1
                before, after = reason.split(f" {how}")
                name = before.split(". ")[-1].lower()
                rival = next(o for o in result.outcomes if o.name.lower() == name)
                assert after.startswith(percent(rival.error))
                assert (rival.error == own.error) == (how == "errs as often (")
                assert rival.error <= own.error
    assert n_rivals >= 2


def test_the_headline_is_the_error_of_the_choice_where_folds_choose_differently(comparisons):
    n_different = 0
    for result in comparisons.values():
        found = verdict_on(result, chosen=True)
        own = result[result.reference]
        assert found.own_error == own.error
        assert (found.own_low, found.own_high) == own.interval
        if set(found.choice.choices) == {own.name}:
            assert found.error == own.error
            assert "it misclassifies" in found.headline
        else:
            n_different += 1
            assert (found.error, found.low, found.high) == (
                found.choice.error,
                found.choice.low,
                found.choice.high,
            )
            assert "choosing a model and fitting it misclassifies" in found.headline
            assert (
                f"{own.name} itself misclassifies {percent(own.error)}" in found.sentences[-1]
            )
            assert f"choosing it included, {percent(found.error)}" in result.verdict
        assert found.gains[0].model == found.error
    assert 0 < n_different < len(comparisons)


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
