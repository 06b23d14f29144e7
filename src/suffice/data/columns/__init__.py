"""The type and role of each column of a source.

The package may import ``source`` and ``text``.
"""
