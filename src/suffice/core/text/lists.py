"""Format names and labels for sentences and legends, and make text safe to print."""

import re
from collections.abc import Iterable, Sequence
from typing import cast

WIDEST = 22  # most letters of a label in a legend or on an axis
_LONGEST_QUOTE = 80  # most letters of a cell, label or name in a message
SUBSCRIPTS = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")
# control characters except tab and line feed, and characters that change the writing direction
CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")
_PASSWORD_IN_ADDRESS = re.compile(r"(:/+[^/\s:@]*:)\S*@")
_PASSWORD = "passw(?:or)?d|pwd"
_SECRET = (
    f"{_PASSWORD}|sig|signature|x-(?:amz|goog)-[a-z-]+|(?:access_?|secret_?)?(?:token|key)"
)
_VALUE = r"(\s*=\s*)('(?:[^'\\]|\\.)*'|[^\s&;]+)"
_NAMED_SECRET = re.compile(rf"(?i)((?:(?<=[?&])(?:{_SECRET})|{_PASSWORD})){_VALUE}")


def python_scalar(label: object) -> object:
    """Return a NumPy scalar as a Python scalar; return any other object unchanged."""
    return label.item() if hasattr(label, "item") else label


def labels_of_one_type(labels: Sequence[object]) -> list[object]:
    """Return labels of one type, with None for NaN.

    Integers and floats become floats; any other mixture of types becomes text.
    """
    cells = [None if label != label else label for label in labels]
    types = {type(label) for label in cells if label is not None}
    if len(types) < 2:
        return cells
    if types == {int, float}:
        numbers = cast(list[float | None], cells)
        return [None if number is None else float(number) for number in numbers]
    return [None if label is None else str(label) for label in cells]


def counted(n: int, word: str) -> str:
    """Return a number with its noun, such as "1 row" and "1,200 rows"."""
    return f"{n:,} {noun_for(n, word)}"


def noun_for(n: int, word: str) -> str:
    """Return a word, in the plural unless ``n`` is one."""
    if n == 1:
        return word
    return f"{word}es" if word.endswith("s") else f"{word}s"


def listed(names: Sequence[str], most: int = 6) -> str:
    """Return names as a list for a sentence; of many names, only the first few."""
    if len(names) > most + 1:  # a single remaining name is listed instead of "1 more"
        return f"{', '.join(names[:most])} and {len(names) - most} more"
    if len(names) == 1:
        return names[0]
    return f"{', '.join(names[:-1])} and {names[-1]}"


def quote(value: object) -> str:
    """Return a quoted cell, label or name for a message; a long text is cut in the middle."""
    scalar = python_scalar(value)
    if isinstance(scalar, str):
        scalar = _without_middle(scalar, _LONGEST_QUOTE)
    return repr(scalar)


def quoted(labels: Iterable[object], most: int = 4) -> str:
    """Return a list of quoted labels for a message; of many labels, only the first few."""
    names = [quote(label) for label in labels]
    if len(names) <= most + 1:  # a single remaining name is listed instead of "1 more"
        return ", ".join(names)
    return f"{', '.join(names[:most])} and {len(names) - most} more"


def shortened(labels: Sequence[object], width: int = WIDEST) -> tuple[str, ...]:
    """Return labels as text of at most ``width`` letters; different labels stay different."""
    # cut the end of long labels; if that makes some labels equal, cut the middle or add a number
    texts = [" ".join(str(label).split()) for label in labels]
    n_different = len({str(label) for label in labels})
    for cut in (_without_end, _without_middle):
        short = tuple(cut(text, width) for text in texts)
        if len(set(short)) == n_different:
            return short
    return tuple(f"{_without_end(text, width - 4)} {k}" for k, text in enumerate(texts, 1))


def default_names(d: int) -> tuple[str, ...]:
    """Return the names x₁ … x_d."""
    return tuple("x" + str(j + 1).translate(SUBSCRIPTS) for j in range(d))


def printable(text: str) -> str:
    """Return text with control characters spelt out, and without passwords."""
    return CONTROL.sub(lambda match: repr(match[0])[1:-1], without_passwords(text))


def without_passwords(text: str) -> str:
    """Return text with every password in a database address replaced with stars."""
    without_addresses = _PASSWORD_IN_ADDRESS.sub(r"\1***@", text)
    return _NAMED_SECRET.sub(r"\1\2***", without_addresses)


def _without_end(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 1].rstrip() + "…"


def _without_middle(text: str, width: int) -> str:
    if len(text) <= width:
        return text
    n_last = (width - 1) * 5 // 11
    return text[: width - 1 - n_last] + "…" + text[-n_last:]
