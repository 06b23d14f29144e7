"""Small files that claim much: refused before the memory is taken; sums that no rows have, too."""

import json
import re
import tracemalloc
import zipfile
from dataclasses import replace

import numpy as np
import pytest

import suffice as sf
from suffice import Moments
from suffice.errors import FileFormatError
from suffice.persistence import archive
from suffice.persistence.moments_file import arrays_of, header_of

MOST = 60_000_000  # bytes
RNG = np.random.default_rng(0)
GOOD = Moments.of(RNG.normal(size=(40, 3)), RNG.integers(0, 3, 40))


def peak_of_loading(path):
    tracemalloc.start()
    try:
        with pytest.raises(FileFormatError):
            sf.load(path)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def npy(dtype, shape):
    """Return the bytes of an array that claims a shape and holds nothing."""
    text = repr({"descr": dtype, "fortran_order": False, "shape": shape}).encode()
    text = text.ljust(117) + b"\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text


def forged(path, header, members):
    import hashlib

    digests = {name: hashlib.sha256(data).hexdigest() for name, data in members.items()}
    top = {"suffice": "moments", "format": 1, **header, "sha256": digests}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("header.json", json.dumps(top))
        for name, data in members.items():
            file.writestr(name, data)


@pytest.mark.parametrize("shape", [(10**8,), (0, 10**9), (10**9, 0)])
@pytest.mark.parametrize("dtype", ["<U0", "<f8"])
def test_arrays_of_nothing_claim_nothing(tmp_path, dtype, shape):
    header = {**header_of(GOOD), "n_classes": shape[0], "n_features": 3}
    members = {f"{name}.npy": npy("<f8", (3,)) for name in arrays_of(GOOD)}
    forged(tmp_path / "f", header, {**members, "classes.npy": npy(dtype, shape)})
    assert peak_of_loading(tmp_path / "f") < MOST


def test_a_header_of_empty_lists_is_refused(tmp_path):
    text = b'{"suffice": "moments", "format": 1, "sha256": {}, "x": [[]' + b",[]" * 4_000_000
    with zipfile.ZipFile(tmp_path / "f", "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("header.json", text + b"]}")
    assert peak_of_loading(tmp_path / "f") < MOST


def test_many_long_names_are_no_attack(tmp_path):
    names = [f"a rather long name of the column number {j}" for j in range(50_000)]
    x = np.zeros((1, len(names)))
    made = Moments.of(x, [0], storage="diagonal")
    import dataclasses

    named = dataclasses.replace(made, feature_names=tuple(names))
    named.save(tmp_path / "m")
    assert sf.load(tmp_path / "m").feature_names == tuple(names)


def asymmetric(s):
    s["scatter"][1, 0, 2] += 1.0


def negative(s):
    s["scatter"][2, 1, 1] = -1.0


def weight_without_rows(s):
    s["counts"][0] = 0


def rows_without_header(s):
    s["counts"][0] += 1


@pytest.mark.parametrize(
    "change",
    [asymmetric, negative, weight_without_rows, rows_without_header],
    ids=lambda f: f.__name__,
)
def test_sums_that_no_rows_have_are_refused(tmp_path, change):
    arrays = {name: np.array(array) for name, array in arrays_of(GOOD).items()}
    header = header_of(GOOD)
    change(arrays)
    if change is not rows_without_header:
        header["n_rows"] = int(arrays["counts"].sum())
    archive.write(tmp_path / "m", "moments", header, arrays)
    with pytest.raises(FileFormatError, match="field '"):
        sf.load(tmp_path / "m")


@pytest.mark.parametrize("storage", ["pooled", "diagonal"])
def test_a_negative_diagonal_of_any_storage_is_refused(tmp_path, storage):
    m = Moments.of(RNG.normal(size=(40, 3)), RNG.integers(0, 3, 40), storage=storage)
    arrays = {name: np.array(array) for name, array in arrays_of(m).items()}
    arrays["scatter"].flat[0] *= -1
    archive.write(tmp_path / "m", "moments", header_of(m), arrays)
    with pytest.raises(FileFormatError, match="field 'scatter'"):
        sf.load(tmp_path / "m")


@pytest.mark.parametrize("scale", [1e-140, 1e-9, 1.0, 1e9, 1e140])
def test_sums_of_rows_of_any_scale_pass(tmp_path, scale):
    x = RNG.normal(size=(200, 5)) * scale * [1, 1e-6, 1e6, 1, 0] + scale
    m = Moments.of(x, RNG.integers(0, 3, 200), fourth=False)
    (m + m - m).save(tmp_path / "m")
    assert sf.load(tmp_path / "m").n_classes == 3


