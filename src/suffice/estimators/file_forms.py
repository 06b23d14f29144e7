"""How a fitted estimator is kept in a file, and the form of those that are read from sums."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from suffice.errors import FileFormatError, SufficeError
from suffice.estimators.file_settings import plain, revived
from suffice.moments.file import arrays_of, header_of, moments_from

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_CHOSEN = ("pooling_", "shrinkage_", "temperature_")  # by cross-validation, where left open


class Form(Protocol):
    """What a file keeps of a fitted estimator beside its settings."""

    def pack(self, estimator: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the fields of the header and the arrays."""
        ...

    def unpack(self, estimator: Any, header: Mapping[str, Any], arrays: Mapping[str, Any]) -> Any:
        """Return the estimator, which has its settings, as it was when it was packed."""
        ...


@dataclass(frozen=True, slots=True)
class Sums:
    """An estimator that is read from moments: these, and what cross-validation chose."""

    def pack(self, estimator: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the sums."""
        chosen = {name: vars(estimator)[name] for name in _CHOSEN if name in vars(estimator)}
        header = {"chosen": plain("chosen", chosen), **header_of(estimator.moments_)}
        return header, arrays_of(estimator.moments_)

    def unpack(self, estimator: Any, header: Mapping[str, Any], arrays: Mapping[str, Any]) -> Any:
        """Return the estimator, fitted from the sums."""
        moments = moments_from(header, arrays)
        chosen = revived(header["chosen"])
        vars(estimator).update({name: chosen[name] for name in _CHOSEN if name in chosen})
        return estimator.fit_moments(moments)


@contextmanager
def unpacking() -> Iterator[None]:
    """Tell as a fault of the file whatever an altered header leads to."""
    try:
        yield
    except SufficeError:
        raise
    except Exception as error:
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        msg = f"the file names an estimator or setting that this version lacks ({reason})"
        raise FileFormatError(msg) from error
