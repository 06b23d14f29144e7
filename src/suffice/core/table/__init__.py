"""The labelled table: users' rows, labels and weights, read and checked once.

Of the library, the package imports only `suffice.core.text` and `suffice.errors`.
"""

from suffice.core.table.table import Table

__all__ = ["Table"]
