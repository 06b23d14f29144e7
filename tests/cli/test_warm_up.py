"""After ``suffice warm-up`` everyday commands compile nothing."""

import subprocess
import sys

import pytest

# one process, so that what it has compiled, or found compiled, is seen signature by signature
COMMANDS = """
from click.testing import CliRunner
from suffice import datasets
from suffice.cli.group import suffice
from suffice.core import compiled

def known_after(*args):
    done = CliRunner().invoke(suffice, args)
    assert done.exit_code == 0, done.output
    functions = compiled.COMPILED_FUNCTIONS
    return {(str(function), s) for function in functions for s in function.signatures}

lines = datasets.load("iris").path.read_text().splitlines()
with open("many.csv", "w") as file:
    file.write("\\n".join([lines[0], *lines[1:] * 200]) + "\\n")
warm = known_after("warm-up")
assert len(warm) > 10, warm
assert all(function._cache.cache_path for function in compiled.COMPILED_FUNCTIONS)
learn = "many.csv", "-t", "species", "-o"
assert known_after("summarize", *learn, "m.moments") == warm
for model in ("lda", "qda", "nb", "logistic"):
    assert known_after("fit", *learn, f"{model}.suffice", "-m", model) == warm, model
    predict = "predict", f"{model}.suffice", "many.csv", "-o", f"{model}.csv"
    assert known_after(*predict) == warm, model
"""


@pytest.mark.slow
def test_commands_after_a_warm_up_compile_nothing(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", COMMANDS], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
