"""A store touches only what is its own, and believes nothing that it cannot check."""

import shutil
import sqlite3

import numpy as np
import pytest

import suffice as sf
from suffice.errors import FileFormatError

from .test_store import NAMES, SUMS, bits, filled, frame_of


def test_files_of_others_in_and_below_the_folder_stay(tmp_path):
    root = tmp_path / "proj"
    names = [
        "sub/.draft.tmp",
        ".draft.tmp",
        ".model.suffice.0123456789abcdef.tmp",
        "sub/.manifest.0123456789abcdef.tmp",
        "objects/notes.txt",
        "sums/notes.txt",
        "sums/.draft.tmp",
    ]
    store = filled(root, NAMES[:3])
    for name in names:
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_text("mine")
    (root / ".folder.tmp").mkdir()
    (root / "objects" / ".folder.tmp").mkdir()
    store.add(SUMS[NAMES[4]], NAMES[4])
    store.consolidate()
    store.remove(NAMES[0])
    for name in names:
        assert (root / name).read_text() == "mine"
    assert (root / ".folder.tmp").is_dir()
    assert store.partitions == (NAMES[1], NAMES[2], NAMES[4])


def test_a_folder_that_has_a_folder_of_that_name_can_hold_a_store(tmp_path):
    (tmp_path / "sums").mkdir()
    (tmp_path / "sums" / "total.txt").write_text("mine")
    (tmp_path / "objects").mkdir()
    (tmp_path / "objects" / "chair.obj").write_text("mine")
    filled(tmp_path, NAMES[:9]).consolidate()
    sf.MomentStore(tmp_path).remove(NAMES[0])
    assert (tmp_path / "sums" / "total.txt").read_text() == "mine"
    assert (tmp_path / "objects" / "chair.obj").read_text() == "mine"


def test_what_killed_writers_left_goes(tmp_path):
    store = filled(tmp_path / "s", NAMES[:9])
    store.consolidate()
    digest = "0123456789abcdef" * 4
    left = [
        tmp_path / "s" / ".manifest.0123456789abcdef.tmp",
        tmp_path / "s" / "objects" / f".{digest[:40]}.0123456789abcdef.tmp",
        tmp_path / "s" / "sums" / f".{digest[:40]}.0123456789abcdef.tmp",
    ]
    for path in left:
        path.write_bytes(b"torn")
    store.remove(NAMES[0])
    assert not any(path.exists() for path in left)


def test_kept_sums_of_other_partitions_are_refused_by_name(tmp_path):
    store = filled(tmp_path / "s", NAMES)
    store.consolidate()
    total = bits(store.total())
    kept = sorted((tmp_path / "s" / "sums").iterdir())
    assert kept
    other = filled(tmp_path / "t", NAMES[:12])
    other.consolidate()
    stranger = max((tmp_path / "t" / "sums").iterdir(), key=lambda path: path.stat().st_size)
    for path in kept:
        shutil.copyfile(stranger, path)
    with pytest.raises(FileFormatError, match=r"sums/\w{64} of the store .*: delete it"):
        store.total()
    for path in kept:
        path.unlink()
    assert bits(store.total()) == total
    store.consolidate()
    assert bits(store.total()) == total


def test_an_object_with_other_rows_than_the_manifest_says_is_refused(tmp_path):
    import hashlib
    import json

    store = filled(tmp_path / "s", NAMES[:2])
    manifest = tmp_path / "s" / "manifest"
    _, text = manifest.read_bytes().split(b"\n", 1)
    first, rest = text.split(b"\n", 1)
    header = json.loads(first)
    header["entries"][0]["rows"] = 410
    text = json.dumps(header).encode() + b"\n" + rest
    manifest.write_bytes(hashlib.sha256(text).hexdigest().encode() + b"\n" + text)
    with pytest.raises(FileFormatError, match=r"40 rows.*410 rows"):
        store.total()


