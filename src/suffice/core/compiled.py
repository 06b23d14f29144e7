"""Compiled functions, kept between runs where that is possible: one rule for all kernels."""

import os
import stat
import tempfile
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import numba

from suffice.errors import warn

KERNELS: list[Any] = []  # all that this process may compile


def njit(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Return what compiles a function by Numba and keeps the code; a damaged file is replaced."""

    def compiled(function: Callable[..., Any]) -> Any:
        try:
            made = _forgiving(numba.njit(cache=True, **options)(function))
        except RuntimeError:  # Numba finds no folder to write to
            made = _elsewhere(function, options)
        KERNELS.append(made)
        return made

    return compiled


def read_only(*arrays: Any) -> tuple[Any, ...]:
    """Return views that cannot be written to: code for them serves every array that is read."""
    views = tuple(array.view() for array in arrays)
    for view in views:
        view.flags.writeable = False
    return views


def _elsewhere(function: Callable[..., Any], options: dict[str, Any]) -> Any:
    place, known = private_folder(), numba.config.CACHE_DIR
    if place is not None:
        numba.config.CACHE_DIR = str(place)
        try:
            return _forgiving(numba.njit(cache=True, **options)(function))
        except RuntimeError:
            pass
        finally:
            numba.config.CACHE_DIR = known
    return numba.njit(**options)(function)


@cache
def private_folder() -> Path | None:
    """Return a temporary folder that only this user can write to, or None; say which, once."""
    cure = "set NUMBA_CACHE_DIR to a folder that can be written to, and run suffice warm-up"
    try:
        place = Path(tempfile.gettempdir()) / f"suffice-{os.getuid()}"
        place.mkdir(mode=0o700, exist_ok=True)
        found = place.lstat()
    except (OSError, AttributeError):  # no such folder, or no such user: not POSIX
        found = None
    mine = found is not None and stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid()
    if found is None or not mine or found.st_mode & 0o077:
        warn(f"compiled code can be kept nowhere, and every process compiles anew: {cure}")
        return None
    warn(f"compiled code is kept in {place}, which may not last: {cure}")
    return place


def _forgiving(compiled: Any) -> Any:
    """Return the function with a cache that takes damage and a full disk for an empty one."""
    cache = compiled._cache
    load, save = cache.load_overload, cache.save_overload

    def load_overload(*args: Any) -> Any:
        try:
            return load(*args)
        except Exception:  # a truncated file fails in any way
            with suppress(Exception):
                cache.flush()
            return None

    def save_overload(*args: Any) -> None:
        with suppress(OSError):
            save(*args)

    cache.load_overload, cache.save_overload = load_overload, save_overload
    return compiled
