"""Feed damaged and forged input to every reader: ``python -m benchmarks fuzz [NAME] [INPUTS]``.

A target makes one input, gives it to a reader and returns whether it was accepted. An input is a
fault if the reader raises anything but an error of ours, or accepts what does not come back.
Inputs follow from their numbers: ``python -m benchmarks fuzz moments-file 1 4711`` repeats one.
"""

from __future__ import annotations

import hashlib
import io
import json
import sys
import tempfile
import time
import traceback
import warnings
import zipfile
from collections import Counter
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import suffice as sf
from benchmarks.fuzz_delimited import delimited_rows
from benchmarks.timing import machine, table
from suffice.core.moments.validity import refuse_impossible
from suffice.errors import SufficeError
from suffice.persistence.moments_file import arrays_of, header_of

INPUTS = 100_000
LIES: tuple[Any, ...] = (
    None,
    True,
    -1,
    0,
    1,
    3,
    2.5,
    -0.5,
    1e308,
    10**30,
    float("nan"),
    "",
    "x",
)
LIES += ("auto", "per-class", "../../x", [], [1], [[]], ["a", "a"], {}, {"__pairs__": 3})
LIES += ({"__value__": "PowerTransform", "__pairs__": []}, {"__value__": "os.system"})
Target = Callable[[np.random.Generator, Path], bool]


# --- what is damaged -------------------------------------------------------------------------


@cache
def rows() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 60)
    return rng.normal(size=(60, 3)) + y[:, None], y


@cache
def moments_files() -> tuple[bytes, ...]:
    """Return files of every storage, with missing numbers, levels, a transform and peaks."""
    X, y = rows()
    holes = X.copy()
    holes[::7, 1] = np.nan
    text = np.column_stack([X.astype(object), np.where(X[:, 0] > 0, "a", "b")])
    sums = [
        sf.Moments.of(X, y),
        sf.Moments.of(X, y, storage="pooled"),
        sf.Moments.of(X, y, storage="diagonal"),
        sf.Moments.of(holes, y),
        sf.Moments.of(holes, y, storage="diagonal"),
        sf.Moments.of(holes, y, missing="indicator"),
        sf.Moments.of(text, y, names=list("abcd")),
        sf.Moments.of(X, y, power="yeo-johnson"),
        sf.Moments.of(X, y) - sf.Moments.of(X[:20], y[:20]),
    ]
    return tuple(_bytes_of(each) for each in sums)


@cache
def model_files() -> tuple[bytes, ...]:
    X, y = rows()
    estimators = [
        sf.GaussianNB(),
        sf.LDA(),
        sf.QDA(shrinkage=0.1),
        sf.GaussianClassifier(covariance="tree", costs=1 - np.eye(3)),
        sf.LogisticRegression(),
        sf.LeastSquaresClassifier(),
        sf.MixtureClassifier(n_components=2, random_state=0),
    ]
    return tuple(_bytes_of(estimator.fit(X, y)) for estimator in estimators)


@cache
def store_contents() -> Mapping[str, bytes]:
    """Return the files of a store of twelve partitions."""
    X, y = rows()
    with tempfile.TemporaryDirectory() as name:
        store = sf.MomentStore(Path(name) / "s")
        for number in range(12):
            part = slice(5 * number, 5 * number + 5)
            store.add(sf.Moments.of(X[part], y[part], classes=[0, 1, 2]), f"p{number:02}")
        store.consolidate()
        store.remove("p03", why="a test")
        folder = Path(name) / "s"
        files = [path for path in folder.rglob("*") if path.is_file() and path.stat().st_size]
        return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def _bytes_of(saved: Any) -> bytes:
    with tempfile.TemporaryDirectory() as name:
        saved.save(Path(name) / "f")
        return (Path(name) / "f").read_bytes()


# --- how it is damaged -----------------------------------------------------------------------


