"""What a model is estimated from: sums, who shares a covariance with whom, and priors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from suffice.errors import TooFewClassesError
from suffice.estimation.priors import parse_priors
from suffice.estimation.tying import parse_tied

if TYPE_CHECKING:
    from suffice.moments import Moments
    from suffice.typing import Codes, Floats


@dataclass(frozen=True, slots=True, eq=False)
class Evidence:
    """Moments with at least two classes, read as a recipe says."""

    moments: Moments
    group_of: Codes  # group of each class  (K,)
    priors: Floats  # π  (K,); not yet zero for classes without rows
    quiet: bool  # whether to keep silent about directions without variance

    @classmethod
    def of(cls, moments: Moments, tied: Any, priors: Any, *, quiet: bool) -> Evidence:
        """Return the evidence, after checking that there is something to tell apart."""
        present = moments.weights > 0
        if present.sum() < 2:
            found = moments.classes[present].tolist()
            msg = (
                f"a classifier needs at least 2 classes with rows, found {len(found)} class"
                f"{'' if len(found) == 1 else 'es'} {found}: check the labels"
            )
            raise TooFewClassesError(msg)
        pi = parse_priors(priors, moments.classes, moments.weights)
        return cls(moments, parse_tied(tied, moments.classes), pi, quiet)

    @property
    def present(self) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
        """Which classes have rows, (K,)."""
        return self.moments.weights > 0

    @property
    def n_groups(self) -> int:
        """Number of covariances G."""
        return int(self.group_of.max(initial=0)) + 1

    def members(self, g: int) -> Codes:
        """Return the classes of a group."""
        return np.flatnonzero(self.group_of == g)

    def named(self, classes: Codes) -> str:
        """Return how messages call some classes."""
        labels = [repr(label) for label in self.moments.classes[classes].tolist()[:4]]
        more = f" and {len(classes) - 4} more" if len(classes) > 4 else ""
        return f"class{'es' if len(classes) > 1 else ''} {', '.join(labels)}{more}"
