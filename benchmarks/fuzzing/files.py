"""Files of suffice for ``python -m benchmarks fuzz``: models, sums and stores, damaged or forged.

A damaged file has other bytes than were written: it is refused, or holds what was written. A forged
file has other contents and the right checksums: it is refused, or is consistent in itself.
"""

from __future__ import annotations

import hashlib
import io
import json
import tempfile
import zipfile
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import suffice as sf
from suffice.core.moments.validity import refuse_impossible
from suffice.errors import SufficeError
from suffice.persistence.moments_file import arrays_of, header_of

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
def models() -> tuple[tuple[bytes, np.ndarray], ...]:
    """Return the files of models, and the rows that each is asked about."""
    X, y = rows()
    counts = np.floor(np.abs(3 * X))
    text = np.column_stack([X.astype(object), np.where(X[:, 0] > 0, "a", "b")])
    of_numbers = [
        sf.GaussianNB(),
        sf.LDA(),
        sf.LDA(shrinkage="auto", temperature="auto"),
        sf.QDA(shrinkage=0.1),
        sf.RDA(),
        sf.GaussianClassifier(covariance="tree", costs=1 - np.eye(3)),
        sf.LogisticRegression(),
        sf.LeastSquaresClassifier(),
        sf.Perceptron(),
        sf.MixtureClassifier(n_components=2, random_state=0),
        sf.AutoGaussian(),
        sf.AutoClassifier(random_state=0),
    ]
    files = [(_bytes_of(estimator.fit(X, y)), X) for estimator in of_numbers]
    files.append((_bytes_of(sf.CountNB().fit(counts, y)), counts))
    files.append((_bytes_of(sf.MixedNB().fit(text, y)), text))
    files.append((_bytes_of(sf.LDA().fit(text, y)), text))
    return tuple(files)


@cache
def answers(number: int) -> np.ndarray:
    """Return the answers of an undamaged model."""
    content, X = models()[number]
    return answers_of(_load(content), X)


def answers_of(model: Any, X: np.ndarray) -> np.ndarray:
    """Return the posteriors of rows, or the classes if the model has no posteriors."""
    if hasattr(model, "predict_proba"):
        return np.asarray(model.predict_proba(X))
    return np.asarray(model.predict(X))


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


@cache
def store_facts() -> tuple[sf.Moments, Any, Any]:
    """Return the total, the entries and the log of the undamaged store."""
    with tempfile.TemporaryDirectory() as name:
        _write_store(Path(name), store_contents())
        store = sf.MomentStore(name)
        return store.total(), store.entries, store.log


def _write_store(root: Path, contents: Mapping[str, bytes]) -> None:
    for name, content in contents.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(content)


def _bytes_of(saved: Any) -> bytes:
    with tempfile.TemporaryDirectory() as name:
        saved.save(Path(name) / "f")
        return (Path(name) / "f").read_bytes()


def _load(content: bytes) -> Any:
    with tempfile.TemporaryDirectory() as name:
        (Path(name) / "f").write_bytes(content)
        return sf.load(Path(name) / "f")


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
    """Return nested JSON with one value replaced, dropped, written twice or swapped."""
    if not isinstance(value, (dict, list)) or not value or rng.random() < 0.1:
        return _lie(value, rng)
    keys = list(value) if isinstance(value, dict) else list(range(len(value)))
    key = keys[int(rng.integers(len(keys)))]
    other = keys[int(rng.integers(len(keys)))]
    copy = dict(value) if isinstance(value, dict) else list(value)
    way = rng.random()
    if way < 0.1:
        del copy[key]
    elif way < 0.15 and isinstance(copy, list):
        copy.append(copy[key])
    elif way < 0.2:
        copy[key], copy[other] = copy[other], copy[key]
    else:
        copy[key] = forged_json(value[key], rng)
    return copy


def _lie(value: Any, rng: np.random.Generator) -> Any:
    """Return another value: often one of the same type, which is harder to notice."""
    if rng.random() < 0.5:
        if isinstance(value, bool):
            return not value
        if isinstance(value, (int, float)):
            return (value + 1, value - 1, 2 * value, -value)[int(rng.integers(4))]
        if isinstance(value, str):
            return (value + "x", value[::-1], value[1:], value.upper())[int(rng.integers(4))]
    return LIES[int(rng.integers(len(LIES)))]


# --- targets ---------------------------------------------------------------------------------


