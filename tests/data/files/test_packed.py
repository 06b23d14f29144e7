"""Text that is packed is unpacked on the way, to its end."""

import bz2
import gzip
import io
import zipfile

import polars as pl
import pytest
from tests.data.sums.test_checkpoint import assert_same_bits

import suffice as sf
from suffice.errors import InvalidInputError

zstandard = pytest.importorskip("zstandard")


def zipped(data, **others):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in {"inside.csv": data, **others}.items():
            archive.writestr(name, content)
    return file.getvalue()


PACKERS = {"gz": gzip.compress, "bz2": bz2.compress, "zst": zstandard.compress, "zip": zipped}


@pytest.fixture
def small_blocks(monkeypatch):
    monkeypatch.setattr("suffice.data.files.contents.BLOCK", 20_000)


@pytest.mark.parametrize("ending", PACKERS)
@pytest.mark.parametrize("plain", ["csv", "tsv"])
def test_packed_text_gives_the_same_bits_as_plain(
    frame, tmp_path, ending, plain, small_blocks
):
    data = frame.write_csv(separator="\t" if plain == "tsv" else ",").encode()
    path = tmp_path / f"rows.{plain}.{ending}"
    path.write_bytes(PACKERS[ending](data))
    question = {"target": "colour", "columns": sf.Columns(ignore=["row_id"])}
    assert_same_bits(sf.summarize(path, **question), sf.summarize(frame, **question))
    model = sf.LDA().fit_moments(sf.summarize(path, **question))
    assert sf.streams.predict_stream(model, path, tmp_path / "out.csv").rows == frame.height
    assert pl.read_csv(tmp_path / "out.csv")["row_id"].to_list() == frame["row_id"].to_list()


@pytest.mark.parametrize("ending", ["gz", "bz2", "zst"])
def test_packed_parts_after_each_other_are_all_read(tmp_path, ending):
    pack = PACKERS[ending]
    (tmp_path / f"rows.csv.{ending}").write_bytes(
        pack(b"a,t\n1,x\n2,y\n") + pack(b"3,x\n4,y\n")
    )
    assert sf.summarize(tmp_path / f"rows.csv.{ending}", "t").counts.tolist() == [2, 2]


@pytest.mark.parametrize("ending", PACKERS)
def test_a_packed_file_that_lacks_its_end_is_refused(frame, tmp_path, ending, small_blocks):
    data = PACKERS[ending](pl.concat([frame] * 40).write_csv().encode())
    path = tmp_path / f"rows.csv.{ending}"
    path.write_bytes(data[: len(data) * 2 // 3])
    with pytest.raises(InvalidInputError, match=rf"rows\.csv\.{ending} cannot be read"):
        sf.summarize(path, "colour", columns=["a", "b"])


def test_a_quote_that_is_not_closed_is_told_by_its_line(tmp_path):
    (tmp_path / "rows.csv.bz2").write_bytes(bz2.compress(b'a,t\n1,x\n2,"y\n' + b"3,x\n" * 50))
    with pytest.raises(InvalidInputError, match="line 3 opens a quote"):
        sf.summarize(tmp_path / "rows.csv.bz2", "t")


def test_a_zip_of_several_files_is_refused(tmp_path):
    (tmp_path / "rows.zip").write_bytes(zipped(b"a,t\n1,x\n", **{"other.csv": b"a,t\n2,y\n"}))
    with pytest.raises(InvalidInputError, match=r"rows\.zip holds 2 files"):
        sf.summarize(tmp_path / "rows.zip", "t")


def test_packed_files_that_are_no_text_are_refused(frame, tmp_path):
    frame.write_parquet(tmp_path / "rows.parquet")
    packed = gzip.compress((tmp_path / "rows.parquet").read_bytes())
    (tmp_path / "rows.parquet.gz").write_bytes(packed)
    with pytest.raises(InvalidInputError, match="names no format"):
        sf.summarize(tmp_path / "rows.parquet.gz", "colour")
