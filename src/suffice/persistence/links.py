"""Links at the place of an output."""

import os
from pathlib import Path

from suffice.errors import InvalidParameterError


def followed(path: str | Path) -> Path:
    """Return the place that a path or its links lead to; raise if links lead in a circle."""
    target = os.path.realpath(path)
    if os.path.islink(target):
        raise InvalidParameterError(
            f"{path} is a link that leads back to itself: remove the link, or name another output"
        )
    return Path(target)
