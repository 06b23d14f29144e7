"""Exact sums, receipts and masked sums on the command line, end to end and under attack."""

import json
import stat
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import suffice as sf
from suffice.errors import InvalidInputError


@pytest.fixture
def table(tmp_path):
    """Write a table and its parts, and return it."""
    r = np.random.default_rng(0)
    label = r.choice(["a", "b", "c"], 300)
    frame = pl.DataFrame(
        {
            "length": r.normal(size=300).round(3) + (label == "a"),
            "width": r.normal(size=300).round(2) * 100 - 50 * (label == "b"),
            "label": label,
        }
    )
    frame.write_csv(tmp_path / "all.csv")
    frame.write_parquet(tmp_path / "all.parquet")
    frame[:40].write_csv(tmp_path / "gone.csv")
    frame[40:].write_csv(tmp_path / "rest.csv")
    frame[40:].sample(fraction=1, shuffle=True, seed=1).write_parquet(
        tmp_path / "rest.parquet"
    )
    for name, rows in (("a", frame[:100]), ("b", frame[100:180]), ("c", frame[180:])):
        rows.write_csv(tmp_path / f"site-{name}.csv")
    return frame


@pytest.fixture
def grid(table, ok):
    ok("grid", "all.csv", "--target", "label", "-o", "grid.json")
    return "grid.json"


def exact(ok, data, output, grid):
    ok("summarize", data, "--target", "label", "--exact", grid, "-o", output)
    return sf.load(output)


def test_csv_and_parquet_in_any_order_have_the_same_digest(ok, grid):
    a = exact(ok, "all.csv", "a.moments", grid)
    b = exact(ok, "all.parquet", "b.moments", grid)
    assert a.digest() == b.digest()
    exact(ok, "rest.parquet", "rest.moments", grid)
    exact(ok, "gone.csv", "gone.moments", grid)
    ok("merge", "rest.moments", "gone.moments", "-o", "both.moments")
    assert sf.load("both.moments").digest() == a.digest()


def test_a_receipt_is_verified_from_the_remaining_rows(ok, ok_json, grid):
    exact(ok, "all.csv", "all.moments", grid)
    ok("fit", "all.moments", "--model", "qda", "-o", "model.suffice")
    forget = ("forget", "model.suffice", "gone.csv", "--target", "label")
    ok(*forget, "-o", "left.suffice", "--receipt", "r.json")
    verify = ("verify", "r.json", "--from", "rest.parquet", "--target", "label")
    answer = ok_json(*verify, "--removed", "gone.csv", "--model", "left.suffice")
    assert answer["verified"]
    assert answer["rows"] == 260
    receipt = json.loads(Path("r.json").read_text())
    assert receipt["rows_removed"] == 40
    assert receipt["after"] == answer["digest"] == sf.load("left.suffice").moments_.digest()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"after": "0" * 64}, "the sums of the remaining rows have the digest"),
        ({"removed": "0" * 64}, "the sums of the removed rows have the digest"),
        ({"before": "0" * 64}, "the sums of all rows have the digest"),
        ({"rows_left": 261}, "states 261 rows for the remaining rows, but there are 260"),
        ({"format": 2}, "is not a receipt"),
        ({"grid": {"origins": []}}, "is not a receipt"),
        ({"grid": {"origins": ["0x0p+0"], "exponents": [10**30]}}, "is not a receipt"),
        ({"grid": {"origins": ["0x0p+0"], "exponents": [2.5]}}, "is not a receipt"),
        ({"rows_left": "260"}, "is not a receipt"),
        ({"rows_removed": None}, "is not a receipt"),
        ({"after": 5}, "is not a receipt"),
        ({"features": [1, 2]}, "is not a receipt"),
    ],
)
def test_a_forged_receipt_is_found_out(ok, refused, grid, change, message):
    exact(ok, "all.csv", "all.moments", grid)
    forget = ("forget", "all.moments", "gone.csv", "--target", "label")
    ok(*forget, "-o", "left.moments", "--receipt", "r.json")
    receipt = json.loads(Path("r.json").read_text())
    Path("r.json").write_text(json.dumps({**receipt, **change}))
    verify = ("verify", "r.json", "--from", "rest.csv", "--removed", "gone.csv")
    assert message in refused(*verify, "--target", "label")


def test_a_receipt_of_another_table_or_model_does_not_hold(ok, refused, grid):
    exact(ok, "all.csv", "all.moments", grid)
    forget = ("forget", "all.moments", "gone.csv", "--target", "label")
    ok(*forget, "-o", "left.moments", "--receipt", "r.json")
    verify = ("verify", "r.json", "--target", "label", "--from")
    assert "states 260 rows" in refused(*verify, "all.csv")
    assert "does not hold the sums of the receipt" in refused(
        *verify, "rest.csv", "--model", "all.moments"
    )
    changed = pl.read_csv("rest.csv").with_columns(pl.col("width") + 0.01)
    changed.write_csv("changed.csv")
    assert "have the digest" in refused(*verify, "changed.csv")


