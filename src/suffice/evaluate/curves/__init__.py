"""Curves of error and calibration: small frozen values, computed from rows, ready to draw.

The package may import ``core`` only.
"""
