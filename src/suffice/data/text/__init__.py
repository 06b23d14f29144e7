"""Delimited text: its layout, its rows, and the notation of its values.

The package may import ``files``.
"""
