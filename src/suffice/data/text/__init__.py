"""Delimited text: its layout, its rows, and how its values are written. May import ``files``."""