def test_a_valid_receipt_of_another_grid_does_not_hold_for_the_model(
    ok, ok_json, refused, grid
):
    coarser = json.loads(Path(grid).read_text())
    coarser["exponents"] = [exponent + 1 for exponent in coarser["exponents"]]
    Path("coarser.json").write_text(json.dumps(coarser))
    for name, used in (("fine", grid), ("coarse", "coarser.json")):
        exact(ok, "all.csv", f"{name}.moments", used)
        forget = ("forget", f"{name}.moments", "gone.csv", "--target", "label")
        ok(*forget, "-o", f"{name}-left.moments", "--receipt", f"{name}.json")
    verify = ("verify", "coarse.json", "--target", "label", "--from", "rest.csv")
    assert ok_json(*verify)["verified"]
    assert "does not hold the sums of the receipt" in refused(
        *verify, "--model", "fine-left.moments"
    )
    # the digests of one grid beside another grid
    fine = json.loads(Path("fine.json").read_text())
    other = json.loads(Path("coarse.json").read_text())
    Path("coarse.json").write_text(json.dumps({**other, "grid": fine["grid"]}))
    assert "the sums of the remaining rows have the digest" in refused(*verify)


def test_the_receipt_of_an_earlier_withdrawal_is_no_proof_of_a_later_one(ok, refused, grid):
    rest = pl.read_csv("rest.csv")
    rest[:25].write_csv("later.csv")
    rest[25:].write_csv("last.csv")
    exact(ok, "all.csv", "all.moments", grid)
    forget = ("--target", "label", "-o")
    ok("forget", "all.moments", "gone.csv", *forget, "left.moments", "--receipt", "r1.json")
    ok("forget", "left.moments", "later.csv", *forget, "last.moments", "--receipt", "r2.json")
    verify = ("--target", "label", "--from", "last.csv", "--model", "last.moments")
    ok("verify", "r2.json", *verify, "--removed", "later.csv")
    assert "states 260 rows" in refused("verify", "r1.json", *verify)
    # with the number of rows mended, the digest still tells
    first = json.loads(Path("r1.json").read_text())
    Path("r1.json").write_text(json.dumps({**first, "rows_left": 235}))
    assert "have the digest" in refused("verify", "r1.json", *verify)


def test_rows_that_are_withdrawn_twice_leave_a_receipt_that_does_not_hold(ok, refused, grid):
    exact(ok, "all.csv", "all.moments", grid)
    gone = ("gone.csv", "--target", "label", "-o")
    ok("forget", "all.moments", *gone, "left.moments", "--receipt", "r1.json")
    ok("forget", "left.moments", *gone, "twice.moments", "--receipt", "r2.json")
    verify = ("verify", "r2.json", "--target", "label", "--from", "rest.csv")
    assert "states 220 rows for the remaining rows, but there are 260" in refused(*verify)
    # a forger who leaves out 40 other rows, too
    pl.read_csv("rest.csv")[40:].write_csv("fewer.csv")
    assert "have the digest" in refused(*verify[:-1], "fewer.csv")


def test_a_receipt_needs_exact_sums(ok, refused, table):
    ok("summarize", "all.csv", "--target", "label", "-o", "all.moments")
    forget = ("forget", "all.moments", "gone.csv", "--target", "label", "-o", "left.moments")
    assert "a receipt needs exact sums" in refused(*forget, "--receipt", "r.json")


@pytest.fixture
def masked(ok, grid):
    """Return a function that writes the masked sums of one of three sites."""
    peers = {}
    for name in "abc":
        exact(ok, f"site-{name}.csv", f"{name}.moments", grid)
        peers[name] = ok("key", "-o", f"{name}.key").strip()
    Path("peers.json").write_text(json.dumps(peers))

    def mask(name, round_name="1"):
        arguments = ("--party", name, "--key", f"{name}.key", "--peers", "peers.json")
        output = f"{name}-{round_name}.masked"
        ok("mask", f"{name}.moments", *arguments, "--round", round_name, "-o", output)
        return output

    return mask


def test_the_total_of_masked_sums_is_that_of_all_rows_bit_for_bit(ok, grid, masked):
    ok("merge", "--masked", *map(masked, "bca"), "-o", "total.moments")
    total = sf.load("total.moments")
    assert total.digest() == exact(ok, "all.csv", "all.moments", grid).digest()
    assert stat.S_IMODE(Path("a.key").stat().st_mode) == 0o600


def test_a_round_with_a_drop_out_a_repeat_or_a_replay_is_refused(ok, refused, masked):
    merge = ("merge", "-o", "total.moments", "--masked")
    a, b, c = map(masked, "abc")
    assert "'c' sent no sums" in refused(*merge, a, b)
    arguments = ("--party", "a", "--key", "a.key", "--peers", "peers.json", "--round", "1")
    ok("mask", "a.moments", *arguments, "-o", "again.masked")
    assert "'a' sent sums more than once" in refused(*merge, a, "again.masked", b, c)
    assert "of round '2'" in refused(*merge, a, b, masked("c", "2"))


