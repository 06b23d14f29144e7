"""What one cell of a table holds."""


def is_empty(value: object) -> bool:
    """Return whether a cell holds nothing: None, NaN, or pandas' NA and NaT."""
    return value is None or type(value).__name__ == "NAType" or bool(value != value)
