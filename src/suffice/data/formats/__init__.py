"""Reading and writing tables in each file format.

The package may import ``files``, ``text``, ``columns``.
"""
