"""Load the usable rows of a source in blocks of bounded memory.

The package may import ``columns``.
"""
