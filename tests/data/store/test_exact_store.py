"""A store of exact sums: rows that come later are summed on the grid of those before."""

import numpy as np
import polars as pl

import suffice as sf


def test_totals_of_exact_partitions_have_the_digest_of_all_their_rows(tmp_path):
    r = np.random.default_rng(0)
    label = r.choice(["a", "b"], 90)
    rows = pl.DataFrame({"x": r.normal(size=90), "z": r.normal(size=90) + (label == "a")})
    rows = rows.with_columns(label=pl.Series(label))
    whole = sf.summarize(rows, "label", exact="auto")
    grid = whole.exact.grid
    store = sf.MomentStore(tmp_path / "store")
    store.add(sf.summarize(rows[:30], "label", exact=grid), "monday")
    rows[30:60].write_csv(tmp_path / "tuesday.csv")
    store.add(tmp_path / "tuesday.csv", "tuesday", target="label")
    store.add(sf.summarize(rows[60:], "label", exact=grid), "wednesday")
    assert store.total().digest() == whole.digest()
    store.remove("monday")
    assert store.total().digest() == sf.summarize(rows[30:], "label", exact=grid).digest()
