"""The type and role of each column of a source. May import ``source`` and ``text``."""
