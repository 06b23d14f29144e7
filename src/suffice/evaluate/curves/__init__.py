"""Curves of error and calibration: small frozen values, computed from rows, ready to draw.

May import ``core`` only.
"""
