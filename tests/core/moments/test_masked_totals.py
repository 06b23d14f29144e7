"""The total of masked sums is that of all rows, bit for bit, or is refused."""

from dataclasses import replace

import numpy as np
import pytest

import suffice as sf
from suffice.core.moments.exact_sums import MOST_WEIGHT
from suffice.core.moments.int128 import Int128
from suffice.core.moments.masked_sums import MaskedSums, SumLayout, unmasked
from suffice.core.moments.rounding_grid import RoundingGrid
from suffice.errors import InvalidInputError

NAMES = ("a", "b", "c")
GRID = RoundingGrid.of([0.5, -2.0, 1e6], [-30, -28, -22])
CLASSES = np.array([0, 1])


def exact_sums(seed, storage):
    rng = np.random.default_rng(seed)
    x = rng.normal(loc=[0.5, -2.0, 1e6], size=(20, 3))
    y = np.arange(20) % 2
    return sf.Moments.of(x, y, storage=storage, exact=GRID).exact


def noise(rng, n):
    return Int128.from_bytes(rng.bytes(16 * n), (n,))


def parts_of(storage):
    """Return the exact sums of three parties, and the same hidden by masks that sum to zero."""
    layout = SumLayout(GRID, CLASSES, None, storage)
    open_sums = [exact_sums(seed, storage) for seed in range(3)]
    rng = np.random.default_rng(0)
    first = noise(rng, sum(layout.sizes))
    second = noise(rng, sum(layout.sizes))
    masks = [first, second, -(first + second)]
    parts = [
        MaskedSums(layout, name, NAMES, "round 1", layout.flattened(sums) + mask)
        for name, sums, mask in zip(NAMES, open_sums, masks, strict=True)
    ]
    return open_sums, parts


@pytest.mark.parametrize("storage", ["per-class", "pooled"])
def test_masks_cancel_in_the_total(storage):
    (a, b, c), parts = parts_of(storage)
    expected = a + b + c
    total = unmasked(parts)
    np.testing.assert_array_equal(total.counts, expected.counts)
    np.testing.assert_array_equal(total.weights, expected.weights)
    assert total.sums.equals(expected.sums)
    assert total.products.equals(expected.products)
    assert total.storage == storage


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda parts: [], "no masked sums"),
        (lambda parts: parts[:2], "'c' sent no sums"),
        (lambda parts: [*parts, parts[1]], "'b' sent sums more than once"),
        (lambda parts: [*parts[:2], replace(parts[2], round="2")], "of round '2'"),
        (lambda parts: [*parts[:2], replace(parts[2], parties=("a", "c"))], "different peers"),
        (
            lambda parts: [parts[0], parts[1], replace(parts[2], numbers=parts[0].numbers)],
            "noise",
        ),
    ],
)
def test_a_total_of_other_parts_is_refused(change, message):
    _, parts = parts_of("pooled")
    with pytest.raises(InvalidInputError, match=message):
        unmasked(change(parts))


@pytest.mark.parametrize(
    "other",
    [
        SumLayout(RoundingGrid.of([0.5, -2.0, 1e6], [-30, -28, -21]), CLASSES, None, "pooled"),
        SumLayout(RoundingGrid.of([0.5, -2.0, 1.0], [-30, -28, -22]), CLASSES, None, "pooled"),
        SumLayout(GRID, np.array([0, 2]), None, "pooled"),
        SumLayout(GRID, CLASSES, ("x", "y", "z"), "pooled"),
        SumLayout(GRID, CLASSES, None, "per-class"),
    ],
    ids=["steps", "origins", "classes", "names", "storage"],
)
def test_numbers_of_another_layout_are_refused(other):
    layout = SumLayout(GRID, CLASSES, None, "pooled")
    assert layout.equals(SumLayout(GRID, CLASSES, None, "pooled"))
    assert not layout.equals(other)
    _, parts = parts_of("pooled")
    with pytest.raises(InvalidInputError, match="different grids, classes or features"):
        unmasked([*parts[:2], replace(parts[2], layout=other)])


def test_counts_that_no_rows_have_are_noise():
    layout = SumLayout(GRID, CLASSES, None, "pooled")
    flat = layout.flattened(exact_sums(0, "pooled"))
    layout.restored(flat)

    def refused(place, value):
        change = np.zeros(len(flat.high), np.int64)
        change[place] = value
        with pytest.raises(InvalidInputError, match="noise"):
            layout.restored(flat + Int128.of(change))

    refused(0, -11)  # a count of −1
    refused(2, -1)  # a weight of 9 for 10 rows
    refused(2, MOST_WEIGHT - 9)  # one more than the largest weight


@pytest.mark.parametrize("bits", [(1 << 126, (1 << 60) - (1 << 127)), (5, (1 << 100) + 9)])
def test_noise_whose_differences_overflow_is_noise(bits):
    count, weight = bits
    layout = SumLayout(GRID, CLASSES[:1], None, "pooled")
    zeros = [0] * sum(layout.sizes[2:])
    data = b"".join(
        number.to_bytes(16, "big", signed=True) for number in (count, weight, *zeros)
    )
    numbers = Int128.from_bytes(data, (sum(layout.sizes),))
    assert numbers.item(0) == count
    assert numbers.item(1) == weight
    with pytest.raises(InvalidInputError, match="the masks do not cancel"):
        layout.restored(numbers)
