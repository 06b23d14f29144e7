"""The other way to the same posterior: fit it directly, without a model of the classes."""
