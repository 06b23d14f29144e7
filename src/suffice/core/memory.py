"""The memory of this process."""

import ctypes
import sys
from contextlib import suppress


def return_freed_memory() -> None:
    """Return freed memory to the operating system, on Linux with glibc only.

    glibc keeps memory that a thread has freed for the same thread, which may have ended.
    """
    if sys.platform == "linux":
        with suppress(OSError, AttributeError):
            ctypes.CDLL(None).malloc_trim(0)
