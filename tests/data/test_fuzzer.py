"""The fuzzer finds deliberate mistakes: a lost row, a lost sign, sums and digests not checked."""

import inspect
import textwrap

import numpy as np
import pytest
from benchmarks import fuzz

from suffice.core.moments import Moments
from suffice.data.store import manifest
from suffice.data.text import spelling, table


@pytest.mark.parametrize("target", fuzz.TARGETS)
def test_no_input_is_a_fault(target):
    result = fuzz.fuzzed(target, 30, seed=12)
    assert result.outcomes["fault"] == 0, result.faults
    assert result.outcomes["accepted"] > 0
    assert result.outcomes["refused"] > 0


def faults_of(target, n_inputs):
    return fuzz.fuzzed(target, n_inputs, seed=3).outcomes["fault"]


def test_a_lost_row_is_a_fault(monkeypatch):
    read = table.TextTable._rows_of_block

    def without_the_last_row(self, block, columns):
        rows = read(self, block, columns)
        return rows[:-1] if rows.height > 20 else rows

    monkeypatch.setattr(table.TextTable, "_rows_of_block", without_the_last_row)
    assert faults_of("delimited-rows", 20) > 0


def test_a_thousands_mark_read_as_a_decimal_mark_is_a_fault(monkeypatch):
    values = spelling.Numbers.values

    def of_decimal_commas(self, cells):
        return values(self, cells) / (100 if self.decimal == "," else 1)

    monkeypatch.setattr(spelling.Numbers, "values", of_decimal_commas)
    assert faults_of("delimited-rows", 60) > 0


def test_sums_of_other_rows_are_a_fault(monkeypatch):
    means = Moments.means

    def of_other_rows(self):
        return np.asarray(means.__get__(self)) * 1.0001

    monkeypatch.setattr(Moments, "means", property(of_other_rows))
    assert faults_of("delimited-rows", 40) > 0


def test_a_count_that_is_believed_is_a_fault(monkeypatch):
    source = inspect.getsource(manifest.Entry.load)
    assert "n_rows != self.rows" in source
    names = {}
    exec(
        textwrap.dedent(source).replace("n_rows != self.rows", "False"),
        dict(vars(manifest)),
        names,
    )
    monkeypatch.setattr(manifest.Entry, "load", names["load"])
    assert faults_of("store-manifest", 600) > 0


def test_the_files_of_a_fault_are_kept(monkeypatch, tmp_path, capsys):
    def never(rng, folder):
        (folder / "input").write_text("x")
        raise IndexError(int(rng.integers(10)))

    monkeypatch.setattr(fuzz, "TARGETS", {"model-file": never})
    keep = tmp_path / "kept"
    with pytest.raises(SystemExit):
        fuzz.main(["model-file", "--inputs", "2", "--seed", "4", "--keep", str(keep)])
    assert sorted(path.name for path in keep.iterdir()) == ["model-file-0", "model-file-1"]
    assert (keep / "model-file-0" / "input").read_text() == "x"
    assert "IndexError" in (keep / "model-file-1" / "traceback.txt").read_text()
    assert "model-file: 2 inputs, 2 faults, 0 refused, 0 accepted" in capsys.readouterr().out


def test_the_command_line_explains_itself(capsys):
    with pytest.raises(SystemExit) as stop:
        fuzz.main(["--help"])
    assert stop.value.code == 0
    assert "--keep FOLDER" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        fuzz.main(["no-such-target"])
    assert "choose from delimited-rows" in capsys.readouterr().err
