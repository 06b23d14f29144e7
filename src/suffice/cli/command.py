"""Run subcommands: errors become one line and an exit code, and inputs are protected."""

import errno
import io
import os
import re
import shlex
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from glob import glob
from pathlib import Path
from typing import Any, TextIO

import click

from suffice.cli import BROKEN_PIPE, Stopped, cleaning_up
from suffice.cli.options import OUTPUT, SECTIONS, Function, OutputFile, SectionOption
from suffice.cli.terminal import Terminal
from suffice.core.text.lists import without_passwords
from suffice.errors import InvalidParameterError, SufficeError, SufficeWarning
from suffice.persistence.links import followed

_LEAST_MEMORY = 1536 << 20  # least address space that commands need, in bytes
_WIDTH_OF_EXAMPLES = 78  # width of a terminal, 80 columns, minus the indentation of the help


class Command(click.Command):
    """A subcommand whose callback gets a ``Terminal`` and may raise any error."""

    def __init__(
        self,
        *args: Any,
        may_replace: str | None = None,
        may_overwrite: Sequence[str] = (),
        reports_unused: bool = False,
        kinds: Mapping[str, str] | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(*args, **kwargs)
        # kinds of files that an output may replace without --force
        self._may_overwrite = may_overwrite
        self._kinds = kinds  # the values of the argument KIND, with descriptions
        self._may_replace = (
            may_replace  # name of the argument whose file the output may replace
        )
        # whether the JSON result reports the columns and rows left out
        self._reports_unused = reports_unused
        self._has_own_force = any(param.name == "force" for param in self.params)
        writes = any(isinstance(param.type, OutputFile) for param in self.params)
        if writes and not self._has_own_force:
            force = SectionOption(
                ["--force"],
                section=OUTPUT,
                is_flag=True,
                help="Replace an existing file.",
            )
            self.params.append(force)
        self.params += [
            SectionOption(
                ["-q", "--quiet"],
                section=OUTPUT,
                is_flag=True,
                help="Print only errors, without notes and progress.",
            ),
            SectionOption(
                ["--json"],
                section=OUTPUT,
                is_flag=True,
                help="Print the result as JSON on standard output.",
            ),
            SectionOption(
                ["--debug"],
                section=OUTPUT,
                is_flag=True,
                help="Show the traceback of an error.",
            ),
        ]

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        # the page of ``suffice report`` shows the command line
        ctx.meta["command_line"] = shlex.join(["suffice", self.name or "", *args])
        return super().parse_args(ctx, args)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the values of KIND, then the options in the order of ``SECTIONS``."""
        if self._kinds is not None:
            with formatter.section("Kinds"):
                formatter.write_dl(list(self._kinds.items()))
        for title in SECTIONS:
            lines = []
            for param in self.get_params(ctx):
                # --help is an option of click, without a section
                section = param.section if isinstance(param, SectionOption) else OUTPUT
                record = param.get_help_record(ctx)
                if isinstance(param, click.Option) and record and section == title:
                    lines.append(record)
            if lines:
                with formatter.section(title):
                    formatter.write_dl(lines)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the examples; a long one is continued on the next line with a backslash."""
        del ctx
        lines = [
            part for line in (self.epilog or "").splitlines() for part in _continued(line)
        ]
        formatter.write_paragraph()
        with formatter.indentation():
            formatter.write_text("\n".join(lines))

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; an exception becomes one line and an exit code."""
        debug = ctx.params.pop("debug")
        terminal = Terminal(
            quiet=ctx.params.pop("quiet"),
            json=ctx.params.pop("json"),
            unused={"columns": 0, "rows": 0} if self._reports_unused else None,
        )
        ctx.obj = terminal
        force = ctx.params.get("force", False)
        if not self._has_own_force:
            ctx.params.pop("force", None)
        try:
            with cleaning_up(), _warnings_as_notes(terminal):
                _refuse_little_memory()
                outputs = _outputs(ctx)
                refuse_overwriting(ctx, outputs, self._may_replace)
                if not force:
                    _refuse_replacing(outputs, self._may_overwrite)
                _write_in_one_piece()
                result = super().invoke(ctx)
                sys.stdout.flush()
                return result
        except (click.exceptions.Exit, click.ClickException):
            raise
        except KeyboardInterrupt as stopped:
            terminal.error("interrupted: no output was written")
            ctx.exit(stopped.exit_code if isinstance(stopped, Stopped) else 130)
        except Exception as error:
            if isinstance(error, OSError) and error.errno == errno.EPIPE:
                ctx.exit(BROKEN_PIPE)
            if debug:
                traceback.print_exc(file=sys.stderr)
            terminal.error(without_passwords(error_message(error)))
            ctx.exit(1)


def _continued(line: str) -> list[str]:
    """Return a line of an example, broken before options if it is too long for a terminal."""
    lines = []
    current, *options = re.split(r" (?=-)", line)
    for option in options:
        if len(f"{current} {option} \\") > _WIDTH_OF_EXAMPLES:
            lines.append(f"{current} \\")
            current = f"      {option}"
        else:
            current = f"{current} {option}"
    return [*lines, current]


def _refuse_little_memory() -> None:
    """Raise if a memory limit would make compiled readers abort without a message."""
    try:
        import resource
    except ImportError:  # Windows has no limits on memory
        return
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit != resource.RLIM_INFINITY and limit < _LEAST_MEMORY:
        raise InvalidParameterError(
            f"memory is limited to {limit >> 20:,} MiB (ulimit -v), but reading files needs "
            f"{_LEAST_MEMORY >> 20:,} MiB of address space: raise the limit"
        )


def _write_in_one_piece() -> None:
    """Buffer the output to a pipe until it is flushed, even if Python runs unbuffered."""
    if isinstance(sys.stdout, io.TextIOWrapper) and not sys.stdout.isatty():
        sys.stdout.reconfigure(line_buffering=False, write_through=False)


def subcommand(
    *examples: str,
    name: str | None = None,
    may_replace: str | None = None,
    may_overwrite: Sequence[str] = (),
    reports_unused: bool = False,
    kinds: Mapping[str, str] | None = None,
) -> Callable[[Function], Command]:
    """Make a subcommand from a function whose first argument is the ``Terminal``."""

    def decorate(function: Function) -> Command:
        lines = ["\b", "Examples:"]
        lines += [f"  {example}" for example in examples]
        decorator = click.command(
            name or function.__name__.replace("_", "-"),
            cls=Command,
            epilog="\n".join(lines),
            may_replace=may_replace,
            may_overwrite=may_overwrite,
            reports_unused=reports_unused,
            kinds=kinds,
        )
        return decorator(click.pass_obj(function))

    return decorate


def error_message(error: Exception) -> str:
    """Return an error as one line: what is wrong and how to fix it."""
    text = " ".join(str(error).split())
    if isinstance(error, SufficeError):
        return text
    if isinstance(error, FileNotFoundError) and error.filename is None:
        return "the current folder does not exist any more: change to another one"
    if isinstance(error, FileNotFoundError):
        return f"there is no file {error.filename!r}: check the path"
    if isinstance(error, OSError):
        return f"{error.filename or 'a file'}: {error.strerror or text}"
    if isinstance(error, MemoryError):
        return (
            "not enough memory: use fewer columns, or a command that streams such as summarize"
        )
    return f"unexpected {type(error).__name__}: {text}; run again with --debug to see where"


def _outputs(ctx: click.Context) -> list[str | Path]:
    """Return the output files of a command."""
    outputs: list[str | Path] = []
    for param in ctx.command.params:
        value = ctx.params.get(param.name or "")
        if isinstance(param.type, OutputFile) and value is not None:
            outputs.append(value)
    return outputs


def _refuse_replacing(outputs: Sequence[str | Path], may_overwrite: Sequence[str]) -> None:
    """Raise if an output exists, unless the file is of a kind that may be replaced."""
    for path in outputs:
        # Empty files have no content to lose. Writing to pipes and devices replaces nothing.
        if not os.path.isfile(path) or not os.path.getsize(path):
            continue
        if _kind_of(path) not in may_overwrite:
            raise InvalidParameterError(
                f"{path} exists: name another output, or replace it with --force"
            )


def _kind_of(path: str | Path) -> str | None:
    """Return the kind of a file that suffice has written; None for any other file."""
    from suffice.persistence import archive  # slow to import, because it imports NumPy

    return archive.kind_of(path)


def refuse_overwriting(
    ctx: click.Context,
    outputs: Sequence[str | Path],
    may_replace: str | None,
) -> None:
    """Raise if a command would overwrite an input, or write two outputs to the same file."""
    inputs: list[str] = []
    for param in ctx.command.params:
        value = ctx.params.get(param.name or "")
        if isinstance(param, click.Argument) and value and param.name != may_replace:
            inputs += _existing_files(value)
    for path in outputs:
        for source in inputs:
            if _is_same_or_inside(path, source):
                msg = f"{path} would replace the input {source}: name another output"
                raise InvalidParameterError(msg)
    if len({followed(path) for path in outputs}) < len(outputs):
        raise InvalidParameterError(
            f"{outputs[0]} is given for two outputs: give each output its own file"
        )


def _is_same_or_inside(path: str | Path, source: str) -> bool:
    """Return whether an existing file is the source, or is inside it if that is a folder."""
    if not os.path.isfile(path):
        return False
    return (
        os.path.samefile(path, source)
        or Path(source).resolve() in Path(path).resolve().parents
    )


def _existing_files(value: str | Path | tuple[str | Path, ...]) -> Iterator[str]:
    """Yield the existing files and folders that one or several paths or globs name."""
    values = value if isinstance(value, tuple) else (value,)
    for each in values:
        text = str(each).removeprefix("file://")
        if os.path.exists(text):
            yield text
        else:
            yield from glob(text, recursive=True)


@contextmanager
def _warnings_as_notes(terminal: Terminal) -> Iterator[None]:
    """Show the warnings of suffice as notes, and hide all other warnings."""

    def show(
        message: Warning | str,
        category: type[Warning],  # noqa: ARG001
        filename: str,  # noqa: ARG001
        lineno: int,  # noqa: ARG001
        file: TextIO | None = None,  # noqa: ARG001
        line: str | None = None,  # noqa: ARG001
    ) -> None:
        terminal.warn(message)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", SufficeWarning)
        warnings.showwarning = show
        yield
