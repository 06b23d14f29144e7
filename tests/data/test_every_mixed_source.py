"""Text, Booleans and missing values: the same sums and answers wherever the rows live."""

import datetime
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from tests.data.mixed_rows import FEATURES, FRAME, N_ROWS, assert_same_moments

import suffice as sf
from suffice.core.table.schema import Schema
from suffice.errors import InvalidInputError, SufficeWarning, UnusedDataWarning

pytest.importorskip("ibis")
from tests.data.sql.conftest import (
    copied_in,
    created,
    duckdb,  # noqa: F401
    postgres,  # noqa: F401
    sqlite,  # noqa: F401
)

pytestmark = [
    pytest.mark.filterwarnings("ignore:.*rows are left out. no usable value in 'species'"),
    pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas"),
    pytest.mark.filterwarnings("ignore:The inplace keyword"),  # Dask's own use of pandas
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]


def cuts(size=70):
    return [FRAME[lo : lo + size] for lo in range(0, N_ROWS, size)]


def files(folder, ending):
    for at, cut in enumerate(cuts()):
        path = folder / f"part{at}.{ending}"
        cut.write_csv(path) if ending == "csv" else cut.write_parquet(path)
    return f"{folder}/*.{ending}"


def one_file(folder, ending):
    path = folder / f"rows.{ending}"
    FRAME.write_csv(path) if ending == "csv" else FRAME.write_parquet(path)
    return path


def dask_frame(folder):
    from dask import dataframe

    files(folder, "parquet")
    return dataframe.read_parquet(sorted(map(str, folder.iterdir())))


def delayed(folder):
    import dask

    return [dask.delayed(cut.to_pandas()) for cut in cuts()]


def pairs():
    known = (cut.drop_nulls("species") for cut in cuts())
    return [(cut.select(FEATURES), cut["species"].to_list()) for cut in known]


def delayed_pairs():
    import dask

    return [dask.delayed((x.to_pandas(), y)) for x, y in pairs()]


def spark_frame(request, folder, n=3):
    FRAME.write_parquet(folder / "rows.parquet")
    return request.getfixturevalue("spark").read.parquet(str(folder)).repartition(n)


def table(request, engine):
    load = copied_in if engine == "postgres" else created
    return load(request.getfixturevalue(engine), FRAME, "rows")


# each takes the request of a test, and a folder to write in
SOURCES = {
    "CSV": lambda request, folder: one_file(folder, "csv"),
    "CSV files": lambda request, folder: files(folder, "csv"),
    "Parquet": lambda request, folder: one_file(folder, "parquet"),
    "Parquet files": lambda request, folder: files(folder, "parquet"),
    "pandas": lambda request, folder: FRAME.to_pandas(),
    "pandas with Arrow": lambda request, folder: FRAME.to_pandas(
        use_pyarrow_extension_array=True
    ),
    "polars": lambda request, folder: FRAME,
    "lazy": lambda request, folder: FRAME.lazy(),
    "Arrow": lambda request, folder: FRAME.to_arrow(),
    "iterable": lambda request, folder: iter(cuts()),
    "iterable, last first": lambda request, folder: reversed(cuts()),
    "iterable of pandas": lambda request, folder: (cut.to_pandas() for cut in cuts()),
    "pairs": lambda request, folder: iter(pairs()),
    "pairs of arrays": lambda request, folder: [(x.to_numpy(), y) for x, y in pairs()],
    "DuckDB": lambda request, folder: table(request, "duckdb"),
    "PostgreSQL": lambda request, folder: table(request, "postgres"),
    "SQLite": lambda request, folder: table(request, "sqlite"),
    "Dask": lambda request, folder: dask_frame(folder),
    "Dask on a cluster": lambda request, folder: dask_frame(folder),
    "delayed on a cluster": lambda request, folder: delayed(folder),
    "pairs on a cluster": lambda request, folder: delayed_pairs(),
    "files on a cluster": lambda request, folder: files(folder, "parquet"),
    "Spark": spark_frame,
}


@pytest.fixture(scope="module")
def whole():
    known = FRAME.drop_nulls("species")
    return sf.Moments.of(known.select(FEATURES), known["species"].to_list(), fourth=False)


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    monkeypatch.setattr("suffice.data.rows.loading.rows_per_block", lambda _: 64)


