"""The test for empty cells of a table."""


def is_empty(value: object) -> bool:
    """Return whether a cell is empty: None, NaN, or pandas' NA or NaT."""
    return value is None or type(value).__name__ == "NAType" or bool(value != value)
