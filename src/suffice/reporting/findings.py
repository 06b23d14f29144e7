"""All that a report is written from: the rows, their sums, and the judgement."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from suffice.curves.importance import separation
from suffice.moments import Moments
from suffice.reporting.choosing import Judgement
from suffice.reporting.documented import DocumentedTable
from suffice.typing import Codes
from suffice.validation.predictions import Predictions

MANY_CLASSES = 9  # beyond which curves and clouds of every class hide each other


@dataclass(frozen=True, eq=False)
class Findings:
    """The rows of a report, a sample of them, its sums, and what was judged."""

    data: DocumentedTable
    sample: DocumentedTable  # the judged rows: all, unless there are many
    moments: Moments  # of the sample
    judgement: Judgement

    @property
    def rows(self) -> Predictions:
        """The judged rows while they were held out."""
        return self.judgement.held_out

    @property
    def names(self) -> tuple[str, ...]:
        """Classes as text, (K,)."""
        return self.sample.class_names

    @property
    def many(self) -> bool:
        """Whether there are more classes than a chart can show."""
        return len(self.names) > MANY_CLASSES

    @cached_property
    def positive(self) -> int:
        """The class of two that is looked for: that of the verdict, or the rarer one."""
        at = self.judgement.verdict.threshold
        if at is not None:
            return int(np.flatnonzero(self.rows.classes == at.label)[0])
        counts = np.bincount(self.rows.truth, self.rows.weight, len(self.names))
        return int(len(counts) - 1 - counts[::-1].argmin())

    @cached_property
    def ranked_features(self) -> Codes:
        """Features by how well they separate the classes, best first, (d,)."""
        ratio = np.nan_to_num(separation(self.moments), posinf=np.inf)
        return np.asarray(np.argsort(-ratio, kind="stable"))

    def tip(self, row: int) -> str:
        """Return what is known of a judged row."""
        truth, guess = self.rows.truth[row], self.rows.predicted[row]
        said = self.names[guess] if guess >= 0 else "none"
        return f"{self.id(row)}: {self.names[truth]}, predicted {said}"

    def id(self, row: int) -> str:
        """Return what a person finds a judged row by."""
        return str(self.sample.ids[row])

    def asked(self) -> tuple[Any, Any, Any]:
        """Return the fitted classifier, rows as it takes them, and the classes."""
        return self.judgement.estimator, self.sample.asked, self.sample.table.classes
