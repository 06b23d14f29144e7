"""What scatter to keep of so many classes and features."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from suffice.errors import InvalidParameterError

if TYPE_CHECKING:
    from suffice.moments.collect import Storage

STORAGES = ("auto", "per-class", "pooled", "diagonal")
AFFORDABLE = 1 << 20  # numbers in K matrices that "auto" storage keeps


def affordable_storage(n_classes: int, n_features: int) -> Storage:
    """Return ``"per-class"`` unless K d² numbers would be too many."""
    few = n_classes * n_features**2 <= AFFORDABLE
    return "per-class" if few else "pooled"


def plan(
    storage: str, n_classes: int, n_features: int, *, fourth: bool | None
) -> tuple[Storage, bool]:
    """Return the storage to fill and whether fourth moments go with it."""
    if storage not in STORAGES:
        msg = f"storage must be one of {', '.join(map(repr, STORAGES))}, got {storage!r}"
        raise InvalidParameterError(msg)
    affordable = affordable_storage(n_classes, n_features)
    kept: Any = affordable if storage == "auto" else storage
    if fourth and kept != "per-class":
        msg = f"fourth=True needs storage='per-class', got {kept!r}"
        raise InvalidParameterError(msg)
    return kept, fourth if fourth is not None else kept == affordable == "per-class"
