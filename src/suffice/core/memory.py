"""Memory of the process."""

import ctypes
import sys
from contextlib import suppress


def return_freed_memory() -> None:
    """Return freed memory to the operating system; does nothing except on Linux with glibc.

    glibc keeps the memory that a thread has freed for that thread, which may no longer exist.
    """
    if sys.platform == "linux":
        with suppress(OSError, AttributeError):
            ctypes.CDLL(None).malloc_trim(0)
