"""What every subcommand shares: its options, errors in one line, safe outputs."""

import errno
import functools
import os
import re
import shlex
import sys
import traceback
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from glob import glob
from itertools import product
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem

from suffice.cli import UNREAD, cleaning_up
from suffice.cli.data import Data
from suffice.cli.terminal import Terminal
from suffice.core.text.lists import without_passwords
from suffice.errors import InvalidParameterError, SufficeError, SufficeWarning

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


def several(*names: str, text: str, of: str = "COLUMN") -> Decorator:
    """Return an option that may be given several times."""
    return click.option(*names, multiple=True, metavar=of, help=text)


def option(*names: str, text: str, default: Any = None, **said: Any) -> Decorator:
    """Return an option that shows its default, where it has one."""
    shows = default is not None
    return click.option(*names, help=text, default=default, show_default=shows, **said)


def choice(*names: str, of: Iterable[str], text: str, default: str | None = None) -> Decorator:
    """Return an option that takes one of some words."""
    return option(*names, text=text, default=default, type=click.Choice(list(of)))


_READING: dict[str, Decorator] = {
    "delimiter": click.option(
        "--delimiter", metavar="MARK", help="Of text; found by default."
    ),
    "na_values": several(
        "--na", "na_values", of="TEXT", text="Another spelling of a missing value."
    ),
    "decimal": choice("--decimal", of=".,", text="Decimal mark of numbers."),
    "thousands": choice("--thousands", of=",. '", text="Mark between thousands."),
    "header": click.option(
        "--header/--no-header", default=None, help="Is the first line names?"
    ),
    "skip_rows": click.option("--skip-rows", type=click.IntRange(0), help="Lines before it."),
    "comment": click.option(
        "--comment", metavar="TEXT", help="How lines begin that are no rows."
    ),
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


def given(*options: Decorator) -> Decorator:
    """Return several options as one decorator."""
    return lambda function: functools.reduce(
        lambda f, option: option(f), options[::-1], function
    )


def data_argument(name: str = "data", **options: Any) -> Decorator:
    """Return the argument DATA: a path, a glob, an address, - or a built-in data set."""
    return click.argument(name, shell_complete=_offered, **options)


def _offered(_: Any, __: Any, incomplete: str) -> list[CompletionItem]:
    """Return the built-in data sets and the files, for the shell."""
    from suffice.data.datasets import names

    known = [CompletionItem(name) for name in names() if name.startswith(incomplete)]
    return [*known, CompletionItem(incomplete, type="file")]


def _described(columns: dict[str, Decorator]) -> Decorator:
    """Return the argument DATA and its options, which reach a command as one ``Data``."""

    def decorated(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def packed(*args: Any, data: str, **options: Any) -> Any:
            known = Data(data, _said(options, columns), _said(options, _READING))
            return function(*args, data=known, **options)

        return given(data_argument(), *columns.values(), *_READING.values())(packed)

    return decorated


def _said(options: dict[str, Any], names: Iterable[str]) -> dict[str, Any]:
    """Return what was said in options of these names, taken out of all options."""
    said = {name: options.pop(name) for name in names}
    return {name: value for name, value in said.items() if value not in (None, ())}


learning_data, new_data = _described(_COLUMNS), _described({})

_STORAGE = "What scatter to keep; auto keeps one matrix per class where that is affordable."
_STORAGES = ["auto", "per-class", "pooled", "diagonal"]
sums_options = given(
    choice("--storage", of=_STORAGES, text=_STORAGE, default="auto"),
    click.option("--fourth", is_flag=True, help="Also keep what Ledoit-Wolf shrinkage needs."),
)


def output(
    text: str,
    *,
    option: str = "-o",
    required: bool = False,
    urls: bool = False,
) -> Decorator:
    """Return the option ``-o``, or another that names a file to write; maybe in a store."""
    names = ("-o", "--output") if option == "-o" else (option,)
    return click.option(
        *names, help=text, required=required, metavar="FILE", type=OutputFile(urls)
    )


class OutputFile(click.Path):
    """A file that the command writes, or the URL of an object where there may be one."""

    def __init__(self, urls: bool = False) -> None:  # noqa: FBT001, FBT002
        super().__init__(path_type=Path, dir_okay=False)
        self._urls = urls

    def convert(self, value: Any, *told: Any) -> Any:
        if self._urls and "://" in str(value):
            return value
        path: Any = super().convert(value, *told)
        if not path.parent.is_dir():
            self.fail(f"there is no folder '{path.parent}': make it first", *told)
        return path


def file_argument(name: str, **options: Any) -> Decorator:
    """Return an argument that names a file of ours."""
    return click.argument(name, type=click.Path(path_type=Path), **options)


folds = given(
    option("--cv", text="Folds; by default 10, or 5 of many rows.", type=click.IntRange(2)),
    click.option(
        "--groups", metavar="COLUMN", help="Rows that belong together: not a feature."
    ),
)


def seed(text: str, default: int | None = 0) -> Decorator:
    """Return the option ``--seed``."""
    return option("--seed", text=text, default=default, type=click.IntRange(min=0))


def refuse_overwriting(ctx: click.Context, in_place: str | None) -> None:
    """Raise if an output of a command is one of its inputs, but the one it may replace."""
    said = [(p, ctx.params.get(p.name or "")) for p in ctx.command.params]
    outputs = [path for p, path in said if isinstance(p.type, OutputFile) and path is not None]
    read = [v for p, v in said if isinstance(p, click.Argument) and v and p.name != in_place]
    for path, found in product(outputs, (found for value in read for found in _files(value))):
        inside = Path(found).resolve() in Path(path).resolve().parents
        if os.path.isfile(path) and (inside or os.path.samefile(path, found)):
            msg = f"{path} would replace the input {found}: name another output"
            raise InvalidParameterError(msg)
    if len({os.path.realpath(path) for path in outputs}) < len(outputs):
        raise InvalidParameterError(f"{outputs[0]} is named for two outputs: name two files")


def _files(value: Any) -> Iterator[str]:
    """Yield the files and folders that are there of a path, a glob, or several of them."""
    for each in value if isinstance(value, tuple) else (value,):
        text = str(each).removeprefix("file://")
        yield from [text] if os.path.exists(text) else glob(text, recursive=True)


_SHARED = (
    (["-q", "--quiet"], "No notes and no progress, errors only."),
    (["--json"], "Print the result as JSON on standard output."),
    (["--debug"], "Show the traceback of an error."),
)


class Command(click.Command):
    """A subcommand whose callback gets a ``Terminal`` and may raise what it likes."""

    def __init__(self, *args: Any, in_place: str | None = None, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._in_place = in_place  # the argument that may be the output too
        self.params += [
            click.Option(names, is_flag=True, help=text) for names, text in _SHARED
        ]

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        ctx.meta["typed"] = shlex.join(["suffice", self.name or "", *args])  # for the report
        return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; turn whatever it raises into one line and an exit code."""
        quiet, json, debug = (ctx.params.pop(name) for name in ("quiet", "json", "debug"))
        learns = {"data", "target"} <= ctx.params.keys()
        ctx.obj = Terminal(quiet, json, {"columns": 0, "rows": 0} if learns else {})
        try:
            with cleaning_up(), _notes(ctx.obj):
                refuse_overwriting(ctx, self._in_place)
                return super().invoke(ctx)
        except (click.exceptions.Exit, click.ClickException):
            raise
        except KeyboardInterrupt as stopped:
            ctx.obj.error("interrupted: no output was written")
            ctx.exit(getattr(stopped, "exit_code", 130))
        except Exception as error:
            if isinstance(error, OSError) and error.errno == errno.EPIPE:
                ctx.exit(UNREAD)
            if debug:
                traceback.print_exc(file=sys.stderr)
            ctx.obj.error(_in_options(without_passwords(told(error)), ctx.command))
            ctx.exit(1)


def subcommand(*examples: str, **said: Any) -> Callable[[Callable[..., Any]], Command]:
    """Return what makes a subcommand of a function whose first argument is the ``Terminal``."""

    def made(function: Callable[..., Any]) -> Command:
        name = function.__name__.strip("_").replace("_", "-")
        epilog = "\n".join(["\b", "Examples:", *(f"  {example}" for example in examples)])
        return click.command(name, cls=Command, epilog=epilog, **said)(
            click.pass_obj(function)
        )

    return made


def told(error: Exception) -> str:
    """Return an error as one line that says what and how to fix it."""
    text = " ".join(str(error).split())
    if isinstance(error, SufficeError):
        return text
    if isinstance(error, FileNotFoundError):
        return f"there is no file {error.filename!r}: check the path"
    if isinstance(error, OSError):
        return f"{error.filename or 'a file'}: {error.strerror or text}"
    if isinstance(error, MemoryError):
        return (
            "not enough memory: use fewer columns, or a command that streams such as summarize"
        )
    return f"unexpected {type(error).__name__}: {text}; run again with --debug to see where"


_SETTING = re.compile(r"""\b([a-z][a-z_]*)=('[^']*'|"[^"]*"|[\w.\-]+)""")


def _in_options(text: str, command: click.Command) -> str:
    """Return a message with the settings of the library as the options of a command."""
    options = {p.name: p.opts[0] for p in command.params if isinstance(p, click.Option)}

    def option(found: re.Match[str]) -> str:
        name, value = found[1], found[2].strip("'\"")
        return f"{options[name]} {value}" if name in options else found[0]

    return _SETTING.sub(option, text)


@contextmanager
def _notes(terminal: Terminal) -> Iterator[None]:
    """Show the library's warnings as notes, and no others."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", SufficeWarning)
        warnings.showwarning = lambda message, *_, **__: terminal.heed(message)
        yield