def test_a_replayed_part_under_the_name_of_a_new_round_gives_noise_that_is_refused(masked):
    old = sf.privacy.load_masked(masked("a", "1"))
    forged = replace(old, round="2")
    others = [sf.privacy.load_masked(masked(name, "2")) for name in "bc"]
    with pytest.raises(InvalidInputError, match="the masks do not cancel"):
        sf.privacy.unmask([forged, *others])


def test_a_part_under_the_name_of_a_party_that_dropped_out_is_refused(masked):
    parts = [sf.privacy.load_masked(masked(name)) for name in "ab"]
    forged = replace(parts[0], party="c")
    with pytest.raises(InvalidInputError, match="the masks do not cancel"):
        sf.privacy.unmask([*parts, forged])


def test_sums_masked_with_another_key_give_noise_that_is_refused(ok, refused, masked):
    a, b = masked("a"), masked("b")
    ok("key", "-o", "stranger.key")
    peers = json.loads(Path("peers.json").read_text())
    del peers["c"]
    Path("others.json").write_text(json.dumps(peers))
    arguments = ("--party", "c", "--key", "stranger.key", "--peers", "others.json")
    ok("mask", "c.moments", *arguments, "--round", "1", "-o", "c.masked")
    message = refused("merge", "-o", "total.moments", "--masked", a, b, "c.masked")
    assert "the masks do not cancel" in message
    arguments = ("--party", "c", "--key", "stranger.key", "--peers", "peers.json")
    message = refused("mask", "c.moments", *arguments, "--round", "1", "-o", "c.masked")
    assert "different public keys for 'c'" in message


def test_masked_sums_alone_look_like_noise_and_cannot_be_fitted(ok, refused, masked):
    a = masked("a")
    numbers = sf.privacy.load_masked(a).numbers
    bits = np.unpackbits(np.frombuffer(numbers.to_bytes(), np.uint8))
    # a sum of fair coins: five standard deviations
    assert abs(bits.mean() - 0.5) < 2.5 / np.sqrt(len(bits))
    message = refused("fit", a, "-o", "model.suffice")
    assert "masked sums" in message
    for model in (sf.LDA(), sf.QDA(), sf.GaussianNB(), sf.LeastSquaresClassifier()):
        with pytest.raises(InvalidInputError, match="masked sums of 'a', which are noise"):
            model.fit_moments(sf.privacy.load_masked(a))
    assert "masked sums" in refused("merge", a, "a.moments", "-o", "total.moments")


def test_a_key_is_never_replaced(ok, refused, tmp_path):
    ok("key", "-o", "a.key")
    before = Path("a.key").read_text()
    assert "exists" in refused("key", "-o", "a.key")
    assert Path("a.key").read_text() == before


def test_files_that_are_no_grids_or_keys_are_refused(ok, refused, grid):
    Path("bad.json").write_text("{}")
    summarize = ("summarize", "all.csv", "--target", "label", "-o", "m.moments", "--exact")
    assert "is not a grid" in refused(*summarize, "bad.json")
    assert "not a readable grid" in refused(*summarize, "nowhere.json")
    Path("bad.key").write_text("xyz")
    Path("peers.json").write_text(json.dumps({"b": "00"}))
    exact(ok, "site-a.csv", "a.moments", grid)
    mask = ("mask", "a.moments", "--party", "a", "--peers", "peers.json", "--round", "1")
    assert "private key" in refused(*mask, "--key", "bad.key", "-o", "a.masked")
    ok("key", "-o", "a.key")
    assert "not a public key" in refused(*mask, "--key", "a.key", "-o", "a.masked")


def test_a_store_lists_its_receipts_and_writes_one_for_a_third_party(
    ok, ok_json, refused, grid
):
    exact(ok, "rest.csv", "rest.moments", grid)
    exact(ok, "gone.csv", "gone.moments", grid)
    ok("store", "add", "a.store", "rest.moments")
    ok("store", "add", "a.store", "gone.moments")
    assert "has no receipts" in refused("store", "receipts", "a.store", "-o", "r.json")
    ok("store", "remove", "a.store", "gone", "--why", "request 17")
    (listed,) = ok_json("store", "receipts", "a.store")["receipts"]
    assert listed["checked"]
    assert listed["why"] == "request 17"
    assert "holds" in ok("store", "receipts", "a.store", "-o", "r.json")
    verify = ("verify", "r.json", "--from", "rest.parquet", "--removed", "gone.csv")
    assert ok_json(*verify, "--target", "label")["rows"] == 260
    message = refused("store", "receipts", "a.store", "--number", "2", "-o", "r2.json")
    assert "so there is no number 2" in message
