"""Bad input ends in one line on standard error that names what and the cure, and exit code 1."""

import errno

import numpy as np
import polars as pl
import pytest

import suffice as sf
from suffice import datasets
from suffice.persistence import archive


@pytest.fixture
def iris(ok):
    ok("fit", "iris", "-o", "iris.suffice", "--quiet")
    return "iris.suffice"


@pytest.fixture
def write(tmp_path):
    def write(text, name="d.csv"):
        (tmp_path / name).write_text(text)
        return name

    return write


CASES = {
    "missing file": (["nothing.csv"], "", "there is no file 'nothing.csv'"),
    "missing dataset": (["iriss"], "", "did you mean 'iris'?"),
    "unknown column": (["d.csv", "-t", "kindd"], "x,kind\n1,a\n2,b\n", "did you mean 'kind'?"),
    "unknown feature": (
        ["d.csv", "-t", "kind", "-f", "y"],
        "x,kind\n1,a\n2,b\n",
        "has no column 'y'",
    ),
    "one class": (["d.csv", "-t", "kind"], "x,kind\n1,a\n2,a\n", "needs at least 2 classes"),
    "regression": (
        ["d.csv", "-t", "y"],
        "x,y\n" + "".join(f"{i},{i}.5\n" for i in range(200)),
        "looks like regression: cut the target into a few classes",
    ),
    "empty": (["d.csv"], "", "is empty"),
    "mixed": (["d.csv", "-t", "t"], "x,t\n1,a\n2,b\noops,b\n3,a\n", "mixes numbers and text"),
    "wrong delimiter": (["d.csv"], "a^t\n1^a\n2^b\n", "name that character as the delimiter"),
    "no target": (["d.csv"], "x,z\n1.5,2.5\n2.5,3.5\n", "which column holds the labels?"),
    "not a model": (["d.suffice"], "x,y\n", "is not a suffice file, or is damaged"),
}


@pytest.mark.parametrize("case", CASES)
def test_fit_refuses(refused, write, tmp_path, case):
    args, text, message = CASES[case]
    if args[0].startswith("d."):
        write(text, args[0])
    assert message in refused("fit", *args, "-o", "m.suffice")
    assert not (tmp_path / "m.suffice").exists()


@pytest.mark.parametrize(
    "command",
    [
        ("fit", "-o", "m.suffice"),
        ("fit", "--model", "auto", "-o", "m.suffice"),
        ("compare", "--cv", "2"),
        ("report", "--cv", "2"),
    ],
    ids=" ".join,
)
@pytest.mark.parametrize("labels", ["aaaa", "1111"])
def test_a_single_class_is_named_with_its_column_and_file(refused, write, command, labels):
    write("x,kind\n" + "".join(f"{i},{label}\n" for i, label in enumerate(labels)))
    verb, *options = command
    label = int(labels[0]) if labels.isdigit() else labels[0]
    assert refused(verb, "d.csv", "-t", "kind", *options) == (
        f"suffice: d.csv: the target 'kind' has only the class {label!r}, but a classifier needs "
        "at least 2 classes: check the labels, or name another target"
    )


@pytest.mark.parametrize(
    "said",
    [["-f", "petal_width"], ["-i", "petal_width"], ["--weight", "x"], ["--delimiter", ";"]],
)
def test_what_is_said_of_columns_is_refused_where_sums_have_settled_them(refused, iris, said):
    assert "whose target, columns and weights are fixed: leave out the options" in refused(
        "fit", iris, *said, "-o", "m.suffice"
    )
    assert "holds sums" in refused("store", "add", "s.store", iris, *said)


def test_rows_without_a_name_are_not_those_of_the_current_folder(refused, write):
    write("x,kind\n1,a\n2,b\n3,a\n4,b\n")
    assert "the rows have no name" in refused("fit", "", "-t", "kind", "-o", "m.suffice")


def test_options_of_sql_are_refused_elsewhere(refused, iris):
    for said in (["--keep", "id"], ["--table", "rows"], ["--dialect", "duckdb"]):
        line = refused("export", iris, "--to", "json", *said, code=2)
        assert f"{said[0]} needs --to sql: add that option, or leave out {said[0]}" in line


