"""Numbers, lists and tables in words."""
