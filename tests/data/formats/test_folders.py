"""Folders of files: every file counts, and what their names tell is a column."""

import numpy as np
import polars as pl
import pytest
from tests.data.sums.test_checkpoint import assert_same_bits

import suffice as sf
from suffice.errors import InvalidInputError, UnusedDataWarning

DAYS, SITES = ("2026-11-15", "2026-11-16"), (None, "a/b", "c d")


def part(day, site, n=50):
    rng = np.random.default_rng([DAYS.index(day), SITES.index(site)])
    rows = {"x": rng.normal(size=n), "z": rng.normal(size=n), "t": rng.choice(["u", "v"], n)}
    return pl.DataFrame(rows).with_columns(pl.lit("NA").alias("note"))


WHOLE = pl.concat(
    part(day, site).with_columns(
        pl.lit(day).str.to_date().cast(pl.Datetime("us")).alias("day"),
        pl.lit(site, pl.String).alias("site"),
    )
    for day in DAYS
    for site in SITES
)


@pytest.fixture(params=["csv", "parquet"])
def folder(tmp_path, request):
    for day in DAYS:
        for site, name in zip(
            SITES, ("__HIVE_DEFAULT_PARTITION__", "a%2Fb", "c%20d"), strict=True
        ):
            place = tmp_path / "table" / f"day={day}" / f"site={name}"
            place.mkdir(parents=True)
            frame = part(day, site)
            write = frame.write_csv if request.param == "csv" else frame.write_parquet
            write(place / f"rows.{request.param}")
    (tmp_path / "table" / "_SUCCESS").touch()
    (tmp_path / "table" / "_temporary").mkdir()
    (tmp_path / "table" / "_temporary" / "rows.csv").write_text("half a line")
    return tmp_path / "table"


def assert_same(ours, theirs):
    assert ours.feature_names == theirs.feature_names
    assert ours.counts.tolist() == theirs.counts.tolist()
    np.testing.assert_allclose(ours.means, theirs.means)


@pytest.mark.filterwarnings("ignore:dates count")
@pytest.mark.filterwarnings("ignore:columns left out")
def test_a_folder_is_its_files_and_the_columns_of_their_folders(folder, tmp_path):
    theirs = sf.summarize(WHOLE, "t", columns=["x", "z", "day", "site"])
    ours = sf.summarize(folder, "t", columns=["x", "z", "day", "site"])
    assert_same(ours, theirs)
    assert_same_bits(
        sf.summarize(
            folder, "t", checkpoint=tmp_path / "c", columns=["x", "z", "day", "site"]
        ),
        ours,
    )
    assert set(sf.summarize(f"{folder}/", "t").feature_names) >= set(ours.feature_names)


def test_a_column_of_the_folders_may_be_the_label_or_all_that_is_asked_for(folder):
    for features in (["x"], ["day"]):
        with pytest.warns(UnusedDataWarning, match="100 of 300 rows are left out"):
            m = sf.summarize(folder, "site", columns=features)
        assert (m.classes.tolist(), m.counts.tolist()) == (["a/b", "c d"], [100, 100])


def test_answers_keep_the_columns_of_the_folders(folder, tmp_path):
    model = sf.LDA().fit_moments(sf.summarize(folder, "t", columns=["x", "z"]))
    done = sf.streams.predict_stream(
        model, folder, tmp_path / "out.parquet", columns=sf.Columns(ids=["site", "day"])
    )
    answers = pl.read_parquet(tmp_path / "out.parquet")
    assert done.rows == answers.height == WHOLE.height
    assert answers["site"].to_list() == WHOLE["site"].to_list()
    assert answers["day"].cast(pl.Datetime("us")).to_list() == WHOLE["day"].to_list()


def test_a_folder_in_an_object_store_is_one_here(folder, bucket):
    for path in folder.rglob("*"):
        if path.is_file():
            bucket.upload_file(str(path), "bucket", f"table/{path.relative_to(folder)}")
    question = {"target": "t", "columns": ["x", "z", "day", "site"]}
    assert_same(
        sf.summarize("s3://bucket/table", **question), sf.summarize(folder, **question)
    )


def test_folders_that_do_not_tell_the_same_are_refused(folder):
    odd = folder / "day=2026-11-17"
    odd.mkdir()
    WHOLE.head(3).drop("day", "site").write_csv(odd / "rows.csv")
    with pytest.raises(
        InvalidInputError, match=r"the folders of .*day=2026-11-17/rows\.csv name"
    ):
        sf.summarize(folder, "t")


def test_a_file_of_another_kind_in_a_folder_is_refused_by_name(folder):
    (folder / f"day={DAYS[0]}" / "site=c%20d" / "notes.docx").touch()
    with pytest.raises(InvalidInputError, match=r"notes\.docx: the extension \.docx names no"):
        sf.summarize(folder, "t")