def made(name, request, folder):
    on_cluster = name.endswith("on a cluster")
    options = {"on": request.getfixturevalue("client")} if on_cluster else {}
    return SOURCES[name](request, folder), options


def named(moments, source):
    """Return the moments with the names that columns without names are given."""
    if source != "pairs of arrays":
        return moments
    columns = zip(moments.schema.columns, range(len(FEATURES)), strict=True)
    schema = Schema(tuple(replace(c, name=f"x{j}") for c, j in columns))
    return replace(moments, schema=schema, feature_names=schema.feature_names)


@pytest.mark.parametrize("name", SOURCES)
def test_every_source_gives_the_sums_of_the_frame(name, request, tmp_path, whole):
    source, options = made(name, request, tmp_path)
    target = () if name.startswith("pairs") else ("species",)
    assert_same_moments(sf.summarize(source, *target, **options), named(whole, name))


@pytest.mark.parametrize("name", [name for name in SOURCES if "on a cluster" not in name])
def test_every_source_is_scored_as_the_frame_is(name, request, tmp_path, whole):
    model = sf.LDA().fit_moments(whole)
    folder = tmp_path / "rows"
    folder.mkdir()
    source, _ = made(name, request, folder)
    told = sf.streams.predict_stream(
        model, source, tmp_path / "out.parquet", columns=sf.Columns(ids=["bill"])
    )
    rows = FRAME.drop_nulls("species") if name.startswith("pairs") else FRAME
    assert (told.rows, told.unanswered) == (rows.height, 0)
    answers = pl.read_parquet(tmp_path / "out.parquet")
    ours = answers.select(f"p_{label}" for label in model.classes_).to_numpy()
    expected = model.predict_proba(rows.select(FEATURES))
    if name in ("Spark", "iterable, last first"):  # in another order
        ours, expected = np.sort(ours, axis=0), np.sort(expected, axis=0)
    else:
        assert answers["label"].to_list() == model.predict(rows.select(FEATURES)).tolist()
    np.testing.assert_allclose(ours, expected, rtol=1e-8, atol=1e-12)


def test_labels_may_be_given_apart(whole):
    known = FRAME.drop_nulls("species")
    x, y = known.select(FEATURES), known["species"].to_numpy()
    assert_same_moments(sf.summarize(x, y), whole)
    assert_same_moments(sf.summarize(x.to_pandas(), y, weight=np.ones(len(y))), whole)


def coded(frame):
    return frame.to_pandas().astype({"year": "category"})


def dask_coded(folder):
    from dask import dataframe

    return dataframe.from_pandas(coded(FRAME), npartitions=3)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("polars", ["year"]),
        ("CSV files", ["year"]),
        ("DuckDB", ["year"]),
        ("PostgreSQL", ["year"]),
        ("iterable of pandas", ["year"]),
        ("coded pandas", ()),
        ("coded iterable", ()),
        ("coded Dask", ()),
        ("coded Dask on a cluster", ()),
    ],
)
def test_numbers_that_are_called_categories_are(name, said, request, tmp_path):
    known = FRAME.drop_nulls("species")
    x, y = known.select(FEATURES), known["species"].to_list()
    theirs = sf.Moments.of(x, y, categorical=["year"], fourth=False)
    coded_sources = {
        "coded pandas": lambda request, folder: coded(FRAME),
        "coded iterable": lambda request, folder: map(coded, cuts()),
        "coded Dask": lambda request, folder: dask_coded(folder),
        "coded Dask on a cluster": lambda request, folder: dask_coded(folder),
    }
    options = {"on": request.getfixturevalue("client")} if "cluster" in name else {}
    source = {**SOURCES, **coded_sources}[name](request, tmp_path)
    assert_same_moments(
        sf.summarize(source, "species", columns=sf.Columns(categorical=said), **options),
        theirs,
    )


