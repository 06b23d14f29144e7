"""Objects in a store that runs here: read, listed, stamped; nothing of them is lost or stale."""

import gzip
import json

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner

import suffice as sf
from suffice.cli.group import suffice
from suffice.data.files.addresses import stamp_of
from suffice.errors import CheckpointError, InvalidInputError, InvalidParameterError


def rows(seed, n=400):
    rng = np.random.default_rng(seed)
    y = rng.choice(["no", "yes"], n)
    return pl.DataFrame({"a": rng.normal(size=n), "b": rng.normal(1e3, 1, n), "t": y})


def put(frame, key):
    url = f"s3://bucket/{key}"
    (frame.write_csv if key.endswith("csv") else frame.write_parquet)(url)
    return url


def assert_same(ours, theirs):
    assert ours.counts.tolist() == theirs.counts.tolist()
    np.testing.assert_allclose(ours.scatters, theirs.scatters, rtol=1e-9)


@pytest.mark.parametrize("ending", ["csv", "parquet"])
@pytest.mark.parametrize("address", ["days/*.{}", "days", "days/", "days/1.{}"])
def test_objects_globs_and_folders_give_the_sums_of_all_their_rows(bucket, ending, address):
    parts = [rows(i) for i in range(3)]
    for i, part in enumerate(parts):
        put(part, f"days/{i}.{ending}")
    put(rows(9), f"other/9.{ending}")
    wanted = parts[1] if "1" in address else pl.concat(parts)
    url = f"s3://bucket/{address.format(ending)}"
    assert_same(sf.summarize(url, "t"), sf.summarize(wanted, "t"))


def test_an_address_without_an_object_is_refused_by_name(bucket):
    with pytest.raises(InvalidInputError, match=r"no file matches 's3://bucket/days/\*\.csv'"):
        sf.summarize("s3://bucket/days/*.csv", "t")
    with pytest.raises(InvalidInputError, match=r"s3://bucket/none\.parquet cannot be read"):
        sf.summarize("s3://bucket/none.parquet", "t")


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_checkpoint_counts_new_objects_and_refuses_replaced_ones(bucket, tmp_path, ending):
    question = {"source": f"s3://bucket/days/*.{ending}", "target": "t"}
    put(rows(0), f"days/0.{ending}")
    sf.summarize(**question, checkpoint=tmp_path / "c")
    put(rows(1), f"days/1.{ending}")
    grown = sf.summarize(**question, checkpoint=tmp_path / "c")
    assert_same(grown, sf.summarize(pl.concat([rows(0), rows(1)]), "t"))
    put(rows(2), f"days/0.{ending}")
    with pytest.raises(CheckpointError, match=rf"days/0\.{ending} has changed"):
        sf.summarize(**question, checkpoint=tmp_path / "c")


def test_a_checkpoint_refuses_what_cannot_be_stamped(bucket, tmp_path, monkeypatch):
    url = put(rows(0), "a.parquet")
    monkeypatch.setattr("suffice.data.files.addresses._object_stamp", lambda _: (0, ""))
    with pytest.raises(
        InvalidParameterError, match=r"it cannot be checked whether s3://bucket/a\.parquet"
    ):
        sf.summarize(url, "t", checkpoint=tmp_path / "c")
    assert not (tmp_path / "c").exists()


@pytest.mark.parametrize("scheme", ["s3", "gs", "az"])
def test_every_object_store_tells_by_its_tag_whether_an_object_changed(scheme, monkeypatch):
    obstore = pytest.importorskip("obstore")
    memory = obstore.store.MemoryStore()
    opened = []
    monkeypatch.setattr(obstore.store, "from_url", lambda url: opened.append(url) or memory)
    obstore.put(memory, "days/a b%.csv", b"12345")
    first = stamp_of(f"{scheme}://place/days/a b%.csv")
    assert first == stamp_of(f"{scheme}://place/days/a b%.csv")
    obstore.put(memory, "days/a b%.csv", b"54321")
    second = stamp_of(f"{scheme}://place/days/a b%.csv")
    assert (first[0], second[0]) == (5, 5)
    assert first[1] != second[1]
    assert set(opened) == {f"{scheme}://place"}


