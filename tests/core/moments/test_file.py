"""Files of moments: exact, atomic, and safe to open."""

import json
import zipfile

import numpy as np
import pytest

import suffice as sf
from suffice import Moments
from suffice.errors import FileFormatError
from suffice.persistence import archive
from suffice.persistence.moments_file import arrays_of


@pytest.fixture
def moments():
    rng = np.random.default_rng(0)
    return Moments.of(rng.normal(size=(40, 3)) + 1e8, rng.choice(["no", "yes", "où"], 40))


@pytest.mark.parametrize("storage", ["per-class", "pooled", "diagonal"])
def test_what_is_loaded_is_bit_for_bit_what_was_saved(tmp_path, storage):
    rng = np.random.default_rng(0)
    m = Moments.of(rng.normal(size=(40, 3)), rng.integers(0, 3, 40), storage=storage)
    m.save(tmp_path / "m.moments")
    again = sf.load(tmp_path / "m.moments")
    assert repr(again) == repr(m)
    for name, values in arrays_of(m).items():
        np.testing.assert_array_equal(arrays_of(again)[name], values)


def test_saving_twice_gives_the_same_bytes(moments, tmp_path):
    moments.save(tmp_path / "a")
    moments.save(tmp_path / "b")
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_a_failed_write_leaves_the_old_file(moments, tmp_path, monkeypatch):
    path = tmp_path / "m.moments"
    moments.save(path)
    before = path.read_bytes()

    def full_disk(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(archive.os, "fsync", full_disk)
    with pytest.raises(OSError, match="No space"):
        (moments + moments).save(path)
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["m.moments"]


def test_random_damage_gives_only_clean_errors(moments, tmp_path):
    path = tmp_path / "m.moments"
    moments.save(path)
    whole = path.read_bytes()
    rng = np.random.default_rng(0)
    for trial in range(500):
        damaged = bytearray(whole)
        if trial % 3 == 0:
            damaged = damaged[: rng.integers(len(damaged))]
        for at in rng.integers(0, len(damaged), 3) if len(damaged) else []:
            damaged[at] = rng.integers(256)
        path.write_bytes(bytes(damaged))
        try:
            loaded = sf.load(path)
        except FileFormatError:
            continue
        np.testing.assert_array_equal(loaded.means, moments.means)


def test_numbers_changed_behind_the_checksum_are_refused(moments, tmp_path):
    path = tmp_path / "m.moments"
    moments.save(path)
    with zipfile.ZipFile(path) as old:
        members = {name: old.read(name) for name in old.namelist()}
    members["means.npy"] = members["weights.npy"]
    with zipfile.ZipFile(path, "w") as new:
        for name, data in members.items():
            new.writestr(name, data)
    with pytest.raises(FileFormatError, match="checksum"):
        sf.load(path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": 99}, "reads format 1: write the file again"),
        ({"suffice": "forest"}, "'forest', which this version"),
        ({"n_features": 4}, "field '.*' has shape"),
        ({"feature_names": ["a"]}, "'feature_names' must hold 3 names"),
        ({"storage": "magic"}, "magic"),
        ({"sha256": None}, "missing fields"),
    ],
)
def test_a_header_that_does_not_fit_is_refused(moments, tmp_path, change, message):
    path = tmp_path / "m.moments"
    moments.save(path)
    with zipfile.ZipFile(path) as old:
        members = {name: old.read(name) for name in old.namelist()}
    members["header.json"] = json.dumps(json.loads(members["header.json"]) | change).encode()
    with zipfile.ZipFile(path, "w") as new:
        for name, data in members.items():
            new.writestr(name, data)
    with pytest.raises(FileFormatError, match=message):
        sf.load(path)


def test_a_pickle_in_the_archive_is_never_opened(moments, tmp_path):
    path = tmp_path / "m.moments"
    arrays = arrays_of(moments) | {"classes": np.array(["a", "b", "c"], dtype=object)}
    with pytest.raises(ValueError, match=r"[Pp]ickle|Object arrays"):
        archive.write(path, "moments", {}, arrays)
    assert not path.exists()


def test_a_missing_file_is_said_so(tmp_path):
    with pytest.raises(FileNotFoundError):
        sf.load(tmp_path / "nothing.moments")
