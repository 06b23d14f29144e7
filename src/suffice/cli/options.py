"""Options that several subcommands share."""

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


class DataName(click.ParamType[str]):
    """A path, a glob, - or the name of a built-in data set."""

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


_READING = (
    click.option("--delimiter", metavar="MARK", help="Separator of text; found by default."),
    click.option(
        "--missing", multiple=True, metavar="TEXT", help="Stands for a missing value, too."
    ),
    click.option("--decimal", type=click.Choice([".", ","]), help="Decimal mark of numbers."),
    click.option(
        "--thousands", type=click.Choice([",", ".", " ", "'"]), help="Mark between thousands."
    ),
    click.option("--header/--no-header", default=None, help="Whether the first line holds names."),
    click.option(
        "--skip-rows", type=click.IntRange(min=0), metavar="N", help="Lines before the table."
    ),
    click.option("--comment", metavar="TEXT", help="How lines begin that are no rows."),
    click.option("--encoding", metavar="NAME", help="Such as utf-16 or latin-1."),
)
_READING_NAMES = [
    "delimiter",
    "missing",
    "decimal",
    "thousands",
    "header",
    "skip_rows",
    "comment",
    "encoding",
]
_LEARNING = (
    click.option("-t", "--target", metavar="COLUMN", help="The column of labels."),
    click.option(
        "-f", "--feature", multiple=True, metavar="COLUMN", help="Use only these; repeatable."
    ),
    click.option("-i", "--ignore", multiple=True, metavar="COLUMN", help="Leave out; repeatable."),
    click.option("--weight", metavar="COLUMN", help="The column of row weights."),
    click.option(
        "--id", "ids", multiple=True, metavar="COLUMN", help="Names rows; found by default."
    ),
    click.option(
        "--categorical", multiple=True, metavar="COLUMN", help="Numbers that are categories."
    ),
    *_READING,
)
_NAMES = ("target", "feature", "ignore", "weight", "ids", "categorical")


def learning_data(function: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command an argument DATA and its options, as one ``Data`` called ``data``."""

    @functools.wraps(function)
    def packed(*args: Any, data: str, **options: Any) -> Any:
        from suffice.cli.data import Data

        said = {name: options.pop(name) for name in _NAMES}
        return function(*args, data=Data(data, **said, reading=_reading(options)), **options)

    options = (click.argument("data", type=DataName()), *_LEARNING)
    return functools.reduce(lambda f, option: option(f), reversed(options), packed)


def reading_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options of how text is written, as one mapping called ``reading``."""

    @functools.wraps(function)
    def packed(*args: Any, **options: Any) -> Any:
        return function(*args, reading=_reading(options), **options)

    return functools.reduce(lambda f, option: option(f), reversed(_READING), packed)


def _reading(options: dict[str, Any]) -> dict[str, Any]:
    """Return what was said about how text is written, taken out of all options."""
    said = {name: options.pop(name) for name in _READING_NAMES}
    return {name: value for name, value in said.items() if value not in (None, ())}


def output(text: str, *, option: str = "-o", required: bool = False) -> Decorator:
    """Return the option ``-o``, or another that names a file to write."""
    return click.option(
        *(("-o", "--output") if option == "-o" else (option,)),
        required=required,
        metavar="FILE",
        type=OutputFile(path_type=Path, dir_okay=False),
        callback=in_a_folder,
        help=text,
    )


class OutputFile(click.Path):
    """A file that the command writes."""


def in_a_folder(_: Any, __: Any, path: Path | None) -> Path | None:
    """Refuse, before any work is done, a file to be written where there is no folder."""
    if path is not None and not path.parent.is_dir():
        msg = f"there is no folder '{path.parent}': make it first"
        raise click.BadParameter(msg)
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
