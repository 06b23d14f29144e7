"""Memory that reading has freed goes back to the operating system."""

import ctypes
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

from suffice.core.memory import return_freed_memory


def test_nothing_happens_where_the_library_cannot_do_it(monkeypatch):
    def no_library(_):
        raise OSError

    monkeypatch.setattr(ctypes, "CDLL", no_library)
    return_freed_memory()
    monkeypatch.setattr(ctypes, "CDLL", lambda _: object())
    return_freed_memory()


@pytest.mark.skipif(
    sys.platform != "linux" or not hasattr(ctypes.CDLL(None), "malloc_trim"),
    reason="only glibc returns memory on request",
)
def test_what_threads_have_freed_is_returned():
    def resident_bytes():
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        return pages * 4096

    kept = []

    def allocate():
        # blocks below the threshold of mmap; the last block keeps the arena from shrinking
        blocks = [np.ones(12_000) for _ in range(1000)]
        kept.append(blocks[-1])

    worker = threading.Thread(target=allocate)
    worker.start()
    worker.join()
    before = resident_bytes()
    return_freed_memory()
    assert before - resident_bytes() > 60e6
