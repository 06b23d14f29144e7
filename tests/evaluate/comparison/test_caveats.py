"""Caveats are values: a leak, copies, few rows and rare classes are said wherever errors are."""

import json

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

import suffice as sf
from suffice.cli.group import suffice
from suffice.evaluate.comparison.caveats import (
    _on_rare_classes,
    caveats_of_rows,
    caveats_of_values,
)
from suffice.evaluate.comparison.copied_rows import CopiesEffect
from suffice.evaluate.diagnostics.data import data_checks


def leaky(n=120):
    rng = np.random.default_rng(0)
    y = np.arange(n) % 2
    X = pd.DataFrame({"a": rng.normal(size=n), "b": rng.normal(size=n), "leak": 1.0 * y})
    return X, y


def codes(result):
    return [caveat.code for caveat in result.caveats]


def test_a_column_that_gives_the_class_away_is_said_and_not_called_constant():
    X, y = leaky()
    result = sf.compare(X, y, ["LDA", "QDA", "tree"], cv=5, progress=False)
    assert result[result.reference].error == 0
    (leak,) = result.caveats
    assert (leak.code, leak.severity, leak.columns) == ("leak", "serious", ("leak",))
    assert f"Caution: {leak.sentence}" in str(result)
    assert "predicts 100" in leak.sentence
    assert "constant: " not in " ".join(result.notes)


def test_singular_covariances_are_noted_where_nothing_leaks(iris):
    X, y = iris
    doubled = np.column_stack([X, X[:, 0]])
    result = sf.compare(doubled, y, ["LDA"], cv=5, progress=False)
    assert result.caveats == ()
    assert any("the covariance that all classes share" in note for note in result.notes)


def test_an_honest_table_has_no_caveat(iris):
    assert sf.compare(*iris, ["LDA"], cv=5, progress=False).caveats == ()


def test_copies_are_a_minor_caveat_unless_given_folds_share_them():
    rng = np.random.default_rng(1)
    y = np.arange(120) % 2
    X = rng.normal(size=(120, 3)) + y[:, None]
    X = np.concatenate([X, X[:60]])
    y = np.concatenate([y, y[:60]])
    result = sf.compare(X, y, ["LDA"], cv=5, progress=False)
    (copies,) = result.caveats
    assert (copies.code, copies.severity) == ("copies", "minor")
    assert copies.sentence.startswith(
        "60 rows of 180 repeat others. Identical rows stay in one "
    )
    first_rows = np.arange(70)
    others = np.arange(70, 180)
    given = [(others, first_rows)]
    (seen,) = sf.compare(X, y, ["LDA"], cv=given, progress=False).caveats[:1]
    assert (seen.code, seen.severity) == ("copies", "serious")
    n_seen = sum((X[others] == row).all(1).any() for row in X[first_rows])
    assert n_seen == 60
    assert f"and {n_seen} held-out rows were seen in training" in seen.sentence


@pytest.mark.parametrize(
    ("counts", "expected"), [((40, 50), "few rows"), ((9, 95), "rare class")]
)
def test_few_rows_and_rare_classes_are_said(counts, expected):
    rng = np.random.default_rng(2)
    y = np.repeat(["rare", "common"], counts)
    X = rng.normal(size=(len(y), 2)) + 1.2 * (y == "rare")[:, None]
    result = sf.compare(X, y, ["LDA"], cv=5, progress=False)
    assert codes(result) == [expected]
    if expected == "rare class":
        assert result.caveats[0].classes == ("rare",)


def test_counts_on_the_limit_need_no_caveat():
    rng = np.random.default_rng(3)
    y = np.repeat(["rare", "common"], [10, 90])
    X = rng.normal(size=(100, 2)) + 1.2 * (y == "rare")[:, None]
    assert sf.compare(X, y, ["LDA"], cv=5, progress=False).caveats == ()


def test_the_command_line_says_what_python_says(tmp_path):
    X, y = leaky()
    path = tmp_path / "leaky.csv"
    X.assign(label=np.where(y, "yes", "no")).to_csv(path, index=False)
    arguments = ["compare", str(path), "--target", "label", "-m", "lda", "--quiet"]
    printed = CliRunner().invoke(suffice, arguments)
    assert printed.exit_code == 0
    assert "Caution: Column 'leak' predicts 100" in printed.output
    document = json.loads(CliRunner().invoke(suffice, [*arguments, "--json"]).stdout)
    (caveat,) = document["caveats"]
    assert (caveat["code"], caveat["columns"]) == ("leak", ["leak"])


