"""What a command imports: predicting needs none of the large packages."""

import subprocess
import sys
from pathlib import Path

import pytest

import suffice as sf

GOLDEN = Path(__file__).parent.parent / "golden"
MODELS = ["lda", "qda", "nb", "rda", "costs", "transform", "predictive", "debiased", "edda-auto"]
MODELS += ["least-squares", "logistic", "perceptron", "auto"]
HEAVY = {"sklearn", "pandas", "matplotlib", "numba"}


def imported_by(*args, code=0):
    """Return the packages that a run of the command, which ends with a code, has imported."""
    script = (
        "import sys\n"
        "from suffice.cli.group import suffice\n"
        f"sys.argv = ['suffice', *{args!r}]\n"
        "try:\n    suffice()\nexcept SystemExit as leaving:\n"
        f"    assert (leaving.code or 0) == {code}\n"
        "print('IMPORTED', *{name.partition('.')[0] for name in sys.modules})"
    )
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    return set(result.stdout.split("IMPORTED")[-1].split())


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("name", MODELS)
def test_predicting_imports_no_large_package(name, version, tmp_path):
    model = GOLDEN / f"format-{version}" / f"{name}.suffice"
    rows = tmp_path / "rows.csv"
    rows.write_text("a,b,c,d\n5.1,3.5,1.4,0.2\n6.3,3.3,6.0,2.5\n")
    found = imported_by("predict", str(model), str(rows), "-o", str(tmp_path / "out.csv"))
    assert not found & HEAVY
    answers = (tmp_path / "out.csv").read_text().splitlines()
    assert len(answers) == 3


def test_sampling_imports_no_large_package(tmp_path):
    model = str(GOLDEN / "format-2" / "lda.suffice")
    assert not imported_by("sample", model, "-n", "3", "-o", str(tmp_path / "o.csv")) & HEAVY


@pytest.mark.parametrize("words", [["--help"], ["plot", "--help"], ["report", "--help"]])
def test_help_imports_not_even_numpy(words):
    assert not imported_by(*words) & (HEAVY | {"numpy", "polars"})


def test_a_page_that_is_there_is_refused_before_anything_is_imported(tmp_path):
    page = tmp_path / "page.html"
    page.write_text("kept")
    assert not imported_by("report", "iris", "-o", str(page), code=1) & HEAVY
    assert page.read_text() == "kept"


def test_a_classifier_is_loaded_without_scikit_learn():
    code = (
        "import sys; from suffice.files import load_classifier;"
        f"load_classifier({str(GOLDEN / 'format-2' / 'auto.suffice')!r});"
        f"assert not {HEAVY!r} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
    assert isinstance(sf.load(GOLDEN / "format-2" / "auto.suffice"), sf.AutoGaussian)
