"""Usable rows of a source, in blocks of bounded memory. May import ``columns``."""
