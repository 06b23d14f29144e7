"""Tables and arrays in memory, and tables in batches.

The package may import ``columns``.
"""
