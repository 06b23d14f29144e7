"""All usable rows of a source in memory, for what needs every row at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from suffice.errors import InvalidInputError
from suffice.sources.chunks import Loader
from suffice.sources.reading import frames_of

if TYPE_CHECKING:
    from suffice.sources.chunks import Chunk
    from suffice.sources.roles import Roles
    from suffice.sources.source import Source


def load_rows(source: Source, roles: Roles) -> Chunk:
    """Return numbers, labels, weights and ids of every usable row, in their order."""
    frames = list(frames_of(source, roles))
    chunk, left_out = Loader(roles, sum(frame.height for frame in frames)).load(frames)
    left_out.say()
    if not len(chunk.codes):
        msg = f"{source.label} has no row that can be used: each lacks its label or a number"
        raise InvalidInputError(msg)
    return chunk