def test_ten_thousand_classes_load_in_little_memory(tmp_path):
    k = 10_000
    m = Moments.of(np.arange(2.0 * k)[:, None] % 7, np.arange(2 * k) % k, storage="pooled")
    sf.LDA().fit_moments(m).save(tmp_path / "m")
    assert (tmp_path / "m").stat().st_size < 300_000
    tracemalloc.start()
    try:
        sf.load(tmp_path / "m")
        assert tracemalloc.get_traced_memory()[1] < MOST
    finally:
        tracemalloc.stop()


# --- forged models ---------------------------------------------------------------------------


def members_of(path):
    with zipfile.ZipFile(path) as file:
        return {name: file.read(name) for name in file.namelist()}


def reforged(path, change_header=None, **arrays):
    """Write a saved file again with other fields and arrays, and right checksums."""
    import io

    members = members_of(path)
    header = json.loads(members.pop("header.json"))
    header.pop("sha256")
    for name, array in arrays.items():
        buffer = io.BytesIO()
        np.save(buffer, array)
        members[f"{name}.npy"] = buffer.getvalue()
    if change_header is not None:
        change_header(header)
    forged(path, header, members)


def array_of(path, name):
    import io

    return np.load(io.BytesIO(members_of(path)[f"{name}.npy"]))


OUT_OF_RANGE = {
    "shrinkage": 7.0,
    "pooling": -3,
    "temperature": 0,
    "priors": [0.5, 0.7, -0.2],
    "covariance": "round",
    "divisor": "none",
    "missing": "ignored",
    "power": "cube",
    "n_components": -1,
}


@pytest.mark.parametrize("name", OUT_OF_RANGE)
@pytest.mark.parametrize("field", ["settings", "parameters"])
@pytest.mark.parametrize("loading", ["load", "load_classifier"])
def test_settings_out_of_range_are_a_fault_of_the_file(tmp_path, iris, name, field, loading):
    from suffice.persistence.load import load_classifier

    path = tmp_path / "forged.suffice"
    sf.GaussianClassifier().fit(*iris).save(path)

    def change(header):
        header[field][name] = OUT_OF_RANGE[name]

    is_parameter = name in sf.GaussianClassifier().get_params()
    if field == "parameters" and (loading == "load_classifier" or not is_parameter):
        pytest.skip("the settings decide")
    reforged(path, change)
    with pytest.raises(FileFormatError, match=r"forged\.suffice"):
        sf.load(path) if loading == "load" else load_classifier(path)


def test_forged_sums_are_a_fault_of_the_file(tmp_path, iris):
    path = tmp_path / "forged.moments"
    for name, change in {
        "scatter": lambda s: s + 100 * (np.ones((4, 4)) - np.eye(4)),
        "counts": lambda c: c * [0, 1, 1],
        "weights": lambda w: w * [0, 1, 1],
        "means": lambda m: m * 1e200,
        "fourths": lambda f: f * np.inf,
    }.items():
        sf.Moments.of(*iris).save(path)

        def count_again(header, name=name, change=change):
            if name == "counts":
                header["n_rows"] = 100

        reforged(path, count_again, **{name: change(array_of(path, name))})
        with pytest.raises(FileFormatError, match=r"forged\.moments"):
            sf.load(path)


def test_names_that_are_there_twice_are_a_fault_of_the_file(tmp_path, iris):
    path = tmp_path / "forged.moments"
    sf.Moments.of(*iris).save(path)
    reforged(path, lambda header: header.update(feature_names=["a", "b", "a", "c"]))
    with pytest.raises(FileFormatError, match=r"forged.moments.*twice"):
        sf.load(path)


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("priors", lambda a: -a),
        ("priors", lambda a: a * 3),
        ("class_priors", lambda a: a - 1),
        ("factors", lambda a: a * 0),
        ("factors", lambda a: -a),
        ("factors", lambda a: a + np.triu(np.ones(a.shape[1:]), 1)),
        ("group_of", lambda a: a + 99),
    ],
)
def test_forged_mixtures_are_a_fault_of_the_file(tmp_path, iris, name, change):
    path = tmp_path / "forged.suffice"
    sf.MixtureClassifier(n_components=2, random_state=0).fit(*iris).save(path)
    reforged(path)
    assert sf.load(path).score(*iris) > 0.9
    reforged(path, **{name: change(array_of(path, name))})
    with pytest.raises(FileFormatError, match=r"forged\.suffice"):
        sf.load(path)


