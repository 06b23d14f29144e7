"""Where files are, on this machine or elsewhere, and their bytes. May import ``scanning``."""
