"""Text that is safe to print: what data hold cannot steer a terminal, and no password is echoed."""

import re

# control characters but tab and line feed, and marks that turn the direction of writing
CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")
_IN_ADDRESS = re.compile(r"(:/+[^/\s:@]*:)\S*@")
_WORDS = (
    "passw(?:or)?d|pwd|sig|signature|x-(?:amz|goog)-[a-z-]+|(?:access_?|secret_?)?(?:token|key)"
)
_NAMED = re.compile(
    rf"(?i)((?:(?<=[?&])(?:{_WORDS})|passw(?:or)?d|pwd))(\s*=\s*)('(?:[^'\\]|\\.)*'|[^\s&;]+)"
)


def printable(text: str) -> str:
    """Return text with control characters spelt out, and without passwords."""
    return CONTROL.sub(lambda found: repr(found[0])[1:-1], without_passwords(text))


def without_passwords(text: str) -> str:
    """Return text with stars for every password of a database's address in it."""
    return _NAMED.sub(r"\1\2***", _IN_ADDRESS.sub(r"\1***@", text))
