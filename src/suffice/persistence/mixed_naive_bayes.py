"""Naive Bayes over numbers, categories and counts in files: the sums of all parts."""

from __future__ import annotations

from dataclasses import fields

from suffice.core.decision.classifier import Classifier
from suffice.core.estimation.mixed_naive_bayes import (
    MixedSettings,
    decide_mixed,
    estimate_mixed,
)
from suffice.core.moments import Moments
from suffice.core.moments.mixed_sums import CountBlock, MixedSums
from suffice.core.table.column_kinds import COUNT_WORDS
from suffice.errors import FileFormatError
from suffice.persistence.count_sums_file import arrays_of, count_sums_from, header_of
from suffice.persistence.fields import (
    Arrays,
    Fields,
    State,
    kept,
    revived,
    with_prefix,
    without_prefix,
)
from suffice.persistence.moments_file import checked_state
from suffice.typing import Array

_NUMBERS = "numbers_"


def mixed_state(sums: MixedSums, settings: MixedSettings) -> State:
    """Return the header fields and the arrays of a classifier of numbers and counts."""
    words = {field.name: getattr(settings, field.name) for field in fields(settings)}
    header: dict[str, object] = {
        "settings": {name: kept(name, word) for name, word in words.items()},
        "columns": list(sums.columns),
        "has_names": sums.has_names,
        "n_rows": int(sums.counts.sum()),
    }
    arrays: dict[str, Array] = {"classes": sums.classes}
    if sums.numbers is not None:
        number_header, number_arrays = checked_state(sums.numbers)
        header["numbers"] = number_header
        arrays.update(with_prefix(_NUMBERS, number_arrays))
    blocks = []
    for b, block in enumerate(sums.blocks):
        block_header = header_of(block.sums)
        block_header["pattern"] = block.pattern
        block_header["kind"] = block.kind
        blocks.append(block_header)
        arrays.update(with_prefix(_prefix(b), arrays_of(block.sums)))
    header["blocks"] = blocks
    return header, arrays


def _prefix(b: int) -> str:
    return f"counts{b}_"


def mixed_sums_from(header: Fields, arrays: Arrays) -> MixedSums:
    """Return the sums in a file, after checking that the parts match."""
    numbers = None
    if "numbers" in header:
        numbers = Moments.of_archive(header["numbers"], without_prefix(arrays, _NUMBERS))
    blocks = []
    for b, block_header in enumerate(header["blocks"]):
        if block_header["kind"] not in COUNT_WORDS:
            raise FileFormatError(
                f"the file names the kind {block_header['kind']!r} of counts: write it again"
            )
        counts = count_sums_from(block_header, without_prefix(arrays, _prefix(b)))
        blocks.append(CountBlock(block_header["pattern"], block_header["kind"], counts))
    sums = MixedSums(tuple(header["columns"]), header["has_names"], numbers, tuple(blocks))
    _check_parts(sums)
    return sums


def _check_parts(sums: MixedSums) -> None:
    """Raise unless all parts have the same rows, and each column belongs to one part."""
    names: list[str] = []
    if sums.numbers is not None:
        schema = sums.numbers.schema
        names += (sums.numbers.feature_names or ()) if schema is None else schema.names
    for block in sums.blocks:
        names += block.sums.feature_names or ()
    if not names or sorted(names) != sorted(sums.columns):
        raise FileFormatError(
            "the parts of the model in the file have other columns than it lists: write it again"
        )
    first, *others = sums.parts
    for part in others:
        has_same_classes = part.classes.tolist() == first.classes.tolist()
        if not has_same_classes or part.counts.tolist() != first.counts.tolist():
            raise FileFormatError(
                "the parts of the model in the file have other classes or numbers of rows: write "
                "it again"
            )


def restored_mixed_settings(header: Fields) -> MixedSettings:
    """Return the settings of a saved classifier of numbers and counts."""
    return MixedSettings(**{name: revived(word) for name, word in header["settings"].items()})


def mixed_from(header: Fields, arrays: Arrays) -> Classifier:
    """Return the classifier of a saved estimator of numbers and counts."""
    sums = mixed_sums_from(header, arrays)
    settings = restored_mixed_settings(header)
    return decide_mixed(estimate_mixed(sums, settings), sums, settings)
