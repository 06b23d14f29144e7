"""A store holds what was added, exactly, and says so of anything else."""

import json
import os
import threading
from dataclasses import fields
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import suffice as sf
from suffice.data.store.partitions import partition_of
from suffice.errors import FeatureMismatchError, FileFormatError, InvalidInputError

NAMES = [f"2026-{month:02}-{day:02}" for month in (9, 10, 11) for day in range(1, 6)]


def rows_of(name, n=40):
    rng = np.random.default_rng(abs(hash(name)) % 2**32 if not isinstance(name, int) else name)
    y = rng.integers(0, 3, n)
    return rng.normal(size=(n, 3)) + y[:, None], y


ROWS = {name: rows_of(at) for at, name in enumerate(NAMES)}
SUMS = {name: sf.Moments.of(*rows) for name, rows in ROWS.items()}


def frame_of(at, n=30):
    x, y = rows_of(at, n)
    return pl.DataFrame({"a": x[:, 0], "b": x[:, 1], "y": y})


def bits(moments):
    arrays = (getattr(moments, f.name) for f in fields(moments))
    plain = (a.values if hasattr(a, "values") else a for a in arrays)
    return [a.tobytes() for a in plain if isinstance(a, np.ndarray)]


def filled(place, names=NAMES):
    store = sf.MomentStore(place)
    for name in names:
        store.add(SUMS[name], name)
    return store


def in_memory():
    """Return a folder in memory, where there is one: to be quick."""
    return TemporaryDirectory(dir="/dev/shm" if os.path.isdir("/dev/shm") else None)


@settings(max_examples=10)
@given(st.permutations(NAMES[3:13]), st.data(), st.booleans())
def test_the_same_set_has_the_same_bits_whatever_came_first(order, data, keep):
    chosen = sorted(data.draw(st.sets(st.sampled_from(order), min_size=1)))
    with in_memory() as some, in_memory() as others:
        store, alone = filled(some, order), filled(others, chosen)
        if keep:
            store.consolidate()
        assert bits(store.total(chosen)) == bits(alone.total())
        for name in set(order) - set(chosen):
            store.remove(name)
        assert bits(store.total()) == bits(alone.total())


def test_a_total_is_that_of_one_pass_over_the_rows(place):
    store = filled(place)
    for _ in range(2):
        total = store.total(["2026-10-*", "2026-09-02"], except_=["2026-10-03"])
        chosen = ["2026-09-02", *(n for n in NAMES if "-10-" in n and n != "2026-10-03")]
        x, y = (
            np.concatenate(parts) for parts in zip(*(ROWS[n] for n in chosen), strict=True)
        )
        once = sf.Moments.of(x, y)
        assert total.counts.tolist() == once.counts.tolist()
        np.testing.assert_allclose(total.means, once.means, rtol=1e-13)
        np.testing.assert_allclose(total.scatters, once.scatters, rtol=1e-12)
        store.consolidate()


def test_kept_sums_are_read_and_go_with_what_they_hold(tmp_path):
    store = filled(tmp_path)
    store.consolidate()
    kept = set(os.listdir(tmp_path / "sums"))
    assert kept
    first = store.entries[0].digest  # not read where the sum of all is kept
    (tmp_path / "objects" / f"{first}.moments").write_bytes(b"damaged")
    assert int(store.total().counts.sum()) == 40 * len(NAMES)
    store.replace("2026-09-01", SUMS["2026-09-01"])
    store.remove("2026-09-02")
    left = set(os.listdir(tmp_path / "sums"))
    assert left < kept, "the sum of all is gone, that of October and November is not"
    assert int(store.total().counts.sum()) == 40 * (len(NAMES) - 1)
    store.remove("2026-10-01")
    assert os.listdir(tmp_path / "sums") == []
    assert len(os.listdir(tmp_path / "objects")) == len(NAMES) - 2


def test_what_killed_writers_left_goes_with_the_next_change(tmp_path):
    store = filled(tmp_path / "s", NAMES[:1])
    for name in ("manifest", f"objects/{'ab' * 20}"):
        path = tmp_path / "s" / name
        path.with_name(f".{path.name}.0123456789abcdef.tmp").write_bytes(b"torn")
    store.add(SUMS[NAMES[1]], NAMES[1])
    assert not list((tmp_path / "s").rglob("*.tmp"))


