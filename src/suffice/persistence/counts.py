"""Count classifiers in files: the sums and the settings."""

from __future__ import annotations

from dataclasses import fields

from suffice.core.decision.classifier import Classifier
from suffice.core.estimation.count_kinds import decide_counts, estimate_counts
from suffice.core.estimation.count_settings import CountSettings
from suffice.core.moments.count_sums import CountSums
from suffice.persistence.count_sums_file import arrays_of, count_sums_from, header_of
from suffice.persistence.fields import Arrays, Fields, State, kept, revived


def count_state(sums: CountSums, settings: CountSettings) -> State:
    """Return the header fields and the arrays of a count classifier."""
    header = header_of(sums)
    words = {field.name: getattr(settings, field.name) for field in fields(settings)}
    header["settings"] = {name: kept(name, word) for name, word in words.items()}
    return header, arrays_of(sums)


def restored_count_settings(header: Fields) -> CountSettings:
    """Return the settings of a saved count classifier."""
    return CountSettings(**{name: revived(word) for name, word in header["settings"].items()})


def counts_from(header: Fields, arrays: Arrays) -> Classifier:
    """Return the classifier of a saved count estimator."""
    sums = count_sums_from(header, arrays)
    settings = restored_count_settings(header)
    return decide_counts(estimate_counts(sums, settings), sums, settings)
