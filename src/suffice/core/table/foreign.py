"""Arrays of other libraries, such as PyTorch and CuPy: their device, and conversion to NumPy."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib import import_module
from types import ModuleType
from typing import Any, Protocol, TypeAlias, TypeGuard, TypeVar

import numpy as np

from suffice.errors import InvalidInputError, InvalidParameterError, extra
from suffice.typing import Array

V = TypeVar("V")
Namespace: TypeAlias = ModuleType  # the module with a library's functions of the Array API
Device: TypeAlias = object  # "cuda", or a library's own object for a device
_SMALLEST = 1 << 12  # if memory runs out with blocks of this many rows, an error is raised
_HOST = (1, 3)  # DLPack's numbers for memory of the host, plain and page-locked
_CUDA = 2  # DLPack's number for memory of an NVIDIA GPU


class DeviceArray(Protocol):
    """The methods of PyTorch, CuPy and other arrays with the Array API that suffice uses."""

    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def ndim(self) -> int: ...
    @property
    def dtype(self) -> object: ...
    @property
    def device(self) -> Device: ...
    def __array__(self) -> Array: ...
    def __dlpack_device__(self) -> tuple[int, int]: ...
    def __getitem__(self, key: object, /) -> DeviceArray: ...
    def __gt__(self, other: object, /) -> DeviceArray: ...
    def __add__(self, other: object, /) -> DeviceArray: ...
    def __sub__(self, other: object, /) -> DeviceArray: ...
    def __rsub__(self, other: object, /) -> DeviceArray: ...
    def __mul__(self, other: object, /) -> DeviceArray: ...
    def __truediv__(self, other: object, /) -> DeviceArray: ...
    def __matmul__(self, other: object, /) -> DeviceArray: ...


def is_foreign(x: object) -> TypeGuard[DeviceArray]:
    """Return whether x is an array of another library than NumPy."""
    library = type(x).__module__.partition(".")[0]
    if library in ("torch", "cupy"):
        return True
    return library != "numpy" and hasattr(x, "__array_namespace__")


def is_on_device(x: object) -> TypeGuard[DeviceArray]:
    """Return whether x is an array in the memory of a GPU or another device."""
    return is_foreign(x) and x.__dlpack_device__()[0] not in _HOST


def is_on_cuda(x: object) -> TypeGuard[DeviceArray]:
    """Return whether x is an array in the memory of an NVIDIA GPU."""
    return is_foreign(x) and x.__dlpack_device__()[0] == _CUDA


def namespace(x: object) -> Namespace:
    """Return the functions of the Array API for x."""
    xp: Namespace = _array_api_compat().array_namespace(x)
    return xp


def device_of(x: object) -> Device:
    """Return the device that holds x."""
    return _array_api_compat().device(x)


def to_numpy(x: object) -> Any:
    """Return another library's array as a NumPy array; return any other object unchanged.

    Short floats that NumPy lacks, such as bfloat16, become float32.
    """
    if isinstance(x, np.ndarray) and is_short_float(x.dtype):
        return x.astype(np.float32)
    if not is_foreign(x):
        return x
    if hasattr(x, "detach"):  # PyTorch
        rows = x.detach().cpu()
        is_short = rows.is_floating_point() and rows.element_size() <= 2
        return (rows.float() if is_short else rows).numpy()
    if hasattr(x, "get"):  # CuPy
        return np.asarray(x.get())
    return np.asarray(x)


def is_short_float(dtype: np.dtype[Any]) -> bool:
    """Return whether a type is bfloat16, float8 or a like type that a package adds to NumPy."""
    return dtype.kind == "V" and dtype.names is None and dtype.type is not np.void


def like(values: object, x: object) -> Any:
    """Return a numeric array in the library and on the device of x; leave text unchanged."""
    if isinstance(values, np.ndarray) and values.dtype.kind in "fiub" and is_foreign(x):
        return placed(values, x)
    return values


def placed(values: Array, x: DeviceArray, dtype: object = None) -> DeviceArray:
    """Return a NumPy array as an array of x's library, on the device of x."""
    writeable = np.require(values, requirements="W")  # PyTorch warns of read-only arrays
    array: DeviceArray = namespace(x).asarray(writeable, dtype=dtype, device=device_of(x))
    return array


def constants_like(constants: Array, x: object) -> Any:
    """Return constants with the library, type and device of x, so that both can be combined."""
    return placed(constants, x, x.dtype) if is_foreign(x) else constants


def on_device(x: Array, device: Device) -> DeviceArray:
    """Return a NumPy array as a PyTorch tensor on a device."""
    tensor: DeviceArray = _torch(device).from_numpy(x).to(device, non_blocking=True)
    return tensor


def copied_quickly(shape: tuple[int, ...], device: Device) -> Array:
    """Return an empty NumPy array; if a GPU will read it, it lies in page-locked memory."""
    torch = _torch(device)
    locked = torch.device(device).type == "cuda"
    buffer: Array = torch.empty(shape, dtype=torch.float64, pin_memory=locked).numpy()
    return buffer


def all_finite(x: object) -> bool:
    """Return whether x holds neither NaN nor infinity."""
    xp = namespace(x) if is_foreign(x) else np
    return bool(xp.all(xp.isfinite(x)))


def in_blocks(answer: Callable[[int, int], V], n_rows: int, block: int) -> Iterator[V]:
    """Yield ``answer(lo, hi)`` for blocks of rows; use smaller blocks if memory runs out."""
    lo = 0
    while lo < n_rows:
        try:
            block_answer = answer(lo, min(lo + block, n_rows))
        except Exception as error:
            if "OutOfMemory" not in type(error).__name__:
                raise
            if block <= _SMALLEST:
                raise MemoryError(
                    f"the device has no memory left for {block} more rows: free some memory, "
                    "or use NumPy arrays"
                ) from error
            block = max(block // 4, _SMALLEST)
            continue
        yield block_answer
        lo += block


def _torch(device: Device) -> ModuleType:
    try:
        torch = import_module("torch")
        torch.empty(0, device=device)
    except ImportError as error:
        raise InvalidInputError("sums on a device need PyTorch: pip install torch") from error
    except (RuntimeError, AssertionError) as error:
        reason = str(error).splitlines()[0]
        raise InvalidParameterError(
            f"PyTorch cannot use device={device!r} on this machine ({reason}): name another device"
        ) from error
    return torch


def _array_api_compat() -> ModuleType:
    return extra("array_api_compat", "gpu", "an array of another library")