def test_mixtures_of_shorter_numbers_are_the_same_after_saving_again(tmp_path, iris):
    path = tmp_path / "short.suffice"
    sf.MixtureClassifier(n_components=2, random_state=0).fit(*iris).save(path)
    for name in ("priors", "factors", "offsets", "centre", "class_priors"):
        reforged(path, **{name: array_of(path, name).astype(np.float32)})
    loaded = sf.load(path)
    posterior = loaded.predict_proba(iris[0])
    assert posterior.dtype == np.float64
    loaded.save(tmp_path / "again.suffice")
    again = sf.load(tmp_path / "again.suffice").predict_proba(iris[0])
    np.testing.assert_array_equal(again, posterior)


def test_a_table_with_a_column_twice_is_refused_before_it_is_summed(iris):
    import pandas as pd

    X, y = iris
    frame = pd.DataFrame(X, columns=["a", "b", "a", "c"])
    with pytest.raises(sf.errors.InvalidInputError, match="'a'"):
        sf.Moments.of(frame, y)
    with pytest.raises(sf.errors.InvalidInputError, match="'a'"):
        sf.LDA().fit(frame, y)


def test_a_parameter_set_out_of_range_after_the_fit_is_not_saved(tmp_path, iris):
    fitted = sf.GaussianClassifier().fit(*iris).set_params(shrinkage=7.0)
    with pytest.raises(sf.errors.InvalidParameterError, match="shrinkage"):
        fitted.save(tmp_path / "m")
    assert not (tmp_path / "m").exists()


@pytest.fixture(scope="module")
def averaged(tmp_path_factory):
    """Return the file of an average with a forest, boosted trees and a logistic regression."""
    from sklearn.datasets import load_wine

    X, y = load_wine(return_X_y=True)
    path = tmp_path_factory.mktemp("averaged") / "whole.suffice"
    sf.AutoClassifier(random_state=0).fit(X[::3], y[::3]).save(path)
    return path


def is_array(name):
    def of(members):
        return sorted(m.removesuffix(".npy") for m in members if m.endswith(f".{name}.npy"))

    return of


@pytest.mark.parametrize(
    ("part", "change"),
    [
        ("left", lambda a: np.maximum(a - 1, 0)),  # a cycle, in which no row would arrive
        ("left", lambda a: a + 10**6),
        ("left", lambda a: a[:-1]),
        ("left", lambda a: a.astype(float)),
        ("right", lambda a: a - 10**6),
        ("feature", lambda a: a + 1000),
        ("feature", lambda a: -a - 1),
        ("roots", lambda a: a + 10**7),
        ("roots", lambda a: a - 10**7),
        ("threshold", lambda a: a[:-1]),
        ("threshold", lambda a: a * np.nan),
        ("shares", lambda a: a * 2),
        ("shares", lambda a: a - 1),
        ("shares", lambda a: a[:, :-1]),
    ],
)
def test_forged_trees_are_a_fault_of_the_file(tmp_path, averaged, part, change):
    names = is_array(part)(members_of(averaged))
    assert names
    path = tmp_path / "forged.suffice"
    path.write_bytes(averaged.read_bytes())
    reforged(path)
    sf.load(path)
    reforged(path, **{name: change(array_of(path, name)) for name in names})
    with pytest.raises(FileFormatError, match=r"forged\.suffice"):
        sf.load(path)


@pytest.mark.parametrize(
    ("part", "change"),
    [
        ("value", lambda a: a + np.inf),
        ("value", lambda a: a[:-1]),
        ("class_of_tree", lambda a: a + 3),
        ("class_of_tree", lambda a: a - 3),
        ("class_of_tree", lambda a: a[:-1]),
        ("baseline", lambda a: a + np.nan),
        ("baseline", lambda a: a[:-1]),
        ("right", lambda a: a * 0),
    ],
)
def test_forged_boosted_trees_are_refused(part, change):
    from suffice.core.model.trees import BoostedTrees
    from suffice.persistence.trees import refuse_unsound_trees

    trees = BoostedTrees(
        roots=np.array([0, 3]),
        left=np.array([1, 1, 2, 3]),
        right=np.array([2, 1, 2, 3]),
        feature=np.array([1, 0, 0, 0]),
        threshold=np.array([0.5, 0.0, 0.0, 0.0]),
        value=np.array([0.0, 1.0, -1.0, 0.1]),
        class_of_tree=np.array([0, 2]),
        baseline=np.zeros(3),
    )
    refuse_unsound_trees(trees, n_features=2, n_classes=3)
    forged = replace(trees, **{part: change(getattr(trees, part))})
    with pytest.raises(FileFormatError, match="invalid nodes"):
        refuse_unsound_trees(forged, n_features=2, n_classes=3)


