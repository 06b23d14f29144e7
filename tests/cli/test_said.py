"""What is printed is safe to print, and speaks of the command line."""

from pathlib import Path

import numpy as np
import pytest

import suffice as sf

EVIL = "\x1b]0;owned\x07\x1b[31mred"


@pytest.mark.parametrize("args", [("show", "m.moments"), ("boundary", "m.suffice", "a", "zz")])
def test_labels_cannot_steer_the_terminal(run, args):
    x = np.array([[1.0], [2.0], [3.5], [2.5], [4.0]])
    m = sf.Moments.of(x, ["a", "a", EVIL, EVIL, "a"])
    m.save("m.moments")
    sf.LDA().fit_moments(m).save("m.suffice")
    said = run(*args)
    both = said.stdout + said.stderr
    assert "\x1b" not in both
    assert "\x07" not in both
    assert r"\x1b" in both


def test_file_names_and_columns_cannot_either(run):
    Path("d.csv").write_text(f"x,{EVIL},kind\n" + "1,t,a\n2,u,b\n3,t,a\n4,u,b\n")
    said = run("summarize", "d.csv", "-t", "kind", "-o", f"{EVIL}.moments")
    assert "\x1b" not in said.stdout + said.stderr
    assert "\x1b" not in run("show", f"{EVIL}.suffice").stderr


@pytest.mark.parametrize(
    "address",
    [
        "postgresql://eve:s3cret@localhost/db",
        "postgresql://eve:s3%40cret@localhost:5432/db?sslmode=require",
        "postgresql://localhost/db?user=eve&password=s3cret",
        "host=localhost password=s3cret dbname=d",
        "host=localhost password='s3 cret' dbname=d",
    ],
)
@pytest.mark.parametrize("command", ["summarize", "fit", "report", "compare"])
def test_passwords_are_never_echoed(run, address, command):
    said = run(command, address, "-t", "y", "-o", "out.html")
    assert said.exit_code == 1
    assert "cret" not in said.stdout + said.stderr


@pytest.mark.parametrize("command", ["fit", "report", "compare", "summarize"])
def test_a_data_set_that_is_nearly_named_is_suggested(refused, command):
    line = refused(command, "iriss", "-o", "out.html" if command == "report" else "out.csv")
    assert "did you mean 'iris'?" in line


@pytest.mark.parametrize("command", ["sample", "report", "compare"])
def test_a_negative_seed_is_a_usage_error(ok, refused, command):
    ok("fit", "exam", "-o", "m.suffice")
    name = "m.suffice" if command == "sample" else "exam"
    assert "--seed" in refused(command, name, "--seed", "-1", code=2)


def test_messages_name_the_setting_and_what_was_given(refused):
    Path("d.csv").write_text(
        "x,y,kind\n" + "".join(f"{i},{i * i},{'ab'[i % 2]}\n" for i in range(9))
    )
    line = refused("compare", "d.csv", "-t", "kind", "-m", "nonsense")
    assert "'nonsense'" in line
    line = refused("fit", "d.csv", "-t", "kind", "-o", "m", "--shrinkage", "7")
    assert "shrinkage" in line
    assert "7" in line
    line = refused(
        "fit", "d.csv", "-t", "kind", "-o", "m", "-m", "gaussian", "--covariance", "VVX"
    )
    assert "covariance" in line
    assert "'VVX'" in line


def test_a_file_merged_twice_is_refused_and_a_copy_is_pointed_out(ok, run, refused):
    ok("summarize", "iris", "-o", "a.moments")
    line = refused("merge", "a.moments", "./a.moments", "-o", "b.moments")
    assert "a.moments is named twice, and its rows would count twice: name it once" in line
    Path("link.moments").symlink_to("a.moments")
    line = refused("merge", "a.moments", "link.moments", "-o", "b.moments")
    assert "link.moments is named twice, also as a.moments, and its rows would count" in line
    Path("copy.moments").write_bytes(Path("a.moments").read_bytes())
    said = run("merge", "a.moments", "copy.moments", "-o", "b.moments")
    assert said.exit_code == 0
    assert "the same sums as" in said.stderr


def test_a_model_and_the_sums_it_was_fitted_to_are_the_same_rows(run, ok):
    ok("summarize", "iris", "-o", "iris.moments")
    ok("fit", "iris", "-o", "iris.suffice")
    said = run("merge", "iris.moments", "iris.suffice", "-o", "b.moments")
    assert "iris.suffice holds the same sums as iris.moments" in " ".join(said.stderr.split())
