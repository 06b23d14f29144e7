"""Files of every format version still load, and say what they said."""

import importlib.util
import json
from pathlib import Path

import numpy as np
import pytest

import suffice as sf
from suffice.estimators.answering import NAMES
from suffice.files import load_answering

HERE = Path(__file__).parent
FOLDERS = sorted(HERE.glob("format-*"))


def _make():
    """Return the script that wrote the files, for the rows and the questions it asked."""
    spec = importlib.util.spec_from_file_location("make", HERE / "make.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


MAKE = _make()


def files(ending):
    return [pytest.param(p, id=p.stem) for folder in FOLDERS for p in sorted(folder.glob(ending))]


def expected(path, kind):
    return json.loads((path.parent / "expected.json").read_text())[kind][path.stem]


def assert_same(found, known):
    assert found.keys() == known.keys()
    for name, values in known.items():
        if np.asarray(values).dtype.kind in "fi":
            np.testing.assert_allclose(found[name], values, rtol=1e-12, atol=1e-12, err_msg=name)
        else:
            assert found[name] == values


@pytest.mark.parametrize("path", files("*.suffice"))
def test_a_model_of_an_older_version_answers_as_it_did(path):
    assert_same(MAKE.answers(sf.load(path)), expected(path, "models"))


@pytest.mark.parametrize("path", files("*.moments"))
def test_moments_of_an_older_version_are_the_same(path):
    assert_same(MAKE.sums(sf.load(path)), expected(path, "moments"))


@pytest.mark.parametrize("path", files("*.suffice"))
def test_what_only_answers_says_the_same(path):
    quick, known = load_answering(path), expected(path, "models")
    gaussian = type(sf.load(path)).__name__ in NAMES
    assert (type(quick).__name__ == "Answering") == gaussian
    assert quick.predict(MAKE.NEW).tolist() == known["predict"]
    for name in {"predict_proba", "log_density"} & known.keys():
        np.testing.assert_allclose(getattr(quick, name)(MAKE.NEW), known[name], rtol=1e-12)


@pytest.mark.parametrize("path", files("*.suffice"))
def test_a_model_that_is_loaded_and_saved_is_the_same_file(path, tmp_path):
    again = tmp_path / "again.suffice"
    sf.load(path).save(again)
    assert_same(MAKE.answers(sf.load(again)), expected(path, "models"))


def test_every_estimator_that_saves_has_a_golden_file():
    from suffice.estimators.files import FORMS

    saved = {type(sf.load(p.values[0])).__name__ for p in files("*.suffice")}
    assert set(FORMS) | {"AutoGaussian"} == saved