def test_posteriors_that_are_worse_than_the_class_frequencies_are_a_caveat():
    rng = np.random.default_rng(0)
    y = np.arange(200) % 2
    X = rng.normal(size=(200, 3)) + 0.8 * y[:, None]
    tree = sf.compare(X, y, ["tree"], cv=5)
    assert tree["decision tree"].log_loss > tree.baseline.log_loss
    (caveat,) = [each for each in tree.caveats if each.code == "posteriors"]
    assert caveat.severity == "serious"
    assert "use its classes, not its probabilities" in caveat.sentence
    lda = sf.compare(X, y, ["LDA"], cv=5)
    assert not [each for each in lda.caveats if each.code == "posteriors"]


def test_equal_rows_of_different_classes_bound_every_model():
    X = np.repeat(np.arange(12.0), 20)[:, None]
    y = np.repeat(np.arange(12) % 2, 20)
    y[:60:20] = 1 - y[:60:20]  # one of twenty equal rows, three times
    result = sf.compare(X, y, ["tree"], cv=5, progress=False)
    (caveat,) = [each for each in result.caveats if each.code == "equal rows"]
    assert caveat.severity == "minor"
    assert caveat.sentence == (
        "No model can be right on more than 98.8\N{NO-BREAK SPACE}% of these rows: 60 rows have "
        "the same values as a row of another class."
    )
    assert caveat.document()["figures"] == {"most_right": 237 / 240, "n_rows": 60}
    assert caveat.sentence in str(result)


def test_a_bound_is_never_rounded_below_itself():
    X = np.arange(600.0)[:, None]
    X[1] = X[0]
    y = np.arange(600) % 2
    (caveat,) = caveats_of_rows(X, y, grouped=False)[-1:]
    assert "on more than 99.9" in caveat.sentence  # of 99.83 %
    (few,) = [c for c in caveats_of_rows(X, y, grouped=False) if c.code == "equal rows"]
    assert few.figures["n_rows"] == 2
    many = np.arange(1200.0)[:, None]  # 99.92 %, which is no bound as it is written
    many[1] = many[0]
    assert not [
        c
        for c in caveats_of_rows(many, np.arange(1200) % 2, grouped=False)
        if c.code == "equal rows"
    ]


def test_the_rarest_class_is_named_with_its_own_number_of_rows():
    (caveat,) = _on_rare_classes(["a", "b", "c"], np.array([90, 6, 3]), np.arange(3))
    assert caveat.sentence.startswith("Class c has only 3 rows")
    assert caveat.figures == {"n_rows": 3}
    assert caveat.classes == ("b", "c")


@pytest.mark.parametrize(("n_columns", "n_caveats"), [(3, 3), (4, 1), (7, 1)])
def test_many_columns_with_suspicious_values_have_one_caveat(n_columns, n_caveats):
    rng = np.random.default_rng(0)
    numbers = rng.normal(70, 10, (100, n_columns))
    numbers[:8] = 0
    X = pd.DataFrame(numbers, columns=[f"pressure {j}" for j in range(n_columns)])
    caveats = caveats_of_values(data_checks(X, np.arange(100) % 2))
    assert len(caveats) == n_caveats
    told = " ".join(caveat.sentence for caveat in caveats)
    assert "Column 'pressure 0' is 0 in 8 rows" in told
    assert sum((caveat.columns for caveat in caveats), ()) == tuple(X.columns)
    if n_caveats == 1:
        assert told.startswith(
            f"{n_columns} columns have values far from all others: pressure 0,"
        )


@pytest.mark.parametrize(
    ("apart", "told"),
    [
        (
            0.1,
            "the error is 20.0 %, and would seem to be 10.0 % with duplicates in several folds.",
        ),
        (0.2001, "Identical rows stay in one fold. The error is 20.0 % either way."),
        (
            0.21,
            "Duplicates in several folds would not lower the error (21.0 % against 20.0 %).",
        ),
    ],
)
def test_two_errors_that_read_alike_are_stated_once(apart, told):
    effect = CopiesEffect(
        n_rows=5, n_total=50, n_seen=0, error_together=0.2, error_apart=apart
    )
    sentence = effect.sentence.replace("\N{NO-BREAK SPACE}", " ")
    assert sentence.startswith("5 rows of 50 repeat others. Identical rows stay in one fold")
    assert sentence.endswith(told)
