"""Rows that are read here and summed on a device: the same sums as of the host."""

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner

import suffice as sf
from suffice.cli.group import suffice
from suffice.core.table import foreign
from suffice.errors import InvalidInputError, InvalidParameterError

torch = pytest.importorskip("torch")
pytest.importorskip("array_api_compat")
NO_GPU = pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")


@pytest.fixture(params=["cpu", pytest.param("cuda", marks=[pytest.mark.cuda, NO_GPU])])
def device(request, monkeypatch):
    if request.param == "cpu":  # counts as a device
        monkeypatch.setattr(foreign, "_HOST", ())
    return request.param


@pytest.fixture
def went_there(monkeypatch):
    """The shapes of the blocks that were copied to the device."""
    shapes, copied = [], foreign.on_device
    monkeypatch.setattr(
        "suffice.data.sums.running.on_device",
        lambda x, d: shapes.append(x.shape) or copied(x, d),
    )
    return shapes


def frame(n=20_000, d=5):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, n)
    x = rng.normal(size=(n, d)) + 0.5 * y[:, None] + 1e4
    return pl.DataFrame({f"x{j}": x[:, j] for j in range(d)} | {"w": rng.random(n), "y": y})


def assert_same(found, expected):
    assert found.classes.tolist() == expected.classes.tolist()
    assert found.feature_names == expected.feature_names
    assert found.counts.tolist() == expected.counts.tolist()
    np.testing.assert_allclose(found.means, expected.means, rtol=1e-14)
    np.testing.assert_allclose(found.scatters, expected.scatters, rtol=1e-11, atol=1e-8)


@pytest.mark.parametrize("weight", [None, "w"])
def test_files_are_summed_on_the_device(device, weight, tmp_path, went_there, monkeypatch):
    monkeypatch.setattr("suffice.data.rows.loading._NUMBERS", 5 * 4096)
    frame().write_parquet(tmp_path / "t.parquet")
    how = {"target": "y", "weight": weight}
    how["columns"] = sf.Columns(ignore=() if weight else ("w",))
    expected = sf.summarize(tmp_path / "t.parquet", **how)
    assert not went_there
    found = sf.summarize(tmp_path / "t.parquet", n_jobs=2, on=device, **how)
    assert sum(n for n, _ in went_there) == 20_000
    assert len(went_there) == 5
    assert_same(found, expected)


def test_rows_with_holes_are_summed_on_the_host(device, went_there):
    table = frame(300, 3).with_columns(
        x0=pl.when(pl.col("x1") > 1e4 + 2).then(None).otherwise("x0")
    )
    found, expected = (
        sf.summarize(table, "y", columns=sf.Columns(ignore=["w"]), on=where)
        for where in (device, None)
    )
    assert went_there
    assert found.patterns is not None
    np.testing.assert_array_equal(found.weights, expected.weights)
    np.testing.assert_allclose(
        sf.QDA().fit_moments(found).means_, sf.QDA().fit_moments(expected).means_
    )


def test_categories_stay_on_the_host(device, went_there):
    table = frame(300).with_columns(c=pl.Series(["a", "b", "c"] * 100))
    found = sf.summarize(table, "y", on=device)
    assert not went_there
    np.testing.assert_array_equal(found.means, sf.summarize(table, "y").means)


def test_the_command_line_names_a_device(device, tmp_path, went_there):
    frame(200).write_csv(tmp_path / "t.csv")
    given = ["summarize", str(tmp_path / "t.csv"), "--target", "y", "--device", device]
    done = CliRunner().invoke(suffice, [*given, "-o", str(tmp_path / "m.moments")])
    assert done.exit_code == 0, done.output
    assert went_there == [(200, 6)]
    assert_same(sf.load(tmp_path / "m.moments"), sf.summarize(tmp_path / "t.csv", "y"))


def test_no_pytorch_is_told(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "torch", None)
    with pytest.raises(InvalidInputError, match="need PyTorch"):
        sf.summarize(frame(50), "y", on="cuda")


@pytest.mark.parametrize("groups", [None, "w"])
def test_a_device_that_is_not_there_is_told(groups):
    with pytest.raises(InvalidParameterError, match="no device='nowhere' here"):
        sf.summarize(frame(50), "y", groups=groups, on="nowhere")