def test_a_lab_that_is_saved_shows_no_table(refused, tmp_path):
    line = refused("lab", "iris", "--save", "lab.html", code=2)
    assert "--save writes the page without a table: leave out DATA and --target" in line
    assert not (tmp_path / "lab.html").exists()


def test_one_mark_cannot_be_that_of_decimals_and_of_thousands(refused, write):
    write("x;kind\n1,5;a\n2,5;b\n")
    line = refused(
        "fit", "d.csv", "-t", "kind", "--decimal", ",", "--thousands", ",", "-o", "m.suffice"
    )
    assert "decimal and thousands are both ','" in line


def test_a_share_of_outliers_is_a_share(refused, iris):
    line = refused("predict", iris, "iris", "--outlier-rate", "nan", "-o", "answers.csv")
    assert "outlier_rate" in line or "--outlier-rate nan" in line
    assert "expected a share of rows, from 0 to 1" in line


@pytest.mark.parametrize("command", ["report", "compare", "summarize"])
@pytest.mark.parametrize("case", [case for case in CASES if case != "not a model"])
def test_other_commands_refuse_the_same(run, refused, write, tmp_path, command, case):
    args, text, message = CASES[case]
    if args[0].startswith("d."):
        write(text, args[0])
    if (command, case) == ("summarize", "one class"):  # sums of one class may be merged later
        assert run(command, *args, "-o", "out").exit_code == 0
        return
    before = sorted(tmp_path.iterdir())
    output = {"report": "out.html", "compare": "out.csv", "summarize": "out.moments"}[command]
    line = refused(command, *args, "-o", output)
    assert message in line or (case == "one class" and "class" in line), line
    assert sorted(tmp_path.iterdir()) == before


NO_FILE = {
    "predict": ("predict", "no.suffice", "iris"),
    "predict rows": ("predict", "iris.suffice", "no.csv"),
    "merge": ("merge", "no.moments", "-o", "out"),
    "forget": ("forget", "no.moments", "iris", "-o", "out"),
    "forget rows": ("forget", "iris.suffice", "no.csv", "-o", "out"),
    "sample": ("sample", "no.suffice"),
    "boundary": ("boundary", "no.suffice", "a", "b"),
    "show": ("show", "no.suffice"),
    "export": ("export", "no.suffice"),
}


@pytest.mark.parametrize("case", NO_FILE)
def test_every_command_names_a_file_that_is_not_there(refused, iris, case):
    line = refused(*NO_FILE[case])
    assert line.startswith("suffice: there is no file 'no.")
    assert line.endswith("check the path")


@pytest.mark.parametrize("case", [case for case in NO_FILE if "rows" not in case])
def test_every_command_refuses_what_is_no_file_of_ours(refused, write, case):
    name = NO_FILE[case][1]
    write("a,b\n1,2\n", name)
    assert f"{name} is not a suffice file, or is damaged" in refused(*NO_FILE[case])


def test_a_folder_is_no_file(refused, tmp_path):
    (tmp_path / "d.suffice").mkdir()
    assert "d.suffice" in refused("show", "d.suffice")
    assert "d.suffice" in refused("predict", "d.suffice", "iris")


def test_settings_that_do_not_exist_suggest_the_nearest(refused):
    assert "did you mean 'shrinkage'?" in refused(
        "fit", "iris", "-o", "m", "--set", "shrinkag=0.1"
    )
    assert "has the form NAME=VALUE" in refused("fit", "iris", "-o", "m", "--set", "shrinkage")


def test_settings_out_of_bounds_are_refused(refused):
    assert "shrinkage" in refused("fit", "iris", "-o", "m", "--shrinkage", "2")
    assert "pooling" in refused("fit", "iris", "-o", "m", "--pooling", "much")
    assert "no class is called 'rose'" in refused(
        "fit", "iris", "-o", "m", "--priors", "rose=1"
    )
    assert "LABEL=PROB" in refused("fit", "iris", "-o", "m", "--priors", "setosa=x")


def test_predict_refuses_what_is_no_model(refused, write, ok):
    write("hello", "x.suffice")
    assert "x.suffice is not a suffice file" in refused("predict", "x.suffice", "iris")
    assert "there is no file 'y.suffice'" in refused("predict", "y.suffice", "iris")
    ok("summarize", "iris", "-o", "i.moments")
    assert "holds moments, not a model: fit one" in refused("predict", "i.moments", "iris")