def test_adding_twice_counts_once_and_other_sums_are_refused(place):
    store = filled(place, NAMES[:2])
    assert store.add(SUMS[NAMES[0]], NAMES[0]) == {NAMES[0]: 0}
    with pytest.raises(InvalidInputError, match="with other sums: use replace"):
        store.add(SUMS[NAMES[2]], NAMES[0])
    store.replace(NAMES[0], SUMS[NAMES[2]], why="request 17")
    last = store.log[-1]
    assert (last["action"], last["why"], last["rows"]) == ("replace", "request 17", [40, 40])
    assert last["before"] != last["after"] == [store.entries[0].digest]
    with pytest.raises(InvalidInputError, match=r"no partition '2026-09-03'.*did you mean"):
        store.replace(NAMES[2], SUMS[NAMES[2]])
    for name in ("nobody", "2026-*"):  # patterns choose, they never remove
        with pytest.raises(InvalidInputError, match="no partition"):
            store.remove(name)
    assert len(store.log) == 3


def test_files_of_one_partition_must_fit_each_other(tmp_path):
    (tmp_path / "day=1").mkdir()
    frame_of(0).write_csv(tmp_path / "day=1/a.csv")
    frame_of(1).with_columns(y=pl.col("y").cast(str) + "x").write_csv(tmp_path / "day=1/b.csv")
    store = sf.MomentStore(tmp_path / "store")
    with pytest.raises(FeatureMismatchError, match="text on one side"):
        store.add(str(tmp_path / "day=1/*.csv"), target="y")
    assert store.entries == ()


def test_there_must_be_a_store_and_something_in_it(place):
    store = sf.MomentStore(place)
    with pytest.raises(sf.errors.SufficeError, match=r"no store|cannot be used"):
        store.total()
    filled(place, NAMES[:1]).remove(NAMES[0])
    with pytest.raises(InvalidInputError, match="no partition is selected"):
        store.total()


@pytest.mark.parametrize(
    ("unlike", "said"),
    [
        (sf.Moments.of(np.eye(4), [0, 0, 1, 1]), "3 and 4 features"),
        (sf.Moments.of(np.eye(3), ["a", "b", "c"]), "text on one side"),
        (sf.Moments.of(np.eye(3), [0, 1, 2], storage="diagonal"), "storage is"),
        (sf.Moments.of(np.eye(3), [0, 1, 2], fourth=False), "fourth"),
        (sf.Moments.of(pl.DataFrame(np.eye(3)), [0, 1, 2]), "names on one side"),
    ],
)
def test_what_does_not_fit_is_refused_and_changes_nothing(tmp_path, unlike, said):
    store = filled(tmp_path, NAMES[:2])
    before = sorted((p.name, p.read_bytes()) for p in tmp_path.rglob("*") if p.is_file())
    with pytest.raises(FeatureMismatchError, match=f"'new' does not fit '2026-09-01'.*{said}"):
        store.add(unlike, "new")
    after = sorted((p.name, p.read_bytes()) for p in tmp_path.rglob("*") if p.is_file())
    assert before == after


