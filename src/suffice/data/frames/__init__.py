"""Tables and arrays in memory, and tables in batches. May import ``columns``."""
