"""What every subcommand shares: quiet, JSON and debug options, errors in one line, safe outputs."""

import errno
import os
import re
import shlex
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from glob import glob
from typing import Any

import click

from suffice.cli.options import OutputFile
from suffice.cli.signals import cleaning_up
from suffice.cli.terminal import Terminal
from suffice.errors import InvalidParameterError, SufficeError, SufficeWarning
from suffice.text.printable import without_passwords


def refuse_overwriting(ctx: click.Context, in_place: str | None) -> None:
    """Raise if an output of a command is one of its inputs, however either is spelt.

    ``in_place`` names the argument that the command may replace.
    """
    said = [(p, ctx.params.get(p.name or "")) for p in ctx.command.params]
    outputs = [path for p, path in said if isinstance(p.type, OutputFile) and path is not None]
    read = [v for p, v in said if isinstance(p, click.Argument) and v and p.name != in_place]
    for path in outputs:
        for found in (found for value in read for found in _files(value)):
            if os.path.isfile(path) and os.path.samefile(path, found):
                msg = f"{path} would replace the input {found}: name another output"
                raise InvalidParameterError(msg)
    if len({os.path.realpath(path) for path in outputs}) < len(outputs):
        raise InvalidParameterError(f"{outputs[0]} is named for two outputs: name two files")


def _files(value: Any) -> Iterator[str]:
    """Yield the files that are there of a path, a glob, or several of them."""
    for text in map(str, value if isinstance(value, tuple) else (value,)):
        yield from [text] if os.path.exists(text) else glob(text, recursive=True)


_SHARED = (
    (["-q", "--quiet"], "No notes and no progress, errors only."),
    (["--json"], "Print the result as JSON on standard output."),
    (["--debug"], "Show the traceback of an error."),
)


def with_examples(*examples: str) -> str:
    """Return the end of the help of a command: examples, each on a line of its own."""
    return "\n".join(["\b", "Examples:", *(f"  {example}" for example in examples)])


class Command(click.Command):
    """A subcommand whose callback gets a ``Terminal`` and may raise what it likes."""

    def __init__(self, *args: Any, in_place: str | None = None, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._in_place = in_place  # the argument that may be the output too
        self.params += [click.Option(names, is_flag=True, help=text) for names, text in _SHARED]

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Keep what was typed, for a page that says how it was made."""
        ctx.meta["typed"] = shlex.join(["suffice", self.name or "", *args])
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
                raise
            if debug:
                traceback.print_exc(file=sys.stderr)
            ctx.obj.error(_in_options(without_passwords(told(error)), ctx.command))
            ctx.exit(1)


def subcommand(
    name: str, *examples: str, in_place: str | None = None
) -> Callable[[Callable[..., Any]], Command]:
    """Return what makes a subcommand of a function whose first argument is the ``Terminal``."""
    options: dict[str, Any] = {"epilog": with_examples(*examples), "in_place": in_place}

    def made(function: Callable[..., Any]) -> Command:
        return click.command(name, cls=Command, **options)(click.pass_obj(function))

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
        return "not enough memory: use fewer columns, or a command that streams such as summarize"
    kind = type(error).__name__
    return f"unexpected {kind}: {text}; run again with --debug to see where"


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
