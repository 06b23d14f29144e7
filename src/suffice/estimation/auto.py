"""The mark of a dial that an estimator chooses from the rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NoReturn

from suffice.errors import InvalidParameterError

if TYPE_CHECKING:
    from suffice.typing import Floats

# volume, shape and axes: equal (E), varying (V) or the identity (I)
CODES = tuple(
    first + rest for rest in ("II", "EI", "VI", "EE", "VE", "EV", "VV") for first in ("E", "V")
)


class Auto(float):
    """A number not chosen yet: usable wherever a dial is kept, but not in arithmetic."""

    needs_fourth = False

    def __repr__(self) -> str:
        return "'auto'"

    def __reduce__(self) -> tuple[Any, ...]:
        return Auto, ("nan",)

    def intensities(self, *evidence: Floats | object) -> NoReturn:  # noqa: ARG002
        """Refuse: sums alone do not say how much to shrink."""
        raise InvalidParameterError(UNRESOLVED)


UNRESOLVED = (
    "pooling='auto' and shrinkage='auto' are chosen by the estimator when it sees rows: call "
    "fit(X, y), or give numbers"
)
AUTO: Final = Auto("nan")
