"""The labelled table: users' rows, labels and weights, read and checked once.

It imports `suffice.core.text` and `suffice.errors`, and nothing else of the library.
"""

from suffice.core.table.table import Table

__all__ = ["Table"]
