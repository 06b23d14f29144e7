"""Looks of classes."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.colors import to_rgb

from suffice.core.text.lists import default_names, shortened
from suffice.core.text.numbers import percent_label, weight_label
from suffice.present.plots.style import COLOURS, DARK, LIGHT, looks_of


def luminance(colour):
    c = np.array(to_rgb(colour))
    linear = np.where(c <= 0.04045, c / 12.92, ((c + 0.055) / 1.055) ** 2.4)
    return float(linear @ [0.2126, 0.7152, 0.0722])


def contrast(a, b):
    low, high = sorted((luminance(a), luminance(b)))
    return (high + 0.05) / (low + 0.05)


def test_the_look_of_a_class_depends_on_its_place_only():
    letters, numbers = looks_of(["a", "b"]), looks_of([7, 8, 9])[:2]
    assert [look.label for look in numbers] == [7, 8]
    assert [replace(look, label=0, name="") for look in letters] == [
        replace(look, label=0, name="") for look in numbers
    ]


@pytest.mark.parametrize("n", [1, 2, 10, 100, 208])
def test_two_hundred_classes_differ_in_colour_or_marker(n):
    looks = looks_of(range(n))
    assert len({(look.colour, look.marker) for look in looks}) == n


def test_the_first_classes_differ_in_colour_and_in_marker_and_in_grey():
    looks = looks_of(range(10))
    assert len({look.colour for look in looks}) == 10
    assert len({look.marker for look in looks}) == 10
    assert len({(look.dashes, look.hatch) for look in looks}) == 10


def test_every_colour_is_seen_on_both_grounds():
    for colour in COLOURS:
        assert contrast(colour, LIGHT.ground) > 1.9
        assert contrast(colour, DARK.ground) > 2.2


def test_text_is_legible_on_both_grounds():
    for style in (LIGHT, DARK):
        assert contrast(style.ink, style.ground) > 12
        assert contrast(style.soft, style.ground) > 4.5


@given(st.lists(st.text(min_size=1), min_size=1, max_size=20, unique=True), st.integers(8, 30))
def test_shortened_labels_are_short_and_stay_different(labels, width):
    short = shortened(labels, width)
    assert all(len(text) <= width for text in short)
    spoken = {" ".join(label.split()) for label in labels}
    assert len(set(short)) >= len(spoken)


def test_labels_that_differ_at_their_ends_are_cut_in_the_middle():
    assert shortened(["x" * 30 + "1", "x" * 30 + "2"], 12)[1].endswith("2")


def test_numbers_are_written_briefly():
    assert [percent_label(p) for p in (1, 0.5, 0.034, 0.0, 0.123)] == [
        "100 %",
        "50 %",
        "3.4 %",
        "0 %",
        "12 %",
    ]
    assert [weight_label(w) for w in (12.0, 12.345, 1e7)] == ["12", "12.3", "1e+07"]
    assert default_names(12)[-1] == "x₁₂"
