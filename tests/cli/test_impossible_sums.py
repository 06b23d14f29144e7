"""Commands neither write sums that cannot be loaded, nor forget rows that were never added."""

from pathlib import Path

import numpy as np

import suffice as sf


def test_files_whose_sums_overflow_are_not_merged(refused, ok, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    near = sf.Moments.of(np.array([[0.0], [1.0], [2.0], [3.0]]), ["u", "u", "v", "v"])
    near.save("near.moments")
    for number in range(20):
        far = sf.Moments.of(np.array([[5e153 + number * 1e150]]), ["u"], classes=["u", "v"])
        far.save(f"far{number:02}.moments")
    names = sorted(path.name for path in tmp_path.glob("far*"))
    ok("merge", "near.moments", names[0], "-o", "two.moments")
    line = refused("merge", "near.moments", *names, "-o", "all.moments")
    assert "rescale" in line
    assert not Path("all.moments").exists()


def test_rows_that_were_never_added_are_not_forgotten(refused, ok):
    Path("rows.csv").write_text("x,y\n1,u\n2,u\n3,v\n4,v\n")
    Path("others.csv").write_text("x,y\n11,u\n12,u\n13,v\n14,v\n")
    ok("summarize", "rows.csv", "-t", "y", "-o", "m.moments")
    before = Path("m.moments").read_bytes()
    line = refused("forget", "m.moments", "others.csv", "-t", "y", "-o", "rest.moments")
    assert "cannot forget 2 rows of class 'u': the sums also have 2 rows of this class" in line
    assert (
        "but with mean 1.5 in column 'x' instead of 11.5. Some of the rows to forget" in line
    )
    assert not Path("rest.moments").exists()
    assert Path("m.moments").read_bytes() == before


def test_a_shell_may_replace_a_pattern_by_several_files(ok):
    Path("a.csv").write_text("x,y\n1,u\n2,u\n3,v\n4,v\n")
    Path("b.csv").write_text("x,y\n11,u\n12,u\n13,v\n14,v\n")
    ok("summarize", "a.csv", "b.csv", "-t", "y", "-o", "named.moments")
    ok("summarize", "*.csv", "-t", "y", "-o", "pattern.moments")
    assert sf.load("named.moments").counts.tolist() == [4, 4]
    assert Path("named.moments").read_bytes() == Path("pattern.moments").read_bytes()


def test_help_says_what_happens_to_rows_with_missing_values(ok):
    text = " ".join(ok("predict", "--help").split())
    assert "A row with missing values is predicted from its other" in text


def test_one_feature_is_called_one_feature(run):
    Path("a.csv").write_text("x,y\n1,u\n2,u\n3,v\n4,v\n")
    assert "a grid of 1 feature\n" in run("grid", "a.csv", "-t", "y", "-o", "g.json").stderr
