"""One body over every source: the same sums and the same answers, wherever the rows live."""

import numpy as np
import polars as pl
import pytest

import suffice as sf
from suffice.persistence.moments_file import arrays_of

FEATURES = ["a", "b", "c", "count"]
N_ROWS = 900
pytestmark = [
    pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas"),
    pytest.mark.filterwarnings("ignore:The inplace keyword"),  # Dask's own use of pandas
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]


def rows():
    rng = np.random.default_rng(7)
    y = rng.choice(["blue", "green", "red"], N_ROWS)
    return pl.DataFrame(
        {
            "a": rng.normal(size=N_ROWS) + (y == "red"),
            "b": rng.normal(size=N_ROWS) * 100 + 1e6,
            "c": rng.normal(size=N_ROWS) - 2.0 * (y == "green"),
            "count": rng.integers(0, 50, N_ROWS),
            "colour": y,
        }
    )


FRAME = rows()


class Stream:
    """An object that exports an Arrow stream and nothing else."""

    def __init__(self, reader):
        self.reader = reader

    def __arrow_c_stream__(self, requested_schema=None):
        return self.reader.__arrow_c_stream__(requested_schema)


def cuts(size):
    return [FRAME[lo : lo + size] for lo in range(0, N_ROWS, size)]


def pairs(size):
    return [(cut.select(FEATURES), cut["colour"]) for cut in cuts(size)]


def reader(size):
    import pyarrow as pa

    return pa.Table.from_batches(
        [batch for cut in cuts(size) for batch in cut.to_arrow().to_batches()]
    ).to_reader()


def files(size, folder, ending, **options):
    for at, cut in enumerate(cuts(size)):
        write = {
            "parquet": cut.write_parquet,
            "feather": cut.write_ipc,
            "csv": cut.write_csv,
            "jsonl": cut.write_ndjson,
        }[ending]
        write(folder / f"part{at:04}.{ending}", **options)
    return f"{folder}/*.{ending}"


# each takes the number of rows in a batch, and a folder to write in
IN_PROCESS = {
    "pandas": lambda size, folder: FRAME.to_pandas(),
    "polars": lambda size, folder: pl.concat(cuts(size), rechunk=False),
    "lazy": lambda size, folder: pl.concat(cuts(size), rechunk=False).lazy(),
    "pyarrow": lambda size, folder: pl.concat(cuts(size), rechunk=False).to_arrow(),
    "record batch reader": lambda size, folder: reader(size),
    "Arrow stream": lambda size, folder: Stream(reader(size)),
    "iterable of pairs": lambda size, folder: iter(pairs(size)),
    "iterable of polars": lambda size, folder: iter(cuts(size)),
    "list of pandas": lambda size, folder: [cut.to_pandas() for cut in cuts(size)],
    "list of pyarrow": lambda size, folder: [cut.to_arrow() for cut in cuts(size)],
    "Parquet": lambda size, folder: files(size, folder, "parquet"),
    "Parquet row groups": lambda size, folder: files(
        N_ROWS, folder, "parquet", row_group_size=size
    ),
    "Feather": lambda size, folder: files(size, folder, "feather"),
    "CSV": lambda size, folder: files(size, folder, "csv"),
    "JSON Lines": lambda size, folder: files(size, folder, "jsonl"),
    "list of paths": lambda size, folder: (
        files(size, folder, "csv") and sorted(folder.iterdir())
    ),
}


def dask_frame(_, folder):
    from dask import dataframe

    files(150, folder, "parquet")
    return dataframe.read_parquet(sorted(map(str, folder.iterdir())))


def delayed(_, __):
    import dask

    return [dask.delayed(cut) for cut in cuts(150)]


def duckdb_table(_, __):
    ibis = pytest.importorskip("ibis")
    return ibis.duckdb.connect().create_table("rows", FRAME.to_arrow())


def spark_frame(request, folder):
    files(N_ROWS, folder, "parquet")
    return request.getfixturevalue("spark").read.parquet(str(folder))


