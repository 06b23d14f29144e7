"""Rows that do not fit in memory: a model's answers for them, and its exact cross-validation."""

from suffice.data.predict import predict_stream
from suffice.selection.validation.streamed import cross_validate_stream

__all__ = ["cross_validate_stream", "predict_stream"]
