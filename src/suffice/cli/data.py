"""The rows a person names on the command line, with all that was said about them."""

from __future__ import annotations

import sys
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import suffice
from suffice.core.text.lists import quoted
from suffice.errors import FileFormatError, InvalidInputError, UnknownTargetError

if TYPE_CHECKING:
    from suffice.cli.terminal import Terminal
    from suffice.data.chunks import Chunk
    from suffice.data.columns import Roles
    from suffice.data.source import Source


def load_model(path: Path) -> Any:
    """Return the fitted estimator of a file."""
    loaded = suffice.load(path)
    if isinstance(loaded, suffice.Moments):
        msg = f"{path} holds moments, not a model: fit one with suffice fit {path} -o model.suffice"
        raise FileFormatError(msg)
    return loaded


def able(fitted: Any, verb: str, path: Path, cure: str) -> Any:
    """Return a model that has a method, or say that its kind has not."""
    if not hasattr(fitted, verb):
        known = f"{path} holds the model {type(fitted).__name__}"
        raise InvalidInputError(f"{known}, which has no {verb.strip('_')}: {cure}")
    return fitted


def load_moments(path: Path) -> suffice.Moments:
    """Return the sums of a file: moments, or those inside a model."""
    from suffice.persistence import archive

    header, arrays = archive.read(path)
    if "storage" not in header:
        msg = f"{path} holds {header['suffice']!r} without sums: give a moments file"
        raise FileFormatError(msg)
    return suffice.Moments.of_archive(header, arrays)


@dataclass(frozen=True, slots=True)
class Data:
    """A source by name, the roles of its columns, and how its text is written."""

    name: str
    columns: Mapping[str, Any] = field(default_factory=dict)  # in the words of ColumnOptions
    reading: Mapping[str, Any] = field(default_factory=dict)  # how its text is written
    total: suffice.Moments | None = None  # the sums, where they are known

    @property
    def is_ours(self) -> bool:
        """Whether this is a model or moments file rather than rows."""
        path = Path(self.name)
        if self.total is not None or path.suffix in (".moments", ".suffice"):
            return True
        if not (path.is_file() and zipfile.is_zipfile(path)):
            return False
        with zipfile.ZipFile(path) as file:
            return "header.json" in file.namelist()

    def source(self) -> Source:
        """Return the source, whatever its columns are for."""
        from suffice.data.opening import open_source
        from suffice.data.source import TextStyle

        return open_source(self.name, TextStyle(**self.reading))

    def opened(self, why: str = "", groups: Any = None, **taken: Any) -> tuple[Source, Roles]:
        """Return the source and the roles of its columns, guessed where nothing was said."""
        # ``why`` rows are needed is told where a file of ours is given; what takes no categories,
        # or no rows with holes, gets numbers, or complete rows, only
        if why and self.is_ours:
            raise InvalidInputError(f"{self.name} holds sums, and {why}: give the data file")
        from suffice.data.columns import ColumnOptions, roles_for_learning

        source, said = self.source(), ColumnOptions(**self.columns, **taken)
        said = said if groups is None else replace(said, ignore=(*said.ignore, groups))
        try:
            return source, roles_for_learning(source, said)
        except UnknownTargetError as error:
            return source, roles_for_learning(source, replace(said, target=_asked(error)))

    def moments(self, terminal: Terminal, **options: Any) -> suffice.Moments:
        """Return the sums of the rows, read once."""
        from suffice.data.summarize import summarize_source

        source, roles = self.opened()
        with terminal.progress("rows") as progress:
            return summarize_source(source, roles, progress=progress, **options)

    def sums(self, terminal: Terminal, **options: Any) -> suffice.Moments:
        """Return the sums that are known or a file of ours holds, or those of the rows."""
        if self.total is not None:
            return self.total
        if not self.is_ours:
            return self.moments(terminal, **options)
        if said := {*self.columns, *self.reading} - {"target"}:
            told = f"{self.name} holds sums, whose columns and weights are settled"
            msg = f"{told}: leave out what is said of {quoted(sorted(said))}, or give the data file"
            raise InvalidInputError(msg)
        return load_moments(Path(self.name))

    def rows(self, groups: str | None = None, **taken: bool) -> Chunk:
        """Return every usable row, in memory; see ``opened`` for what may be ``taken``."""
        from suffice.data.chunks import load_rows

        return load_rows(*self.opened("this needs rows", groups, **taken), groups=groups)


def _can_ask() -> bool:
    return sys.stdin.isatty() and sys.stderr.isatty()


def _asked(unknown: UnknownTargetError) -> str:
    """Return the target that a person at a terminal names; raise where nobody can be asked."""
    if not _can_ask():
        raise unknown
    question = f"{unknown.label}: which column holds the labels?"
    return str(click.prompt(question, type=click.Choice(unknown.columns), err=True))
