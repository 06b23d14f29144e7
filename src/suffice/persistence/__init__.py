"""Saving and loading: the file format, and the fields of sums and models in it.

A file is a zip of plain arrays and a JSON header; reading a file executes nothing from it. The
package may import ``core`` and ``discriminative``. Only ``load`` also imports ``estimators``, to
restore estimators.
"""
