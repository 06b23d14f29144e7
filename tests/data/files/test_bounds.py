"""Lines, pipes and devices without an end are refused soon; wide tables are read."""

import gzip
import os
import threading

import pytest

import suffice as sf
from suffice.data.files import contents
from suffice.errors import InvalidInputError


class _Counted:
    """Pieces of an endless line, and how many were asked for."""

    def __init__(self, start: bytes, piece: bytes) -> None:
        self.n_pieces = 0
        self._start = start
        self._piece = piece

    def __call__(self, _path, _size):
        yield self._start
        while True:
            self.n_pieces += 1
            assert self.n_pieces < 2_000
            yield self._piece


def test_a_head_looks_at_no_more_than_the_longest_line(monkeypatch):
    endless = _Counted(b"x,y\n1,u\n", b"a" * (1 << 16))
    monkeypatch.setattr(contents, "pieces_in", endless)
    with pytest.raises(
        InvalidInputError, match=r"endless\.csv: line 3 is longer than the limit of 32 MiB"
    ):
        contents.head_of("endless.csv")
    assert endless.n_pieces <= contents.LONGEST_LINE // (1 << 16) + 2


def test_pieces_of_a_head_are_joined_once(monkeypatch):
    joined = []

    class Piece(bytes):
        def __radd__(self, other):
            joined.append(other)
            return bytes(other) + bytes(self)

    pieces = [Piece(b"a" * 1000) for _ in range(50)]
    monkeypatch.setattr(contents, "pieces_in", lambda *_: iter([*pieces, b"\n"]))
    assert contents.head_of("wide.csv") == b"a" * 50_000 + b"\n"
    assert not joined


def test_a_packed_line_without_an_end_is_refused_with_its_number(tmp_path):
    path = tmp_path / "bomb.csv.gz"
    with gzip.open(path, "wb", compresslevel=1) as file:
        file.write(b"x,y\n" + b"1,u\n" * 30)
        for _ in range(40):
            file.write(bytes(b"7" * (1 << 20)))
    assert path.stat().st_size < 1 << 20
    with pytest.raises(InvalidInputError, match="line 32 is longer than the limit of 32 MiB"):
        sf.summarize(path, target="y")


def test_a_pipe_named_like_a_file_is_read_once(tmp_path):
    path = tmp_path / "rows.csv"
    os.mkfifo(path)
    text = "x,y\n" + "1.5,u\n2.5,v\n3.5,u\n" * 5
    writer = threading.Thread(target=path.write_text, args=(text,))
    writer.start()
    moments = sf.summarize(path, target="y")
    writer.join()
    assert moments.counts.tolist() == [10, 5]


def test_a_pipe_among_several_files_is_refused(tmp_path):
    (tmp_path / "a.csv").write_text("x,y\n1,u\n2,v\n")
    os.mkfifo(tmp_path / "b.csv")
    with pytest.raises(InvalidInputError, match=r"b\.csv is a pipe"):
        sf.summarize([tmp_path / "a.csv", tmp_path / "b.csv"], target="y")


def test_a_device_without_an_end_is_refused(tmp_path):
    (tmp_path / "zero.csv").symlink_to("/dev/zero")
    with pytest.raises(InvalidInputError, match="is a device"):
        sf.summarize(tmp_path / "zero.csv", target="y")


@pytest.mark.parametrize("name", ["rows.dat", "rows", "rows.txt"])
def test_the_separator_of_any_plain_text_is_found(tmp_path, name):
    (tmp_path / name).write_text("x;y\n1;u\n2;v\n3;u\n")
    assert sf.summarize(tmp_path / name, target="y").counts.tolist() == [2, 1]


def test_more_columns_than_are_read_are_refused_before_any_is_judged(tmp_path, monkeypatch):
    monkeypatch.setattr("suffice.data.text.layout._has_header", None)  # it must not be called
    header = ",".join(f"x{j}" for j in range(100_000))
    (tmp_path / "wide.csv").write_text(f"{header}\n" + "1," * 99_999 + "1\n")
    with pytest.raises(InvalidInputError, match="100,000 columns, and at most 65,536"):
        sf.summarize(tmp_path / "wide.csv", target="x0")


def test_a_wide_table_of_text_is_summed(tmp_path):
    n_columns = 1_000
    header = ",".join(f"x{j}" for j in range(n_columns))
    rows = [
        ",".join(str(i * j % 7) for j in range(n_columns)) + f",{'uv'[i % 2]}"
        for i in range(4)
    ]
    (tmp_path / "wide.csv").write_text(f"{header},y\n" + "\n".join(rows) + "\n")
    moments = sf.summarize(tmp_path / "wide.csv", target="y", storage="diagonal")
    assert moments.n_features == n_columns


def test_more_columns_of_text_than_are_judged_are_refused_at_once(tmp_path, monkeypatch):
    monkeypatch.setattr("suffice.data.text.table.spellings_of", None)  # it must not be called
    n_columns = 10_002
    header = ",".join(f"x{j}" for j in range(n_columns))
    row = ",".join("w3" for _ in range(n_columns))
    (tmp_path / "wide.csv").write_text(f"{header}\n{row}\n{row}\n")
    with pytest.raises(InvalidInputError, match="10,002 columns that are not plain numbers"):
        sf.summarize(tmp_path / "wide.csv", target="x0")


@pytest.mark.parametrize("at", [0, 12_000])
def test_a_long_cell_is_quoted_in_a_few_letters(tmp_path, at):
    cells = [str(i % 97) for i in range(12_010)]
    cells[at] = "x" * 100_000
    lines = [f"{cell},{'ab'[i % 2]}" for i, cell in enumerate(cells)]
    (tmp_path / "long.csv").write_text("\n".join(["x,k", *lines]) + "\n")
    with pytest.raises(InvalidInputError, match="'xxxxx") as refused:
        sf.summarize(tmp_path / "long.csv", target="k")
    assert len(str(refused.value)) < 1_000
