"""Addresses and bytes of local and remote files. May import ``scanning``."""