def test_predict_refuses_rows_that_lack_columns(refused, iris):
    datasets.load("iris").frame().rename({"petal_width": "petal width"}).write_csv("new.csv")
    message = refused("predict", iris, "new.csv", "-o", "out.csv")
    assert "new.csv lacks the column 'petal_width' that the model needs" in message
    assert "did you mean 'petal width'?" in message


def test_predict_refuses_text_where_numbers_belong(refused, iris, write):
    write("sepal_length,sepal_width,petal_length,petal_width\n1,2,3,wide\n")
    assert "'petal_width' must hold numbers, but holds 'wide'" in refused(
        "predict", iris, "d.csv"
    )


def test_outputs_of_unknown_kind_or_place_are_refused(refused, iris):
    assert "names no format to write" in refused("predict", iris, "iris", "-o", "out.xls")
    assert "no folder 'no'" in refused("predict", iris, "iris", "-o", "no/out.csv", code=2)
    assert "no folder 'no'" in refused("fit", "iris", "-o", "no/m.suffice", code=2)
    assert "create it first" in refused("compare", "iris", "--plot", "no/x.png", code=2)


def test_json_and_answers_do_not_share_standard_output(refused, iris):
    assert "name a file with -o" in refused("predict", iris, "iris", "--json", code=2)


def test_merge_refuses_other_columns(refused, ok):
    ok("summarize", "iris", "-o", "i.moments")
    ok("summarize", "wine", "-o", "w.moments")
    assert "cannot combine moments of 4 and 13 features" in refused(
        "merge", "i.moments", "w.moments", "-o", "m"
    )


def test_forget_refuses_rows_that_were_never_seen(refused, ok):
    ok("summarize", "iris", "-o", "i.moments")
    ok("summarize", "iris", "-o", "j.moments")
    ok("merge", "i.moments", "j.moments", "-o", "double.moments")
    assert "cannot forget 100 rows" in refused(
        "forget", "i.moments", "double.moments", "-o", "m"
    )


def test_boundary_suggests_the_nearest_class(refused, iris):
    assert "did you mean 'virginica'?" in refused("boundary", iris, "setosa", "virginca")


def test_a_wrong_command_is_a_usage_error(refused):
    assert "did you mean 'predict'?" in refused("predct", code=2)
    assert "see 'suffice --help'" in refused("xyz", code=2)
    assert "Missing option" in refused("fit", "iris", code=2)
    assert "did you mean 'iris'?" in refused("datasets", "irs")


def test_debug_shows_the_traceback(run):
    result = run("fit", "nothing.csv", "-o", "m", "--debug")
    assert result.exit_code == 1
    assert "Traceback" in result.stderr
    assert result.stderr.splitlines()[-1].startswith("suffice: there is no file")


def test_what_nobody_expected_is_still_one_line(refused, monkeypatch):
    def broken(*_, **__):
        msg = "two\nlines"
        raise RuntimeError(msg)

    monkeypatch.setattr("suffice.data.opening.open_source", broken)
    line = refused("fit", "iris", "-o", "m")
    assert (
        line
        == "suffice: unexpected RuntimeError: two lines; run again with --debug to see where"
    )


def test_a_full_disk_leaves_the_old_file(refused, iris, tmp_path, monkeypatch):
    def full(_):
        raise OSError(errno.ENOSPC, "No space left on device")

    for name in ("out.csv", "m.moments", "m.suffice"):
        (tmp_path / name).write_text("old")
    monkeypatch.setattr(archive.os, "fsync", full)
    before = sorted(p.name for p in tmp_path.iterdir())
    for args in (
        ("predict", iris, "iris", "-o", "out.csv"),
        ("summarize", "iris", "-o", "m.moments"),
        ("fit", "iris", "-o", "m.suffice"),
    ):
        assert "No space left on device" in refused(*args, "--force")
        assert (tmp_path / args[-1]).read_text() == "old"
    assert sorted(p.name for p in tmp_path.iterdir()) == before


