"""Sources of rows or sums that are named on the command line."""

from __future__ import annotations

import sys
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypedDict

import click

import suffice
from suffice.core.text.lists import quoted
from suffice.errors import (
    FileFormatError,
    InvalidInputError,
    InvalidParameterError,
    UnknownTargetError,
)

if TYPE_CHECKING:
    from suffice.cli.terminal import Terminal
    from suffice.core.moments.rounding_grid import RoundingGrid
    from suffice.core.table.notation import Notation
    from suffice.core.table.schema import Schema
    from suffice.data.columns.roles import Roles
    from suffice.data.rows.loading import Chunk
    from suffice.data.source import Source
    from suffice.estimators.predictor import PredictorMixin


def load_model(path: Path) -> PredictorMixin:
    """Return the fitted estimator in a file."""
    loaded: suffice.Moments | PredictorMixin = suffice.load(path)
    if isinstance(loaded, suffice.Moments):
        msg = f"{path} holds moments, not a model: fit one with suffice fit {path} -o model.suffice"
        raise FileFormatError(msg)
    return loaded


def require_method(fitted: PredictorMixin, method: str, path: Path, cure: str) -> Any:
    """Return the model; raise, with the advice ``cure``, unless it has the method."""
    if not hasattr(fitted, method):
        raise InvalidInputError(
            f"{path} holds the model {type(fitted).__name__}, which has no {method.strip('_')}: "
            f"{cure}"
        )
    return fitted


def load_moments(path: Path) -> suffice.Moments:
    """Return the moments in a moments file or in a model file."""
    from suffice.persistence.load import read

    header, arrays = read(path)
    if "storage" not in header:
        msg = f"{path} holds {header['suffice']!r} without sums: give a moments file"
        raise FileFormatError(msg)
    return suffice.Moments.of_archive(header, arrays)


def load_sums(path: Path) -> suffice.Moments | suffice.CountSums:
    """Return the sums of numbers or of counts in a file, which may be a model file."""
    from suffice.persistence.load import read

    header, arrays = read(path)
    if "has_fractions" in header:
        return suffice.CountSums.of_archive(header, arrays)
    return load_moments(path)


def refuse_target_of_sums(names: Sequence[str], target: str | None) -> None:
    """Raise if the user names a target, but all files are files of sums."""
    if target is not None and all(Data(name).holds_sums for name in names):
        raise InvalidParameterError(
            f"{names[0]} holds sums, whose target is fixed: leave out --target"
        )


class ColumnOptions(TypedDict, total=False):
    """The options on columns that are given on the command line."""

    target: str | None
    weight: str | None
    features: Sequence[str] | Schema | None
    ignore: Sequence[str]
    ids: Sequence[str] | None
    categorical: Sequence[str]
    target_kind: Literal["class"] | None
    merge_labels: bool