def test_chunks_may_have_levels_of_their_own_type(whole):
    def typed(cut, dtype):
        columns = [cut[c].cast(dtype(cut[c])) for c in ("island", "sex")]
        return cut.with_columns(columns)

    for dtype in (lambda c: pl.Enum(c.drop_nulls().unique()), lambda _: pl.Categorical):
        chunks = [typed(cut, dtype) for cut in cuts()]
        assert_same_moments(sf.summarize(chunks, "species"), whole)


def other_kinds():
    """Yield chunks whose column ``c`` holds something else than before, and what is said of it."""
    words = pl.Series("c", ["a", "b"] * 20)
    numbers, truths = pl.Series("c", [1.0, 2.0] * 20), pl.Series("c", [True, False] * 20)
    days = pl.Series("c", [datetime.date(2024, 1, 1), datetime.date(2024, 3, 1)] * 20)
    yield words, numbers, "holds numbers in {} but text"
    yield numbers, words, "holds text in {} but numbers"
    yield numbers, truths, "holds Booleans in {} but numbers"
    yield truths, numbers, "holds numbers in {} but Booleans"
    yield words, days, "holds values of another type in {} but text"


@pytest.mark.filterwarnings("ignore:.*dates")
@pytest.mark.parametrize(("first", "second", "told"), list(other_kinds()))
def test_a_column_of_another_kind_is_named_with_its_part(
    first, second, told, tmp_path, request
):
    frame = pl.DataFrame({"x": np.sin(np.arange(40.0)), "y": ["u", "v"] * 20})
    parts = [frame.with_columns(column) for column in (first, second)]
    for at, part in enumerate(parts):
        part.write_parquet(tmp_path / f"{at}.parquet")
    client = request.getfixturevalue("client")
    pairs = [(part.drop("y"), part["y"].to_list()) for part in parts]
    for source, place, options in (
        (f"{tmp_path}/*.parquet", r".*1\.parquet", {}),
        (parts, "batch 1 of the iterable", {}),
        (
            client.scatter(parts, hash=False),
            "partition 1 of the Dask coll.*",
            {"on": client},
        ),
    ):
        message = f"column 'c' {told.format(place)} in .*: convert one of them"
        with pytest.raises(InvalidInputError, match=message):
            sf.summarize(source, "y", **options)
    with pytest.raises(InvalidInputError, match="'c'"):
        sf.summarize(pairs)


@pytest.mark.parametrize("name", ["pandas", "iterable", "DuckDB", "PostgreSQL", "SQLite"])
def test_no_label_at_all_is_refused_and_an_empty_column_left_out(
    name, request, tmp_path, monkeypatch
):
    empty = FRAME.with_columns(
        pl.lit(None, pl.String).alias("species"), pl.lit(None, pl.Float64).alias("bill")
    )
    monkeypatch.setitem(globals(), "FRAME", empty)
    sources = [SOURCES[name](request, tmp_path) for _ in range(2)]
    with pytest.raises(InvalidInputError, match="the target 'species' is empty: name another"):
        sf.summarize(sources[0], "species")
    with pytest.warns(
        UnusedDataWarning, match=r"columns left out: 'bill', 'species' \(empty\)"
    ):
        m = sf.summarize(sources[1], "island")
    assert m.schema.names == ("mass", "banded", "year", "sex")


def test_levels_that_only_later_parts_have_are_counted_in_full_or_together(
    client, monkeypatch
):
    monkeypatch.setattr("suffice.data.cluster.dask.SAMPLE_ROWS", 400)
    rng = np.random.default_rng(5)
    parts = [
        pl.DataFrame(
            {
                "c": [f"l{j:03}" for j in rng.integers(0, 20 + 15 * at, 400)],
                "x": rng.normal(size=400),
                "y": ["u", "v"] * 200,
            }
        )
        for at in range(5)
    ]
    whole = pl.concat(parts)
    with pytest.warns(SufficeWarning, match="column 'c' has more than 40 levels: .* are kept"):
        m = sf.summarize(client.scatter(parts, hash=False), "y", on=client)
    category, counts = m.schema.categories[0], (m.weights @ m.means)[1:]
    assert category.other
    assert len(category.levels) >= 20
    true = [whole.filter(pl.col("c") == level).height for level in category.levels]
    np.testing.assert_allclose(counts[: len(true)], true, rtol=1e-9)
    assert counts.sum() == pytest.approx(whole.height)
