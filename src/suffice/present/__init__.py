"""Figures, the report, the lecture and the lab.

The package may import every package except ``cli``.
"""
