"""Options that several subcommands share."""

import functools
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


class DataName(click.ParamType[str]):
    """A path, a glob, a URL, a database, - or the name of a built-in data set."""

    name = "data"

    def shell_complete(
        self,
        ctx: click.Context,  # noqa: ARG002
        param: click.Parameter,  # noqa: ARG002
        incomplete: str,
    ) -> list[CompletionItem]:
        """Offer the built-in data sets and the files."""
        from suffice.datasets import names

        known = [CompletionItem(name) for name in names() if name.startswith(incomplete)]
        return [*known, CompletionItem(incomplete, type="file")]


def several(*names: str, text: str, of: str = "COLUMN") -> Decorator:
    """Return an option that may be given several times."""
    return click.option(*names, multiple=True, metavar=of, help=text)


def choice(*names: str, of: Iterable[str], text: str, default: str | None = None) -> Decorator:
    """Return an option that takes one of some words."""
    said: Any = {"default": default, "show_default": default is not None, "help": text}
    return click.option(*names, type=click.Choice(list(of)), **said)


_READING: dict[str, Decorator] = {
    "delimiter": click.option("--delimiter", metavar="MARK", help="Of text; found by default."),
    "missing": several("--missing", of="TEXT", text="Stands for a missing value, too."),
    "decimal": choice("--decimal", of=".,", text="Decimal mark of numbers."),
    "thousands": choice("--thousands", of=",. '", text="Mark between thousands."),
    "header": click.option("--header/--no-header", default=None, help="Is the first line names?"),
    "skip_rows": click.option("--skip-rows", type=click.IntRange(0), help="Lines before it."),
    "comment": click.option("--comment", metavar="TEXT", help="How lines begin that are no rows."),
    "encoding": click.option("--encoding", metavar="NAME", help="Such as utf-16 or latin-1."),
    "table": click.option("--table", metavar="NAME", help="Of a database."),
    "query": click.option("--query", metavar="SQL", help="Of a database: take its rows."),
}
_COLUMNS: dict[str, Decorator] = {
    "target": click.option("-t", "--target", metavar="COLUMN", help="The column of labels."),
    "features": several("-f", "--feature", "features", text="Use only these; repeatable."),
    "ignore": several("-i", "--ignore", text="Leave out; repeatable."),
    "weight": click.option("--weight", metavar="COLUMN", help="The column of row weights."),
    "ids": several("--id", "ids", text="Names rows; found by default."),
    "categorical": several("--categorical", text="Numbers that are categories."),
}


def learning_data(function: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command an argument DATA and its options, as one ``Data`` called ``data``."""

    @functools.wraps(function)
    def packed(*args: Any, data: str, **options: Any) -> Any:
        from suffice.cli.data import Data

        columns, reading = _said(options, _COLUMNS), _said(options, _READING)
        return function(*args, data=Data(data, columns, reading), **options)

    argument = click.argument("data", type=DataName())
    return given(argument, *_COLUMNS.values(), *_READING.values())(packed)


def reading_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options of how text is written, as one mapping called ``reading``."""

    @functools.wraps(function)
    def packed(*args: Any, **options: Any) -> Any:
        return function(*args, reading=_said(options, _READING), **options)

    return given(*_READING.values())(packed)


def given(*options: Decorator) -> Decorator:
    """Return several options as one decorator."""
    return lambda function: functools.reduce(lambda f, option: option(f), options[::-1], function)


sums_options = given(
    choice(
        "--storage",
        of=["auto", "per-class", "pooled", "diagonal"],
        text="What scatter to keep; auto keeps one matrix per class where that is affordable.",
        default="auto",
    ),
    click.option("--fourth", is_flag=True, help="Also keep what Ledoit-Wolf shrinkage needs."),
)


def _said(options: dict[str, Any], names: Iterable[str]) -> dict[str, Any]:
    """Return what was said in options of these names, taken out of all options."""
    said = {name: options.pop(name) for name in names}
    return {name: value for name, value in said.items() if value not in (None, ())}


def output(
    text: str, *, option: str = "-o", required: bool = False, urls: bool = False
) -> Decorator:
    """Return the option ``-o``, or another that names a file to write; maybe in a store."""
    return click.option(
        *(("-o", "--output") if option == "-o" else (option,)),
        required=required,
        metavar="FILE",
        type=OutputFile(urls),
        help=text,
    )


class OutputFile(click.Path):
    """A file that the command writes, or the URL of an object where there may be one."""

    def __init__(self, urls: bool = False) -> None:  # noqa: FBT001, FBT002
        super().__init__(path_type=Path, dir_okay=False)
        self._urls = urls

    def convert(self, value: Any, *told: Any) -> Any:
        """Return the path, or the URL as it is; refuse it where there is no folder to write to."""
        if self._urls and "://" in str(value):
            return value
        path: Any = super().convert(value, *told)
        if not path.parent.is_dir():
            self.fail(f"there is no folder '{path.parent}': make it first", *told)
        return path


def file_argument(name: str, **options: Any) -> Decorator:
    """Return an argument that names a file of ours."""
    return click.argument(name, type=click.Path(path_type=Path), **options)


folds = click.option(
    "--cv", type=click.IntRange(min=2), help="Folds; by default 10, or 5 of many rows."
)


def seed(text: str, default: int | None = 0) -> Decorator:
    """Return the option ``--seed``."""
    said: Any = {"default": default, "show_default": default is not None, "help": text}
    return click.option("--seed", type=click.IntRange(min=0), **said)
