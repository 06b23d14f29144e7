"""Reading and writing tables in each file format. May import ``files``, ``text``, ``columns``."""
