"""The other way to the same posterior: fit it directly, without a model of the classes."""

from suffice.discriminative.descent import DescentPath, descend
from suffice.discriminative.separation import Separation
from suffice.discriminative.summary import LogisticSummary
from suffice.errors import NotConvergedWarning, SeparationWarning

__all__ = [
    "DescentPath",
    "LogisticSummary",
    "NotConvergedWarning",
    "Separation",
    "SeparationWarning",
    "descend",
]
