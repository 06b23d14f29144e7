"""The labelled table that carries rows through the library, and the look-up of labels."""

from suffice.core.table.table import Table

__all__ = ["Table"]
