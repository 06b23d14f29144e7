"""A stream of any length is answered and summed in bounded memory: never read far ahead."""

import io

import numpy as np
import polars as pl
import pytest

import suffice as sf
from suffice.data.predict import predict_stream
from suffice.data.summarize import summarize

ROWS, REPEATS = 1000, 1500
PIECE = "".join(f"{i % 7}.5,{i % 11}.25,{'xy'[i % 2]}\n" for i in range(ROWS)).encode()


class Counted(io.RawIOBase):
    """A stream that says how many rows it has given away."""

    def __init__(self):
        self._data, self._at = b"a,b,t\n" + PIECE * REPEATS, 0

    def read(self, size=-1):
        part = self._data[self._at : self._at + size]
        self._at += len(part)
        return part

    @property
    def rows(self):
        return self._at * ROWS // len(PIECE)


@pytest.fixture
def stream(monkeypatch):
    """Return a long standard input that is read in small blocks."""
    monkeypatch.setattr("suffice.data.formats.file_source._HEAD", 50_000)
    monkeypatch.setattr("suffice.data.files.contents.BLOCK", 50_000)
    counted = Counted()

    class Stdin:
        buffer = counted

    monkeypatch.setattr("sys.stdin", Stdin)
    return counted


def test_answers_leave_while_rows_are_still_coming(stream):
    x = pl.DataFrame(np.random.default_rng(0).normal(size=(50, 2)), schema=["a", "b"])
    model = sf.LDA().fit(x, ["x", "y"] * 25)
    done, ahead = 0, []

    def sink(frame):
        nonlocal done
        for batch in frame.collect_batches(maintain_order=True):
            done += batch.height
            ahead.append(stream.rows - done)

    predict_stream(model, "-", sink, columns=sf.Columns(ignore=["t"]))
    assert done == ROWS * REPEATS
    assert max(ahead) < ROWS * REPEATS / 3


def test_rows_are_summed_while_others_are_still_coming(stream, monkeypatch):
    monkeypatch.setattr("suffice.data.rows.loading._NUMBERS", 1)
    ahead = []
    m = summarize("-", target="t", progress=lambda rows, _: ahead.append(stream.rows - rows))
    assert m.counts.sum() == ROWS * REPEATS
    assert len(ahead) > 100
    assert max(ahead) < ROWS * REPEATS / 3
