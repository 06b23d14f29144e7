"""Figures drawn with matplotlib; ``suffice.plots`` lists the public ones.

Each figure has a function with a written-out signature that opens a ``Canvas`` (``canvas.py``),
draws on it and returns matplotlib's axes. Results of other packages draw themselves with the
functions of ``results.py``, ``comparisons.py``, ``tuning.py`` and ``paths.py``. This package may
import every package but ``cli``.
"""