def test_damaged_files_give_only_clean_errors(run, iris, tmp_path):
    whole = (tmp_path / iris).read_bytes()
    rng = np.random.default_rng(0)
    survivors = 0
    for trial in range(200):
        damaged = bytearray(whole)
        if trial % 3 == 0:
            damaged = damaged[: rng.integers(len(damaged))]
        for at in rng.integers(0, len(damaged), 1 + trial % 5) if len(damaged) else []:
            damaged[at] = rng.integers(256)
        (tmp_path / "d.suffice").write_bytes(bytes(damaged))
        command = (("show", "d.suffice"), ("boundary", "d.suffice", "setosa", "virginica"))
        result = run(*command[trial % 2], "--json")
        survivors += result.exit_code == 0
        assert result.exit_code in (0, 1)
        assert "suffice: unexpected" not in result.stderr, result.stderr
        assert result.stderr.count("\n") == result.exit_code
    assert survivors < 20


def test_a_header_that_lies_gives_a_clean_error(run, iris, tmp_path):
    import json
    import zipfile

    with zipfile.ZipFile(iris) as old:
        members = {name: old.read(name) for name in old.namelist()}
    header = json.loads(members["header.json"])
    rng = np.random.default_rng(1)
    lies = [None, -1, 0, 3, 2.5, "x", [], {}, [1], True, "per-class", {"__pairs__": 3}]
    for _ in range(150):
        changed = dict(header)
        changed[rng.choice(list(header))] = lies[rng.integers(len(lies))]
        members["header.json"] = json.dumps(changed).encode()
        with zipfile.ZipFile(tmp_path / "lie.suffice", "w") as new:
            for name, data in members.items():
                new.writestr(name, data)
        for command in (("show", "lie.suffice"), ("export", "lie.suffice")):
            result = run(*command)
            assert result.exit_code in (0, 1)
            assert "suffice: unexpected" not in result.stderr, (changed, result.stderr)


def test_a_boundary_needs_two_classes(refused, iris):
    told = refused("boundary", iris, "setosa", "setosa")
    assert "class 'setosa' is named twice" in told


def test_what_is_named_twice_counts_once_or_is_refused(ok, refused, iris):
    pair = ("-f", "petal_length")
    told = refused("fit", "iris", *pair, *pair, "-o", "a.suffice")
    assert "'petal_length' is named as a feature, and as a feature again: name it once" in told
    priors = [f"--priors={label}={p}" for label, p in (("setosa", 0.9), ("setosa", 0.4))]
    others = ["--priors=versicolor=0.3", "--priors=virginica=0.3"]
    told = refused("fit", "iris", *priors, *others, "-o", "a.suffice")
    assert "the prior of 'setosa' is given twice" in told
    told = refused(
        "fit", "iris", "--shrinkage", "0.1", "--set", "shrinkage=0.5", "-o", "a.suffice"
    )
    assert "shrinkage is set twice" in told
    ok("predict", iris, "iris", "--keep", "species", "--keep", "species", "-o", "out.csv")
    assert pl.read_csv("out.csv").columns[:2] == ["species", "label"]
    query = ok("export", iris, "--to", "sql", "--keep", "species", "--keep", "species")
    assert query.count('AS "species"') == 1
    ok("fit", "iris", "--id", "petal_length", "--id", "petal_length", "-o", "a.suffice")


@pytest.mark.parametrize("name", ["", "a..b"])
def test_a_name_is_not_empty(refused, iris, name):
    assert "has an empty name" in refused("export", iris, "--to", "sql", "--table", name)
    assert "name the column" in refused("sample", iris, "--label", "")


def test_empty_cells_are_marked_where_that_is_asked_for(ok):
    values = np.random.default_rng(0).normal(size=(40, 2)) + np.arange(40)[:, None] % 2
    rows = pl.DataFrame({"a": values[:, 0], "b": values[:, 1], "y": np.arange(40) % 2})
    rows.with_columns(a=pl.when(pl.col("b") > 1).then(None).otherwise(pl.col("a"))).write_csv(
        "gaps.csv"
    )
    ok("fit", "gaps.csv", "-t", "y", "--set", "missing=indicator", "-o", "a.suffice")
    assert sf.load("a.suffice").moments_.feature_names == ("a", "b", "a missing")
