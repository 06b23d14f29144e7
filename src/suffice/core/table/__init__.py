"""The labelled table: rows, labels and weights that a user passes, read and checked once.

The package imports only `suffice.core.text` and `suffice.errors` of the library.
"""

from suffice.core.table.table import Table

__all__ = ["Table"]
