"""Database tables, which Ibis sums inside the database or streams out.

The package may import ``rows`` and ``sums``.
"""
