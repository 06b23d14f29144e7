"""Everything that saves and loads: the archive, and the fields of sums and models in it.

A file is a zip of plain arrays and a JSON header; nothing in it is executed. May import ``core``
and ``discriminative``; ``load`` alone also imports ``estimators``, to make what a file holds.
"""
