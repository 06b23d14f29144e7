"""Export fitted classifiers as SQL, Ibis expressions, ONNX graphs or JSON.

The package imports the classifier from ``core`` and the writing of files from ``persistence``, but
neither estimators nor scikit-learn.
"""

from suffice.export.document import to_document
from suffice.export.onnx import to_onnx
from suffice.export.sql import to_ibis, to_sql

__all__ = ["to_document", "to_ibis", "to_onnx", "to_sql"]
