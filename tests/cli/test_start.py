"""What a command imports: predicting needs none of the large packages."""

import subprocess
import sys
from pathlib import Path

import pytest

import suffice as sf

pytestmark = pytest.mark.slow
GOLDEN = Path(__file__).parent.parent / "persistence" / "golden"
MODELS = [
    "lda",
    "qda",
    "nb",
    "rda",
    "costs",
    "transform",
    "predictive",
    "edda-auto",
]
MODELS += ["least-squares", "logistic", "perceptron", "auto"]
HEAVY = {"sklearn", "pandas", "matplotlib", "numba"}
PARTS = {"scipy.linalg", "scipy.special", "urllib.request"}  # of packages, that take long, too


def imported_by(*args, code=0):
    """Return the packages that a run of the command, which ends with a code, has imported."""
    return imported_by_each([args], code)[0]


def imported_by_each(runs, code=0):
    """Return the packages that one process has imported after each of several runs."""
    script = (
        "import sys\n"
        "from suffice.cli.group import suffice\n"
        f"for args in {[list(args) for args in runs]!r}:\n"
        "    sys.argv = ['suffice', *args]\n"
        "    try:\n        suffice()\n    except SystemExit as leaving:\n"
        f"        assert (leaving.code or 0) == {code}, args\n"
        "    names = {name.partition('.')[0] for name in sys.modules}\n"
        f"    print('\\nIMPORTED', *names, *{PARTS!r} & set(sys.modules))"
    )
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    lines = [line for line in result.stdout.splitlines() if line.startswith("IMPORTED")]
    assert len(lines) == len(runs)
    return [set(line.split()[1:]) for line in lines]


def test_predicting_imports_no_large_package(tmp_path):
    """What one model imports stays imported: the first in the order of MODELS is at fault."""
    rows = tmp_path / "rows.csv"
    rows.write_text("a,b,c,d\n5.1,3.5,1.4,0.2\n6.3,3.3,6.0,2.5\n")
    stored = GOLDEN / "format-1"
    runs = [
        [
            "predict",
            str(stored / f"{name}.suffice"),
            str(rows),
            "-o",
            str(tmp_path / f"{name}.csv"),
        ]
        for name in MODELS
    ]
    found = dict(zip(MODELS, imported_by_each(runs), strict=True))
    assert {name for name, packages in found.items() if packages & HEAVY} == set()
    early = MODELS[: MODELS.index("predictive")]  # which needs the gamma function
    assert {name for name in early if found[name] & PARTS} == set()
    for name in MODELS:
        assert len((tmp_path / f"{name}.csv").read_text().splitlines()) == 3


def test_sampling_imports_no_large_package(tmp_path):
    model = str(GOLDEN / "format-1" / "lda.suffice")
    assert not imported_by("sample", model, "-n", "3", "-o", str(tmp_path / "o.csv")) & HEAVY


def test_help_imports_not_even_numpy():
    asked = [["--help"], ["plot", "--help"], ["report", "--help"]]
    for words, packages in zip(asked, imported_by_each(asked), strict=True):
        assert not packages & (HEAVY | {"numpy", "polars"}), words


def test_a_page_that_is_there_is_refused_before_anything_is_imported(tmp_path):
    page = tmp_path / "page.html"
    page.write_text("kept")
    assert not imported_by("report", "iris", "-o", str(page), code=1) & HEAVY
    assert page.read_text() == "kept"


def test_a_classifier_is_loaded_without_scikit_learn():
    code = (
        "import sys; from suffice.persistence.load import load_classifier;"
        f"load_classifier({str(GOLDEN / 'format-1' / 'auto.suffice')!r});"
        f"assert not {HEAVY!r} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
    assert isinstance(sf.load(GOLDEN / "format-1" / "auto.suffice"), sf.AutoGaussian)


def test_lapack_is_loaded_once_and_alone():
    code = (
        "import sys; from suffice.core import linalg; assert 'scipy.linalg' not in sys.modules;"
        "from scipy.linalg import eigh, lapack; assert lapack.dpotrf is linalg.lapack.dpotrf;"
        "assert eigh([[2.0, 0.0], [0.0, 1.0]])[0].tolist() == [1.0, 2.0]"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
