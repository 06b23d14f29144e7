"""Fitted classifiers in other languages: SQL, Ibis expressions, ONNX graphs and JSON.

The modules import the fitted classifier from ``core`` and file writing from ``persistence``. They
import neither the estimators nor scikit-learn.
"""

from suffice.export.document import to_document
from suffice.export.onnx import to_onnx
from suffice.export.sql import to_ibis, to_sql

__all__ = ["to_document", "to_ibis", "to_onnx", "to_sql"]
