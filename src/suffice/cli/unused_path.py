"""Find a free name for a page whose default name exists."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from pathlib import Path

from suffice.cli.terminal import Terminal


def unused_path(path: Path, terminal: Terminal) -> Path:
    """Return the path, or a numbered path if the path exists; a note tells the user."""
    if not path.exists():
        return path
    unused = next(other for other in _numbered(path) if not other.exists())
    terminal.note(f"{path} exists: writing {unused}; --force replaces it")
    return unused


def _numbered(path: Path) -> Iterator[Path]:
    for number in count(2):
        yield path.with_name(f"{path.stem}-{number}{path.suffix}")
