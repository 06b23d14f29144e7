"""Functions of later stages, fetched by name when a command needs them."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from suffice.errors import InvalidParameterError

if TYPE_CHECKING:
    from collections.abc import Callable


def evaluation(name: str, module: str) -> Callable[..., Any]:
    """Return the function ``name`` of a module, or say that this version lacks it."""
    try:
        function: Callable[..., Any] = getattr(importlib.import_module(module), name)
    except (ModuleNotFoundError, AttributeError) as error:
        msg = f"this version of suffice has no {name} yet: upgrade it, or use suffice fit"
        raise InvalidParameterError(msg) from error
    return function
