"""Rows on another machine, by URL, and Parquet files that are damaged inside."""

import threading
import traceback
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import ClassVar

import numpy as np
import polars as pl
import pytest

import suffice as sf
from suffice.errors import InvalidInputError


class Ranges(BaseHTTPRequestHandler):
    """A file server that answers requests for ranges of bytes, as object stores do."""

    files: ClassVar = {}

    def do_HEAD(self):
        self._answer()

    def do_GET(self):
        self.wfile.write(self._answer())

    def _answer(self):
        data = self.files.get(self.path.lstrip("/"))
        if data is None:
            self.send_error(404)
            return b""
        lo, hi = 0, len(data) - 1
        wanted = self.headers.get("Range")
        if wanted:
            start, end = wanted.removeprefix("bytes=").split("-")
            lo, hi = (
                (int(start), min(int(end or hi), hi))
                if start
                else (max(len(data) - int(end), 0), hi)
            )
        part = data[lo : hi + 1]
        self.send_response(206 if wanted else 200)
        self.send_header("Content-Range", f"bytes {lo}-{hi}/{len(data)}")
        self.send_header("Content-Length", str(len(part)))
        self.send_header("Last-Modified", "Thu, 01 Jan 2026 00:00:00 GMT")
        self.end_headers()
        return part

    def log_message(self, *_):
        pass


@pytest.fixture
def serve(tmp_path):
    server = ThreadingHTTPServer(("127.0.0.1", 0), Ranges)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()

    def serve(path):
        Ranges.files[path.name] = path.read_bytes()
        return f"http://127.0.0.1:{server.server_address[1]}/{path.name}"

    yield serve
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.mark.parametrize("ending", ["parquet", "feather", "csv", "jsonl"])
def test_a_url_gives_the_sums_of_its_rows(frame, write, serve, ending):
    url = serve(write(frame, f"data.{ending}"))
    ours = sf.summarize(url, "colour", columns=["a", "b", "c"])
    theirs = sf.summarize(frame, "colour", columns=["a", "b", "c"])
    np.testing.assert_array_equal(ours.counts, theirs.counts)
    np.testing.assert_allclose(ours.scatters, theirs.scatters, rtol=1e-10)


def test_a_file_url_is_a_path(frame, write):
    path = write(frame, "data.csv")
    assert sf.summarize(f"file://{path}", "colour", columns=["a"]).counts.sum() == frame.height


def test_a_url_without_a_file_is_named(frame, write, serve):
    url = serve(write(frame, "data.parquet")).replace("data", "nothing")
    with pytest.raises(InvalidInputError, match=r"nothing\.parquet cannot be read"):
        sf.summarize(url, "colour")


@pytest.mark.parametrize("ending", ["parquet", "csv"])
def test_what_a_url_is_signed_with_is_never_repeated(frame, write, serve, ending):
    url = serve(write(frame, f"data.{ending}")).replace("data", "nothing")
    signed = f"{url}?X-Amz-Signature=s3cret&sig=s3cret&part=3".replace("//", "//me:s3cret@", 1)
    with pytest.raises(
        InvalidInputError, match=r"nothing\.\w+\?X-Amz-Signature=\*\*\*&sig=\*"
    ) as caught:
        sf.summarize(signed, "colour")
    assert "s3cret" not in "".join(traceback.format_exception(caught.value))


@pytest.mark.parametrize("group", [0, 3])
def test_a_file_with_a_damaged_page_is_named(tmp_path, group):
    import pyarrow.parquet as pq

    rng = np.random.default_rng(0)
    n = 40_000
    columns = {name: rng.normal(size=n).round(2) for name in "ab"}
    path = tmp_path / "bad.parquet"
    pl.DataFrame({**columns, "t": ["x", "y"] * (n // 2)}).write_parquet(
        path, row_group_size=8000
    )
    meta = pq.ParquetFile(path).metadata.row_group(group).column(1)
    start = meta.dictionary_page_offset or meta.data_page_offset
    data = bytearray(path.read_bytes())
    data[start + 40 : start + meta.total_compressed_size] = bytes(
        meta.total_compressed_size - 40
    )
    path.write_bytes(data)
    with pytest.raises(
        InvalidInputError, match=r"bad\.parquet cannot be read .*: check that it is complete"
    ):
        sf.summarize(path, "t")
