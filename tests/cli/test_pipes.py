"""A reader that leaves after the first line gets a whole result; links that loop are named."""

import subprocess
import sys

import pytest

COMMAND = [sys.executable, "-c", "from suffice.cli import main; main()"]


@pytest.mark.slow
@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("arguments", [["show", "m.suffice"], ["drift", "m.suffice", "iris"]])
def test_a_reader_of_the_first_line_leaves_no_trace(tmp_path, arguments, unbuffered):
    import os

    environment = {**os.environ, "PYTHONUNBUFFERED": unbuffered}
    fit = [*COMMAND, "fit", "iris", "-o", "m.suffice", "-q"]
    subprocess.run(fit, cwd=tmp_path, env=environment, check=True)
    writer = subprocess.Popen(
        [*COMMAND, *arguments],
        cwd=tmp_path,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert writer.stdout is not None
    assert writer.stderr is not None
    assert writer.stdout.read(1)  # as head, which reads what is there and leaves
    writer.stdout.close()
    assert writer.stderr.read() == b""
    writer.stderr.close()
    assert writer.wait() == 0


@pytest.mark.slow
def test_a_named_pipe_whose_reader_leaves_is_a_broken_pipe(tmp_path):
    import os

    fit = [*COMMAND, "fit", "iris", "-o", "m.suffice", "-q"]
    subprocess.run(fit, cwd=tmp_path, check=True)
    names = "sepal_length,sepal_width,petal_length,petal_width\n"
    (tmp_path / "rows.csv").write_text(names + "5,3,1,0\n" * 20_000)
    os.mkfifo(tmp_path / "out.csv")
    writer = subprocess.Popen(
        [*COMMAND, "predict", "m.suffice", "rows.csv", "-o", "out.csv"],
        cwd=tmp_path,
        stderr=subprocess.PIPE,
    )
    with (tmp_path / "out.csv").open("rb") as reader:
        assert reader.read(5) == b"label"
    assert writer.stderr is not None
    assert b"Broken pipe" not in writer.stderr.read()
    writer.stderr.close()
    assert writer.wait() == 141


def test_a_link_to_itself_is_named(tmp_path):
    import suffice as sf
    from suffice.errors import InvalidInputError

    (tmp_path / "loop.csv").symlink_to(tmp_path / "loop.csv")
    with pytest.raises(InvalidInputError, match=r"loop\.csv is a link that leads to no file"):
        sf.summarize(tmp_path / "loop.csv", target="y")