def without_a_choice(header):
    header["choices"] = header["choices"][1:]


def with_negative_weights(header):
    for choice in header["choices"]:
        choice["weight"] -= 1 / 3
    header["choices"][0]["weight"] += len(header["choices"]) / 3


@pytest.mark.parametrize(
    "change",
    [
        without_a_choice,
        with_negative_weights,
        lambda header: header["choices"][-1].update(error={"a": 1}),
        lambda header: header["choices"][-1].update(log_loss="0.5"),
        lambda header: header["choices"][-1].pop("log_loss_se"),
        lambda header: header["choices"][0].update(pooling=[1]),
        lambda header: header.update(temperature=0.0),
        lambda header: header.update(temperature=float("nan")),
        lambda header: header.update(doubt=-0.1),
        lambda header: header.update(doubt=7),
        lambda header: header["outsiders"]["extra trees"].update(doubt=-1.5),
    ],
)
def test_forged_averages_are_a_fault_of_the_file(tmp_path, averaged, change):
    path = tmp_path / "forged.suffice"
    path.write_bytes(averaged.read_bytes())
    reforged(path, change)
    with pytest.raises(FileFormatError, match=r"forged\.suffice"):
        sf.load(path)


def kernel_of(header):
    return next(view for view in header["views"] if view["kind"] == "kernel")


@pytest.mark.parametrize(
    "change",
    [
        lambda header: kernel_of(header).update(width=""),
        lambda header: kernel_of(header).update(width=None),
        lambda header: kernel_of(header).update(width=-0.5),
        lambda header: kernel_of(header).update(kernel="Cauchy"),
        lambda header: kernel_of(header).update(mixing=0.6),
    ],
)
def test_forged_kernels_are_a_fault_of_the_file(tmp_path, averaged, change):
    path = tmp_path / "forged.suffice"
    path.write_bytes(averaged.read_bytes())
    reforged(path, change)
    with pytest.raises(FileFormatError, match=r"forged\.suffice"):
        sf.load(path)


@pytest.mark.parametrize(
    ("part", "change"),
    [
        ("landmarks", lambda a: a[:, :-1]),
        ("landmarks", lambda a: a * np.nan),
        ("centre", lambda a: a[:-1]),
        ("scale", lambda a: -a),
    ],
)
def test_forged_landmarks_are_a_fault_of_the_file(tmp_path, averaged, part, change):
    path = tmp_path / "forged.suffice"
    path.write_bytes(averaged.read_bytes())
    names = [
        name
        for name in is_array(part)(members_of(path))
        if re.match(r"view\d+\.[a-z]+$", name)
    ]
    assert names
    reforged(path, **{name: change(array_of(path, name)) for name in names})
    with pytest.raises(FileFormatError, match=r"forged\.suffice"):
        sf.load(path)


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("frequencies", lambda a: a * 2),
        ("frequencies", lambda a: np.array([1.5, -0.5, 0.0])),
        ("varying", lambda a: a - 3),
    ],
)
def test_forged_shares_of_averages_are_a_fault_of_the_file(tmp_path, averaged, name, change):
    path = tmp_path / "forged.suffice"
    path.write_bytes(averaged.read_bytes())
    reforged(path, **{name: change(array_of(path, name))})
    with pytest.raises(FileFormatError, match=r"forged\.suffice"):
        sf.load(path)


@pytest.mark.parametrize(
    ("column", "field", "value"),
    [
        (1, "other", -0.5),
        (1, "missing", 1),
        (1, "other", None),
        (1, "levels", ["a", 2]),
        (0, "fill", "2"),
        (0, "fill", True),
        (0, "fill", float("inf")),
        (0, "fill", [1.0]),
        (0, "name", None),
    ],
)
def test_forged_schemas_are_a_fault_of_the_file(tmp_path, column, field, value):
    path = tmp_path / "forged.moments"
    x = np.column_stack([RNG.normal(size=40).astype(object), np.repeat(["a", "b"], 20)])
    sf.Moments.of(x, np.tile([0, 1], 20), names=["x", "c"], missing="indicator").save(path)
    reforged(path)
    sf.load(path)
    reforged(path, lambda header: header["schema"][column].update({field: value}))
    with pytest.raises(FileFormatError, match=r"forged\.moments"):
        sf.load(path)
