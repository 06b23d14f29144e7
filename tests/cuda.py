"""Array libraries that tests run over: on the host as if it were a device, and on a real one."""

from functools import partial
from importlib.util import find_spec

import pytest

from suffice.core.table import foreign


def _has_cuda():
    if not find_spec("torch"):
        return False
    import torch

    return torch.cuda.is_available()


_ON_GPU = [pytest.mark.cuda, pytest.mark.skipif(not _has_cuda(), reason="no CUDA device")]
LIBRARIES = [
    "array_api_strict",
    "torch",
    *(pytest.param(n, marks=_ON_GPU) for n in ("cuda", "cupy")),
]


def _out_of_reach(*_, **__):
    raise TypeError("can't convert a device's array to numpy")


def asarray_of(name, monkeypatch):
    """Return what makes an array of a library, whose memory counts as that of a device."""
    pytest.importorskip("array_api_compat")
    if name == "cuda":
        return partial(pytest.importorskip("torch").asarray, device="cuda")
    if name == "cupy":
        return pytest.importorskip("cupy").asarray
    library = pytest.importorskip(name)
    monkeypatch.setattr(foreign, "_HOST", ())
    if name == "torch":  # NumPy cannot look into the memory of a device
        monkeypatch.setattr(library.Tensor, "__array__", _out_of_reach)
    return library.asarray
