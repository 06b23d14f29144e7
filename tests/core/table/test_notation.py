"""How columns were written: kept in sums and models, merged without loss, checked in files."""

import json
import zipfile
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import suffice as sf
from suffice.core.table.notation import Notation, Notations, merged_notations
from suffice.errors import FileFormatError
from suffice.persistence.load import load_classifier

GERMAN = Notation(decimal=",", thousands=".")
NOTATIONS = st.builds(
    Notation,
    decimal=st.sampled_from(["", ".", ","]),
    thousands=st.sampled_from(["", " "]),
    percent=st.booleans(),
)
COLUMNS = st.dictionaries(st.sampled_from("abc"), NOTATIONS, max_size=3)


def _moments(notation: Notation) -> sf.Moments:
    x = np.array([[1.0], [2.0], [4.0], [5.0]])
    return replace(
        sf.Moments.of(x, ["no", "no", "yes", "yes"], names=["income"]),
        feature_names=("income",),
        notations=Notations.of({"income": notation}),
    )


@given(COLUMNS, COLUMNS, COLUMNS)
def test_merging_notations_is_associative_and_commutative(a, b, c):
    x, y, z = (Notations.of(columns) for columns in (a, b, c))
    left = merged_notations(merged_notations(x, y), z)
    right = merged_notations(x, merged_notations(z, y))
    assert left == right
    assert left.common() == right.common()


@given(COLUMNS, COLUMNS)
def test_json_gives_the_same_notations_back(a, b):
    notations = Notations.of(a).merged(Notations.of(b))
    assert Notations.from_json(json.loads(json.dumps(notations.to_json()))) == notations


def test_files_that_lack_marks_do_not_contradict_those_that_have_them():
    both = Notations.of({"x": GERMAN}).merged(Notations.of({"x": Notation()}))
    assert both.common() == {"x": GERMAN}


@pytest.mark.parametrize(
    "other",
    [Notation(decimal="."), Notation(decimal=",", thousands="'"), Notation(kind="date")],
)
def test_files_that_contradict_each_other_have_no_common_notation(other):
    both = Notations.of({"x": GERMAN}).merged(Notations.of({"x": other}))
    assert both.common() == {}


def test_sums_and_models_keep_the_notation_of_their_columns(tmp_path):
    total = _moments(GERMAN) + _moments(GERMAN)
    total.save(tmp_path / "a.moments")
    loaded = sf.load(tmp_path / "a.moments")
    assert (loaded - _moments(GERMAN)).notations.common() == {"income": GERMAN}
    sf.LDA().fit_moments(loaded).save(tmp_path / "a.suffice")
    assert load_classifier(tmp_path / "a.suffice").notations.common() == {"income": GERMAN}
    assert sf.load(tmp_path / "a.suffice").model_.notations.common() == {"income": GERMAN}


@pytest.mark.parametrize(
    "document",
    [
        [{"decimal": ";", "columns": ["income"]}],
        [{"decimal": 1, "columns": ["income"]}],
        [{"kind": "verse", "columns": ["income"]}],
        [{"colour": "red", "columns": ["income"]}],
        [{"columns": [1]}],
        [{}],
        [3],
        7,
    ],
)
def test_a_forged_notation_is_refused(tmp_path, document):
    path = tmp_path / "a.moments"
    _moments(GERMAN).save(path)
    with zipfile.ZipFile(path) as file:
        members = {name: file.read(name) for name in file.namelist()}
    header = json.loads(members["header.json"])
    header["notations"] = document
    members["header.json"] = json.dumps(header).encode()
    with zipfile.ZipFile(path, "w") as file:
        for name, data in members.items():
            file.writestr(name, data)
    with pytest.raises(FileFormatError, match="notation"):
        sf.load(path)
