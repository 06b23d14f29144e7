"""The file to which a path leads through symbolic links."""

import os
from pathlib import Path

from suffice.errors import InvalidParameterError


def followed(path: str | Path) -> Path:
    """Return the path without symbolic links, or raise if links lead in a circle."""
    target = os.path.realpath(path)
    if os.path.islink(target):
        raise InvalidParameterError(
            f"{path} is a link that leads back to itself: remove the link, or name another output"
        )
    return Path(target)