ELSEWHERE = {
    "Ibis on DuckDB": duckdb_table,
    "Dask frame": dask_frame,
    "Dask frame on a cluster": dask_frame,
    "delayed on a cluster": delayed,
    "futures": lambda request, _: request.getfixturevalue("client").scatter(
        cuts(150), hash=False
    ),
    "files on a cluster": lambda _, folder: files(150, folder, "parquet"),
    "Spark": spark_frame,
}
ON_CLUSTER = (
    "Dask frame on a cluster",
    "delayed on a cluster",
    "futures",
    "files on a cluster",
)


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    monkeypatch.setattr("suffice.data.rows.loading.rows_per_block", lambda _: 128)


@pytest.fixture(scope="module")
def whole():
    x = FRAME.select(pl.col(FEATURES).cast(pl.Float64))
    return sf.Moments.of(x, FRAME["colour"].to_numpy(), fourth=False)


@pytest.fixture(scope="module")
def model(whole):
    return sf.QDA().fit_moments(whole)


def assert_close(ours, theirs):
    assert ours.feature_names == theirs.feature_names
    assert ours.classes.tolist() == theirs.classes.tolist()
    np.testing.assert_array_equal(ours.counts, theirs.counts)
    for name, values in arrays_of(ours).items():
        if name not in ("classes", "counts", "means_low"):
            np.testing.assert_allclose(values, arrays_of(theirs)[name], rtol=1e-10, atol=1e-7)


def made(name, request, folder):
    client = request.getfixturevalue("client") if name in ON_CLUSTER else None
    return ELSEWHERE[name](request, folder), {"on": client} if client else {}


@pytest.mark.parametrize("size", [37, 128, N_ROWS])
@pytest.mark.parametrize("name", IN_PROCESS)
def test_every_cutting_of_every_source_in_process_gives_the_same_bits(
    name, size, tmp_path, whole
):
    target = () if name == "iterable of pairs" else ("colour",)
    m = sf.summarize(IN_PROCESS[name](size, tmp_path), *target)
    assert_close(m, whole)
    for field, values in arrays_of(sf.summarize(FRAME, "colour")).items():
        np.testing.assert_array_equal(arrays_of(m)[field], values)


@pytest.mark.parametrize("name", ELSEWHERE)
def test_every_source_elsewhere_gives_the_same_sums(name, request, tmp_path, whole):
    source, options = made(name, request, tmp_path)
    assert_close(sf.summarize(source, "colour", **options), whole)


def test_arrays_give_the_same_bits():
    x, y = FRAME.select(FEATURES).to_numpy(), FRAME["colour"].to_numpy()
    theirs = arrays_of(sf.summarize(FRAME, "colour"))
    for rows in (x, np.asfortranarray(x)):
        for field, values in arrays_of(sf.summarize(rows, y)).items():
            np.testing.assert_array_equal(theirs[field], values)


def assert_scored(model, source, path):
    told = sf.streams.predict_stream(model, source, path, columns=sf.Columns(ids=()))
    assert (told.rows, told.unanswered) == (N_ROWS, 0)
    answers = pl.read_parquet(path)
    x = FRAME.select(pl.col(FEATURES).cast(pl.Float64))
    expected = model.predict_proba(x)
    ours = answers.select(f"p_{label}" for label in model.classes_).to_numpy()
    np.testing.assert_allclose(ours, expected, rtol=1e-9, atol=1e-300)
    assert answers["label"].to_list() == model.predict(x).tolist()


@pytest.mark.parametrize("name", IN_PROCESS)
def test_every_source_in_process_is_scored_in_order(name, tmp_path, model):
    folder = tmp_path / "rows"
    folder.mkdir()
    assert_scored(model, IN_PROCESS[name](128, folder), tmp_path / "out.parquet")


@pytest.mark.parametrize("name", ["Ibis on DuckDB", "Dask frame", "Spark"])
def test_sources_elsewhere_are_scored_too(name, request, tmp_path, model):
    folder = tmp_path / "rows"
    folder.mkdir()
    assert_scored(model, made(name, request, folder)[0], tmp_path / "out.parquet")


def test_an_array_is_scored_by_position(tmp_path, model):
    assert_scored(model, FRAME.select(FEATURES).to_numpy(), tmp_path / "out.parquet")
