"""Outputs that would take the place of what a command reads, or of one another."""

import os
from collections.abc import Iterator
from glob import glob
from pathlib import Path
from typing import Any

import click

from suffice.cli.options import OutputFile
from suffice.errors import InvalidParameterError


def refuse_overwriting(ctx: click.Context, in_place: str | None) -> None:
    """Raise if an output of a command is one of its inputs, however either is spelt.

    ``in_place`` names the argument that the command may replace.
    """
    said = [(p, ctx.params.get(p.name or "")) for p in ctx.command.params]
    outputs = [path for p, path in said if isinstance(p.type, OutputFile) and path is not None]
    read = [v for p, v in said if isinstance(p, click.Argument) and v and p.name != in_place]
    for path in outputs:
        for found in (found for value in read for found in _files(value)):
            if _is_same(path, found):
                msg = f"{path} would replace the input {found}: name another output"
                raise InvalidParameterError(msg)
    if len({os.path.realpath(path) for path in outputs}) < len(outputs):
        msg = f"{outputs[0]} is named for two outputs: name two files"
        raise InvalidParameterError(msg)


def _files(value: Any) -> Iterator[str]:
    """Yield the files that are there of a path, a glob, or several of them."""
    for text in map(str, value if isinstance(value, tuple) else (value,)):
        yield from [text] if os.path.exists(text) else glob(text, recursive=True)


def _is_same(output: Path, found: str) -> bool:
    return output.is_file() and os.path.samefile(output, found)


def free(path: Path) -> Path:
    """Return the path, or the first of the same name with a number that is not there yet."""
    number, free = 1, path
    while free.exists():
        number += 1
        free = path.with_name(f"{path.stem}-{number}{path.suffix}")
    return free
