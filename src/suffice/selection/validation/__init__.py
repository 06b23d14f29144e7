"""How good a classifier is: splits, exact cross-validation, leave-one-out, diagnostics."""
