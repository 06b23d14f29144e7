"""Three errors: of random rows, of unseen groups, of the future; the worse one is the headline."""

import numpy as np
import pytest

from suffice.core.text.numbers import p_statement
from suffice.evaluate.comparison.models import parse_models
from suffice.evaluate.comparison.real_errors import (
    RealError,
    RealErrors,
    real_errors,
    suggested_groups,
)
from suffice.selection.validation.folds import Folds


def model(name="LDA"):
    return parse_models([name], 0)[0]


def clustered(n_groups=40, of=10, seed=0):
    rng = np.random.default_rng(seed)
    groups = np.repeat(np.arange(n_groups), of)
    X = (rng.normal(size=(n_groups, 3)) * 5)[groups] + 0.3 * rng.normal(
        size=(n_groups * of, 3)
    )
    return X, (np.arange(n_groups) % 2)[groups], groups


def test_groups_that_share_a_place_flatter_random_rows():
    X, y, groups = clustered()
    found = real_errors(model("tree"), X, y, groups=groups, time=groups)
    random, unseen, future = found.errors
    assert random.error < 0.1
    assert min(unseen.error, future.error) > 0.2
    assert unseen.is_worse
    assert future.is_worse
    assert found.headline.error == max(unseen.error, future.error)
    assert "Expect " in found.sentence


def test_errors_are_those_of_refitting_by_hand():
    X, y, groups = clustered(seed=3)
    (_, unseen) = real_errors(model("tree"), X, y, groups=groups).errors
    wrong = np.empty(len(y))
    for train, test in Folds.of(X, y, 5, groups=groups, seed=0).splits:
        learnt = model("tree").estimator.fit(X[train], y[train])
        wrong[test] = learnt.predict(X[test]) != y[test]
    assert unseen.error == pytest.approx(wrong.mean())
    assert unseen.n_rows == len(y)


@pytest.mark.parametrize("time", [np.arange(400), np.arange(400) // 10])
def test_the_difference_is_that_of_the_rows_judged_by_both(time):
    X, y, _ = clustered(seed=4)
    future = real_errors(model("tree"), X, y, time=time).errors[1]

    def wrong_rows(folds):
        wrong = np.full(len(y), np.nan)
        for train, test in folds.splits:
            learnt = model("tree").estimator.fit(X[train], y[train])
            wrong[test] = learnt.predict(X[test]) != y[test]
        return wrong

    later = wrong_rows(Folds.of(X, y, 5, time=time))
    random = wrong_rows(Folds.of(X, y, 5, seed=0))
    assert future.difference == pytest.approx(np.nanmean(later - random))


def test_where_groups_tell_nothing_random_rows_are_the_headline():
    rng = np.random.default_rng(1)
    y = np.arange(300) % 2
    X = rng.normal(size=(300, 2)) + y[:, None]
    found = real_errors(model(), X, y, groups=np.arange(300) // 6, time=np.arange(300))
    assert found.headline.split == "random rows"
    n_rows = found.errors[1].n_rows
    p = p_statement(min(each.p_value for each in found.errors[1:]))
    assert found.sentence.endswith(f"The difference is not significant ({p}, {n_rows} rows).")


def test_the_headline_is_the_largest_error_that_is_significantly_worse():
    errors = (
        RealError("random rows", 0.1, 0.05, 0.2, 100, 0.0, np.nan),
        RealError("unseen groups", 0.3, 0.2, 0.4, 100, 0.2, 0.001),
        RealError("the future", 0.5, 0.2, 0.8, 10, 0.4, 0.2),
    )
    assert RealErrors("LDA", errors).headline.split == "unseen groups"


def test_a_split_that_cannot_be_made_says_why():
    X, y, _ = clustered()
    found = real_errors(model(), X, y, groups=y, time=np.zeros(len(y)))
    assert [error.split for error in found.errors] == ["random rows"]
    assert found.left_out[0].startswith("unseen groups: the groups are the classes")
    assert found.left_out[1].startswith("the future: all rows have the time 0")


def test_a_column_that_numbers_persons_is_suggested():
    n = 60
    columns = {
        "age": np.arange(n) // 3,
        "patient_id": np.arange(n) // 4,
        "record id": np.arange(n),
    }
    assert suggested_groups(columns) == "patient_id"
    assert suggested_groups({"record id": columns["record id"], "age": columns["age"]}) is None
    assert suggested_groups({"site": np.arange(n) % 4}) is None
    assert suggested_groups({"site": np.arange(n) % 5}) == "site"
    assert suggested_groups({"patientID": columns["patient_id"]}) == "patientID"
    assert suggested_groups({"SubjectNumber": columns["patient_id"]}) == "SubjectNumber"
    assert suggested_groups({"humidity": columns["patient_id"]}) is None


@pytest.mark.parametrize(
    ("difference", "p_value", "is_worse"),
    [(0.1, 0.01, True), (-0.1, 0.01, False), (0.1, 0.2, False), (0.1, np.nan, False)],
)
def test_an_error_is_worse_only_if_it_is_significantly_larger(difference, p_value, is_worse):
    error = RealError("unseen groups", 0.3, 0.2, 0.4, 100, difference, p_value)
    assert error.is_worse is is_worse


def test_a_share_of_words_called_make_is_no_column_of_groups():
    rng = np.random.default_rng(0)
    shares = np.where(rng.random(300) < 0.3, rng.integers(1, 60, 300) / 100, 0.0)
    assert suggested_groups({"make": shares}) is None
    mostly_one = np.where(np.arange(300) < 200, 0, np.arange(300) % 20)
    assert suggested_groups({"make": mostly_one}) is None
    assert suggested_groups({"make": np.arange(300) % 20}) == "make"
