"""Compile functions with Numba and cache their machine code between runs where possible."""

import os
import pickle
import stat
import tempfile
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any, TypeAlias

import numba

from suffice.errors import warn
from suffice.typing import Array

Compiled: TypeAlias = Any  # a function that Numba has compiled, or will compile when called
NumbaFiles: TypeAlias = Any  # where Numba keeps the index and the machine code of a function
_DIGEST_BYTES = 32  # length of a SHA-256 digest
# every function that Numba may compile in this process
COMPILED_FUNCTIONS: list[Compiled] = []


def njit(**options: object) -> Callable[[Callable[..., object]], Compiled]:
    """Return a decorator that compiles a function with Numba and caches the machine code."""

    def decorator(function: Callable[..., object]) -> Compiled:
        try:
            compiled = _with_robust_cache(numba.njit(cache=True, **options)(function))
        except RuntimeError:  # Numba has no folder that it may write to
            compiled = _compiled_elsewhere(function, options)
        COMPILED_FUNCTIONS.append(compiled)
        return compiled

    return decorator


def read_only(*arrays: Array) -> tuple[Array, ...]:
    """Return read-only views of arrays, for which Numba needs only one version of a function."""
    views = tuple(array.view() for array in arrays)
    for view in views:
        view.flags.writeable = False
    return views


def _compiled_elsewhere(
    function: Callable[..., object],
    options: dict[str, object],
) -> Compiled:
    """Return the compiled function, with its code cached in the private folder if there is one."""
    folder = private_folder()
    usual_folder = numba.config.CACHE_DIR
    if folder is not None:
        numba.config.CACHE_DIR = str(folder)
        try:
            return _with_robust_cache(numba.njit(cache=True, **options)(function))
        except RuntimeError:
            pass
        finally:
            numba.config.CACHE_DIR = usual_folder
    return numba.njit(**options)(function)


@cache
def private_folder() -> Path | None:
    """Return a temporary folder that only this user can write to, or warn and return None."""
    cure = "set NUMBA_CACHE_DIR to a folder that can be written to, and run suffice warm-up"
    try:
        folder = Path(tempfile.gettempdir()) / f"suffice-{os.getuid()}"
        folder.mkdir(mode=0o700, exist_ok=True)
        status = folder.lstat()
        is_mine = stat.S_ISDIR(status.st_mode) and status.st_uid == os.getuid()
        is_private = is_mine and not status.st_mode & 0o077
    except (OSError, AttributeError):  # the folder cannot be made, or the system is not POSIX
        is_private = False
    if not is_private:
        warn(
            "there is no folder that compiled code can be written to, so every process compiles "
            f"it again: {cure}"
        )
        return None
    warn(f"compiled code is kept in {folder}, which the system may delete: {cure}")
    return folder


def _with_robust_cache(compiled: Compiled) -> Compiled:
    """Return the function with a cache that is ignored if it is damaged or cannot be written."""
    cache = compiled._cache
    _check_digests(cache._cache_file)
    load = cache.load_overload
    save = cache.save_overload

    def load_overload(*args: object) -> object:
        try:
            return load(*args)
        except Exception:  # a damaged file can raise any exception
            with suppress(Exception):
                cache.flush()
            return None

    def save_overload(*args: object) -> None:
        with suppress(OSError):
            save(*args)

    cache.load_overload = load_overload
    cache.save_overload = save_overload
    return compiled


def _check_digests(files: NumbaFiles) -> None:
    """Make cache files end with a digest that is checked, since Numba would run damaged code."""
    dump = files._dump
    load_index = files._load_index
    load_data = files._load_data

    def with_digest(saved: object) -> bytes:
        content: bytes = dump(saved)
        return content + sha256(content).digest()

    def checked_index() -> object:
        path = Path(files._index_path)
        if path.exists():
            # the file starts with the version of Numba; the content follows
            with path.open("rb") as file:
                version = pickle.load(file)
                rest = file.read()
            if version == numba.__version__:
                _require_digest(rest)
        return load_index()

    def checked_data(name: str) -> object:
        path = Path(files._data_path(name))
        if path.exists():
            _require_digest(path.read_bytes())
        return load_data(name)

    files._dump = with_digest
    files._load_index = checked_index
    files._load_data = checked_data


def _require_digest(content: bytes) -> None:
    """Raise unless the last bytes are the digest of the bytes before them."""
    if sha256(content[:-_DIGEST_BYTES]).digest() != content[-_DIGEST_BYTES:]:
        raise ValueError(
            "the compiled cache is damaged or was written by an older version: delete it"
        )
