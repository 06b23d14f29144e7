"""Which classifiers of counts cross-validation reads from sums, rather than fitting them again."""

import pytest

import suffice as sf
from suffice.selection.validation.count_validation import is_read_from_counts


@pytest.mark.parametrize(
    ("estimator", "expected"),
    [
        (sf.CountNB(), True),
        (sf.CountNB("complement", alpha=0.3, temperature=2.0), True),
        (sf.CountNB(alpha="auto"), False),
        (sf.CountNB(temperature="auto"), False),
        (sf.CountNB(text="words"), False),
        (sf.CountNB(text="words", alpha="auto"), False),
        (sf.CountNB(costs=sf.Costs(reject=0.1)), False),
        (sf.LDA(), False),
    ],
    ids=repr,
)
def test_sums_are_enough_where_nothing_is_chosen_and_nothing_else_is_read(estimator, expected):
    assert is_read_from_counts(estimator) is expected
