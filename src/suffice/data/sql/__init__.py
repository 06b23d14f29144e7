"""Database tables, summed inside the database or streamed out, through Ibis.

May import ``rows`` and ``sums``.
"""
