"""Tables in every form that a source may take."""

import io
import os
from unittest.mock import patch

import numpy as np
import polars as pl
import pytest
from tests.engines import client, cluster, spark  # noqa: F401


def labelled_frame(n=500, seed=0):
    """Return three numeric features, an integer one, an id and a text target."""
    rng = np.random.default_rng(seed)
    y = rng.choice(["blue", "green", "red"], n)
    return pl.DataFrame(
        {
            "row_id": [f"r{i:05}" for i in range(n)],
            "a": rng.normal(size=n) + (y == "red"),
            "b": rng.normal(size=n) * 100 + 1e6,
            "c": rng.normal(size=n) - 2.0 * (y == "green"),
            "count": rng.integers(0, 50, n),
            "colour": y,
        }
    )


@pytest.fixture(scope="session")
def frame():
    return labelled_frame()


WRITERS = {
    "csv": lambda f, p: f.write_csv(p),
    "tsv": lambda f, p: f.write_csv(p, separator="\t"),
    "parquet": lambda f, p: f.write_parquet(p, row_group_size=64),
    "feather": lambda f, p: f.write_ipc(p),
    "jsonl": lambda f, p: f.write_ndjson(p),
}


@pytest.fixture
def write(tmp_path):
    def write(frame, name):
        path = tmp_path / name
        WRITERS[name.rsplit(".", 1)[1]](frame, path)
        return path

    return write


@pytest.fixture
def standard_input(monkeypatch):
    def feed(data):
        class Stdin:
            buffer = io.BytesIO(data)

        monkeypatch.setattr("sys.stdin", Stdin)

    return feed


@pytest.fixture(scope="session")
def object_store():
    """Return a client of an S3 that runs here, with a bucket called "bucket"."""
    boto3 = pytest.importorskip("boto3")
    server = pytest.importorskip("moto.server").ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    settings = {
        "AWS_ENDPOINT_URL": f"http://{host}:{port}",
        "AWS_ALLOW_HTTP": "true",
        "AWS_ACCESS_KEY_ID": "key",
        "AWS_SECRET_ACCESS_KEY": "hidden-secret",
        "AWS_REGION": "us-east-1",
        "AWS_DEFAULT_REGION": "us-east-1",
    }
    with patch.dict(os.environ, settings):
        client = boto3.client("s3")
        client.create_bucket(Bucket="bucket")
        yield client
        client.close()
    server.stop()


@pytest.fixture
def bucket(object_store):
    """Return the client of an object store whose bucket is empty."""
    for found in object_store.list_objects_v2(Bucket="bucket").get("Contents", []):
        object_store.delete_object(Bucket="bucket", Key=found["Key"])
    return object_store
