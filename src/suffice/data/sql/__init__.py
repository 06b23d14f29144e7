"""Database tables, summed inside the database or streamed out, through Ibis.

The package may import ``rows`` and ``sums``.
"""
