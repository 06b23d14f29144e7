"""Tables and arrays in memory, and tables that arrive in batches.

The package may import ``columns``.
"""
