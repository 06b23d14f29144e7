"""A store of moments against one pass over the rows, by the number of partitions and features.

``python -m benchmarks store`` takes a few minutes; ``--quick`` leaves out the largest store.
"""

from __future__ import annotations

import tempfile
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import numpy as np
import polars as pl
from tests.data.sql.server import running_postgres

import suffice as sf
from benchmarks.timing import best_of, machine, table
from suffice.data.store.manifest import Entry, Manifest
from suffice.data.store.totals import bytes_of

K, ROWS = 3, 10_000  # classes, and rows of a partition
SIZES = (30, 365, 3650)


def main(arguments: list[str]) -> None:
    sizes = SIZES[:2] if "--quick" in arguments else SIZES
    print(f"# store ({machine()}): partitions of {ROWS:,} rows, {K} classes\n")
    with tempfile.TemporaryDirectory(prefix="suffice-store-") as name:
        folder = Path(name)
        print(table([adding(folder, d) for d in (20, 100)]), "\n", flush=True)
        print(table(list(places(folder))), "\n", flush=True)
        print(
            table([totals(folder, d, n) for d in (20, 100) for n in sizes]), "\n", flush=True
        )


def frame_of(d: int, n_rows: int = ROWS) -> pl.DataFrame:
    rng = np.random.default_rng(d)
    codes = rng.integers(0, K, n_rows)
    x = rng.normal(size=(n_rows, d)) + codes[:, None]
    return pl.DataFrame({f"f{j}": x[:, j] for j in range(d)} | {"y": codes})


def day(at: int) -> str:
    return str(np.datetime64("2020-01-01") + at)


def adding(folder: Path, d: int) -> dict:
    """Compare what a night costs: to count one file, and to find that nothing is new."""
    files = folder / f"files-{d}"
    files.mkdir()
    for at in range(30):
        frame_of(d).with_columns(f0=pl.col("f0") + at).write_parquet(
            files / f"{day(at)}.parquet"
        )
    new, glob = [files / f"{day(at)}.parquet" for at in range(30)], str(files / "*.parquet")
    store = sf.MomentStore(folder / f"night-{d}")
    store.add(glob, target="y")
    left = iter(new * 9)

    def again():
        path = next(left)
        store.replace(path.stem, str(path))

    seconds = best_of(
        {
            "sum": lambda: sf.summarize(str(new[0]), "y"),
            "count": again,
            "nothing": lambda: store.add(glob),
        }
    )
    return {
        "d": d,
        "sum one file, ms": 1e3 * seconds["sum"],
        "count it into the store, ms": 1e3 * seconds["count"],
        "30 files, none new, ms": 1e3 * seconds["nothing"],
    }


def places(folder: Path):
    """Yield what a change and a total cost in a folder and in databases."""
    with running_postgres() as at:
        server = f"postgresql://{at['user']}@{at['host']}:{at['port']}/{at['database']}"
        for place in (str(folder / "a.store"), f"sqlite:{folder / 'a.db'}", server):
            for d in (20, 100):
                yield {
                    "place": place.partition(":")[0][-10:],
                    "d": d,
                    **costs(f"{place}#d{d}", d),
                }


def costs(place: str, d: int) -> dict:
    store, sums = sf.MomentStore(place), sf.summarize(frame_of(d), "y", fourth=False)
    for at in range(30):
        store.add(replace(sums, means=sums.means + at), day(at))
    other = [replace(sums, means=sums.means - at) for at in range(1, 20)]
    seconds = best_of(
        {
            "change": lambda: store.replace(day(0), other.pop()),
            "total": lambda: store.total(except_=[day(7)]),
        }
    )
    return {"a change, ms": 1e3 * seconds["change"], "29 of 30, ms": 1e3 * seconds["total"]}


def totals(folder: Path, d: int, n: int) -> dict:
    """Compare totals with one pass over rows in memory, of which no file is read."""
    store = sf.MomentStore(folder / f"store-{d}-{n}")
    sums = sf.summarize(frame_of(d), "y", fourth=False)
    filled(store, sums, n)
    names = store.partitions
    rows = frame_of(d, min(n * ROWS, 20_000_000 // d))
    share = n * ROWS / rows.height
    plain = best_of({"all": store.total}, rounds=2)["all"]
    store.consolidate()
    seconds = best_of(
        {
            "all": store.total,
            "but one": lambda: store.total(except_=[names[n // 2]]),
            "30": lambda: store.total(names[-30:]),
            "model": lambda: sf.QDA().fit_moments(store.total(names[-30:])),
            "rows": lambda: sf.summarize(rows, "y", n_jobs=1),
        },
        rounds=3,
    )
    pass_ = seconds["rows"] * share
    return {
        "d": d,
        "partitions": n,
        "one pass over the rows, s": pass_,
        "all, first time, ms": 1e3 * plain,
        "all, ms": 1e3 * seconds["all"],
        "all but one, ms": 1e3 * seconds["but one"],
        "last 30, ms": 1e3 * seconds["30"],
        "QDA of them, ms": 1e3 * seconds["model"],
        "pass / all but one": f"{pass_ / seconds['but one']:,.0f}",
    }


def filled(store: sf.MomentStore, sums: sf.Moments, n: int) -> None:
    """Put n partitions in a store, at once: as n changes would leave it."""
    with store._place.writing() as place:
        entries = []
        for at in range(n):
            moved = replace(sums, means=sums.means + at)
            content = bytes_of(moved)
            entry = Entry(day(at), sha256(content).hexdigest(), int(moved.counts.sum()), "y")
            (place.path / "objects").mkdir(exist_ok=True)
            (place.path / entry.object_name).write_bytes(content)
            entries.append(entry)
        Manifest(tuple(sorted(entries, key=lambda entry: entry.key)))._write(place)
