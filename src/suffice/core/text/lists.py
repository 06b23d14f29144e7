"""Names and labels in a sentence or a legend, and text that is safe to print."""

import re
from collections.abc import Iterable, Sequence
from typing import Any

WIDEST = 22  # letters of a label in a legend or beside a tick
SUBSCRIPTS = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")
# control characters but tab and line feed, and marks that turn the direction of writing
CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")
_IN_ADDRESS = re.compile(r"(:/+[^/\s:@]*:)\S*@")
_SECRET = "passw(?:or)?d|pwd"
_WORDS = f"{_SECRET}|sig|signature|x-(?:amz|goog)-[a-z-]+|(?:access_?|secret_?)?(?:token|key)"
_VALUE = r"(\s*=\s*)('(?:[^'\\]|\\.)*'|[^\s&;]+)"
_NAMED = re.compile(rf"(?i)((?:(?<=[?&])(?:{_WORDS})|{_SECRET})){_VALUE}")


def plain(label: Any) -> Any:
    """Return a NumPy scalar as a Python one."""
    return label.item() if hasattr(label, "item") else label


def of_one_kind(labels: Sequence[Any]) -> list[Any]:
    """Return labels for one column: as text if they are of several kinds; NaN is None."""
    known = [None if label != label else label for label in labels]
    kinds = {type(label) for label in known if label is not None}
    if len(kinds) < 2:
        return known
    kind = float if kinds == {int, float} else str
    return [None if label is None else kind(label) for label in known]


def plural(n: int, word: str) -> str:
    """Return a number with its noun."""
    return f"{n:,} {noun(n, word)}"


def noun(n: int, word: str) -> str:
    """Return a word, in the plural unless ``n`` is one."""
    return word if n == 1 else f"{word}es" if word.endswith("s") else f"{word}s"


def listed(names: Sequence[str], most: int = 6) -> str:
    """Return names as a sentence lists them, the first few of many."""
    if len(names) > most + 1:  # the name of one more is as short as the words "1 more"
        return f"{', '.join(names[:most])} and {len(names) - most} more"
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def quoted(labels: Iterable[Any], most: int = 4) -> str:
    """Return labels as a message quotes them, the first few of many."""
    names = [repr(plain(label)) for label in labels]
    most += len(names) == most + 1
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def shortened(labels: Sequence[Any], width: int = WIDEST) -> tuple[str, ...]:
    """Return labels as text of at most ``width`` letters, different ones kept different."""
    # the end is cut, or the middle where the ends are what differs, or a number is put behind
    texts = [" ".join(str(label).split()) for label in labels]
    for cut in (_end, _middle):
        short = tuple(cut(text, width) for text in texts)
        if len(set(short)) == len(set(map(str, labels))):
            return short
    return tuple(f"{_end(text, width - 4)} {k}" for k, text in enumerate(texts, 1))


def default_names(d: int) -> tuple[str, ...]:
    """Return x₁ … x_d."""
    return tuple("x" + str(j + 1).translate(SUBSCRIPTS) for j in range(d))


def printable(text: str) -> str:
    """Return text with control characters spelt out, and without passwords."""
    return CONTROL.sub(lambda found: repr(found[0])[1:-1], without_passwords(text))


def without_passwords(text: str) -> str:
    """Return text with stars for every password of a database's address in it."""
    return _NAMED.sub(r"\1\2***", _IN_ADDRESS.sub(r"\1***@", text))


def _end(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 1].rstrip() + "…"


def _middle(text: str, width: int) -> str:
    if len(text) <= width:
        return text
    tail = (width - 1) * 5 // 11
    return text[: width - 1 - tail] + "…" + text[-tail:]
