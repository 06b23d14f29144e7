"""Arrays of other libraries, such as PyTorch or CuPy: where they lie, to NumPy and back."""

from collections.abc import Callable, Iterator
from contextlib import suppress
from importlib import import_module
from typing import Any, TypeVar

import numpy as np

from suffice.errors import InvalidInputError, InvalidParameterError, extra

V = TypeVar("V")
_SMALLEST = 1 << 12  # rows of a block
_HOST, _CUDA = (
    (1, 3),
    2,
)  # DLPack's numbers of the memory of the host, pinned or not, and CUDA's


def is_foreign(x: Any) -> bool:
    """Return whether x is an array of another library, which then gets answers of its own kind."""
    library = type(x).__module__.partition(".")[0]
    named = library in ("torch", "cupy")
    return named or (library != "numpy" and hasattr(x, "__array_namespace__"))


def is_on_device(x: Any) -> bool:
    """Return whether x is an array in the memory of a GPU or the like."""
    return is_foreign(x) and x.__dlpack_device__()[0] not in _HOST


def is_on_cuda(x: Any) -> bool:
    """Return whether x is an array in the memory of an NVIDIA GPU."""
    return is_foreign(x) and x.__dlpack_device__()[0] == _CUDA


def triton_kernels(x: Any, room: str) -> Any:
    """Return the kernels of a room, where x lies on a GPU of NVIDIA's and there is Triton."""
    if is_foreign(x) and x.__dlpack_device__()[0] == _CUDA:
        with suppress(ImportError):
            return import_module(f"suffice.{room}.device_kernels")
    return None


def namespace(x: Any) -> Any:
    """Return the functions of the Array API for x."""
    return _compat().array_namespace(x)


def device_of(x: Any) -> Any:
    """Return where x lies."""
    return _compat().device(x)


def to_numpy(x: Any) -> Any:
    """Return another library's array as NumPy's, copied only from a device; else as it is."""
    if not is_foreign(x):
        return x
    if hasattr(x, "detach"):  # PyTorch
        return x.detach().cpu().numpy()
    return np.asarray(x.get() if hasattr(x, "get") else x)  # CuPy


def like(values: Any, x: Any) -> Any:
    """Return numbers as an array like x, on its device; text, and all else, as it is."""
    numbers = isinstance(values, np.ndarray) and values.dtype.kind in "fiub"
    return placed(values, x) if numbers and is_foreign(x) else values


def placed(values: Any, x: Any, dtype: Any = None) -> Any:
    """Return an array of NumPy's as one of x's library, where x lies."""
    own = np.require(values, requirements="W")  # PyTorch warns of those that are read-only
    return namespace(x).asarray(own, dtype=dtype, device=device_of(x))


def constants_like(constants: Any, x: Any) -> Any:
    """Return constants to compute with x: in its library, type and place if it is foreign."""
    return placed(constants, x, x.dtype) if is_foreign(x) else constants


def on_device(x: Any, device: Any) -> Any:
    """Return numbers of the host as an array of PyTorch on a device."""
    return _torch(device).from_numpy(x).to(device, non_blocking=True)


def copied_quickly(shape: tuple[int, ...], device: Any) -> Any:
    """Return an array of the host (page-locked) that a GPU reads without another copy."""
    torch = _torch(device)
    locked = torch.device(device).type == "cuda"
    return torch.empty(shape, dtype=torch.float64, pin_memory=locked).numpy()


def all_finite(x: Any) -> bool:
    """Return whether no number is NaN or infinite."""
    xp = namespace(x) if is_foreign(x) else np
    return bool(xp.all(xp.isfinite(x)))


def in_blocks(answer: Callable[[int, int], V], n_rows: int, block: int) -> Iterator[V]:
    """Yield the answers for rows lo … hi − 1; blocks get smaller where the device is too small."""
    lo = 0
    while lo < n_rows:
        try:
            found = answer(lo, min(lo + block, n_rows))
        except Exception as error:
            if "OutOfMemory" not in type(error).__name__:
                raise
            if block <= _SMALLEST:
                lack = f"the device has no memory left for {block} more rows"
                raise MemoryError(f"{lack}: free some, or use NumPy") from error
            block = max(block // 4, _SMALLEST)
            continue
        yield found
        lo += block


def _torch(device: Any) -> Any:
    try:
        import torch

        torch.empty(0, device=device)
    except ImportError as error:
        raise InvalidInputError("sums on a device need PyTorch: pip install torch") from error
    except (RuntimeError, AssertionError) as error:
        msg = f"PyTorch has no device={device!r} here ({str(error).splitlines()[0]}): name another"
        raise InvalidParameterError(msg) from error
    return torch


def _compat() -> Any:
    return extra("array_api_compat", "gpu", "an array of another library")
