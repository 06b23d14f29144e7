"""Fitted classifiers as programs of other systems: SQL, Ibis expressions and ONNX graphs."""
