"""Names, stamps and bytes of local and remote files.

The package may import ``scanning``.
"""