def damaged(whole: bytes, rng: np.random.Generator) -> bytes:
    """Return bytes with some flipped, cut off, left out, or written twice."""
    data = bytearray(whole)
    way = rng.integers(4)
    if way == 0:
        data = data[: rng.integers(len(data))]
    elif way == 1:
        start = int(rng.integers(len(data)))
        del data[start : start + int(rng.integers(1, 60))]
    elif way == 2:
        start = int(rng.integers(len(data)))
        data[start:start] = data[start : start + int(rng.integers(1, 60))]
    for _ in range(int(rng.integers(1, 5))):
        if data:
            data[int(rng.integers(len(data)))] ^= 1 << int(rng.integers(8))
    return bytes(data)


def forged_archive(whole: bytes, rng: np.random.Generator) -> bytes:
    """Return an archive with other fields or arrays, whose checksums are right."""
    members = dict(_members(whole))
    header = json.loads(members.pop("header.json"))
    header.pop("sha256")
    names = sorted(members)
    for _ in range(int(rng.integers(1, 3))):
        if rng.random() < 0.5:
            header = forged_json(header, rng)
        else:
            name = names[int(rng.integers(len(names)))]
            members[name] = _forged_array(members[name], rng)
    digests = {name: hashlib.sha256(data).hexdigest() for name, data in members.items()}
    if isinstance(header, dict):
        header = {**header, "sha256": digests}
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("header.json", json.dumps(header))
        for name, data in members.items():
            archive.writestr(name, data)
    return file.getvalue()


