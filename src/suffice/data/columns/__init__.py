"""What each column of a source holds and what it is for. May import ``source`` and ``text``."""
