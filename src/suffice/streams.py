"""Predictions and exact cross-validation for data larger than memory."""

from suffice.data.predict import predict_stream
from suffice.selection.validation.streamed import cross_validate_stream

__all__ = ["cross_validate_stream", "predict_stream"]
