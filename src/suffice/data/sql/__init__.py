"""Tables of a database, summed where they are stored or streamed out, through Ibis.

May import ``rows`` and ``sums``.
"""
