"""What figures of error and trust are drawn from: small frozen values, computed from rows.

May import ``core`` only.
"""
