"""Labels with different spellings that may mean the same class: merge or report them."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Self

import numpy as np
import polars as pl

from suffice.core.text.lists import listed, quote
from suffice.errors import InvalidInputError, InvalidParameterError
from suffice.typing import Labels

_SHORT_FORMS = {"y": "yes", "n": "no", "t": "true", "f": "false"}
_LONG_FORMS = frozenset(_SHORT_FORMS.values())


def _folded(label: str) -> str:
    """Return a label in lower case without extra blanks."""
    return " ".join(label.split()).casefold()


def pairs_in(labels: Iterable[str]) -> list[tuple[str, str]]:
    """Return the pairs of labels that differ only in case, blanks or the spelling of yes and no."""
    texts = sorted(set(labels))
    forms = {_folded(text) for text in texts}
    first_of: dict[str, str] = {}
    pairs = []
    for text in texts:
        form = _folded(text)
        long_form = _SHORT_FORMS.get(form, form)
        first = first_of.setdefault(long_form if long_form in forms else form, text)
        if first != text:
            pairs.append((first, text))
    return pairs


def refuse_pairs(name: str, labels: Iterable[str], label: str) -> None:
    """Raise an error that names all labels of a target that may mean the same class."""
    pairs = pairs_in(labels)
    if not pairs:
        return
    named = [f"{quote(first)} and {quote(second)}" for first, second in pairs]
    raise InvalidInputError(
        f"{label}: labels of the target {name!r} may name the same class: "
        f"{listed(named, len(named))}. Make them alike, or add --merge-labels "
        "(Columns(merge_labels=True) in Python). If they are different classes, add --target-kind "
        "class (Columns(target_kind='class'))"
    )


@dataclass(frozen=True, slots=True)
class LabelMerge:
    """Merges labels that differ only in case, blanks or the spelling of yes and no."""

    # Whether all labels of the first rows are spellings of yes, no, true and false. Only then is
    # "y" replaced with "yes".
    are_answers: bool = False

    @classmethod
    def of(cls, labels: pl.Series) -> Self:
        """Return the merge for a target, given the labels of the first rows."""
        forms = {_folded(str(label)) for label in labels.drop_nulls().unique()}
        return cls(are_answers=forms <= _LONG_FORMS | set(_SHORT_FORMS))

    def applied(self, labels: pl.Series) -> pl.Series:
        """Return the labels (n,) in the merged spelling; labels that are not text are unchanged."""
        if labels.dtype != pl.String:
            return labels
        distinct = labels.drop_nulls().unique()
        merged = [self._merged(str(label)) for label in distinct]
        return labels.replace(distinct, merged)

    def _merged(self, label: str) -> str:
        form = _folded(label)
        return _SHORT_FORMS.get(form, form) if self.are_answers else form

    def require_answers(self, classes: Labels, label: str) -> None:
        """Raise if the first labels are spellings of yes and no, but a later label is not."""
        if not self.are_answers or classes.dtype.kind != "U":
            return
        for name in classes.tolist():
            if name not in _LONG_FORMS:
                raise InvalidInputError(
                    f"{label}: label {quote(name)} means neither yes nor no. The first labels all "
                    "do, so 'y' was merged into 'yes'. Correct this label, or write all labels in "
                    "one spelling"
                )

    def require_applied(self, classes: Labels, label: str) -> None:
        """Raise unless all classes have the merged spelling: a database does not merge labels."""
        if classes.dtype.kind != "U":
            return
        if not np.array_equal(self.applied(pl.Series(classes.tolist())).to_numpy(), classes):
            raise InvalidParameterError(
                f"the labels of {label} cannot be merged inside the database: read the rows from "
                "a file, or with on='local'"
            )