@pytest.mark.parametrize("name", ["select", "Group", "größe", "2026"])
def test_a_table_may_be_called_by_any_word(tmp_path, name):
    address = f"sqlite:{tmp_path / 'a.db'}#{name}"
    store = filled(address, NAMES[:2])
    assert store.total().counts.sum() == 80
    with sqlite3.connect(tmp_path / "a.db") as connection:
        tables = connection.execute("SELECT name FROM sqlite_master").fetchall()
    assert (name,) in tables


@pytest.mark.parametrize(
    "text",
    [
        b"[]",
        b"null",
        b'{"format": 1}',
        b'{"format": 1, "entries": [1]}',
        b'{"format": 1, "entries": [{"partition": "a"}]}',
        b'{"format": 1, "entries": [{"partition": 3, "digest": "x", "rows": 1, "file": null}]}',
        b'{"format": 1, "entries": [{"partition": "a", "digest": "../x", "rows": 1}]}',
        b'{"format": 1, "entries": [{"partition": "a", "digest": "x", "rows": -1, "file": [1]}]}',
        b'{"format": 1, "entries": []}\n{"when"',
        b"\xff\xfe",
        b"[" * 100_000,
    ],
)
def test_a_manifest_that_is_whole_but_not_ours_is_refused(tmp_path, text):
    import hashlib

    store = filled(tmp_path / "s", NAMES[:1])
    content = hashlib.sha256(text).hexdigest().encode() + b"\n" + text
    (tmp_path / "s" / "manifest").write_bytes(content)
    with pytest.raises(FileFormatError, match="manifest"):
        _ = store.log
    if b"when" in text:
        return
    for use in (store.total, lambda: store.add(SUMS[NAMES[1]], "b")):
        with pytest.raises(FileFormatError, match="manifest"):
            use()


def test_a_clock_that_goes_back_loses_nothing(tmp_path, monkeypatch):
    import os
    from datetime import UTC, datetime

    from suffice.data.store import manifest

    times = iter([datetime(2026, 11, 18, 12, tzinfo=UTC), datetime(2019, 1, 1, tzinfo=UTC)])

    class Clock:
        @staticmethod
        def now(_zone):
            return next(times)

    monkeypatch.setattr(manifest, "datetime", Clock)
    store = sf.MomentStore(tmp_path / "s")
    first = tmp_path / "a.csv"
    frame_of(0).write_csv(first)
    store.add(first, target="y")
    # the same size, and a time before that of the file that was counted
    changed = first.read_text().splitlines()
    first.write_text("\n".join([changed[0], changed[2], changed[1], *changed[3:]]) + "\n")
    rows = frame_of(0)
    rows[1:].write_csv(first)
    os.utime(first, (0, 0))
    store.add(first)
    assert store.total().counts.sum() == len(rows) - 1
    assert [record["when"][:4] for record in store.log] == ["2026", "2019"]


@pytest.mark.slow
def test_thousands_of_partitions_are_summed_and_withdrawn(tmp_path):
    store = sf.MomentStore(f"sqlite:{tmp_path / 'a.db'}")
    rng = np.random.default_rng(0)
    x = rng.normal(size=(2000, 2))
    y = np.tile([0, 1], 1000)
    from suffice.data.store.manifest import Manifest
    from suffice.data.store.store import Entry, _part_of

    parts = []
    for number in range(1000):
        rows = slice(2 * number, 2 * number + 2)
        part = _part_of(Entry(f"p{number:04}", "", 0), sf.Moments.of(x[rows], y[rows]))
        parts.append(part)
    with store._place.writing() as place:
        Manifest.read(place, begin=True)
        for part in parts:
            place.put(part.entry.object_name, part.content)
        entries = tuple(sorted((part.entry for part in parts), key=lambda e: e.key))
        Manifest(entries)._write(place)
    whole = sf.Moments.of(x, y)
    np.testing.assert_allclose(store.total().means, whole.means, rtol=1e-12, atol=1e-15)
    store.consolidate()
    store.remove("p0500")
    rest = sf.Moments.of(np.delete(x, [1000, 1001], 0), np.delete(y, [1000, 1001]))
    total = store.total()
    np.testing.assert_allclose(total.scatters, rest.scatters, rtol=1e-10)
    assert total.counts.sum() == 1998
