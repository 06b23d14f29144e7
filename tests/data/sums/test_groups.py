"""Sums of each group of rows add up to the sums of all."""

import numpy as np
import polars as pl
import pytest

import suffice as sf
from suffice.errors import InvalidInputError, InvalidParameterError


@pytest.fixture
def table(tmp_path):
    rng = np.random.default_rng(0)
    frame = pl.DataFrame(
        {
            "a": rng.normal(size=300),
            "b": rng.normal(size=300),
            "site": rng.choice(["north", "south", "west"], 300),
            "kind": rng.choice(["u", "v"], 300),
        }
    )
    frame.write_csv(tmp_path / "rows.csv")
    return frame, tmp_path / "rows.csv"


def test_every_group_has_the_sums_of_its_own_rows(table, monkeypatch):
    monkeypatch.setattr("suffice.data.rows.loading.rows_per_block", lambda _: 64)
    frame, path = table
    found = sf.summarize(path, "kind", groups="site")
    assert list(found) == ["north", "south", "west"]
    for site, sums in found.items():
        rows = frame.filter(pl.col("site") == site)
        expected = sf.summarize(rows.drop("site"), "kind")
        np.testing.assert_array_equal(sums.counts, expected.counts)
        np.testing.assert_allclose(sums.scatters, expected.scatters, rtol=1e-12, atol=1e-12)
    total = sum(found.values(), start=sf.Moments.empty())
    whole = sf.summarize(path, "kind", columns=sf.Columns(ignore=["site"]))
    np.testing.assert_allclose(total.means, whole.means, rtol=1e-12)


def test_what_groups_cannot_do_is_said(table):
    frame, path = table
    with pytest.raises(InvalidInputError, match=r"no column 'sit'.*'site'"):
        sf.summarize(path, "kind", groups="sit")
    with pytest.raises(InvalidParameterError, match="groups and checkpoint"):
        sf.summarize(path, "kind", groups="site", checkpoint=path.with_suffix(".part"))
    X, y = frame.select("a", "b").to_numpy(), frame["kind"].to_numpy()
    with pytest.raises(InvalidParameterError, match="groups needs rows with named columns"):
        sf.summarize(X, y, groups="site")
    holes = frame.with_columns(pl.when(pl.col("a") > 0).then("site").alias("site"))
    with pytest.raises(InvalidInputError, match="give every row a group"):
        sf.summarize(holes, "kind", groups="site")


def test_a_group_that_is_not_a_number_is_a_gap():
    frame = pl.DataFrame(
        {"x": range(6), "y": ["a", "b"] * 3, "site": [1.0, 2.0, float("nan")] * 2}
    )
    with pytest.raises(InvalidInputError, match="'site' is empty in 2 rows"):
        sf.summarize(frame, "y", groups="site")
