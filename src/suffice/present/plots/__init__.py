"""Figures drawn with matplotlib; ``suffice.plots`` lists the public ones.

Each figure has a function that opens a ``Canvas`` (``canvas.py``), draws on it and returns the
matplotlib axes. Result objects of other packages draw themselves with the functions in
``results.py``, ``comparisons.py``, ``tuning.py`` and ``paths.py``. This package may import every
package except ``cli``.
"""
