"""Files of every format version still load, and say what they said."""

import importlib.util
import json
from pathlib import Path

import numpy as np
import pytest

import suffice as sf
from suffice.persistence.archive import FORMAT_VERSION
from suffice.persistence.load import AVERAGED, GAUSSIAN, LINEAR, MIXTURE, load_classifier

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
    return [
        pytest.param(path, id=f"{folder.name}-{path.stem}")
        for folder in FOLDERS
        for path in sorted(folder.glob(ending))
    ]


def expected(path, kind):
    return json.loads((path.parent / "expected.json").read_text())[kind][path.stem]


def assert_same(found, known):
    assert found.keys() == known.keys()
    for name, values in known.items():
        if name == "decision_function" and np.ndim(values) == 2:
            # only differences between classes are meant: what all classes share was moved
            spread = [
                np.subtract(a, np.mean(a, axis=1, keepdims=True))
                for a in (found[name], values)
            ]
            np.testing.assert_allclose(*spread, rtol=1e-12, atol=1e-11, err_msg=name)
        elif np.asarray(values).dtype.kind in "fi":
            np.testing.assert_allclose(
                found[name], values, rtol=1e-12, atol=1e-12, err_msg=name
            )
        else:
            assert found[name] == values


@pytest.mark.parametrize("path", files("*.suffice"))
def test_a_model_of_an_older_version_answers_as_it_did(path):
    assert_same(MAKE.answers(sf.load(path)), expected(path, "models"))


@pytest.mark.parametrize("path", files("*.moments"))
def test_moments_of_an_older_version_are_the_same(path):
    assert_same(MAKE.sums(sf.load(path)), expected(path, "moments"))


@pytest.mark.parametrize("path", files("*.suffice"))
def test_the_classifier_alone_says_the_same(path):
    classifier, known = load_classifier(path), expected(path, "models")
    assert classifier.predict(MAKE.NEW).tolist() == known["predict"]
    assert classifier.has_posterior == ("predict_proba" in known)
    assert classifier.has_density == ("log_density" in known)
    for name, verb in {"predict_proba": "posterior", "log_density": "log_density"}.items():
        if name in known:
            found = getattr(classifier, verb)(MAKE.NEW)
            np.testing.assert_allclose(found, known[name], rtol=1e-12)


@pytest.mark.parametrize("path", files("*.suffice"))
def test_a_model_that_is_loaded_and_saved_is_the_same_file(path, tmp_path):
    again = tmp_path / "again.suffice"
    sf.load(path).save(again)
    assert_same(MAKE.answers(sf.load(again)), expected(path, "models"))


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_every_estimator_that_saves_has_a_golden_file(folder):
    saved = {type(sf.load(path)).__name__ for path in folder.glob("*.suffice")}
    assert {*GAUSSIAN, *LINEAR, *AVERAGED, *MIXTURE} == saved


def test_the_newest_format_has_golden_files():
    assert FOLDERS[-1].name == f"format-{FORMAT_VERSION}"
