"""Moments of rows as they are read, by group and with checkpoints. May import ``rows``."""
