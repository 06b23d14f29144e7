"""Copies, columns that give the class away, and values that stand for something else."""

import numpy as np
import pandas as pd
import pytest

from suffice.evaluate.diagnostics.data import data_checks, dates_in


def rows(n=200, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    return pd.DataFrame({"a": rng.normal(size=n) + y, "b": rng.normal(size=n)}), y


def suspects(X, y):
    return {s.column: s.why for s in data_checks(X, y).suspects}


def test_honest_columns_are_not_suspected(iris, table):
    assert suspects(*iris) == {}
    for name in ("wine", "fgl", "zoo", "islr_weekly", "crabs"):
        X, y, _ = table(name)
        assert suspects(X, y) == {}, name


def test_a_row_number_is_named_and_so_is_an_identifier():
    X, y = rows()
    rng = np.random.default_rng(1)
    X = X.assign(index=np.arange(200), patient=rng.permutation(200) + 1000)
    found = suspects(X, y)
    assert found["index"] == "numbers the rows"
    assert found["patient"] == "has a different number in every row, like an identifier"
    assert set(found) == {"index", "patient"}


def test_a_column_that_alone_predicts_the_class_is_named():
    X, y = rows()
    X = X.assign(leak=np.where(y == 1, 7.0, 3.0) + X["b"] / 10, word=np.where(y, "yes", "no"))
    assert suspects(X, y) == {
        "leak": "predicts 100\N{NO-BREAK SPACE}% of the labels on its own",
        "word": "predicts 100\N{NO-BREAK SPACE}% of the labels on its own",
    }


def test_a_lifeboat_that_is_known_of_survivors_gives_survival_away():
    X, y = rows(1000)
    boat = np.where(y == 1, np.char.add("boat ", (np.arange(1000) % 9).astype(str)), "")
    boat[np.flatnonzero(y)[:12]] = ""  # of some survivors it is not known
    X = X.assign(boat=pd.Series(boat).replace("", None))
    assert suspects(X, y) == {
        "boat": "predicts 98.8\N{NO-BREAK SPACE}% of the labels on its own"
    }


def test_dates_hint_at_rows_that_belong_together():
    X, y = rows()
    X = X.assign(day=pd.date_range("2020-01-01", periods=200).to_numpy()[np.argsort(X["a"])])
    found = data_checks(X, y, dates_in(X))
    assert found.suspects == ()
    assert found.together.startswith("Column 'day' is a date: later rows may be ")
    assert found.caveats == (f"{found.together}.",)
    as_numbers = X.assign(
        day=X["day"].astype(np.int64) / 86_400e6
    )  # as a file of text is read
    assert data_checks(as_numbers, y, ["day"]).together == found.together


def test_a_column_that_repeats_another_of_the_row_before_is_an_order_in_time(table):
    X, y, _ = table("islr_weekly")
    X, walk = pd.DataFrame(X), np.random.default_rng(3).normal(size=202)
    assert data_checks(X, y).together.startswith(
        "Column 'x3' repeats the previous value of 'x2'"
    )
    assert data_checks(X, y).together.endswith("--groups x1")  # the year, which never falls
    X, y = rows()
    lagged = X.assign(now=walk[2:], before=walk[1:-1])
    assert data_checks(lagged, y).together.endswith("--groups COLUMN")
    assert data_checks(lagged.sample(frac=1, random_state=0), y).together == ""


def twins(n_models=40, seed=4):
    """Return cars in versions that differ in two columns of six, and their makes."""
    rng = np.random.default_rng(seed)
    model = np.repeat(np.arange(n_models), 4)
    body = rng.normal(size=(n_models, 4)).round(3)[model]
    X = pd.DataFrame(np.c_[body, rng.normal(size=(len(model), 2))], columns=list("abcdef"))
    return X.assign(make=[f"make {m % 8}" for m in model]), model % 2


def test_rows_most_of_which_have_a_twin_belong_together():
    X, y = twins()
    said = data_checks(X, y).together
    assert said.startswith(
        "100\N{NO-BREAK SPACE}% of rows share at least half of their 6 numeric"
    )
    assert "mostly of the same make. Rows unlike these" in said
    assert said.endswith("--groups make")
    assert data_checks(X.drop(columns="make"), y).together.endswith("--groups COLUMN")
    rng = np.random.default_rng(5)
    apart = X.apply(lambda column: rng.permutation(column))
    assert data_checks(apart, y).together == ""


def test_rows_that_are_near_by_chance_do_not_belong_together(iris, table):
    assert data_checks(*iris).together == ""
    for name in ("wine", "fgl", "zoo", "crabs", "penguins_numeric"):
        X, y, _ = table(name)
        assert data_checks(X, y).together == "", name


def test_a_zero_among_values_that_keep_far_from_it_is_named():
    X, y = rows()
    weight = 50 + 5 * X["a"].to_numpy()
    weight[7] = 0
    found = data_checks(X.assign(weight=weight, rate=np.abs(X["b"])), y).impossible
    least = np.sort(weight)[1]
    assert [(s.column, s.why) for s in found] == [
        ("weight", f"is 0 in 1 row, but {least:.4g} or more in all others: check this row")
    ]
    weight[8] = -2
    (found,) = data_checks(X.assign(weight=weight), y).impossible
    assert found.why.startswith("is 0 or less in 2 rows, but ")


def test_copies_and_contradictions_are_counted():
    X, y = rows()
    twice = pd.concat([X, X.iloc[:40], X.iloc[:5]], ignore_index=True)
    labels = np.concatenate([y, y[:40], 1 - y[:5]])
    found = data_checks(twice, labels)
    assert found.n_duplicates == 45
    assert found.n_conflicting == 15  # five rows, their copies, and those of another class
    assert found.n_separable == len(labels) - 5  # two of each three may be right


def test_copies_of_few_values_are_chance():
    rng = np.random.default_rng(2)
    found = data_checks(rng.integers(0, 2, (100, 3)).astype(float), np.arange(100) % 2)
    assert found.n_duplicates > 80
    assert found.caveats == ()


@pytest.mark.parametrize(("n", "n_columns"), [(1, 0), (2, 1)])
def test_a_code_must_stand_in_two_rows_to_be_named(n, n_columns):
    X, y = rows()
    salary = 3000 + 400 * X["b"].to_numpy()
    salary[:n] = -999
    checks = data_checks(X.assign(salary=salary), y).impossible
    far = [each for each in checks if "far from all other values" in each.why]
    assert len(far) == n_columns


def test_codes_far_from_all_other_values_are_named():
    X, y = rows()
    pressure = 70 + 10 * X["a"].to_numpy()
    pressure[:8] = 0
    salary = 3000 + 400 * X["b"].to_numpy()
    salary[3:6] = -999
    found = data_checks(X.assign(pressure=pressure, salary=salary), y).impossible
    far_away = "far from all other values: check whether it stands for a missing value"
    assert {s.column: s.why for s in found} == {
        "pressure": f"is 0 in 8 rows, {far_away}",
        "salary": f"is −999 in 3 rows, {far_away}",
    }


def test_empty_cells_and_few_rows_are_no_obstacle():
    X, y = rows(12)
    X.loc[3, "a"] = np.nan
    found = data_checks(X, y)
    assert found.suspects == ()
    assert found.n_rows == 12


def test_minus_zero_repeats_zero():
    X = np.random.default_rng(0).normal(size=(30, 2))
    X = np.vstack([X, X[:5]])
    X[0, 1], X[30, 1] = 0.0, -0.0
    assert data_checks(X, np.arange(35) % 2).n_duplicates == 5


def test_no_function_of_the_features_is_right_more_often_than_said():
    rng = np.random.default_rng(3)
    X = rng.integers(0, 3, (200, 2)).astype(float)
    y = rng.integers(0, 3, 200)
    cells = (3 * X[:, 0] + X[:, 1]).astype(int)
    counts = np.zeros((9, 3), int)
    np.add.at(counts, (cells, y), 1)
    found = data_checks(X, y)
    assert found.n_separable == counts.max(1).sum()
    assert data_checks(np.arange(200.0)[:, None], y).n_separable == 200
