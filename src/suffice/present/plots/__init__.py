"""Figures drawn with matplotlib; ``suffice.plots`` lists the public functions.

Each figure has a function that opens a ``Canvas`` (``canvas.py``), draws on the canvas, and returns
the matplotlib axes. The ``plot`` methods of results call the functions in ``results.py``,
``comparisons.py``, ``tuning.py`` and ``paths.py``. The package may import every package except
``cli``.
"""
