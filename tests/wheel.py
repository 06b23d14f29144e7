"""Install the wheel of a folder in an environment of its own, and use it far from the checkout.

``python tests/wheel.py dist .venv-plain`` keeps the environment; without its name it is removed.
"""

import subprocess
import sys
import tempfile
import venv
from pathlib import Path

SMOKE = """
import numpy as np
import suffice as sf
assert "site-packages" in sf.__file__, sf.__file__
X, y = sf.datasets.load("iris").arrays()
model = sf.LDA().fit(X, y)
model.save("lda.suffice")
again = sf.load("lda.suffice")
np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
assert (model.predict(X) != y).sum() == 3  # of Fisher's 150 flowers
"""
COMMANDS = [
    ("--version",),
    ("fit", "iris", "-o", "qda.suffice", "-m", "qda"),
    ("predict", "qda.suffice", "iris", "-o", "answers.csv"),
    ("report", "iris", "--fast", "-o", "report.html"),
]


def main(dist: Path, environment: Path) -> None:
    (wheel,) = dist.glob("*.whl")
    python = environment / "bin" / "python"
    venv.create(environment, with_pip=True)
    subprocess.run(
        [python, "-m", "pip", "install", "--quiet", "--no-compile", wheel], check=True
    )
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([python, "-I", "-c", SMOKE], cwd=folder, check=True)
        for arguments in COMMANDS:
            subprocess.run(
                [python, "-I", "-m", "suffice", *arguments],
                cwd=folder,
                check=True,
                stdout=subprocess.DEVNULL,
            )
        lines = Path(folder, "answers.csv").read_text().splitlines()
        assert len(lines) == 151, "predict answers 150 rows under a header"
        assert "<html" in Path(folder, "report.html").read_text()
    print(f"{wheel.name}: the wheel alone fits, saves, predicts and reports")


if __name__ == "__main__":
    if len(sys.argv) > 2:
        main(Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve())
    else:
        with tempfile.TemporaryDirectory() as place:
            main(Path(sys.argv[1]).resolve(), Path(place) / "environment")