def test_files_are_counted_once_and_again_when_they_change(place, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("in").mkdir()
    for at in range(3):
        frame_of(at).write_csv(f"in/day-{at}.csv")
    store = sf.MomentStore(place)
    assert store.add("in/*.csv", target="y") == {"day-0": 30, "day-1": 30, "day-2": 30}
    os.utime("in/day-0.csv", (1, 1))  # the content is the same
    frame_of(7, 20).write_csv("in/day-1.csv")
    Path("in/day-2.csv").unlink()  # archived
    frame_of(8).write_csv("in/day-3.csv")
    assert store.add("in/*.csv") == {"day-0": 0, "day-1": 20, "day-3": 30}
    frames = [frame_of(0), frame_of(7, 20), frame_of(2), frame_of(8)]
    once = sf.summarize(pl.concat(frames), "y")
    np.testing.assert_allclose(store.total().means, once.means, rtol=1e-12)
    assert store.total().counts.tolist() == once.counts.tolist()
    Path("elsewhere").mkdir()
    frame_of(2).write_csv("elsewhere/day-2.csv")  # the archive is read again
    assert store.add("elsewhere/day-2.csv") == {"day-2": 0}
    frame_of(2).write_csv("elsewhere/twice.csv")
    with pytest.raises(InvalidInputError, match="is already counted in the partition 'day-2'"):
        store.add("elsewhere/twice.csv")


def test_one_bad_file_is_an_error_after_all_others_were_counted(tmp_path):
    for at in range(3):
        frame_of(at).write_csv(tmp_path / f"day-{at}.csv")
    (tmp_path / "day-1.csv").write_text("a,b,y\n")
    store = sf.MomentStore(tmp_path / "store")
    with pytest.raises(InvalidInputError, match=r"day-1.csv has columns but no rows"):
        store.add(str(tmp_path / "*.csv"), target="y")
    assert store.partitions == ("day-0", "day-2")


def test_the_same_sums_under_two_names_are_told(tmp_path):
    store = filled(tmp_path, NAMES[:2])
    with pytest.warns(sf.errors.SufficeWarning, match="'copy' has the sums of '2026-09-01'"):
        store.add(SUMS[NAMES[0]], "copy")


def test_hive_folders_name_partitions_which_grow_file_by_file(tmp_path):
    for day in (1, 2):
        (tmp_path / f"in/day={day}").mkdir(parents=True)
        frame_of(day).write_parquet(tmp_path / f"in/day={day}/part-0.parquet")
    store = sf.MomentStore(tmp_path / "store")
    everything = str(tmp_path / "in/*/*.parquet")
    assert store.add(everything, target="y", columns=sf.Columns(ignore=[])) == {
        "day=1": 30,
        "day=2": 30,
    }
    frame_of(3).write_parquet(tmp_path / "in/day=1/part-1.parquet")
    assert store.add(everything) == {"day=1": 30, "day=2": 0}
    assert [entry.rows for entry in store.entries if entry.partition == "day=1"] == [30, 30]
    assert int(store.total(["day=1"]).counts.sum()) == 60
    assert store.log[-1]["rows"] == [30, 60]


def test_what_was_withdrawn_stays_out_of_the_next_nights_run(tmp_path):
    for at in range(2):
        frame_of(at).write_csv(tmp_path / f"day-{at}.csv")
    store = sf.MomentStore(tmp_path / "store")
    store.add(str(tmp_path / "*.csv"), target="y")
    store.remove("day-1", why="erasure")
    with pytest.warns(
        sf.errors.SufficeWarning, match="withdrawn from the store, so it is not counted"
    ):
        assert store.add(str(tmp_path / "*.csv")) == {"day-0": 0, "day-1": 0}
    frame_of(1)[:29].write_csv(tmp_path / "kept.csv")
    store.replace("day-1", str(tmp_path / "kept.csv"), why="the person's row is deleted")
    assert int(store.total().counts.sum()) == 59
    assert store.add(str(tmp_path / "kept.csv"), "day-1") == {"day-1": 0}


def test_columns_are_those_of_the_first_partition(tmp_path):
    levels = {"b": pl.Series([1, 2, 3, 1, 2] * 6)}
    first = frame_of(0).with_columns(**levels, color=pl.Series(["red", "blue", "green"] * 10))
    later = frame_of(1).with_columns(**levels, color=pl.Series(["red", "brown", "red"] * 10))
    store = sf.MomentStore(tmp_path)
    store.add(first, "first", target="y", columns=sf.Columns(categorical=["b"]))
    store.add(later.with_columns(more=pl.lit(1.0)), "later")
    total = store.total()
    assert {"color=brown", "color=green"} <= set(total.feature_names)
    assert "more" not in total.feature_names
    both = sf.summarize(pl.concat([first, later]), "y", columns=sf.Columns(categorical=["b"]))
    at = [both.feature_names.index(name) for name in total.feature_names]
    np.testing.assert_allclose(total.means, both.means[:, at], rtol=1e-12, atol=1e-12)
    with pytest.raises(FeatureMismatchError, match="target is 'y' in the store, but 'color'"):
        store.add(later, "again", target="color", columns=["a"])
    with pytest.raises(FeatureMismatchError, match="weight is None in the store, but 'w'"):
        store.add(later.with_columns(w=pl.lit(2.0)), "heavy", weight="w")
    with pytest.raises(InvalidInputError, match="no column 'a'"):
        store.add(later.drop("a"), "lacking")


def test_a_file_that_changes_while_it_is_counted_is_refused(tmp_path, monkeypatch):
    import suffice.data.store.store as module

    path = tmp_path / "day.csv"
    frame_of(0).write_csv(path)
    count = module.summarize

    def slowly(*args, **kwargs):
        total = count(*args, **kwargs)
        frame_of(1).write_csv(path)
        os.utime(path, (5, 5))
        return total

    monkeypatch.setattr(module, "summarize", slowly)
    store = sf.MomentStore(tmp_path / "store")
    with pytest.raises(InvalidInputError, match="changed while it was counted"):
        store.add(str(path), target="y")
    assert store.entries == ()


def test_writers_who_count_the_same_files_at_once_count_them_once(place, tmp_path):
    for at in range(4):
        frame_of(at).write_csv(tmp_path / f"day-{at}.csv")
    told = []

    def nightly():
        told.append(sf.MomentStore(place).add(str(tmp_path / "*.csv"), target="y"))

    writers = [threading.Thread(target=nightly) for _ in range(3)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    store = sf.MomentStore(place)
    assert sum(sum(counted.values()) for counted in told) == 120
    assert int(store.total().counts.sum()) == 120
    assert len(store.log) == 4


@pytest.mark.parametrize("what", ["manifest", "object"])
def test_damage_is_an_error_that_names_it_never_a_wrong_total(tmp_path, what):
    store = filled(tmp_path, NAMES[:3])
    digest = store.entries[1].digest
    path = tmp_path / ("manifest" if what == "manifest" else f"objects/{digest}.moments")
    whole, right = path.read_bytes(), bits(store.total())
    flips = range(0, len(whole), 53)
    damaged = [whole[:at] + bytes([whole[at] ^ 4]) + whole[at + 1 :] for at in flips]
    for content in [*damaged, *(whole[:n] for n in range(0, len(whole), 97))]:
        path.write_bytes(content)
        with pytest.raises(FileFormatError, match=what if what == "manifest" else digest):
            store.total()
    path.unlink()
    with pytest.raises(FileFormatError, match="missing or damaged"):
        store.total()
    with pytest.raises(FileFormatError, match="missing or damaged"):
        store.add(SUMS[NAMES[4]], NAMES[4]) if what == "manifest" else store.total()
    path.write_bytes(whole)
    assert bits(store.total()) == right


def test_a_store_of_a_later_version_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("suffice.data.store.manifest._FORMAT", 2)
    store = filled(tmp_path, NAMES[:1])
    monkeypatch.setattr("suffice.data.store.manifest._FORMAT", 1)
    with pytest.raises(FileFormatError, match="format 2: upgrade suffice"):
        store.add(SUMS[NAMES[1]], NAMES[1])


def test_the_log_can_be_read_without_us(tmp_path):
    filled(tmp_path, NAMES[:2])
    lines = (tmp_path / "manifest").read_bytes().split(b"\n")
    assert [entry["partition"] for entry in json.loads(lines[1])["entries"]] == NAMES[:2]
    assert [json.loads(line)["partition"] for line in lines[2:]] == NAMES[:2]


def test_a_password_is_never_told():
    store = sf.MomentStore("postgresql://me:secret@127.0.0.1:1/none")
    assert "secret" not in repr(store)
    with pytest.raises(sf.errors.DatabaseError) as told:
        store.total()
    assert "secret" not in str(told.value)
    with pytest.raises(sf.errors.InvalidParameterError, match="is not allowed"):
        sf.MomentStore("sqlite:a.db#rows; DROP TABLE rows")


@pytest.mark.parametrize("names", ["nosuch.csv", ["here.csv", "nosuch.csv", "n*.csv"]])
def test_a_file_that_is_not_there_is_named(tmp_path, monkeypatch, names):
    monkeypatch.chdir(tmp_path)
    frame_of(0).write_csv("here.csv")
    with pytest.raises(
        InvalidInputError, match=r"there is no file 'nosuch\.csv': check the path"
    ):
        sf.MomentStore(tmp_path / "a.store").add(names, target="y")


def test_text_that_looks_like_numbers_in_a_later_file_has_the_levels_of_the_first(tmp_path):
    first = "x,size,y\n" + "1,1.50,a\n2,2.50,b\n3,large,a\n4,large,b\n" * 5
    later = "x,size,y\n" + "5,1.50,a\n6,2.50,b\n" * 5
    (tmp_path / "1.csv").write_text(first)
    (tmp_path / "2.csv").write_text(later)
    store = sf.MomentStore(tmp_path / "a.store")
    store.add(tmp_path / "1.csv", target="y", columns=sf.Columns(categorical=["size"]))
    store.add(tmp_path / "2.csv", target="y")
    assert store.total().schema.categories[0].levels == ("1.50", "2.50", "large")


def test_text_among_the_numbers_of_a_later_file_is_told(tmp_path):
    (tmp_path / "1.csv").write_text("x,size,y\n" + "1,s,a\n2,l,b\n" * 5)
    (tmp_path / "2.csv").write_text("x,size,y\n" + "one,s,a\ntwo,l,b\n" * 5)
    store = sf.MomentStore(tmp_path / "a.store")
    store.add(tmp_path / "1.csv", target="y")
    with pytest.raises(
        InvalidInputError, match="column 'x' must hold numbers, but holds 'one'"
    ):
        store.add(tmp_path / "2.csv")


def test_a_partition_is_called_by_its_folders_or_its_file():
    assert partition_of("in/day=2026-11-01/part-0.parquet") == "day=2026-11-01"
    assert partition_of("in/2026-11-01.csv.gz") == "2026-11-01"


ROTATIONS = {  # contents of files 0, 1, … before and after
    "one on": ("b", "ab"),
    "each on": ("bc", "ab"),
    "swapped": ("ab", "ba"),
    "one for another": ("ab", "bb"),
    "one new": ("ab", "cb"),
}


@pytest.mark.parametrize("case", ROTATIONS)
def test_rows_that_move_on_to_another_file_are_counted_once_and_those_gone_not(case, tmp_path):
    contents = {letter: frame_of(at) for at, letter in enumerate("abc")}
    store, folder = sf.MomentStore(tmp_path / "store"), tmp_path / "day=1"
    folder.mkdir()
    for letters in ROTATIONS[case]:
        for at, letter in enumerate(letters):
            contents[letter].write_csv(folder / f"part-{at}.csv")
        store.add(str(folder), "day", target="y")
        parts = (sf.summarize(contents[letter], "y") for letter in sorted({*letters}))
        whole = sum(parts, start=sf.Moments.empty())
        assert store.total().counts.tolist() == whole.counts.tolist()
        np.testing.assert_allclose(store.total().means, whole.means, rtol=1e-12)
    assert store.add(str(folder), "day") == {"day": 0}
    assert len(store.log) == (1 if case == "swapped" else 2)


def test_a_store_reads_numbers_as_its_first_partition_wrote_them(tmp_path):
    (tmp_path / "a.csv").write_text("x;t\n45.556,90;u\n1,5;v\n2.000,25;u\n7,5;v\n")
    (tmp_path / "b.csv").write_text("x;t\n50.000;u\n40.000;v\n")
    (tmp_path / "c.csv").write_text("x;t\n50.25;u\n40.75;v\n")
    store = sf.MomentStore(tmp_path / "s.store")
    store.add(tmp_path / "a.csv", target="t")
    store.add(tmp_path / "b.csv")
    assert store.total(["b"]).means[:, 0].tolist() == [50_000, 40_000]
    with pytest.raises(
        InvalidInputError, match=r"'50\.25' in row 0.*was fitted to numbers with"
    ):
        store.add(tmp_path / "c.csv")
    store.add(tmp_path / "c.csv", text=sf.TextFormat(decimal="."))
    assert store.total(["c"]).means[:, 0].tolist() == [50.25, 40.75]
