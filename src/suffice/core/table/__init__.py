"""The labelled table: users' rows, labels and weights, read and checked once.

The package imports only `suffice.core.text` and `suffice.errors` of the library.
"""

from suffice.core.table.table import Table

__all__ = ["Table"]
