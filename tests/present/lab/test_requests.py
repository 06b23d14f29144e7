"""Requests that no page sends are refused in a sentence."""

import pytest

from suffice.errors import InvalidInputError
from suffice.present.lab.server import Lab


@pytest.mark.parametrize("verb", ["view", "fit", "errors"])
@pytest.mark.parametrize("body", [b"[" * 100_000, b'{"x": ' * 50_000, b"[]", b"3"])
def test_requests_that_are_not_understood_are_refused(verb, body):
    with pytest.raises(InvalidInputError, match="the request is not understood"):
        Lab().answer(verb, body, {})
