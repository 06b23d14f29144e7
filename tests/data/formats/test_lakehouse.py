"""Tables of Delta Lake and Iceberg: the rows that their log counts, and no others."""

import polars as pl
import pytest

import suffice as sf
from suffice.errors import InvalidInputError

ROWS = pl.DataFrame(
    {"x": [float(i % 7) for i in range(60)], "day": [1, 2] * 30, "t": ["u", "v", "v"] * 20}
)
KEPT = pl.concat([ROWS, ROWS]).filter(pl.col("x") != 3)


@pytest.fixture
def delta(tmp_path):
    deltalake = pytest.importorskip("deltalake")
    ROWS.write_delta(tmp_path / "table", delta_write_options={"partition_by": ["day"]})
    ROWS.write_delta(tmp_path / "table", mode="append")
    deltalake.DeltaTable(tmp_path / "table").delete("x = 3.0")
    return tmp_path / "table"


@pytest.fixture
def iceberg(tmp_path):
    """Return the metadata file of a table that no catalog knows."""
    pytest.importorskip("pyiceberg")
    from pyiceberg.catalog import MetastoreCatalog
    from pyiceberg.serializers import FromInputFile
    from pyiceberg.table import CommitTableResponse, Table

    class Files(MetastoreCatalog):
        def _written(self, staged):
            self._write_metadata(staged.metadata, staged.io, staged.metadata_location)
            self.at = staged.metadata_location
            return self.load_table("some.rows")

        def create_table(self, name, schema, location):
            return self._written(self._create_staged_table(name, schema, location))

        def load_table(self, name):
            io = self._load_file_io(location=self.at)
            metadata = FromInputFile.table_metadata(io.new_input(self.at))
            return Table(self.identifier_to_tuple(name), metadata, self.at, io, self)

        def commit_table(self, table, requirements, updates):
            now = self.load_table("some.rows")
            staged = self._update_and_stage_table(now, table.name(), requirements, updates)
            metadata = self._written(staged).metadata
            return CommitTableResponse(metadata=metadata, metadata_location=self.at)

    Files.__abstractmethods__ = frozenset()
    table = Files("none").create_table(
        "some.rows", ROWS.to_arrow().schema, str(tmp_path / "table")
    )
    table.append(ROWS.to_arrow())
    table.append(ROWS.to_arrow())
    table.delete("x = 3")
    return table.metadata_location


@pytest.mark.parametrize("kind", ["delta", "iceberg"])
def test_rows_that_were_deleted_do_not_count(kind, request, tmp_path):
    address = f"{kind}:{request.getfixturevalue(kind)}"
    ours, theirs = sf.summarize(address, "t"), sf.summarize(KEPT, "t")
    assert ours.feature_names == theirs.feature_names
    assert ours.counts.tolist() == theirs.counts.tolist()
    model = sf.LDA().fit_moments(ours)
    assert sf.streams.predict_stream(model, address, tmp_path / "out.csv").rows == KEPT.height
    with pytest.raises(
        InvalidInputError, match=f"nowhere cannot be read as a table of {kind}"
    ):
        sf.summarize(f"{kind}:{tmp_path}/nowhere", "t")


def test_a_folder_of_delta_is_never_taken_for_its_files(delta, bucket):
    assert sf.summarize(delta, "t").counts.sum() == KEPT.height
    for path in delta.rglob("*"):
        if path.is_file():
            bucket.upload_file(str(path), "bucket", f"table/{path.relative_to(delta)}")
    with pytest.raises(InvalidInputError, match="name delta:s3://bucket/table"):
        sf.summarize("s3://bucket/table", "t")
    assert sf.summarize("delta:s3://bucket/table", "t").counts.sum() == KEPT.height
