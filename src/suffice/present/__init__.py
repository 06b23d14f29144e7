"""Figures, the report, the lecture and the lab. May import every package except ``cli``."""
