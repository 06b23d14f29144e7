"""Mergeable sufficient statistics of labelled rows."""

from suffice.core.moments.moments import Moments

__all__ = ["Moments"]