@dataclass(frozen=True, slots=True)
class Data:
    """The name of a source, with the roles of its columns and its text format."""

    name: str
    columns: ColumnOptions = field(default_factory=ColumnOptions)
    # Given options by name: parameters of suffice.TextFormat, and "table" or "query".
    reading: Mapping[str, Any] = field(default_factory=dict)
    total: suffice.Moments | None = None  # the sums of the source, if they are already known
    # further files with the same columns, for example from a glob that the shell expands
    others: tuple[str, ...] = ()
    # The notation of columns that a model or sums store.
    notations: Mapping[str, Notation] = field(default_factory=dict)

    @property
    def names(self) -> str | list[str]:
        """The name of the source, or of several files."""
        return [self.name, *self.others] if self.others else self.name

    @property
    def target(self) -> str | None:
        return self.columns.get("target")

    @property
    def weight(self) -> str | None:
        return self.columns.get("weight")

    @property
    def roles(self) -> suffice.Columns:
        """The roles of the columns."""
        return suffice.Columns(
            features=self.columns.get("features"),
            ignore=self.columns.get("ignore", ()),
            ids=self.columns.get("ids"),
            categorical=self.columns.get("categorical", ()),
            target_kind=self.columns.get("target_kind"),
            merge_labels=self.columns.get("merge_labels", False),
        )

    @property
    def text(self) -> suffice.TextFormat:
        """The text format."""
        return suffice.TextFormat(
            delimiter=self.reading.get("delimiter"),
            decimal=self.reading.get("decimal"),
            thousands=self.reading.get("thousands"),
            encoding=self.reading.get("encoding"),
            na_values=self.reading.get("na_values", ()),
            header=self.reading.get("header"),
            skip_rows=self.reading.get("skip_rows", 0),
            comment=self.reading.get("comment"),
            columns=self.notations,
        )

    @property
    def table(self) -> str | None:
        """The database table or query to read."""
        table = self.reading.get("table")
        query = self.reading.get("query")
        if table is not None and query is not None:
            raise InvalidParameterError(
                "--table and --query cannot be used together: give one of them"
            )
        return query if table is None else table

    @property
    def holds_sums(self) -> bool:
        """Whether the source is a model or moments file, rather than rows."""
        if self.total is not None:
            return True
        files_of_sums = [name for name in (self.name, *self.others) if _holds_sums(Path(name))]
        if files_of_sums and self.others:
            raise InvalidInputError(
                f"{files_of_sums[0]} holds sums, which cannot be read together with other files: "
                "give data files only, or add up files of sums with suffice merge"
            )
        return bool(files_of_sums)

    def source(self) -> Source:
        """Return the opened source, without deciding the roles of its columns."""
        from suffice.data.opening import open_source

        return open_source(self.names, self.text, self.table)

    def opened(
        self,
        why: str = "",
        groups: str | None = None,
        *,
        categories: bool = True,
        allow_missing: bool = True,
    ) -> tuple[Source, Roles]:
        """Return the source and the roles of its columns, guessed unless the user names them.

        ``why`` says why rows are needed, for the error if the user passes a file of sums. Without
        ``categories``, only numeric columns are used. Without ``allow_missing``, only complete rows
        are used.
        """
        if why and self.holds_sums:
            raise InvalidInputError(f"{self.name} holds sums, and {why}: give the data file")
        source = self.source()
        roles = self._roles_in(
            source, groups, categories=categories, allow_missing=allow_missing
        )
        return source, roles

    def _roles_in(
        self,
        source: Source,
        groups: str | None = None,
        *,
        categories: bool = True,
        allow_missing: bool = True,
    ) -> Roles:
        from suffice.data.columns.roles import roles_for_learning

        columns = self.roles
        if groups is not None:
            columns = replace(columns, ignore=(*columns.ignore, groups))

        def roles_with(target: str | None) -> Roles:
            return roles_for_learning(
                source,
                target,
                self.weight,
                columns,
                categories=categories,
                allow_missing=allow_missing,
            )

        try:
            return roles_with(self.target)
        except UnknownTargetError as error:
            return roles_with(_ask_for_target(error))

    def moments(
        self,
        terminal: Terminal,
        *,
        storage: str = "auto",
        fourth: bool = False,
        checkpoint: Path | None = None,
        client: str | None = None,
        device: str | None = None,
        exact: RoundingGrid | Literal["auto"] | None = None,
        for_fitting: bool = False,
    ) -> suffice.Moments:
        """Return the sums of the rows, read once; ``for_fitting`` requires two classes."""
        from suffice.data.columns.guessing import require_two_labels
        from suffice.data.options import SumSettings
        from suffice.data.rereading import reading_again
        from suffice.data.summarize import summarize_source

        def summed(source: Source) -> suffice.Moments:
            roles = self._roles_in(source)
            with terminal.progress("rows") as progress:
                sums = summarize_source(
                    source,
                    roles,
                    SumSettings(storage, fourth, device=device, exact=exact),
                    progress=progress,
                    checkpoint=checkpoint,
                    client=client,
                )
            if for_fitting:
                require_two_labels(sums.classes, roles.target, source.label)
            return sums

        return reading_again(self.source(), summed)

    def sums(
        self,
        terminal: Terminal,
        *,
        storage: str = "auto",
        fourth: bool = False,
        exact: RoundingGrid | None = None,
        for_fitting: bool = False,
    ) -> suffice.Moments:
        """Return the known sums, the sums in a file, or the sums of the rows."""
        if not self.holds_sums:
            return self.moments(
                terminal, storage=storage, fourth=fourth, exact=exact, for_fitting=for_fitting
            )
        sums = self.sums_in_file()
        if isinstance(sums, suffice.CountSums):
            raise FileFormatError(
                f"{self.name} holds sums of counts, and this needs moments: give a moments file"
            )
        return sums

    def sums_in_file(self) -> suffice.Moments | suffice.CountSums:
        """Return the known sums, or the sums of numbers or counts in a file."""
        if self.total is not None:
            return self.total
        options = {*self.columns, *self.reading}
        if options:
            raise InvalidInputError(
                f"{self.name} holds sums, whose target, columns and weights are fixed: leave out "
                f"the options {quoted(sorted(options))}, or give the data file"
            )
        return load_sums(Path(self.name))

    def texts(self, text: str) -> Chunk:
        """Return all labelled rows in memory, with the text column among the kept columns."""
        from suffice.data.columns.guessing import require_two_labels
        from suffice.data.columns.roles import roles_for_texts
        from suffice.data.rereading import reading_again
        from suffice.data.rows.loading import load_rows

        if self.holds_sums:
            raise InvalidInputError(
                f"{self.name} holds sums, and --text needs rows: give the data file"
            )
        for name in ("features", "categorical"):
            if name in self.columns:
                raise InvalidParameterError(
                    f"--text {text} uses only the words of that column: leave out the option for "
                    f"{name}"
                )

        def loaded(source: Source) -> Chunk:
            roles = roles_for_texts(source, text, self.target, self.weight, self.roles)
            chunk = load_rows(source, roles)
            require_two_labels(chunk.table.classes, roles.target, source.label)
            return chunk

        return reading_again(self.source(), loaded)

    def rows(
        self,
        groups: str | None = None,
        *,
        categories: bool = True,
        allow_missing: bool = True,
        for_fitting: bool = False,
    ) -> Chunk:
        """Return all usable rows in memory.

        With ``for_fitting``, two classes are required. ``opened`` describes the other parameters.
        """
        from suffice.data.columns.guessing import require_two_labels
        from suffice.data.rereading import reading_again
        from suffice.data.rows.loading import load_rows

        if self.holds_sums:
            raise InvalidInputError(
                f"{self.name} holds sums, and this needs rows: give the data file"
            )

        def loaded(source: Source) -> Chunk:
            roles = self._roles_in(
                source, groups, categories=categories, allow_missing=allow_missing
            )
            chunk = load_rows(source, roles, groups=groups)
            if for_fitting:
                require_two_labels(chunk.table.classes, roles.target, source.label)
            return chunk

        return reading_again(self.source(), loaded)


def _holds_sums(path: Path) -> bool:
    """Return whether a file contains a model or sums, rather than rows."""
    if path.suffix in (".moments", ".suffice"):
        return True
    if not (path.is_file() and zipfile.is_zipfile(path)):
        return False
    with zipfile.ZipFile(path) as file:
        return "header.json" in file.namelist()


def _can_ask() -> bool:
    return sys.stdin.isatty() and sys.stderr.isatty()


def _ask_for_target(unknown: UnknownTargetError) -> str:
    """Ask the user for the target; raise unless the command runs in a terminal."""
    if not _can_ask():
        raise unknown
    question = f"{unknown.label}: which column holds the labels?"
    return str(click.prompt(question, type=click.Choice(unknown.columns), err=True))
