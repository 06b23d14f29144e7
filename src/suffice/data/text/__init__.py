"""Delimited text: its layout, its rows, and the notation of its values. May import ``files``."""
