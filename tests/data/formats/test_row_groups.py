"""Parquet is read in pieces of bounded size, whatever its row groups, and every row once."""

import subprocess
import sys
import textwrap

import numpy as np
import polars as pl
import pytest
from tests.data.sums.test_checkpoint import StopError, assert_same_bits, stop_after

import suffice as sf
from suffice.data.formats import typed_table
from suffice.errors import InvalidInputError

N = 20_011


@pytest.fixture(params=[500, 3000, 1 << 20])
def path(tmp_path, request):
    rng = np.random.default_rng(0)
    columns = {f"x{j}": rng.normal(size=N) for j in range(11)}
    frame = pl.DataFrame({**columns, "t": rng.choice(["no", "yes"], N)})
    frame.write_parquet(tmp_path / "rows.parquet", row_group_size=request.param)
    return tmp_path / "rows.parquet"


@pytest.fixture
def pieces(monkeypatch):
    """Read small pieces; return how many rows each had."""
    heights, whole = [], typed_table._slice

    def cut(*args):
        heights.append(whole(*args).height)
        return whole(*args)

    monkeypatch.setattr(typed_table, "_slice", cut)
    monkeypatch.setattr(typed_table, "_NUMBERS", 20_000)
    return heights


def test_pieces_give_the_same_bits_as_the_whole(path, pieces):
    ours = sf.summarize(path, "t")
    assert max(pieces[1:]) <= 20_000 // 12
    assert sum(pieces[1:]) == N
    assert_same_bits(ours, sf.summarize(pl.read_parquet(path), "t"))


def test_a_scan_in_pieces_is_resumed_to_the_same_bits(path, pieces, tmp_path, monkeypatch):
    monkeypatch.setattr("suffice.data.rows.loading.rows_per_block", lambda _: 700)
    monkeypatch.setattr("suffice.data.sums.checkpoint.SECONDS", 0.0)
    with pytest.raises(StopError):
        sf.summarize(path, "t", checkpoint=tmp_path / "c", progress=stop_after(8000))
    resumed = sf.summarize(path, "t", checkpoint=tmp_path / "c")
    assert resumed.counts.sum() == N
    assert_same_bits(resumed, sf.summarize(path, "t"))


def test_every_row_is_answered_in_its_order(path, pieces, tmp_path):
    model = sf.LDA().fit_moments(sf.summarize(path, "t"))
    done = sf.streams.predict_stream(
        model, path, tmp_path / "out.parquet", columns=sf.Columns(ids=["x0"])
    )
    answers, rows = pl.read_parquet(tmp_path / "out.parquet"), pl.read_parquet(path)
    assert (done.rows, answers["x0"].to_list()) == (N, rows["x0"].to_list())
    whole = model.predict(rows.select(model.feature_names_in_))
    assert answers["label"].to_list() == whole.tolist()


def test_a_file_that_is_replaced_while_it_is_read_is_refused(path, pieces, monkeypatch):
    monkeypatch.setattr("suffice.data.rows.loading.rows_per_block", lambda _: 700)

    other = path.with_suffix(".new")
    pl.read_parquet(path).reverse().write_parquet(other)

    def progress(*_):
        if other.exists():
            other.replace(path)

    with pytest.raises(
        InvalidInputError, match=r"rows\.parquet has changed while it was read"
    ):
        sf.summarize(path, "t", progress=progress)


PEAK = """
    import sys
    import suffice as sf
    print(sf.summarize(sys.argv[1], "t").counts.sum())
    print(*(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")))
"""


@pytest.mark.slow
def test_row_groups_of_a_million_rows_take_less_than_500_mb(tmp_path):
    n = 2 << 20  # as pandas writes them: 252 MB a row group, of which there are two
    i = pl.int_range(n, dtype=pl.Int64)
    columns = {f"x{j}": (i * (j + 3) % 251).cast(pl.Float64) for j in range(30)}
    rows = pl.LazyFrame().select(**columns, t=(i % 3).cast(pl.String))
    rows.sink_parquet(tmp_path / "rows.parquet", row_group_size=1 << 20, statistics=False)
    args = [sys.executable, "-c", textwrap.dedent(PEAK), tmp_path / "rows.parquet"]
    counted, peak = subprocess.run(
        args, capture_output=True, text=True, check=True
    ).stdout.split()
    assert int(counted) == n
    assert int(peak) < 500_000
