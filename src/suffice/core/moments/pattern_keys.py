"""Text labels for pairs of a class and a pattern of observed columns."""

import numpy as np

from suffice.core.table import Table
from suffice.core.table.labels import encode
from suffice.core.table.matrix import missing_bits
from suffice.errors import InvalidInputError
from suffice.typing import Codes, Flags, Labels

_DIGITS = 6  # a key begins with this many digits of the class
_MANY_CELLS = 200_000  # with fewer cells, NumPy is faster than loading the compiled loops
_LARGEST_TABLE = 1 << 20  # most entries of a table of all possible patterns


def pattern_keys(class_of: Codes, observed: Flags) -> Labels:
    """Return a key for each class and pattern: digits of the class, then 0 or 1 for each column."""
    if class_of.max(initial=0) >= 10**_DIGITS:
        raise InvalidInputError(
            f"there are missing values in more than {10**_DIGITS:,} classes: use "
            "missing='indicator'"
        )
    digits = class_of[:, None] // _powers_of_ten() % 10
    characters = np.concatenate([digits, observed], axis=1).astype(np.uint32) + ord("0")
    n_keys, width = characters.shape
    return np.ascontiguousarray(characters).view(f"U{width}").reshape(n_keys)


def read_keys(keys: Labels, n_features: int) -> tuple[Codes, Flags]:
    """Return the class (C,) and the observed columns (C, d) of each key."""
    width = _DIGITS + n_features
    characters = np.ascontiguousarray(keys.astype(f"U{width}")).view(np.uint32)
    digits = characters.reshape(-1, width).astype(np.intp) - ord("0")
    class_of = digits[:, :_DIGITS] @ _powers_of_ten()
    observed = digits[:, _DIGITS:] == 1
    return class_of, observed


def _powers_of_ten() -> Codes:
    return 10 ** np.arange(_DIGITS - 1, -1, -1)


def pattern_codes(rows: Table) -> tuple[Codes, Codes]:
    """Return a code for each row's class and pattern (n,), and the first row with each code."""
    codes = rows.codes
    n_columns = rows.x.shape[1]
    is_tall = rows.x.size >= _MANY_CELLS and rows.x.dtype.kind == "f"
    if is_tall and rows.n_classes << n_columns <= _LARGEST_TABLE:
        return _tabulated_codes(rows)
    for i, word in enumerate(missing_bits(rows.x, "<u4").T):
        n_bits = min(n_columns - 32 * i, 32)
        codes = encode(codes.astype(np.int64) << n_bits | word)[1]
    first_row = np.empty(int(codes.max(initial=-1)) + 1, np.intp)
    first_row[codes[::-1]] = np.arange(len(codes))[::-1]
    return codes, first_row


def _tabulated_codes(rows: Table) -> tuple[Codes, Codes]:
    """Return the result of ``pattern_codes``, computed by a table of all possible patterns."""
    from suffice.core.compiled import read_only
    from suffice.core.table.loops import number_patterns

    x, codes = read_only(rows.x, rows.codes)
    numbers = np.empty(len(codes), np.intp)
    first_rows = np.full(rows.n_classes << x.shape[1], -1)
    number_patterns(x, codes, numbers, first_rows)
    is_present = first_rows >= 0
    code_of_number = np.cumsum(is_present) - 1
    return code_of_number.take(numbers), first_rows[is_present]


def smaller_patterns(patterns: Flags, counts: Codes, most: int) -> Flags:
    """Return patterns (P, d), each rare one replaced with a pattern that has fewer columns.

    At most ``most`` different patterns remain: the ``most`` / 2 most frequent ones, and unions of
    blocks of neighbouring columns. There are so few blocks that all their unions are allowed, so
    that every row fits one of these patterns. Each row keeps as many of its columns as possible.
    """
    n_blocks = max(int(np.log2(most / 2)), 1)
    of_blocks = patterns.copy()
    for block in np.array_split(np.arange(patterns.shape[1]), n_blocks):
        of_blocks[:, block] &= patterns[:, block].all(1, keepdims=True)
    frequent = patterns[np.argsort(-counts, kind="stable")[: most // 2]]
    columns = frequent.astype(np.float64)
    # a frequent pattern fits a row if the row has all columns of the pattern
    fits = (~patterns).astype(np.float64) @ columns.T == 0
    sizes = np.where(fits, columns.sum(1), -1.0)
    best = frequent[sizes.argmax(1)]
    is_better = sizes.max(1) >= of_blocks.sum(1)
    return np.where(is_better[:, None], best, of_blocks)
