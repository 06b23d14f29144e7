"""Compiled loops that number the distinct rows of an array."""
# mypy: disallow-untyped-defs=False, disallow-untyped-calls=False

import numpy as np

from suffice.core.compiled import njit

_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)  # 2⁶⁴ divided by the golden ratio (Knuth 1973)
_HALF = np.uint64(32)
_BLOCK = 4096  # rows of a block, so few that their marks stay in the cache


@njit(nogil=True)
def number_records(words, code_of_slot, codes, first_rows):
    """Assign numbers to the distinct rows of words (n, m); return how many there are.

    Rows are numbered in the order of their first appearance. The loop writes the number of each row
    to ``codes`` (n,), and the first row with each number to ``first_rows``. It returns −1 if there
    are more distinct rows than ``first_rows`` has entries. ``code_of_slot`` is the hash table. Its
    length must be a power of two, and each entry −1.
    """
    n, m = words.shape
    last_slot = len(code_of_slot) - 1
    n_records = 0
    for r in range(n):
        mixed = np.uint64(0)
        for j in range(0, m - 1, 2):
            pair = np.uint64(words[r, j]) | (np.uint64(words[r, j + 1]) << _HALF)
            mixed = (mixed ^ pair) * _MULTIPLIER
            mixed ^= mixed >> _HALF
        if m % 2:
            mixed = (mixed ^ np.uint64(words[r, m - 1])) * _MULTIPLIER
            mixed ^= mixed >> _HALF
        slot = np.intp(mixed & np.uint64(last_slot))
        while True:
            code = code_of_slot[slot]
            if code < 0:
                if n_records == len(first_rows):
                    return -1
                code = n_records
                code_of_slot[slot] = code
                first_rows[code] = r
                n_records += 1
                break
            first = first_rows[code]
            is_same = True
            for j in range(m):
                if words[first, j] != words[r, j]:
                    is_same = False
                    break
            if is_same:
                break
            slot = (slot + 1) & last_slot
        codes[r] = code
    return n_records


@njit(nogil=True)
def number_patterns(x, codes, numbers, first_rows):
    """Write 2ᵈ code + Σ_j 2ʲ [x_j missing] of each row to ``numbers``.

    The first row with each number is written to ``first_rows``, which must have an entry of −1 for
    every possible number.
    """
    n, d = x.shape
    n_bytes = (d + 7) // 8
    marks = np.empty((_BLOCK, n_bytes), np.uint8)
    for b in range(0, n, _BLOCK):
        end = min(b + _BLOCK, n)
        mark_missing(x[b:end], marks)
        for r in range(b, end):
            number = codes[r] << d
            for i in range(n_bytes):
                number |= np.intp(marks[r - b, i]) << (8 * i)
            numbers[r] = number
            if first_rows[number] < 0:
                first_rows[number] = r


@njit(nogil=True)
def mark_missing(x, marks):
    """Set bit j mod 8 of byte j div 8 of each row of ``marks`` where x[r, j] is NaN."""
    n, d = x.shape
    n_whole = d // 8
    for r in range(n):
        for i in range(n_whole):
            byte = np.uint8(0)
            # the range is constant, so that the compiler unrolls the loop
            for bit in range(8):
                byte |= np.uint8(np.isnan(x[r, 8 * i + bit])) << np.uint8(bit)
            marks[r, i] = byte
        if d > 8 * n_whole:
            byte = np.uint8(0)
            for j in range(8 * n_whole, d):
                byte |= np.uint8(np.isnan(x[r, j])) << np.uint8(j - 8 * n_whole)
            marks[r, n_whole] = byte