def test_the_stamp_of_an_object_is_what_the_store_itself_says(bucket):
    key = "days/a b%é.csv"
    bucket.put_object(Bucket="bucket", Key=key, Body=b"12345")
    head = bucket.head_object(Bucket="bucket", Key=key)
    assert stamp_of(f"s3://bucket/{key}") == (head["ContentLength"], head["ETag"])
    with pytest.raises(
        InvalidInputError, match=r"s3://bucket/none\.csv cannot be read"
    ) as told:
        stamp_of("s3://bucket/none.csv")
    assert "\n" not in str(told.value)
    assert "hidden-secret" not in str(told.value)


@pytest.mark.parametrize("ending", ["csv", "parquet", "feather", "jsonl"])
def test_answers_are_written_to_the_store_whole_or_not_at_all(bucket, ending, monkeypatch):
    source, out = put(rows(0), "in.parquet"), f"s3://bucket/out/answers.{ending}"
    model = sf.LDA().fit_moments(sf.summarize(source, "t"))
    done = sf.streams.predict_stream(model, source, out, columns=sf.Columns(ids=["a"]))
    read = {"csv": pl.read_csv, "parquet": pl.read_parquet, "feather": pl.read_ipc}
    answers = read.get(ending, pl.read_ndjson)(out)
    assert done.rows == answers.height == 400
    np.testing.assert_allclose(answers["a"], rows(0)["a"])
    before = bucket.head_object(Bucket="bucket", Key=f"out/answers.{ending}")["ETag"]

    def fail(*_):
        raise InvalidInputError("half-way")

    monkeypatch.setattr("suffice.data.predict.Answers.to", fail)
    with pytest.raises(InvalidInputError, match="half-way"):
        sf.streams.predict_stream(model, source, out)
    assert bucket.head_object(Bucket="bucket", Key=f"out/answers.{ending}")["ETag"] == before


def test_a_store_that_cannot_be_written_is_blamed_and_not_the_rows(bucket):
    model = sf.LDA().fit_moments(sf.summarize(rows(0), "t"))
    with pytest.raises(InvalidParameterError, match=r"s3://none/x\.csv cannot be written"):
        sf.streams.predict_stream(model, rows(0), "s3://none/x.csv")


def test_the_command_line_reads_and_writes_the_store(bucket, tmp_path):
    put(rows(0), "days/0.parquet")
    put(rows(1), "days/1.parquet")
    run, model, out = CliRunner().invoke, str(tmp_path / "m.suffice"), "s3://bucket/out.csv"
    fitted = run(suffice, ["fit", "s3://bucket/days", "-t", "t", "-o", model])
    scored = run(
        suffice, ["predict", model, "s3://bucket/days/*.parquet", "-o", out, "--json"]
    )
    assert (fitted.exit_code, scored.exit_code) == (0, 0), fitted.output + scored.output
    assert json.loads(scored.stdout)["rows"] == pl.read_csv(out).height == 800
    assert "hidden-secret" not in fitted.output + scored.output


def test_a_quote_that_is_not_closed_in_an_object_is_told_by_its_line(bucket):
    text = b'a,t\n1,x\n2,"y\n' + b"3,x\n4,y\n" * 50
    bucket.put_object(Bucket="bucket", Key="open.csv", Body=text)
    with pytest.raises(InvalidInputError, match="line 3 opens a quote"):
        sf.summarize("s3://bucket/open.csv", "t")


@pytest.mark.parametrize("ending", ["gz", "zst"])
def test_packed_objects_are_unpacked_on_the_way(bucket, ending):
    pack = {"gz": gzip.compress, "zst": pytest.importorskip("zstandard").compress}[ending]
    data = pack(rows(0).write_csv().encode())
    bucket.put_object(Bucket="bucket", Key=f"rows.csv.{ending}", Body=data)
    assert_same(
        sf.summarize(f"s3://bucket/rows.csv.{ending}", "t"), sf.summarize(rows(0), "t")
    )
    bucket.put_object(Bucket="bucket", Key=f"cut.csv.{ending}", Body=data[: len(data) // 2])
    with pytest.raises(InvalidInputError, match="cannot be read"):
        sf.summarize(f"s3://bucket/cut.csv.{ending}", "t")
