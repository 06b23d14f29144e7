"""Tables and arrays in memory, and tables that arrive in batches. May import ``columns``."""
