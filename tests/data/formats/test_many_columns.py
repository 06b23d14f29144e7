"""Files with thousands of columns are opened in seconds."""

import time

import numpy as np
import polars as pl

import suffice as sf


def test_opening_files_takes_time_in_proportion_to_their_columns(tmp_path):
    rng = np.random.default_rng(0)
    frame = pl.DataFrame(rng.normal(size=(40, 2000)))
    frame = frame.with_columns(label=pl.Series(["a", "b"] * 20))
    paths = []
    for i in range(3):
        paths.append(tmp_path / f"{i}.parquet")
        frame.write_parquet(paths[-1])
    start = time.process_time()
    total = sf.summarize(paths, "label", storage="diagonal")
    # looking up each column among the types of all columns, for each of them, takes a minute
    assert time.process_time() - start < 10
    assert total.counts.tolist() == [60, 60]
