"""A report of a table with text and empty cells: every row judged, every column used."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import suffice as sf


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    y = rng.choice(["no", "yes"], 120)
    frame = pd.DataFrame(
        {
            "x": rng.normal(size=120) + (y == "yes"),
            "c": np.where(rng.random(120) < 0.8, y, "maybe"),
            "z": rng.normal(size=120),
        }
    )
    frame.loc[::10, "x"] = np.nan
    return frame, y


def test_every_row_is_judged_and_every_column_used(rows):
    X, y = rows
    page = sf.report(X, y, models=["LDA", "GaussianNB", "logistic", "tree"], cv=3)
    assert not page.comparison.failures
    assert {o.n_rows for o in page.comparison.outcomes} == {120}
    assert page.estimator.predict(X).shape == (120,)
    text = page.write("md")
    assert "c (3 levels)" in text
    assert "have empty cells: x (12, 10.0" in text
    assert "left out" not in text.split("## ")[1]
    assert "120 rows of 3 columns" in text


def test_the_explained_model_has_as_many_parameters_as_the_chosen_one(rows):
    X, y = rows
    page = sf.report(X, y, models=["LDA", "QDA"], cv=3)
    outcome = next(
        o for o in page.comparison.outcomes if o.name == type(page.estimator).__name__
    )
    assert f"{outcome.n_parameters:.0f} free parameters" in page.write("md")


def test_rows_of_numbers_with_holes_are_all_judged(rows):
    X, y = rows
    page = sf.report(X[["x", "z"]].to_numpy(), y, models=["LDA", "tree"], cv=3)
    assert {o.n_rows for o in page.comparison.outcomes} == {120}


def test_arrow_tables_and_lists_are_reported_as_frames_and_arrays_are(rows):
    X, y = rows
    numbers = X[["x", "z"]].to_numpy()
    how = {"models": ["LDA"], "fast": True}
    for one, other in ((X, pa.Table.from_pandas(X)), (numbers, numbers.tolist())):
        expected, found = (sf.report(each, y, **how) for each in (one, other))
        assert found.judgement.sample.columns == expected.judgement.sample.columns
        assert (found.subtitle, found.verdict) == (expected.subtitle, expected.verdict)
