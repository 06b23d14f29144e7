"""What a perceptron does about a mistake: against the rest, or between two classes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Protocol

import numpy as np

if TYPE_CHECKING:
    from suffice.typing import Codes, Floats


class Rule(Protocol):
    """A perceptron's rule for K classes by ``n_scores`` linear scores."""

    direct: ClassVar[bool]

    @property
    def n_scores(self) -> int:
        """Number of weight vectors."""
        ...

    def corrections(self, scores: Floats, codes: Codes) -> Floats:
        """Return c with w ← w + η c zᵀ for each row, zero where it is right, (n_scores, n)."""
        ...


@dataclass(frozen=True, slots=True)
class OneAgainstRest:
    """One perceptron per class, labels ±1; a single one where there are two classes."""

    n_classes: int
    direct: ClassVar[bool] = False

    @property
    def n_scores(self) -> int:
        """Number of weight vectors."""
        return 1 if self.n_classes == 2 else self.n_classes

    def corrections(self, scores: Floats, codes: Codes) -> Floats:
        """Return t where t wᵀz ≤ 0, otherwise zero."""
        own = np.array([1]) if self.n_scores == 1 else np.arange(self.n_classes)
        t = np.where(codes == own[:, None], 1.0, -1.0)
        return np.where(t * scores <= 0, t, 0.0)


@dataclass(frozen=True, slots=True)
class Direct:
    """One weight vector per class: a mistake moves the right class up and its rival down.

    References
    ----------
    Duda, Hart & Stork (2001), *Pattern Classification*, section 5.12 (Kesler's construction).
    """

    n_classes: int
    direct: ClassVar[bool] = True

    @property
    def n_scores(self) -> int:
        """Number of weight vectors."""
        return self.n_classes

    def corrections(self, scores: Floats, codes: Codes) -> Floats:
        """Return +1 for the right class and −1 for its best rival where that scores no less."""
        row = np.arange(len(codes))
        rivals = scores.copy()
        rivals[codes, row] = -np.inf
        rival = rivals.argmax(0)
        wrong = scores[codes, row] <= rivals[rival, row]
        c = np.zeros(scores.shape)
        c[codes, row] += wrong
        c[rival, row] -= wrong
        return c
