"""Failures of a database, told as what happened to which table, and the cure."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from suffice.errors import DatabaseError, InvalidInputError, SufficeError

if TYPE_CHECKING:
    from collections.abc import Iterator

_CANCELLED = ("QueryCanceled", "InterruptException")
_LOST = ("08", "57P")  # SQLSTATE: connection exceptions, and the server's own going away


@contextmanager
def asking(label: str) -> Iterator[None]:
    """Turn whatever a database raises into an error that names the table."""
    try:
        yield
    except SufficeError:
        raise
    except Exception as error:
        raise _told(error, label) from error


def _told(error: Exception, label: str) -> SufficeError:
    text = str(error).strip()
    reason = text.splitlines()[0] if text else type(error).__name__
    if type(error).__name__ in _CANCELLED or reason == "interrupted":
        return DatabaseError(
            f"the query over {label} was cancelled ({reason}): nothing of it was kept; "
            "run it again, with more time if a limit stopped it"
        )
    if _is_lost(error, reason):
        return DatabaseError(
            f"the connection was lost while reading {label} ({reason}): nothing of it was kept; "
            "connect again and repeat"
        )
    return InvalidInputError(f"{label} cannot be read: the database says {reason!r}")


def _is_lost(error: Exception, reason: str) -> bool:
    state = getattr(error, "sqlstate", None) or ""
    if state:
        return state.startswith(_LOST)
    kind = type(error).__name__ in ("OperationalError", "InterfaceError", "ConnectionException")
    return kind and any(word in reason for word in ("connection", "server closed", "closed"))
