"""What to tell a person about classes and columns that lack variance."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from suffice.errors import DegenerateDataWarning
from suffice.linalg import dependent_columns

if TYPE_CHECKING:
    from suffice.moments import Moments
    from suffice.typing import Codes, Floats

_MOST_NAMED = 4


@dataclass(frozen=True, slots=True, eq=False)
class Gap:
    """A group of classes whose covariance was not of full rank."""

    group: int
    n_features: int
    constant: Codes  # columns that do not vary in the group
    dependent: Codes  # columns that are combinations of the others

    @classmethod
    def of(cls, group: int, sigma: Floats, variances: Floats) -> Gap:
        """Describe a singular Σ, or a diagonal one (``sigma`` empty) by its variances."""
        constant = np.flatnonzero(variances == 0)
        if not sigma.size:
            return cls(group, len(variances), constant, constant[:0])
        varying = np.flatnonzero(variances > 0)
        dependent = varying[dependent_columns(sigma[np.ix_(varying, varying)])]
        return cls(group, len(variances), constant, dependent)

    def describe(self, moments: Moments, group_of: Codes) -> str:
        """Return a sentence that names the classes, the rank and the columns."""
        members = moments.classes[group_of == self.group]
        who = f"class {members[0].item()!r}" if len(members) == 1 else _listed("classes", members)
        rank = self.n_features - len(self.constant) - len(self.dependent)
        names: Any = moments.feature_names or range(self.n_features)
        reasons = []
        if len(self.constant):
            reasons.append(_listed("constant:", [names[j] for j in self.constant]))
        if len(self.dependent):
            columns = [names[j] for j in self.dependent]
            reasons.append(_listed("combinations of other columns:", columns))
        weight = float(moments.weights[group_of == self.group].sum())
        return (
            f"{who}: covariance rank {rank} < {self.n_features} at weight {weight:g} "
            f"({'; '.join(reasons) or 'nearly singular'})"
        )


def warn_of_gaps(gaps: list[Gap], moments: Moments, group_of: Codes) -> None:
    """Warn once for all gaps: who lacks variance, where it was taken from, and the cure."""
    if not gaps:
        return
    told = [gap.describe(moments, group_of) for gap in gaps[:_MOST_NAMED]]
    if len(gaps) > _MOST_NAMED:
        told.append(f"and {len(gaps) - _MOST_NAMED} more")
    msg = (
        f"{'; '.join(told)}. Missing directions use the variance pooled over all classes, then "
        "that of all rows. Drop those columns, or set shrinkage or pooling, for a model of its own"
    )
    warnings.warn(msg, DegenerateDataWarning, stacklevel=2)


def _listed(before: str, items: object) -> str:
    names = [repr(item.item() if isinstance(item, np.generic) else item) for item in items]  # type: ignore[attr-defined]
    more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    return f"{before} {', '.join(names[:_MOST_NAMED])}{more}"
