"""A store of exact sums: rows that come later are summed on the grid of those before."""

import hashlib
import json

import numpy as np
import polars as pl
import pytest

import suffice as sf
from suffice.errors import InvalidInputError


def rows_of(n=90, seed=0):
    r = np.random.default_rng(seed)
    label = r.choice(["a", "b"], n)
    rows = pl.DataFrame({"x": r.normal(size=n), "z": r.normal(size=n) + (label == "a")})
    return rows.with_columns(label=pl.Series(label))


@pytest.fixture
def store(tmp_path):
    """Return a store of three days of exact sums, their rows and their grid."""
    rows = rows_of()
    grid = sf.summarize(rows, "label", exact="auto").exact.grid
    store = sf.MomentStore(tmp_path / "store")
    for day in range(3):
        store.add(sf.summarize(rows[day::3], "label", exact=grid), f"day-{day}")
    return store, rows, grid


def test_a_withdrawn_partition_leaves_a_receipt_that_holds(store):
    store, rows, grid = store
    assert store.receipts == []
    store.remove("day-1", why="request 17")
    (stored,) = store.receipts
    assert stored.partition == "day-1"
    assert stored.why == "request 17"
    assert stored.is_checked
    remaining = sf.summarize(pl.concat([rows[0::3], rows[2::3]]), "label", exact=grid)
    removed = sf.summarize(rows[1::3], "label", exact=grid)
    stored.receipt.verify(remaining, removed)
    assert stored.receipt.rows_removed == 30
    assert stored.receipt.before == sf.summarize(rows, "label", exact=grid).digest()


def test_a_replaced_partition_leaves_a_receipt_of_the_rows_that_are_gone(store):
    store, rows, grid = store
    day = rows[0::3]
    store.replace("day-0", sf.summarize(day[4:], "label", exact=grid))
    (stored,) = store.receipts
    assert stored.receipt.removed == sf.summarize(day[:4], "label", exact=grid).digest()
    assert stored.receipt.rows_left == 86
    # rows that were not there before: no receipt can say what was removed
    other = rows_of(29, seed=1)
    store.replace("day-0", sf.summarize(other, "label", exact=grid))
    assert len(store.receipts) == 1


def test_receipts_are_checked_as_long_as_the_store_has_what_was_left(store):
    store, rows, grid = store
    store.remove("day-0")
    store.add(sf.summarize(rows[:5], "label", exact=grid), "later")
    assert [stored.is_checked for stored in store.receipts] == [True]
    store.remove("day-1")
    assert [stored.is_checked for stored in store.receipts] == [False, True]


def test_a_receipt_that_was_forged_in_the_manifest_is_found_out(store, tmp_path):
    store, _, _ = store
    store.remove("day-0")
    manifest = tmp_path / "store" / "manifest"
    _, first, *records = manifest.read_bytes().split(b"\n")
    last = json.loads(records[-1])
    last["receipt"]["after"] = "0" * 64
    text = b"\n".join([first, *records[:-1], json.dumps(last).encode()])
    manifest.write_bytes(hashlib.sha256(text).hexdigest().encode() + b"\n" + text)
    with pytest.raises(InvalidInputError, match="the receipt does not hold"):
        _ = store.receipts


def test_a_store_of_floating_sums_has_no_receipts(tmp_path):
    rows = rows_of()
    store = sf.MomentStore(tmp_path / "store")
    store.add(sf.summarize(rows[:30], "label"), "monday")
    store.add(sf.summarize(rows[30:], "label"), "tuesday")
    store.remove("monday")
    assert store.receipts == []


def test_the_last_partition_of_a_store_can_be_withdrawn(store):
    store, _, _ = store
    for day in range(3):
        store.remove(f"day-{day}")
    assert [stored.receipt.rows_left for stored in store.receipts] == [60, 30, 0]


def test_totals_of_exact_partitions_have_the_digest_of_all_their_rows(tmp_path):
    r = np.random.default_rng(0)
    label = r.choice(["a", "b"], 90)
    rows = pl.DataFrame({"x": r.normal(size=90), "z": r.normal(size=90) + (label == "a")})
    rows = rows.with_columns(label=pl.Series(label))
    whole = sf.summarize(rows, "label", exact="auto")
    grid = whole.exact.grid
    store = sf.MomentStore(tmp_path / "store")
    store.add(sf.summarize(rows[:30], "label", exact=grid), "monday")
    rows[30:60].write_csv(tmp_path / "tuesday.csv")
    store.add(tmp_path / "tuesday.csv", "tuesday", target="label")
    store.add(sf.summarize(rows[60:], "label", exact=grid), "wednesday")
    assert store.total().digest() == whole.digest()
    store.remove("monday")
    assert store.total().digest() == sf.summarize(rows[30:], "label", exact=grid).digest()
