"""Tables for a terminal."""

import io

import pytest
from rich.console import Console

from suffice.core.text.tables import rich_table


def _printed(head, rows):
    console = Console(file=io.StringIO(), width=60)
    console.print(rich_table(head, rows))
    return [line.rstrip() for line in console.file.getvalue().splitlines() if line.strip()]


@pytest.mark.parametrize("cells", [("−2.57556", "0.9"), ("-2.57556", 0.9), ("1,234.25", "–")])
def test_columns_with_negative_or_missing_numbers_are_aligned_on_the_right(cells):
    _, _, first, second = _printed(["name", "a long heading"], zip("ab", cells, strict=True))
    assert len(first) == len(second)
    assert second.endswith(f" {cells[1]}")


def test_columns_with_words_are_aligned_on_the_left():
    _, _, first, second = _printed(["name", "a long heading"], [["a", "1"], ["b", "many"]])
    assert first.split() == ["a", "1"]
    assert first.index("1") == second.index("many")
