"""The arguments of ``python -m benchmarks pages``."""

import pytest
from benchmarks import pages


def test_help_describes_the_command(capsys):
    with pytest.raises(SystemExit) as ended:
        pages.main(["--help"])
    assert ended.value.code == 0
    assert "usage: python -m benchmarks pages" in capsys.readouterr().out


@pytest.mark.parametrize("argument", ["no-such-folder", "--unknown"])
def test_arguments_that_mean_nothing_are_refused(argument, capsys):
    with pytest.raises(SystemExit) as ended:
        pages.main([argument])
    assert ended.value.code == 2
    assert argument in capsys.readouterr().err


def test_every_table_of_a_folder_is_read(tmp_path, monkeypatch, capsys):
    for name in ("b", "a"):
        (tmp_path / f"{name}.csv").write_text("x,y\n1,u\n")
    (tmp_path / "notes.txt").write_text("none")
    monkeypatch.setattr(pages, "written_tables", lambda _: [])
    monkeypatch.setattr(
        pages, "failures", lambda file, _, *options: [*options] if file.stem == "b" else []
    )
    pages.main([str(tmp_path), "--fast"])
    assert capsys.readouterr().out.splitlines() == [
        f"{tmp_path.name}/a.csv: ok",
        f"{tmp_path.name}/b.csv: --fast",
        "1 of 2 tables without a contradiction",
    ]
