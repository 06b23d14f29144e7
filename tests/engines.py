"""Real engines for tests: a Dask cluster of two processes, and a local Spark."""

import os
import shutil
import subprocess
import sys

import pytest

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
    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    session = builder.config("spark.ui.showConsoleProgress", "false").getOrCreate()
    yield session
    session.stop()
    os.environ.clear()
    os.environ.update(before)
