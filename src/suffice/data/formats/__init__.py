"""Files of each format as tables, read and written. May import ``files``, ``text``, ``columns``."""
