"""Data larger than memory: a model's predictions, and its exact cross-validation."""

from suffice.data.predict import predict_stream
from suffice.selection.validation.streamed import cross_validate_stream

__all__ = ["cross_validate_stream", "predict_stream"]
