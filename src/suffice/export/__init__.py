"""Fitted classifiers as programs of other systems: SQL, Ibis expressions and ONNX graphs."""

from suffice.export.program import Program, program_of

__all__ = ["Program", "program_of"]