def moments_file(rng: np.random.Generator, folder: Path) -> bool:
    """Check that accepted moments are possible, add up, and come back from a file."""
    files = moments_files()
    number = int(rng.integers(len(files)))
    loaded, is_forged = _loaded(files[number], rng, folder)
    if loaded is None:
        return False
    if not is_forged:
        check_equal(loaded, _load(files[number]))
    refuse_impossible(loaded)
    _ = repr(loaded), loaded._repr_html_()
    loaded.save(folder / "again")
    check_equal(sf.load(folder / "again"), loaded)
    try:
        total = loaded + loaded
        rest = total - loaded
    except SufficeError:
        return True  # such as squares that overflow together
    assert (total.counts == 2 * loaded.counts).all()
    assert (rest.counts == loaded.counts).all()
    return True


def check_equal(moments: sf.Moments, expected: sf.Moments) -> None:
    assert header_of(moments) == header_of(expected)
    arrays, others = arrays_of(moments), arrays_of(expected)
    assert arrays.keys() == others.keys()
    for name, array in arrays.items():
        np.testing.assert_array_equal(array, others[name])


def model_file(rng: np.random.Generator, folder: Path) -> bool:
    """Check that accepted models give probabilities, and the same answers from a second file."""
    number = int(rng.integers(len(models())))
    content, X = models()[number]
    loaded, is_forged = _loaded(content, rng, folder)
    if loaded is None:
        return False
    try:
        labels = loaded.predict(X)
        found = answers_of(loaded, X)
    except SufficeError:
        assert is_forged, "the rows of an undamaged model are refused"
        return False  # such as rows so far away that scores overflow
    assert set(labels.tolist()) <= {*loaded.classes_.tolist(), None}
    if hasattr(loaded, "predict_proba"):
        tolerance = 1e-9 if found.dtype == np.float64 else 1e-6
        np.testing.assert_allclose(found.sum(1), 1, rtol=tolerance)
        assert (found >= 0).all()
    if not is_forged:
        np.testing.assert_array_equal(found, answers(number))
    loaded.save(folder / "again")
    again = sf.load(folder / "again")
    np.testing.assert_array_equal(again.predict(X), labels)
    np.testing.assert_array_equal(answers_of(again, X), found)
    return True


def store_manifest(rng: np.random.Generator, folder: Path) -> bool:
    """Check that an accepted store counts the rows that it lists, and that damage changes none."""
    root = folder / "s"
    contents = dict(store_contents())
    if rng.random() < 0.5:  # all totals are then added up again
        contents = {name: data for name, data in contents.items() if "sums" not in name}
    _write_store(root, contents)
    name = "manifest"
    if rng.random() < 0.2:
        names = sorted(contents)
        name = names[int(rng.integers(len(names)))]
    whole = contents[name]
    is_forged = name == "manifest" and rng.random() < 0.8
    (root / name).write_bytes(
        _forged_manifest(whole, rng) if is_forged else damaged(whole, rng)
    )
    store = sf.MomentStore(root)
    try:
        total = store.total()
        log = store.log
        entries = store.entries
        store.remove(store.partitions[0])
    except SufficeError:
        return False
    n_rows = sum(entry.rows for entry in entries)
    assert n_rows == int(total.counts.sum()), f"{n_rows} rows are listed"
    if not is_forged:
        expected, listed, changes = store_facts()
        check_equal(total, expected)
        assert entries == listed
        assert log == changes
    return True


def _forged_manifest(whole: bytes, rng: np.random.Generator) -> bytes:
    """Return a manifest with another entry or record, whose digest is right."""
    first, *records = whole.split(b"\n")[1:]
    way = rng.random()
    if way < 0.7:
        first = json.dumps(forged_json(json.loads(first), rng)).encode()
    elif way < 0.9:
        number = int(rng.integers(len(records)))
        records[number] = json.dumps(forged_json(json.loads(records[number]), rng)).encode()
    else:
        first = damaged(first, rng)
    text = b"\n".join([first, *records])
    return hashlib.sha256(text).hexdigest().encode() + b"\n" + text


def _loaded(whole: bytes, rng: np.random.Generator, folder: Path) -> tuple[Any, bool]:
    """Return what a damaged or forged file holds, None if it is refused, and if it was forged."""
    is_forged = rng.random() < 0.7
    content = forged_archive(whole, rng) if is_forged else damaged(whole, rng)
    (folder / "input").write_bytes(content)
    try:
        return sf.load(folder / "input"), is_forged
    except SufficeError:
        return None, is_forged