@cache
def _members(whole: bytes) -> Mapping[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(whole)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def _forged_array(data: bytes, rng: np.random.Generator) -> bytes:
    array = np.load(io.BytesIO(data))
    way = rng.integers(6)
    if way == 0 and array.size and array.dtype.kind in "fi":
        place = np.unravel_index(int(rng.integers(array.size)), array.shape)
        factor = rng.choice([-1.0, 0.0, 2.0, 1.001, 1e5, 1e300])
        with np.errstate(all="ignore"):
            array[place] = (array[place] * factor).astype(array.dtype)
    elif way == 1 and array.size and array.dtype.kind == "f":
        place = np.unravel_index(int(rng.integers(array.size)), array.shape)
        array[place] = rng.choice([np.nan, np.inf, -np.inf, 1e200, -1e-320])
    elif way == 2:
        array = array[::-1]
    elif way == 3:
        array = array[:-1] if array.ndim else array
    elif way == 4 and array.dtype.kind != "U":
        with np.errstate(all="ignore"):
            array = array.astype(rng.choice(["<f4", "<i8", "<U3", "|b1"]))
    else:
        array = rng.permuted(array)
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


def forged_json(value: Any, rng: np.random.Generator) -> Any:
    """Return nested JSON with one value replaced, dropped or written twice."""
    if not isinstance(value, (dict, list)) or not value or rng.random() < 0.1:
        return LIES[int(rng.integers(len(LIES)))]
    keys = list(value) if isinstance(value, dict) else list(range(len(value)))
    key = keys[int(rng.integers(len(keys)))]
    copy = dict(value) if isinstance(value, dict) else list(value)
    if rng.random() < 0.1:
        del copy[key]
    elif rng.random() < 0.05 and isinstance(copy, list):
        copy.append(copy[key])
    else:
        copy[key] = forged_json(value[key], rng)
    return copy


# --- targets ---------------------------------------------------------------------------------


def moments_file(rng: np.random.Generator, folder: Path) -> bool:
    """Check that accepted moments are possible, add up, and come back from a file."""
    loaded = _loaded(moments_files(), rng, folder)
    if loaded is None:
        return False
    refuse_impossible(loaded)
    _ = repr(loaded), loaded._repr_html_()
    loaded.save(folder / "again")
    again = sf.load(folder / "again")
    assert header_of(loaded) == header_of(again)
    before, after = arrays_of(loaded), arrays_of(again)
    assert before.keys() == after.keys()
    for name, array in before.items():
        np.testing.assert_array_equal(array, after[name])
    try:
        total = loaded + loaded
        rest = total - loaded
    except SufficeError:
        return True  # such as squares that overflow together
    assert (total.counts == 2 * loaded.counts).all()
    assert (rest.counts == loaded.counts).all()
    return True


def model_file(rng: np.random.Generator, folder: Path) -> bool:
    """Check that accepted models give probabilities, and the same answers from a second file."""
    loaded = _loaded(model_files(), rng, folder)
    if loaded is None:
        return False
    X, _ = rows()
    try:
        answers = loaded.predict(X)
    except SufficeError:
        return False  # such as rows so far away that scores overflow
    assert set(answers.tolist()) <= {*loaded.classes_.tolist(), None}
    if hasattr(loaded, "predict_proba"):
        posterior = loaded.predict_proba(X)
        np.testing.assert_allclose(posterior.sum(1), 1, rtol=1e-9)
    loaded.save(folder / "again")
    np.testing.assert_array_equal(sf.load(folder / "again").predict(X), answers)
    return True


def store_manifest(rng: np.random.Generator, folder: Path) -> bool:
    """Check that accepted manifests name rows that are there, and that totals count them."""
    root = folder / "s"
    for name, content in store_contents().items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(content)
    name = "manifest"
    if rng.random() < 0.2:
        names = sorted(store_contents())
        name = names[int(rng.integers(len(names)))]
    whole = store_contents()[name]
    content = damaged(whole, rng)
    if name == "manifest" and rng.random() < 0.8:
        text = whole.split(b"\n", 1)[1]
        first, *records = text.split(b"\n")
        if rng.random() < 0.8:
            first = json.dumps(forged_json(json.loads(first), rng)).encode()
        elif rng.random() < 0.5:
            records[0] = json.dumps(forged_json(json.loads(records[0]), rng)).encode()
        else:
            first = damaged(first, rng)
        text = b"\n".join([first, *records])
        content = hashlib.sha256(text).hexdigest().encode() + b"\n" + text
    (root / name).write_bytes(content)
    store = sf.MomentStore(root)
    try:
        total = store.total()
        _ = store.log
        store.remove(store.partitions[0])
    except SufficeError:
        return False
    counted = sum(entry.rows for entry in store.entries)
    assert counted <= int(total.counts.sum())
    return True


def _loaded(wholes: tuple[bytes, ...], rng: np.random.Generator, folder: Path) -> Any:
    """Return what a damaged or forged file holds, or None if it is refused."""
    whole = wholes[int(rng.integers(len(wholes)))]
    content = damaged(whole, rng) if rng.random() < 0.3 else forged_archive(whole, rng)
    (folder / "input").write_bytes(content)
    try:
        return sf.load(folder / "input")
    except SufficeError:
        return None


TARGETS: Mapping[str, Target] = {
    "delimited-rows": delimited_rows,
    "moments-file": moments_file,
    "model-file": model_file,
    "store-manifest": store_manifest,
}


# --- the loop --------------------------------------------------------------------------------


def main(arguments: list[str]) -> None:
    names = list(TARGETS)
    if arguments and arguments[0] in TARGETS:
        names = [arguments.pop(0)]
    n_inputs = int(arguments[0]) if arguments else INPUTS
    first = int(arguments[1]) if len(arguments) > 1 else 0
    print(f"# fuzz ({machine()}): {n_inputs:,} inputs in all\n")
    warnings.simplefilter("ignore")
    lines = [fuzzed(name, first, -(-n_inputs // len(names))) for name in names]
    print(table(lines))
    if any(line["faults"] for line in lines):
        sys.exit(1)


def fuzzed(name: str, first: int, n_inputs: int) -> dict[str, Any]:
    """Give a target its inputs; print every fault with the number that repeats it."""
    outcomes: Counter[str] = Counter()
    start = time.perf_counter()
    shared_memory = Path("/dev/shm")
    place = shared_memory if shared_memory.is_dir() else None
    with tempfile.TemporaryDirectory(dir=place) as folder:
        for number in range(first, first + n_inputs):
            rng = np.random.default_rng([number, len(name)])
            try:
                outcome = "accepted" if TARGETS[name](rng, Path(folder)) else "refused"
            except Exception:
                outcome = "faults"
                print(f"{name} {number}:\n{traceback.format_exc(limit=-3)}", flush=True)
            outcomes[outcome] += 1
    return {
        "target": name,
        "inputs": n_inputs,
        "refused": outcomes["refused"],
        "accepted": outcomes["accepted"],
        "faults": outcomes["faults"],
        "seconds": round(time.perf_counter() - start),
    }
