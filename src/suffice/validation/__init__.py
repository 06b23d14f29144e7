"""How good a classifier is: splits, exact cross-validation, leave-one-out, diagnostics."""

from __future__ import annotations
