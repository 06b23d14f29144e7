"""Damaged and forged files give errors of ours, never another traceback, and never much memory."""

import hashlib
import io
import json
import tracemalloc
import warnings
import zipfile
from pathlib import Path

import numpy as np
import pytest

import suffice as sf
from suffice.errors import FileFormatError, SufficeError

GOLDEN = sorted((Path(__file__).parent / "golden" / "format-1").glob("*.[sm]*"))
LDA = next(path for path in GOLDEN if path.name == "lda.suffice").read_bytes()
FILES = [pytest.param(path.read_bytes(), id=path.name) for path in GOLDEN]
ROWS = np.array([[5.1, 3.5, 1.4, 0.2], [6.0, 2.7, 5.1, 1.6]])
LIES = [
    None,
    True,
    -1,
    0,
    1,
    3,
    2.5,
    1e308,
    10**30,
    float("nan"),
    "",
    "x",
    "auto",
    "per-class",
]
LIES += [[], [1], [[]], ["a", "a"], {}, {"__pairs__": 3}, {"__pairs__": [[[], 1]]}]
LIES += [{"__value__": "PowerTransform", "__pairs__": []}, {"__value__": "os.system"}]
MOST = 50_000_000  # bytes; the largest golden file holds a thousandth of that


def outcome(path):
    """Load and ask; return the answer, or None if the file is refused as it should be."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = sf.load(path)
            return found.means if isinstance(found, sf.Moments) else found.predict(ROWS)
    except SufficeError:
        return None


def members_of(whole):
    with zipfile.ZipFile(io.BytesIO(whole)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def zipped(members, path):
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in members.items():
            archive.writestr(name, data)


def forged(members, header, path):
    """Write an archive whose checksums are right for whatever it holds."""
    digests = {
        n: hashlib.sha256(d).hexdigest() for n, d in members.items() if n != "header.json"
    }
    text = json.dumps({**header, "sha256": digests}).encode()
    zipped({**members, "header.json": text}, path)


def places_in(value, at=()):
    """Yield the path to every value inside nested JSON."""
    yield at
    if isinstance(value, (dict, list)):
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            yield from places_in(item, (*at, key))


def changed(value, at, new):
    """Return nested JSON with one value replaced."""
    if not at:
        return new
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[at[0]] = changed(value[at[0]], at[1:], new)
    return copy


@pytest.mark.parametrize("whole", FILES)
def test_flipped_and_missing_bytes_are_refused(whole, tmp_path):
    path, rng = tmp_path / "f", np.random.default_rng(0)
    path.write_bytes(whole)
    known = outcome(path)
    for trial in range(120):
        damaged = bytearray(whole)
        if trial % 3 == 0:
            damaged = damaged[: rng.integers(len(damaged))]
        elif trial % 3 == 1:
            start, stop = sorted(rng.integers(0, len(damaged), 2))
            del damaged[start : min(stop, start + 40)]
        for at in rng.integers(0, len(damaged), 1 + trial % 4) if len(damaged) else []:
            damaged[at] ^= 1 << rng.integers(8)
        path.write_bytes(bytes(damaged))
        found = outcome(path)
        if found is not None:  # the damage hit bytes that carry nothing, such as dates
            np.testing.assert_array_equal(found, known)


def swaps_of(members):
    """Yield the members with one missing, or one in the place of another, up to 40 of them."""
    names = [name for name in members if name != "header.json"]
    for name in names[:10]:
        yield {n: d for n, d in members.items() if n != name}
    pairs = [(a, b) for a in names for b in names if members[a] != members[b]]
    for at in np.random.default_rng(3).permutation(len(pairs))[:30]:
        a, b = pairs[at]
        yield {**members, a: members[b]}


@pytest.mark.parametrize("whole", FILES)
def test_swapped_and_missing_members_are_refused(whole, tmp_path):
    for members in swaps_of(members_of(whole)):
        zipped(members, tmp_path / "f")
        assert outcome(tmp_path / "f") is None


@pytest.mark.parametrize("whole", FILES)
def test_swapped_members_with_right_checksums_give_only_errors_of_ours(whole, tmp_path):
    header = json.loads(members_of(whole)["header.json"])
    for members in swaps_of(members_of(whole)):
        forged(members, header, tmp_path / "f")
        outcome(tmp_path / "f")


@pytest.mark.parametrize("whole", FILES)
def test_a_header_that_lies_gives_only_errors_of_ours(whole, tmp_path):
    path, members, rng = tmp_path / "f", members_of(whole), np.random.default_rng(1)
    header = json.loads(members["header.json"])
    places = list(places_in({k: v for k, v in header.items() if k != "sha256"}))[1:]
    for _ in range(60):
        lie = LIES[rng.integers(len(LIES))]
        forged(members, changed(header, places[rng.integers(len(places))], lie), path)
        outcome(path)


@pytest.mark.parametrize("whole", FILES)
def test_forged_arrays_give_only_errors_of_ours(whole, tmp_path):
    path, members, rng = tmp_path / "f", members_of(whole), np.random.default_rng(2)
    header = json.loads(members["header.json"])
    names = [name for name in members if name != "header.json"]
    for trial in range(40):
        name = names[rng.integers(len(names))]
        forged({**members, name: forged_array(members[name], trial, rng)}, header, path)
        outcome(path)


def forged_array(data, trial, rng):
    """Return an array of the same shape with other numbers, or another shape or type."""
    array = np.load(io.BytesIO(data))
    odd = [0.0, -1.0, 1e300, -1e300, 1e-320, np.nan, np.inf]
    if array.dtype.kind == "f" and array.size and trial % 2:
        array.flat[rng.integers(array.size)] = odd[rng.integers(len(odd))]
    else:
        shapes = [array[:0], array.ravel(), array[None], array.astype("U"), np.zeros(3)]
        array = shapes[rng.integers(len(shapes))]
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


def npy(header, data=b""):
    text = repr(header).encode() + b"\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + data


@pytest.mark.parametrize(
    "array",
    [
        npy({"descr": "<f8", "fortran_order": False, "shape": (10**12,)}),
        npy({"descr": "<f8", "fortran_order": False, "shape": (2**62, 2**62)}),
        npy({"descr": "<f8", "fortran_order": False, "shape": (-1,)}, b"\0" * 8),
        npy({"descr": "<U1000000000", "fortran_order": False, "shape": (3,)}),
        npy({"descr": "|O", "fortran_order": False, "shape": (1,)}, b"cos\nsystem\n."),
        npy({"descr": [("a", "<f8")], "fortran_order": False, "shape": (1,)}, b"\0" * 8),
        npy("__import__('os').system('exit')"),
        b"\x93NUMPY\x02\x00",
        b"",
    ],
    ids=[
        "terabytes",
        "overflow",
        "negative",
        "wide text",
        "pickle",
        "record",
        "code",
        "v2",
        "none",
    ],
)
def test_a_forged_size_or_type_is_refused_without_memory(array, tmp_path):
    path, members = tmp_path / "f", members_of(LDA)
    forged({**members, "classes.npy": array}, json.loads(members["header.json"]), path)
    assert peak_of_refusal(path) < MOST


def test_a_bomb_is_refused_without_memory(tmp_path):
    path, members = tmp_path / "f", members_of(LDA)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            if name != "classes.npy":
                archive.writestr(name, data)
        with archive.open("classes.npy", "w", force_zip64=True) as file:
            for _ in range(400):
                file.write(bytes(1 << 20))
    assert path.stat().st_size < 1_000_000
    assert peak_of_refusal(path) < MOST


def peak_of_refusal(path):
    """Return the most memory that loading takes until it raises the right error."""
    tracemalloc.start()
    try:
        with pytest.raises(FileFormatError):
            sf.load(path)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_other_packings_are_refused(tmp_path, method):
    path, members = tmp_path / "f", members_of(LDA)
    with zipfile.ZipFile(path, "w", method) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    with pytest.raises(FileFormatError, match="compressed in a way"):
        sf.load(path)


@pytest.mark.parametrize(
    "text", ["", "[]", "3", "{", '{"format": 1}', "[" * 100_000, '{"suffice":']
)
def test_a_header_that_is_no_header_is_refused(tmp_path, text):
    zipped({"header.json": text.encode()}, tmp_path / "f")
    with pytest.raises(FileFormatError):
        sf.load(tmp_path / "f")


@pytest.mark.parametrize("data", [b"", b"PK", b"PK\x05\x06" + bytes(18), b"hello\n" * 100])
def test_what_is_no_archive_is_refused(tmp_path, data):
    (tmp_path / "f").write_bytes(data)
    with pytest.raises(FileFormatError, match="not a suffice file, or is damaged"):
        sf.load(tmp_path / "f")
