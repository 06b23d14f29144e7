"""Real engines, one of each for a whole run: Dask, Spark, PostgreSQL, S3 and Chromium."""

import os
import shutil
import subprocess
import sys

import pytest
from tests.browser import started
from tests.data.sql.server import UnavailableError, running_postgres

JAVA = "openjdk-17-jre-headless"


@pytest.fixture(scope="session")
def cluster():
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address="127.0.0.1:0"
    ) as cluster:
        yield cluster


@pytest.fixture
def client(cluster):
    from distributed import Client

    with Client(cluster, set_as_default=False) as client:
        client.wait_for_workers(2)
        yield client


def install_java():
    """Install the Java that Spark needs, where there is none and a continuous integration runs."""
    if shutil.which("java"):
        return
    if not os.environ.get("CI"):
        pytest.skip(f"Spark needs Java: apt-get install {JAVA}")
    wait = ["-o", "DPkg::Lock::Timeout=300"]
    subprocess.run(["apt-get", "update", "-q"], check=False, capture_output=True)
    subprocess.run(["apt-get", "install", "-yq", *wait, JAVA], check=True, capture_output=True)


@pytest.fixture(scope="session")
def spark():
    pytest.importorskip("pyspark")
    install_java()
    from pyspark.sql import SparkSession

    before = dict(os.environ)
    os.environ.update(PYSPARK_PYTHON=sys.executable, SPARK_LOCAL_IP="127.0.0.1")
    # two threads, and up to four attempts at a task
    builder = SparkSession.builder.master("local[2,4]").config("spark.ui.enabled", "false")
    session = builder.config("spark.ui.showConsoleProgress", "false").getOrCreate()
    yield session
    session.stop()
    os.environ.clear()
    os.environ.update(before)


@pytest.fixture(scope="session")
def postgres_settings():
    try:
        with running_postgres() as settings:
            yield settings
    except UnavailableError as reason:
        if os.environ.get("CI"):
            raise
        pytest.skip(f"no PostgreSQL: {reason}")


@pytest.fixture(scope="session")
def object_store():
    """Return a client of an S3 that runs here, with a bucket called "bucket"."""
    boto3 = pytest.importorskip("boto3")
    server = pytest.importorskip("moto.server").ThreadedMotoServer(
        "127.0.0.1", 0, verbose=False
    )
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
    # native threads read the environment at any time: change these names only, and once each
    with pytest.MonkeyPatch.context() as environment:
        for name, value in settings.items():
            environment.setenv(name, value)
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


@pytest.fixture(scope="session")
def browser(tmp_path_factory):
    with started(tmp_path_factory.mktemp("chromium")) as browser:
        yield browser
