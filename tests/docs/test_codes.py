"""Each warning and each caveat has a code of its own, and the documentation lists them all."""

import re
import warnings
from pathlib import Path
from typing import get_args

import pytest

from suffice import errors
from suffice.evaluate.comparison.caveats import NUMBERS, Caveat, CaveatCode

PAGE = (Path(__file__).parents[2] / "docs" / "codes.md").read_text(encoding="utf-8")
LISTED = dict(re.findall(r"^\| (SF\d{3}) \| `?([\w ]+)`? \|", PAGE, flags=re.MULTILINE))
CLASSES = [
    value
    for value in vars(errors).values()
    if isinstance(value, type) and issubclass(value, errors.SufficeWarning)
]


def test_the_page_lists_each_class_of_warnings_under_its_code():
    codes = {code: name for code, name in LISTED.items() if code.startswith("SF1")}
    assert codes == {warning.code: warning.__name__ for warning in CLASSES}


def test_the_page_lists_each_caveat_under_its_number():
    caveats = {code: name for code, name in LISTED.items() if code.startswith("SF2")}
    assert caveats == {number: name for name, number in NUMBERS.items()}
    assert set(NUMBERS) == set(get_args(CaveatCode))


def test_no_code_stands_twice():
    codes = re.findall(r"^\| (SF\d{3})", PAGE, flags=re.MULTILINE)
    assert len(codes) == len(set(codes)) == len(CLASSES) + len(NUMBERS) + 4


@pytest.mark.parametrize("warning", CLASSES, ids=lambda warning: warning.__name__)
def test_a_warning_ends_with_its_code(warning):
    assert str(warning("one row is left out")) == f"one row is left out [{warning.code}]"


def test_warnings_name_their_line_and_their_code():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        errors.warn("rounded", errors.LostDetailWarning)
    (warning,) = caught
    assert str(warning.message) == "rounded [SF106]"
    assert warning.filename == __file__


def test_a_caveat_has_its_number_in_json():
    caveat = Caveat("few rows", "serious", "There are only 20 rows.")
    assert caveat.document()["number"] == "SF206"
