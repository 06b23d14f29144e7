"""Curves of error and calibration, computed from rows and ready to draw.

The package may import ``core`` only.
"""
