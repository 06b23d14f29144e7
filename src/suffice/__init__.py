"""Probabilistic classification from mergeable statistics.

Collect the sums of each class once, wherever the data are; compute every Gaussian classifier from
them. ``import suffice as sf``, then ``sf.LDA().fit(X, y)`` or ``sf.Moments.of(X, y)``.

``__init__.pyi`` lists the public names. Each name is imported on first use, so that
``suffice --help`` does not wait for NumPy.
"""

import lazy_loader

__version__ = "0.1.0"

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
