"""Mergeable sufficient statistics of labelled rows."""

from suffice.moments.moments import Moments

__all__ = ["Moments"]
